import * as z from 'zod'
import type { AccountDatabase, TenantDatabase } from '../db/database'
import { guardSql } from '../db/guard'
import { type Instant, instant } from '../lib/clock'
import type { DueKind } from './due-kinds.types'

const DueRow = z.object({
  kind: z.string(),
  subject: z.string(),
  dueAt: z.number().transform(instant),
  asked: z.number(),
  progress: z.string().nullable(),
})

/** One piece of due work as D1 has it; `progress` is JSON of its own kind. */
export type DueWork = z.infer<typeof DueRow>

// Nothing falls due of a tenant that is archived, or gone: objects ask at any time.
const MAKE_DUE = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at) SELECT id, ?2, ?3, ?4 FROM tenants WHERE id = ?1 AND status = 'active'
  ON CONFLICT DO UPDATE SET due_at = min(due_at, excluded.due_at), asked = asked + 1`

/** Makes something due at a moment, unless it is due before. Part of the batch that stores why it is due. */
export function makeDue(
  db: TenantDatabase,
  kind: DueKind,
  subject: string,
  at: Instant,
): D1PreparedStatement {
  return db.statement(MAKE_DUE, db.tenantId, kind, subject, at)
}

const DUE = `
  SELECT kind, subject, due_at AS dueAt, asked, progress FROM due_work CROSS JOIN json_each(?2) known ON known.value = kind
  WHERE tenant_id = ?1
    AND CASE (SELECT status FROM tenants WHERE id = ?1) WHEN 'active' THEN kind <> 'purge'
      WHEN 'archived' THEN kind = 'erasure' WHEN 'purging' THEN kind = 'purge' END
  ORDER BY due_at, known.key, subject LIMIT 3`

/**
 * The three pieces of a tenant's work that are due first, in order of due time; those of one moment in the order of their kinds. Work of a
 * kind that is not among these waits. Of an archived tenant only erasures of users, and of one that is erased itself only that.
 */
export async function nextWorkOf(db: TenantDatabase, kinds: readonly string[]): Promise<DueWork[]> {
  return z.array(DueRow).parse(await db.rows(db.statement(DUE, db.tenantId, JSON.stringify(kinds))))
}

const OF_KIND = `
  SELECT kind, subject, due_at AS dueAt, asked, progress FROM due_work WHERE tenant_id = ?1 AND kind = ?2 AND subject = ''`

/** The work of a kind that a tenant has but once; undefined if none is due. */
export async function workOf(db: TenantDatabase, kind: string): Promise<DueWork | undefined> {
  const [work] = z.array(DueRow).parse(await db.rows(db.statement(OF_KIND, db.tenantId, kind)))
  return work
}

const RESCHEDULED = `
  UPDATE due_work SET due_at = ?5 WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3 AND asked = ?4`
const DONE = 'DELETE FROM due_work WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3 AND asked = ?4'

/** Notes when a piece of work is due next, or that it never is again; not where it was asked for again meanwhile. */
export function rescheduled(
  db: TenantDatabase,
  { kind, subject, asked }: DueWork,
  next: Instant | null,
): D1PreparedStatement {
  const its = [db.tenantId, kind, subject, asked] as const
  return next === null ? db.statement(DONE, ...its) : db.statement(RESCHEDULED, ...its, next)
}

const BEGIN = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT DO UPDATE SET due_at = excluded.due_at, asked = asked + 1, progress = NULL`

/** Has a walk over all users begin at a moment, anew where it is under way. Part of the batch that stores why. */
export function beginWalk(
  db: TenantDatabase,
  kind: DueKind,
  subject: string,
  at: Instant,
): D1PreparedStatement {
  return db.statement(BEGIN, db.tenantId, kind, subject, at)
}

const PROGRESSED = `
  UPDATE due_work SET progress = ?5 WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3 AND asked = ?4`

/** Notes how far a piece of work has got; not where it was asked for again meanwhile. */
export function progressed(
  db: TenantDatabase,
  { kind, subject, asked }: DueWork,
  progress: string,
): D1PreparedStatement {
  return db.statement(PROGRESSED, db.tenantId, kind, subject, asked, progress)
}

const UNCHANGED = guardSql(`
  EXISTS (SELECT 1 FROM due_work WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3 AND asked = ?4 AND progress IS ?5)`)

/** A guard (see db/guard.ts): holds while a piece of work has got as far as this and no further, and was not asked for again. */
export function workUnchanged(
  db: TenantDatabase,
  { kind, subject, asked, progress }: DueWork,
): D1PreparedStatement {
  return db.statement(UNCHANGED, db.tenantId, kind, subject, asked, progress)
}

// From one tenant to the next by the outbox's key, whatever number of rows they have.
const OVERDUE = `
  WITH RECURSIVE telling(id) AS (
    SELECT min(tenant_id) FROM outbox
    UNION ALL SELECT (SELECT min(o.tenant_id) FROM outbox o WHERE o.tenant_id > telling.id) FROM telling
      WHERE telling.id IS NOT NULL)
  SELECT d.tenant_id AS tenantId FROM due_work d
  JOIN tenants t ON t.id = d.tenant_id AND (t.status = 'active' OR d.kind IN ('erasure', 'purge')) WHERE d.due_at <= ?1
  UNION SELECT t.id FROM telling JOIN tenants t ON t.id = telling.id AND t.status = 'active'
  UNION SELECT p.tenant_id FROM points_told p JOIN tenants t ON t.id = p.tenant_id AND t.status = 'active'
    WHERE p.due_at <= ?1`

/**
 * The tenants for whom something is due by a moment, or who have something in the outbox: active ones, and archived ones that are being erased,
 * or some of whose users are (T3, U8).
 */
export async function tenantsWithDueWork(db: AccountDatabase, by: Instant): Promise<string[]> {
  const rows = await db.rows(db.statement(OVERDUE, by))
  return z
    .array(z.object({ tenantId: z.string() }))
    .parse(rows)
    .map(({ tenantId }) => tenantId)
}

// Ticks begin anew otherwise (P4); deadlines of streaks and years of changes are found by what is in the users' rows.
const HASTEN = `UPDATE due_work SET due_at = ?1, asked = asked + 1
  WHERE kind NOT IN ('ticks', 'streaks', 'spreads') AND due_at > ?1`

/** Has all leaderboards looked after, walks over users gone on with, and what comes at times of the day found anew, by a moment: for when the clock went back (C1). */
export function hasten(db: AccountDatabase, by: Instant): D1PreparedStatement {
  return db.statement(HASTEN, by)
}

/** The row of a tenant's ticks in the table of what is due; nothing is due where `dueAt` is null. */
export type TicksRow = { dueAt: Instant | null; progress: string | null }
