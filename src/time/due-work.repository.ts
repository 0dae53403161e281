import * as z from 'zod'
import { type Instant, instant } from '../lib/clock'
import type { AccountDatabase, FixedSql, Statement, TenantDatabase } from '../platform/database'
import { EVERYWHERE, everywhere } from '../platform/databases/everywhere'
import { guardSql } from '../platform/guard'
import type { DueKind, TenantStatus, WorkKind } from './kinds'

/*
 * All SQL of the table of due work is here and in sweeps.repository.ts; no other file names the table. Kinds
 * are parameters, so that these files know no kind. If a statement needs other tables, the caller passes SQL
 * for them that is a constant (`FixedSql`). In that SQL, as in this file, the tenant is ?1.
 */

/** A row of the table, as the statements read it. */
export const DueRow = z.object({
  kind: z.string(),
  subject: z.string(),
  dueAt: z.number().transform(instant),
  asked: z.number(),
  progress: z.string().nullable(),
})

/** One piece of due work, as in D1. `progress` is JSON in a form that depends on the kind. */
export type DueWork = z.infer<typeof DueRow>

/** The key of a piece of work. If a tenant has only one piece of a kind, its subject is empty. */
type Piece = { kind: string; subject: string }

/** The state of a piece of work: when it is due (null if it does not exist), and its progress, as JSON. */
export type WorkState = { dueAt: Instant | null; progress: string | null }

// -- Schedule work --

/**
 * Schedules work for a moment, unless it is due earlier. Part of the batch that stores the reason. An
 * archived or erased tenant gets no due work: objects may ask for it at any time.
 */
export function makeDue(db: TenantDatabase, kind: DueKind, subject: string, at: Instant): Statement {
  return db.statement(EVERYWHERE.makeDue, db.tenantId, kind, subject, at)
}

/**
 * The same for work on users. As part of a change of the configuration, it is scheduled in each database of
 * the tenant.
 */
export const makeDueForUsers = (db: TenantDatabase, kind: DueKind, at: Instant): Statement =>
  everywhere('makeDue', db.tenantId, kind, '', at)

const MAKE_DUE_EARLIER = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at) SELECT id, ?2, '', ?3 FROM tenants WHERE id = ?1
    AND status = 'active'
  ON CONFLICT DO UPDATE SET due_at = excluded.due_at, asked = asked + 1 WHERE due_at > excluded.due_at`

/**
 * The same for a kind that a tenant has only once, and that is scheduled often: it writes a row only if the
 * work was not due by then.
 */
export function makeDueEarlier(db: TenantDatabase, kind: DueKind, at: Instant): Statement {
  return db.statement(MAKE_DUE_EARLIER, db.tenantId, kind, at)
}

/**
 * The same for a moment from other tables. `earliest` is a subquery in parentheses: the moment, or null, and
 * then nothing is scheduled.
 */
export function makeDueByEarliest<const T extends string>(
  db: TenantDatabase,
  kind: DueKind,
  earliest: T & FixedSql<T>,
): Statement {
  const sql = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at) SELECT id, ?2, '', ${earliest} FROM tenants
  WHERE id = ?1 AND status = 'active' AND ${earliest} IS NOT NULL
  ON CONFLICT DO UPDATE SET due_at = excluded.due_at, asked = asked + 1 WHERE due_at > excluded.due_at`
  return db.statement(sql, db.tenantId, kind)
}

// The test clock may have moved since the request read it.
const MAKE_DUE_NOW = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at)
  VALUES (?1, ?2, '', coalesce((SELECT now FROM test_clock WHERE ?3), ?4)) ON CONFLICT DO NOTHING`

/**
 * Schedules work for the time at which it is stored, unless it is scheduled already. `now` is real time. The
 * batch must have a guard for the tenant.
 */
export function makeDueNow(db: TenantDatabase, kind: DueKind, now: Instant): Statement {
  return db.statement(MAKE_DUE_NOW, db.tenantId, kind, db.testClock ? 1 : 0, now)
}

const MAKE_DUE_ONCE = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at) SELECT id, ?2, '', ?3 FROM tenants
  WHERE id = ?1 AND status = ?4 ON CONFLICT DO NOTHING`

