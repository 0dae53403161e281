import * as z from 'zod'
import { HOUR, type Instant } from '../lib/clock'
import { Moment } from '../platform/columns'
import type { AccountDatabase, FixedSql, Statement, TenantDatabase } from '../platform/database'
import { DUE_COLUMNS, type DueKind, DueRow, type DueWork, type WorkKind } from './due-work.sql.ts'

/* What is due next, of one tenant and of all, and what a test clock does to due work. */

/** Pairs of a tenant's status and a kind that is done in it: texts, as JSON, in the order of kinds. */
const turnsOf = (kinds: readonly WorkKind[]): string =>
  JSON.stringify(
    kinds.flatMap(({ kind, while: statuses = ['active'] }) => statuses.map((status) => `${status} ${kind}`)),
  )

const DUE = `
  SELECT ${DUE_COLUMNS} FROM due_work
  CROSS JOIN json_each(?2) turn ON turn.value = (SELECT status FROM tenants WHERE id = ?1) || ' ' || kind
  WHERE tenant_id = ?1 AND json_array(kind, subject) NOT IN (SELECT value FROM json_each(?3))
  ORDER BY due_at, turn.key, subject LIMIT 3`

/**
 * The three pieces of a tenant's work that are due first, in order of due time. At the same moment, they are
 * in the order of `kinds`. Work of other kinds waits, and so does work that is not done in the tenant's
 * present status, and `paused` work.
 */
export function nextWorkOf(
  db: TenantDatabase,
  kinds: readonly WorkKind[],
  paused: readonly { kind: string | null; subject: string | null }[],
): Promise<DueWork[]> {
  const left = paused.map(({ kind, subject }) => [kind, subject])
  return db.list(DueRow, DUE, db.tenantId, turnsOf(kinds), JSON.stringify(left))
}

// The recursion goes from tenant to tenant by the outbox's key, so the number of their rows does not matter.
const OVERDUE = `
  WITH RECURSIVE telling(id) AS (
    SELECT min(tenant_id) FROM outbox
    UNION ALL SELECT (SELECT min(o.tenant_id) FROM outbox o WHERE o.tenant_id > telling.id) FROM telling
      WHERE telling.id IS NOT NULL)
  SELECT tenantId, min(dueAt) AS dueAt FROM (
    SELECT d.tenant_id AS tenantId, d.due_at AS dueAt FROM due_work d
    JOIN tenants t ON t.id = d.tenant_id AND t.status || ' ' || d.kind IN (SELECT value FROM json_each(?2))
      WHERE d.due_at <= ?1
    UNION ALL SELECT t.id, ?1 FROM telling JOIN tenants t ON t.id = telling.id AND t.status = 'active'
    UNION ALL SELECT p.tenant_id, p.due_at FROM points_notifications p JOIN tenants t ON t.id = p.tenant_id
      AND t.status = 'active'
      WHERE p.due_at <= ?1)
  GROUP BY tenantId`

const DueTenant = z.object({ tenantId: z.string(), dueAt: Moment })

/**
 * The tenants with work that is due by a moment and is done in their present status, and the active tenants
 * with rows in the outbox or with points notifications that are due (T3, U8). `dueAt` is when the first of it
 * was due.
 */
export const tenantsWithDueWork = (db: AccountDatabase, kinds: readonly WorkKind[], by: Instant) =>
  db.list(DueTenant, OVERDUE, by, turnsOf(kinds))

/** Rows of due work that one statement reads for the state of the service. It reads their tenants too. */
const PART = 5_000
const PART_OF = `
  FROM due_work WHERE (tenant_id, kind, subject) > (?1, ?2, ?3) ORDER BY tenant_id, kind, subject`
const DUE_OF_PART = `
  SELECT count(*) FILTER (WHERE d.due_at <= ?4) AS count, min(d.due_at) FILTER (WHERE d.due_at <= ?4) AS oldest,
    coalesce(sum(d.kind = ?6 AND d.due_at <= ?7), 0) AS behind,
    coalesce(sum(d.due_at > ?4 + (?8 ->> d.kind)), 0) AS ahead
  FROM (SELECT tenant_id, kind, due_at ${PART_OF} LIMIT ${PART}) d
  JOIN tenants t ON t.id = d.tenant_id AND t.status || ' ' || d.kind IN (SELECT value FROM json_each(?5))`
const LAST_OF_PART = `SELECT tenant_id AS tenantId, kind, subject ${PART_OF} LIMIT 1 OFFSET ${PART - 1}`

const DuePart = z.object({
  count: z.number(),
  oldest: Moment.nullable(),
  behind: z.number(),
  ahead: z.number(),
})
const WorkKey = z.object({ tenantId: z.string(), kind: z.string(), subject: z.string() })

