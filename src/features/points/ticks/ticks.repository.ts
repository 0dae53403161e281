import * as z from 'zod'
import type { AccountDatabase } from '../../../db/database'
import { restartSweeps, TENANTS_AHEAD } from '../../../jobs/due-work.repository'
import { type Instant, instant } from '../../../lib/clock'

const Moment = z.number().transform(instant)

/**
 * How far a tenant's ticks have got: all of them `through` a moment are done. A pass grants what is due after that and up to its own
 * `to`, user by user in order of their ids: those up to `after` have it, but for the ones that were skipped, who are done first.
 */
const Progress = z.object({
  through: Moment,
  sweep: z.object({ to: Moment, after: z.string().nullable(), skipped: z.array(z.string()) }).nullable(),
})

/** See `Progress`. */
export type Progress = z.infer<typeof Progress>

/** Reads the progress of ticks as stored; nothing is done where there is none. */
export function parseProgress(text: string | null): Progress {
  return text === null ? { through: instant(0), sweep: null } : Progress.parse(JSON.parse(text))
}

const TICKING = "type = 'time' AND status = 'active' AND deleted IS NULL"

const RESTART = [
  `UPDATE tenants SET config_version = config_version + 1
   WHERE id IN (${TENANTS_AHEAD} UNION SELECT tenant_id FROM points_triggers WHERE ${TICKING} AND anchor > ?1)`,
  `UPDATE points_triggers SET anchor = ?1 WHERE ${TICKING} AND (anchor > ?1 OR tenant_id IN (${TENANTS_AHEAD}))`,
] as const

/**
 * Has time triggers of all tenants begin anew where their ticks have run ahead of `now`: for when the clock went back (C1). The next
 * step finds out when they are due.
 */
export function restartTicks(db: AccountDatabase, now: Instant): D1PreparedStatement[] {
  return [...RESTART.map((sql) => db.statement(sql, now, 'ticks')), ...restartSweeps(db, 'ticks', now)]
}