/** Schedules work for a moment if the tenant has this status, unless it is scheduled already. */
export function makeDueOnce(db: TenantDatabase, kind: DueKind, at: Instant, status: TenantStatus): Statement {
  return db.statement(MAKE_DUE_ONCE, db.tenantId, kind, at, status)
}

/**
 * Schedules one piece of work for a moment for each row of a query of other tables; work that exists already
 * begins again. The query returns `subject` and `progress` (JSON). `more` are its parameters, from ?4 on.
 */
export function makeEachDueAgain<const T extends string>(
  db: TenantDatabase,
  kind: DueKind,
  at: Instant,
  query: T & FixedSql<T>,
  ...more: readonly unknown[]
): Statement {
  const sql = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at, progress) SELECT ?1, ?2, subject, ?3, progress
    FROM (${query}) WHERE true
  ON CONFLICT DO UPDATE SET due_at = min(due_at, excluded.due_at), asked = asked + 1,
    progress = excluded.progress`
  return db.statement(sql, db.tenantId, kind, at, ...more)
}

/**
 * Schedules a walk over all users for a moment. If it is under way, it starts again. Part of the batch that
 * stores the reason.
 */
export function beginWalk(db: TenantDatabase, kind: DueKind, subject: string, at: Instant): Statement {
  return everywhere('beginWalk', db.tenantId, kind, subject, at)
}

/**
 * Schedules work for a moment, unless it is due earlier. If it does not exist yet, it begins with this
 * progress.
 */
export function beginOrExpect(db: TenantDatabase, kind: DueKind, at: Instant, progress: string): Statement {
  return everywhere('beginOrExpect', db.tenantId, kind, at, progress)
}

/**
 * Schedules work for a moment, unless it is due earlier, and merges a patch (JSON, RFC 7396) into its
 * progress, if it has any.
 */
export function joinWork(db: TenantDatabase, kind: DueKind, at: Instant, patch: string): Statement {
  return everywhere('join', db.tenantId, kind, at, patch)
}

const MAKE_ALL_DUE = `
  UPDATE due_work SET due_at = ?2
  WHERE kind = ?1 AND tenant_id IN (SELECT id FROM tenants WHERE status = 'active')`

/** Makes all work of a kind, of all active tenants, due at a moment, also if it was due earlier. */
export function makeAllDue(db: AccountDatabase, kind: DueKind, at: Instant): Statement {
  return db.statement(MAKE_ALL_DUE, kind, at)
}

const MAKE_BEGUN_DUE = `
  UPDATE due_work SET due_at = ?2 WHERE kind = ?1 AND due_at > ?2 AND progress IS NOT NULL
    AND tenant_id IN (SELECT id FROM tenants WHERE status = 'active')`

/**
 * Makes all work of a kind, of all active tenants, due at a moment, if it has progress and was due later.
 * `meta.changes` is the number of these pieces of work.
 */
export function makeBegunDue(db: AccountDatabase, kind: DueKind, at: Instant): Statement {
  return db.statement(MAKE_BEGUN_DUE, kind, at)
}

// -- Read due work --

/** A subquery: when the work of the kind ?2 and the subject ?3 is due. Null if it does not exist. */
export const DUE_AT = '(SELECT due_at FROM due_work WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3)'

/**
 * A subquery: when the first work of some kinds is due. Null if there is none. `kinds` is a list of
 * parameters, such as `?5, ?6`.
 */
export const firstDueOf = (kinds: string): string =>
  `(SELECT min(due_at) FROM due_work WHERE tenant_id = ?1 AND kind IN (${kinds}))`

/**
 * All pairs of a kind and a tenant's status in which it is done, as JSON. Each pair is one text. The pairs
 * are in the order of the kinds.
 */
const turnsOf = (kinds: readonly WorkKind[]): string =>
  JSON.stringify(
    kinds.flatMap(({ kind, while: statuses = ['active'] }) => statuses.map((status) => `${status} ${kind}`)),
  )

const DUE = `
  SELECT kind, subject, due_at AS dueAt, asked, progress FROM due_work
  CROSS JOIN json_each(?2) turn ON turn.value = (SELECT status FROM tenants WHERE id = ?1) || ' ' || kind
  WHERE tenant_id = ?1 ORDER BY due_at, turn.key, subject LIMIT 3`

/**
 * The three pieces of a tenant's work that are due first, in order of due time. At the same moment, they are
 * in the order of `kinds`. Work of other kinds waits, and so does work that is not done in the tenant's
 * present status.
 */
export async function nextWorkOf(db: TenantDatabase, kinds: readonly WorkKind[]): Promise<DueWork[]> {
  return z.array(DueRow).parse(await db.rows(db.statement(DUE, db.tenantId, turnsOf(kinds))))
}

const OF_KIND = `
  SELECT kind, subject, due_at AS dueAt, asked, progress FROM due_work WHERE tenant_id = ?1 AND kind = ?2
  ORDER BY subject LIMIT 1`

/** The tenant's first work of a kind in order of subjects, with any due time; undefined if there is none. */
export async function workOf(db: TenantDatabase, kind: DueKind): Promise<DueWork | undefined> {
  const [work] = z.array(DueRow).parse(await db.rows(db.statement(OF_KIND, db.tenantId, kind)))
  return work
}

const EXISTS = 'SELECT 1 FROM due_work WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3'

/** Whether there is work of a kind on a subject, with any due time. */
export async function hasWork(db: TenantDatabase, kind: DueKind, subject: string): Promise<boolean> {
  return (await db.rows(db.statement(EXISTS, db.tenantId, kind, subject))).length > 0
}

/** The state of the work of a kind that a tenant has only once. */
export async function workState(db: TenantDatabase, kind: DueKind): Promise<WorkState> {
  const { dueAt = null, progress = null } = (await workOf(db, kind)) ?? {}
  return { dueAt, progress }
}

// The recursion goes from tenant to tenant by the outbox's key, so the number of their rows does not matter.
const OVERDUE = `
  WITH RECURSIVE telling(id) AS (
    SELECT min(tenant_id) FROM outbox
    UNION ALL SELECT (SELECT min(o.tenant_id) FROM outbox o WHERE o.tenant_id > telling.id) FROM telling
      WHERE telling.id IS NOT NULL)
  SELECT d.tenant_id AS tenantId FROM due_work d
  JOIN tenants t ON t.id = d.tenant_id AND t.status || ' ' || d.kind IN (SELECT value FROM json_each(?2))
    WHERE d.due_at <= ?1
  UNION SELECT t.id FROM telling JOIN tenants t ON t.id = telling.id AND t.status = 'active'
  UNION SELECT p.tenant_id FROM points_notifications p JOIN tenants t ON t.id = p.tenant_id
    AND t.status = 'active'
    WHERE p.due_at <= ?1`

/**
 * The tenants with work that is due by a moment and is done in their present status, and the active tenants
 * with rows in the outbox or with points notifications that are due (T3, U8).
 */
export async function tenantsWithDueWork(
  db: AccountDatabase,
  kinds: readonly WorkKind[],
  by: Instant,
): Promise<string[]> {
  const rows = await db.rows(db.statement(OVERDUE, by, turnsOf(kinds)))
  return z
    .array(z.object({ tenantId: z.string() }))
    .parse(rows)
    .map(({ tenantId }) => tenantId)
}

/** The key of a row of due work. */
export type WorkKey = { tenantId: string; kind: string; subject: string }

/** Rows of due work that one statement reads for the state of the service. It reads their tenants too. */
const PART = 5_000
const PART_OF = `
  FROM due_work WHERE (tenant_id, kind, subject) > (?1, ?2, ?3) ORDER BY tenant_id, kind, subject`
const DUE_OF_PART = `
  SELECT count(*) AS count, min(d.due_at) AS oldest,
    coalesce(sum(d.kind = ?6 AND d.due_at <= ?7), 0) AS behind
  FROM (SELECT tenant_id, kind, due_at ${PART_OF} LIMIT ${PART}) d
  JOIN tenants t ON t.id = d.tenant_id AND t.status || ' ' || d.kind IN (SELECT value FROM json_each(?5))
  WHERE d.due_at <= ?4`
const LAST_OF_PART = `SELECT tenant_id AS tenantId, kind, subject ${PART_OF} LIMIT 1 OFFSET ${PART - 1}`

const DuePart = z.object({
  count: z.number(),
  oldest: z.number().transform(instant).nullable(),
  behind: z.number(),
})
const LastRow = z.object({ tenantId: z.string(), kind: z.string(), subject: z.string() })

/** A part of all tenants' due work; `last` is the key of its last row, or null if no row follows. */
export type PartOfDueWork = z.infer<typeof DuePart> & { last: WorkKey | null }

/**
 * The work of all tenants that is due by now and is done in their present status (T3): how much, since when,
 * and how much of the kind `late` is due for at least these milliseconds. Reads 5,000 rows of the table, in
 * the order of its key, after `after`.
 */
export async function dueWorkOfPart(
  db: AccountDatabase,
  kinds: readonly WorkKind[],
  now: Instant,
  { after, late }: { after: WorkKey | null; late: { kind: DueKind; milliseconds: number } },
): Promise<PartOfDueWork> {
  const from = [after?.tenantId ?? '', after?.kind ?? '', after?.subject ?? ''] as const
  const { due, last } = await db.batchOf({
    due: db.statement(DUE_OF_PART, ...from, now, turnsOf(kinds), late.kind, now - late.milliseconds),
    last: db.statement(LAST_OF_PART, ...from),
  })
  return { ...DuePart.parse(due.results[0]), last: LastRow.nullable().parse(last.results[0] ?? null) }
}

const CAP_DUE_TIMES = `
  UPDATE due_work SET due_at = ?1, asked = asked + 1
  WHERE kind NOT IN (SELECT value FROM json_each(?2)) AND due_at > ?1`

/**
 * Makes all work of all tenants due by a moment, except kinds that keep their time. For a clock that went
 * back (C1).
 */
export function capDueTimes(db: AccountDatabase, kinds: readonly WorkKind[], by: Instant): Statement {
  const kept = kinds.filter(({ keepsItsTime }) => keepsItsTime).map(({ kind }) => kind)
  return db.statement(CAP_DUE_TIMES, by, JSON.stringify(kept))
}

// -- Store progress --

const RESCHEDULED = `
  UPDATE due_work SET due_at = ?5 WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3 AND asked = ?4`
const DONE = 'DELETE FROM due_work WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3 AND asked = ?4'

/**
 * Stores when a piece of work is due next, or deletes it if `next` is null. Does nothing if the work was
 * asked for again meanwhile.
 */
export function rescheduled(
  db: TenantDatabase,
  { kind, subject, asked }: DueWork,
  next: Instant | null,
): Statement {
  const its = [db.tenantId, kind, subject, asked] as const
  return next === null ? db.statement(DONE, ...its) : db.statement(RESCHEDULED, ...its, next)
}

const PROGRESSED = `
  UPDATE due_work SET progress = ?5 WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3 AND asked = ?4`

/** Stores the progress of a piece of work. Does nothing if the work was asked for again meanwhile. */
export function progressed(
  db: TenantDatabase,
  { kind, subject, asked }: DueWork,
  progress: string,
): Statement {
  return db.statement(PROGRESSED, db.tenantId, kind, subject, asked, progress)
}

const STORE =
  'UPDATE due_work SET progress = ?4, due_at = ?5 WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3'
const FORGET = 'DELETE FROM due_work WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3'

/**
 * Stores the state of a piece of work, even if it was asked for again meanwhile. Deletes the work if nothing
 * is due. The batch must have a guard, so that no later state is overwritten.
 */
export function storeState(
  db: TenantDatabase,
  { kind, subject }: Piece,
  { dueAt, progress }: WorkState,
): Statement {
  const its = [db.tenantId, kind, subject] as const
  return dueAt === null ? db.statement(FORGET, ...its) : db.statement(STORE, ...its, progress, dueAt)
}

/**
 * Moves the work of a kind that a tenant has only once to a moment from other tables, or deletes the work if
 * there is no such moment. `earliest` is a subquery in parentheses: the moment, or null. `more` are its
 * parameters, from ?3 on.
 */
export function followEarliest<const T extends string>(
  db: TenantDatabase,
  kind: DueKind,
  earliest: T & FixedSql<T>,
  ...more: readonly unknown[]
): Statement[] {
  const its = "tenant_id = ?1 AND kind = ?2 AND subject = ''"
  return [
    db.statement(`DELETE FROM due_work WHERE ${its} AND ${earliest} IS NULL`, db.tenantId, kind, ...more),
    // After the DELETE, the work exists only if there is such a moment.
    db.statement(`UPDATE due_work SET due_at = ${earliest} WHERE ${its}`, db.tenantId, kind, ...more),
  ]
}

const SET_ASKED = `
  UPDATE due_work SET asked = ?4 WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3`

/** Stores how often a piece of work was asked for. */
export function setAsked(db: TenantDatabase, { kind, subject }: Piece, asked: number): Statement {
  return db.statement(SET_ASKED, db.tenantId, kind, subject, asked)
}

const BEGIN_ALL_AGAIN = 'UPDATE due_work SET progress = NULL WHERE kind = ?1'

/** Makes all work of a kind, of all tenants, begin again. */
export function beginAllAgain(db: AccountDatabase, kind: DueKind): Statement {
  return db.statement(BEGIN_ALL_AGAIN, kind)
}

const UNCHANGED = guardSql(`
  EXISTS (SELECT 1 FROM due_work WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3 AND asked = ?4
    AND progress IS ?5)`)

/** A guard: holds while a piece of work has this progress and was not asked for again. */
export function workUnchanged(db: TenantDatabase, { kind, subject, asked, progress }: DueWork): Statement {
  return db.statement(UNCHANGED, db.tenantId, kind, subject, asked, progress)
}

const PROGRESS_UNCHANGED = guardSql(`
  EXISTS (SELECT 1 FROM due_work WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3 AND progress IS ?4
    AND due_at = coalesce(?5, due_at))`)

/** A guard: holds while a piece of work has this progress and, if `dueAt` is given, is due at this moment. */
export function progressUnchanged(
  db: TenantDatabase,
  { kind, subject, progress }: Piece & Pick<WorkState, 'progress'>,
  dueAt: Instant | null = null,
): Statement {
  return db.statement(PROGRESS_UNCHANGED, db.tenantId, kind, subject, progress, dueAt)
}

// -- Erase a tenant --

const REMOVE = `
  DELETE FROM due_work WHERE (tenant_id, kind, subject) IN (SELECT tenant_id, kind, subject FROM due_work
    WHERE tenant_id = ?1 AND kind NOT IN (SELECT value FROM json_each(?2)) LIMIT ?3)`

/** Deletes at most `limit` pieces of the tenant's work, but none of these kinds. */
export function removeWork(db: TenantDatabase, but: readonly DueKind[], limit: number): Statement {
  return db.statement(REMOVE, db.tenantId, JSON.stringify(but), limit)
}

const NOTHING_ELSE = guardSql(`
  NOT EXISTS (SELECT 1 FROM due_work WHERE tenant_id = ?1 AND kind <> ?2)`)

/** A guard: holds while the tenant has no work of another kind. */
export function nothingElseDue(db: TenantDatabase, kind: DueKind): Statement {
  return db.statement(NOTHING_ELSE, db.tenantId, kind)
}