/** The key of a row of due work. */
export type WorkKey = z.infer<typeof WorkKey>

/** A part of all tenants' due work; `last` is the key of its last row, or null if no row follows. */
export type PartOfDueWork = z.infer<typeof DuePart> & { last: WorkKey | null }

/**
 * The work of all tenants that is due by now and is done in their present status (T3): how much, since when,
 * how much of the kind `late` is due for at least these milliseconds, and how much is further ahead than it can
 * be (C3). Reads 5,000 rows of the table, in the order of its key, after `after`.
 */
export async function dueWorkOfPart(
  db: AccountDatabase,
  kinds: readonly WorkKind[],
  now: Instant,
  { after, late }: { after: WorkKey | null; late: { kind: DueKind; milliseconds: number } },
): Promise<PartOfDueWork> {
  const from = [after?.tenantId ?? '', after?.kind ?? '', after?.subject ?? ''] as const
  const { due, last } = await db.batchOf({
    due: db.statement(
      DUE_OF_PART,
      ...[...from, now, turnsOf(kinds), late.kind, now - late.milliseconds, limitsOf(kinds)],
    ),
    last: db.statement(LAST_OF_PART, ...from),
  })
  return { ...DuePart.parse(due.results[0]), last: WorkKey.nullable().parse(last.results[0] ?? null) }
}

/** How far ahead work can be due, in ms, by kind, as JSON. Kinds without a limit are left out. */
const limitsOf = (kinds: readonly WorkKind[]): string =>
  JSON.stringify(
    Object.fromEntries(
      kinds.flatMap(({ kind, keepsItsTime = false, furthest = keepsItsTime ? null : 2 * HOUR }) =>
        furthest === null ? [] : [[kind, furthest]],
      ),
    ),
  )

const AHEAD = 'SELECT count(*) AS count FROM due_work WHERE due_at > ?1 + (?2 ->> kind)'

/** How much work of all tenants is due further ahead than it can be (C3). Reads the whole table. */
export async function countAhead(
  db: AccountDatabase,
  kinds: readonly WorkKind[],
  now: Instant,
): Promise<number> {
  return (await db.one(z.object({ count: z.number() }), AHEAD, now, limitsOf(kinds))).count
}

/**
 * Makes work of a kind due by a moment for each row of a query of other tables, of active tenants. The query
 * returns `tenant_id` and `subject`.
 */
export function scheduleEverywhere<const T extends string>(
  db: AccountDatabase,
  kind: DueKind,
  at: Instant,
  query: T & FixedSql<T>,
): Statement {
  const sql = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at) SELECT s.tenant_id, ?1, s.subject, ?2 FROM (${query}) s
    JOIN tenants t ON t.id = s.tenant_id AND t.status = 'active' WHERE true
  ON CONFLICT DO UPDATE SET due_at = min(due_at, excluded.due_at), asked = asked + 1`
  return db.statement(sql, kind, at)
}

const CAP_DUE_TIMES = `
  UPDATE due_work SET due_at = ?1, asked = asked + 1
  WHERE kind NOT IN (SELECT value FROM json_each(?2)) AND due_at > ?1`

/** Makes all tenants' work due by a moment, except kinds that keep their time: a clock went back (C1). */
export function capDueTimes(db: AccountDatabase, kinds: readonly WorkKind[], by: Instant): Statement {
  const kept = kinds.filter(({ keepsItsTime }) => keepsItsTime).map(({ kind }) => kind)
  return db.statement(CAP_DUE_TIMES, by, JSON.stringify(kept))
}

const SCHEDULE_ALL = `
  UPDATE due_work SET due_at = ?2
  WHERE kind = ?1 AND tenant_id IN (SELECT id FROM tenants WHERE status = 'active')`

/** Makes all work of a kind, of all active tenants, due at a moment, also if it was due earlier. */
export function scheduleAll(db: AccountDatabase, kind: DueKind, at: Instant): Statement {
  return db.statement(SCHEDULE_ALL, kind, at)
}

/** The same for work with progress that was due later. `meta.changes` is how much that was. */
export function scheduleBegun(db: AccountDatabase, kind: DueKind, at: Instant): Statement {
  return db.statement(`${SCHEDULE_ALL} AND due_at > ?2 AND progress IS NOT NULL`, kind, at)
}

const BEGIN_ALL_AGAIN = 'UPDATE due_work SET progress = NULL WHERE kind = ?1'

/** Makes all work of a kind, of all tenants, begin again. */
export function beginAllAgain(db: AccountDatabase, kind: DueKind): Statement {
  return db.statement(BEGIN_ALL_AGAIN, kind)
}
