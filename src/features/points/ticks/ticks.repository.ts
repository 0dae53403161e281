import * as z from 'zod'
import type { AccountDatabase, TenantDatabase } from '../../../db/database'
import { guardSql } from '../../../db/guard'
import type { TicksRow } from '../../../jobs/due-work.repository'
import { type Instant, instant } from '../../../lib/clock'

const Moment = z.number().transform(instant)

/**
 * How far a tenant's ticks have got: all of them `through` a moment are done. A pass grants what is due after that and up to its own
 * `to`, user by user in order of their ids: those up to `after` have it, but for the ones that were skipped, who are done first.
 */
const Progress = z.object({
  through: Moment,
  pass: z.object({ to: Moment, after: z.string().nullable(), skipped: z.array(z.string()) }).nullable(),
})

/** See `Progress`. */
export type Progress = z.infer<typeof Progress>

/** Reads the progress of ticks as stored; nothing is done where there is none. */
export function parseProgress(text: string | null): Progress {
  return text === null ? { through: instant(0), pass: null } : Progress.parse(JSON.parse(text))
}

const StoredRow = z.array(z.object({ dueAt: Moment, progress: z.string().nullable() }))

/** The row as a statement has answered it. */
export const parseRow = (results: unknown): TicksRow =>
  StoredRow.parse(results)[0] ?? { dueAt: null, progress: null }

const ROW = `
  SELECT due_at AS dueAt, progress FROM due_work WHERE tenant_id = ?1 AND kind = 'ticks' AND subject = ''`

/** How the row of a tenant's ticks stands. */
export async function ticksRow(db: TenantDatabase): Promise<TicksRow> {
  return parseRow(await db.rows(db.statement(ROW, db.tenantId)))
}

const UNCHANGED = guardSql(`
  EXISTS (SELECT 1 FROM due_work WHERE tenant_id = ?1 AND kind = 'ticks' AND subject = '' AND progress IS ?2)`)

/** A guard (see db/guard.ts): holds while ticks have got as far as this and no further. */
export function progressUnchanged(db: TenantDatabase, progress: string | null): D1PreparedStatement {
  return db.statement(UNCHANGED, db.tenantId, progress)
}

const BETWEEN_PASSES = guardSql(`
  NOT EXISTS (SELECT 1 FROM due_work
    WHERE tenant_id = ?1 AND kind = 'ticks' AND subject = '' AND progress ->> '$.pass.to' IS NOT NULL)`)

/** A guard: holds while no pass is under way, so that nobody has a tick that others miss. */
export function betweenPasses(db: TenantDatabase): D1PreparedStatement {
  return db.statement(BETWEEN_PASSES, db.tenantId)
}

const STILL_AHEAD = guardSql(`
  NOT EXISTS (SELECT 1 FROM due_work WHERE tenant_id = ?1 AND kind = 'ticks' AND subject = ''
    AND max(progress ->> '$.through', coalesce(progress ->> '$.pass.to', 0)) >= ?2)`)

/** A guard: holds while ticks that are due at a moment will still be granted; not once the clock was moved past it. */
export function stillAhead(db: TenantDatabase, due: Instant): D1PreparedStatement {
  return db.statement(STILL_AHEAD, db.tenantId, due)
}

const FORGET = "DELETE FROM due_work WHERE tenant_id = ?1 AND kind = 'ticks' AND subject = ''"
const MOVE_ON = `
  UPDATE due_work SET progress = ?2, due_at = ?3 WHERE tenant_id = ?1 AND kind = 'ticks' AND subject = ''`

/** Stores how the row stands, where no user is written with it; no row where nothing is due any more. */
export function storeRow(db: TenantDatabase, row: TicksRow): D1PreparedStatement {
  return row.dueAt === null
    ? db.statement(FORGET, db.tenantId)
    : db.statement(MOVE_ON, db.tenantId, row.progress, row.dueAt)
}

const AHEAD = `kind = 'ticks' AND max(progress ->> '$.through', coalesce(progress ->> '$.pass.to', 0)) > ?1`
const TICKING = "type = 'time' AND status = 'active' AND deleted IS NULL"
const CONCERNED = `SELECT tenant_id FROM due_work WHERE ${AHEAD}`

const RESTART = [
  `UPDATE tenants SET config_version = config_version + 1
   WHERE id IN (${CONCERNED} UNION SELECT tenant_id FROM points_triggers WHERE ${TICKING} AND anchor > ?1)`,
  `UPDATE points_triggers SET anchor = ?1 WHERE ${TICKING} AND (anchor > ?1 OR tenant_id IN (${CONCERNED}))`,
  `UPDATE due_work SET progress = NULL WHERE ${AHEAD}`,
  `UPDATE due_work SET due_at = min(due_at, ?1) WHERE kind = 'ticks'`,
] as const

/**
 * Has time triggers of all tenants begin anew where their ticks have run ahead of `now`: for when the clock went back (C1). The next
 * step finds out when they are due.
 */
export function restartTicks(db: AccountDatabase, now: Instant): D1PreparedStatement[] {
  return RESTART.map((sql) => db.statement(sql, now))
}
