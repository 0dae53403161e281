import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { type Instant, instant } from '../lib/clock'
import type { FixedSql, Statement, TenantDatabase } from '../platform/database'
import { guardSql } from '../platform/guard'
import type { DueKind, TenantStatus } from './kinds'

/*
 * All SQL of the table of due work is in this folder; no other file names the table. Kinds are parameters, so
 * that these files know no kind. If a statement needs other tables, the caller passes SQL for them that is a
 * constant (`FixedSql`). In that SQL, as in this file, the tenant is ?1.
 */

/**
 * Due work. This table is the truth, and the Timekeepers' alarms only follow it. A row is written in the
 * batch that stores its reason. WITHOUT ROWID.
 */
export const dueWork = sqliteTable(
  'due_work',
  {
    tenantId: text('tenant_id').notNull(),
    kind: text('kind').$type<DueKind>().notNull(),
    /**
     * The subject of the work, such as an id; the kind defines its form. Empty if a tenant has the kind only
     * once.
     */
    subject: text('subject').notNull(),
    /** In milliseconds, by the service's clock. */
    dueAt: integer('due_at').notNull(),
    /**
     * How often the work was asked for. If this has changed after a step, the work was asked for again
     * meanwhile.
     */
    asked: integer('asked').notNull().default(0),
    /** JSON: the progress of the work; null if it has not begun. */
    progress: text('progress'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.kind, table.subject] })],
)

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

const SOONER = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at) SELECT id, ?2, ?3, ?4 FROM tenants WHERE id = ?1
    AND status = 'active'
  ON CONFLICT DO UPDATE SET due_at = min(due_at, excluded.due_at), asked = asked + 1`

// The test clock may have moved since the request read it.
const ONCE = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at)
  SELECT id, ?2, ?3, coalesce((SELECT now FROM test_clock WHERE ?5), ?4) FROM tenants WHERE id = ?1
    AND status = ?6 ON CONFLICT DO NOTHING`

/** When a piece of work is to be due. */
type Schedule = { at: Instant; subject?: string }

/**
 * Schedules work. Part of the batch that stores the reason. `on` says what happens if the work is scheduled
 * already:
 *
 * - `sooner`: it is due at the earlier moment. A step that is under way does not end it.
 * - `once`: it stays as it is. New work is due at `at`, or at the time that a test clock shows when this is
 *   stored.
 *
 * A tenant gets work only in the status `during`: objects may ask for it at any time.
 */
export function schedule(
  db: TenantDatabase,
  kind: DueKind,
  {
    at,
    subject = '',
    on = 'sooner',
    during = 'active',
  }: Schedule & ({ on?: 'sooner'; during?: 'active' } | { on: 'once'; during?: TenantStatus }),
): Statement {
  const work = [db.tenantId, kind, subject, at] as const
  return on === 'sooner'
    ? db.statement(SOONER, ...work)
    : db.statement(ONCE, ...work, db.testClock ? 1 : 0, during)
}

/**
 * The statement of `scheduleForUsers`, by the name under which a change of the configuration notes it for the
 * other databases (B4). ?6: whether it begins again. ?7: a patch of its progress, or null.
 */
export const WORK_EVERYWHERE = {
  scheduleForUsers: `
  INSERT INTO due_work (tenant_id, kind, subject, due_at, progress) VALUES (?1, ?2, ?3, ?4, ?5)
  ON CONFLICT DO UPDATE SET asked = asked + 1, due_at = iif(?6, excluded.due_at, min(due_at, excluded.due_at)),
    progress = iif(?6, excluded.progress, coalesce(json_patch(progress, ?7), progress))`,
} as const

/**
 * Schedules work on users. As part of a change of the configuration, it is scheduled in each database of the
 * tenant (B4). `on` says what happens if the work is scheduled already:
 *
 * - `sooner`: it is due at the earlier moment, and `patch` (RFC 7396) is merged into its progress, if it has
 *   any. New work begins with the progress `begun`.
 * - `again`: it begins again at `at`, also if it is under way.
 */
export function scheduleForUsers(
  { tenantId }: TenantDatabase,
  kind: DueKind,
  {
    at,
    subject = '',
    on,
    begun,
    patch,
  }: Schedule &
    ({ on: 'sooner'; begun?: object; patch?: object } | { on: 'again'; begun?: never; patch?: never }),
): Statement {
  const json = (value: object | undefined) => (value === undefined ? null : JSON.stringify(value))
  return {
    sql: WORK_EVERYWHERE.scheduleForUsers,
    params: [tenantId, kind, subject, at, json(begun), on === 'again' ? 1 : 0, json(patch)],
    everywhere: 'scheduleForUsers' satisfies keyof typeof WORK_EVERYWHERE,
  }
}

/**
 * Schedules one piece of work for each row of a query of other tables. Work that exists begins again. The
 * query returns `subject` and `progress` (JSON). `more` are its parameters, from ?4 on.
 */
export function scheduleEach<const T extends string>(
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
 * Schedules work that a tenant has only once, and whose job calls `followEarliest`. So it may be scheduled
 * often: it writes a row only if the work was not due by then. `earliest` is SQL: the moment, or null, and
 * then nothing is scheduled. `more` are its parameters, from ?3 on.
 */
export function scheduleEarliest<const T extends string>(
  db: TenantDatabase,
  kind: DueKind,
  earliest: T & FixedSql<T>,
  ...more: readonly unknown[]
): Statement {
  const sql = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at) SELECT id, ?2, '', ${earliest} FROM tenants
  WHERE id = ?1 AND status = 'active' AND ${earliest} IS NOT NULL
  ON CONFLICT DO UPDATE SET due_at = excluded.due_at, asked = asked + 1 WHERE due_at > excluded.due_at`
  return db.statement(sql, db.tenantId, kind, ...more)
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

// -- Read due work --

/** A subquery: when the work of the kind ?2 and the subject ?3 is due. Null if it does not exist. */
export const DUE_AT = '(SELECT due_at FROM due_work WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3)'

/**
 * A subquery: when the first work of some kinds is due. Null if there is none. `kinds` is a list of
 * parameters, such as `?5, ?6`.
 */
export const firstDueOf = (kinds: string): string =>
  `(SELECT min(due_at) FROM due_work WHERE tenant_id = ?1 AND kind IN (${kinds}))`

const OF_KIND = `
  SELECT kind, subject, due_at AS dueAt, asked, progress FROM due_work
  WHERE tenant_id = ?1 AND kind = ?2 AND subject = coalesce(?3, subject) ORDER BY subject LIMIT 1`

/**
 * The tenant's work of a kind on a subject, with any due time; undefined if there is none. Without `subject`
 * it is the first in order of subjects.
 */
export async function workOf(
  db: TenantDatabase,
  kind: DueKind,
  subject: string | null = null,
): Promise<DueWork | undefined> {
  const [work] = z.array(DueRow).parse(await db.rows(db.statement(OF_KIND, db.tenantId, kind, subject)))
  return work
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

const SET_ASKED = `
  UPDATE due_work SET asked = ?4 WHERE tenant_id = ?1 AND kind = ?2 AND subject = ?3`

/** Stores how often a piece of work was asked for. */
export function setAsked(db: TenantDatabase, { kind, subject }: Piece, asked: number): Statement {
  return db.statement(SET_ASKED, db.tenantId, kind, subject, asked)
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
