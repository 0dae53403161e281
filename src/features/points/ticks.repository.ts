import * as z from 'zod'
import { type Instant, instant } from '../../lib/clock'
import type { AccountDatabase } from '../../platform/database'
import type { Statement } from '../../platform/statement'
import { restartSweeps, TENANTS_AHEAD } from '../../time/sweeps.repository'

const Moment = z.number().transform(instant)

/**
 * The progress of a tenant's ticks. All ticks up to the moment `through` are granted. A sweep grants the
 * ticks after that and up to its own `to`, user by user in order of their ids. Users up to `after` have them,
 * except the skipped ones, which come first in the next step.
 */
const Progress = z.object({
  through: Moment,
  sweep: z.object({ to: Moment, after: z.string().nullable(), skipped: z.array(z.string()) }).nullable(),
})

/** See `Progress`. */
export type Progress = z.infer<typeof Progress>

/** The stored progress of ticks. If there is none, no ticks are granted yet. */
export function parseProgress(text: string | null): Progress {
  return text === null ? { through: instant(0), sweep: null } : Progress.parse(JSON.parse(text))
}

const TICKING = "type = 'time' AND status = 'active' AND deleted IS NULL"

const RESTART = [
  `UPDATE tenants SET config_version = config_version + 1
   WHERE id IN (${TENANTS_AHEAD} UNION SELECT tenant_id FROM points_triggers WHERE ${TICKING}
     AND anchor > ?1)`,
  `UPDATE points_triggers SET anchor = ?1 WHERE ${TICKING} AND (anchor > ?1 OR tenant_id IN (${TENANTS_AHEAD}))`,
] as const

const OTHERS = `${TICKING} AND tenant_id IN (SELECT value FROM json_each(?2))`
const RESTART_OTHERS = [
  `UPDATE tenants SET config_version = config_version + 1
   WHERE id IN (SELECT tenant_id FROM points_triggers WHERE ${OTHERS} AND anchor <> ?1)`,
  `UPDATE points_triggers SET anchor = ?1 WHERE ${OTHERS}`,
] as const

/**
 * Statements that restart time triggers of all tenants whose ticks have run ahead of `now`, for when the
 * clock goes back (C1). The next step finds out when they are due. `elsewhere` are the ids of tenants whose
 * ticks have run ahead in another database.
 */
export function restartTicks(db: AccountDatabase, now: Instant, elsewhere: readonly string[]): Statement[] {
  const others = elsewhere.length === 0 ? [] : RESTART_OTHERS
  return [
    ...RESTART.map((sql) => db.statement(sql, now, 'ticks')),
    ...others.map((sql) => db.statement(sql, now, JSON.stringify(elsewhere))),
    ...restartSweeps(db, 'ticks', now),
  ]
}

/**
 * Statements for each database but the first one, when the clock goes back (C1). The first statement reads
 * the tenants whose ticks have run ahead of `now` there, for `parseTenantsAhead`. The others restart their
 * ticks. Triggers are a part of the configuration, so only the first database restarts them (B4).
 */
export function restartTicksOfUsers(db: AccountDatabase, now: Instant): [Statement, ...Statement[]] {
  return [db.statement(TENANTS_AHEAD, now, 'ticks'), ...restartSweeps(db, 'ticks', now)]
}

const TenantsAhead = z.array(z.object({ tenant_id: z.string() }))

/** The ids that the first statement of `restartTicksOfUsers` has read. */
export const parseTenantsAhead = (result: D1Result | undefined): string[] =>
  TenantsAhead.parse(result?.results ?? []).map((row) => row.tenant_id)
