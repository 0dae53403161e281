import * as z from 'zod'
import type { AccountDatabase } from '../../../db/database'
import type { Statement } from '../../../db/statement'
import { restartSweeps, TENANTS_AHEAD } from '../../../jobs/sweeps.repository'
import { type Instant, instant } from '../../../lib/clock'

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

/**
 * Statements that restart time triggers of all tenants whose ticks have run ahead of `now`, for when the
 * clock goes back (C1). The next step finds out when they are due.
 */
export function restartTicks(db: AccountDatabase, now: Instant): Statement[] {
  return [...RESTART.map((sql) => db.statement(sql, now, 'ticks')), ...restartSweeps(db, 'ticks', now)]
}
