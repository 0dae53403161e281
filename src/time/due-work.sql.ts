import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import type { tenants } from '../access/tenants.sql.ts'
import { type Instant, MINUTE } from '../lib/clock'
import { Moment, readingOf } from '../platform/columns'
import type { AccountDatabase, FixedSql, Statement, TenantDatabase } from '../platform/database'
import { guardSql } from '../platform/guard'

/** The kinds of due work. Each job adds its own kind in its own file, with `declare module`. */
// biome-ignore lint/suspicious/noEmptyInterface: the rooms above fill it.
export interface DueKinds {}
export type DueKind = keyof DueKinds & string

/** The status of a tenant: active, archived (T3), or being erased. */
type TenantStatus = (typeof tenants.$inferSelect)['status']

/** The data that the table of due work needs about a kind. */
export type WorkKind = {
  kind: DueKind
  /** The statuses of the tenant in which the work is done; active by default. In others it waits. */
  while?: readonly TenantStatus[]
  /**
   * When the test clock is removed, this work finds its new time by itself, so `capDueTimes` leaves it
   * unchanged. All other work is then due at once, because its stored time may be far in the future (C1).
   */
  keepsItsTime?: boolean
  /**
   * How far ahead it can be due, in ms: two hours by default, since most work is due within the hour, and clocks
   * differ. Null if there is no limit. Work that is due later is of a clock that was ahead (C3).
   */
  furthest?: number | null
}

/*
 * All SQL of the table of due work is in this folder; no other file names the table. Kinds are parameters, so
 * that these files know no kind. If a statement needs other tables, the caller passes SQL for them that is a
 * constant (`FixedSql`). In that SQL, as in this file, the tenant is ?1.
 */

/** Due work. Alarms only follow this table. A row is stored in the batch of its reason. WITHOUT ROWID. */
export const dueWork = sqliteTable(
  'due_work',
  {
    tenantId: text('tenant_id').notNull(),
    kind: text('kind').$type<DueKind>().notNull(),
    /** What the work is about, such as an id; its kind says the form. Empty if a tenant has the kind once. */
    subject: text('subject').notNull(),
    /** In milliseconds, by the service's clock. */
    dueAt: integer('due_at').notNull(),
    /** How often it was asked for. If that changed during a step, it was asked for again meanwhile. */
    asked: integer('asked').notNull().default(0),
    /** JSON: the progress of the work; null if it has not begun. */
    progress: text('progress'),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.kind, table.subject] })],
)

const READING = readingOf(dueWork, ['kind', 'subject', 'dueAt', 'asked', 'progress'])
export const DUE_COLUMNS = READING.columns('due_work')

/** A row of the table, as the statements read it. */
export const DueRow = READING.row.extend({ kind: z.string(), dueAt: Moment })

/** One piece of due work, as in D1. `progress` is JSON in a form that depends on the kind. */
export type DueWork = z.infer<typeof DueRow>

/** The state of a piece of work: when it is due (null if it does not exist), and its progress. */
export type State<P> = { dueAt: Instant | null; progress: P | null }

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
  when: Schedule & ({ on?: 'sooner'; during?: 'active' } | { on: 'once'; during?: TenantStatus }),
): Statement {
  const { at, subject = '', on = 'sooner', during = 'active' } = when
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
  when: Schedule &
    ({ on: 'sooner'; begun?: object; patch?: object } | { on: 'again'; begun?: never; patch?: never }),
): Statement {
  const { at, subject = '', on, begun, patch } = when
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

const UNDER_WAY = `
  INSERT INTO due_work (tenant_id, kind, subject, due_at) SELECT id, ?2, '', ?3 FROM tenants
  WHERE id = ?1 AND status = 'active'
  ON CONFLICT DO UPDATE SET due_at = min(due_at, excluded.due_at), asked = asked + 1
    WHERE due_at > excluded.due_at OR due_at <= ?4`

/**
 * The same for a job that reads what comes next before it stores that. So it is asked for again if it may be under
 * way at the moment `now`, by the clocks of all isolates. Else it writes a row only if the work was not due by then.
 */
export const scheduleAlsoUnderWay = (
  db: TenantDatabase,
  kind: DueKind,
  at: Instant,
  now: Instant,
): Statement => db.statement(UNDER_WAY, db.tenantId, kind, at, now + MINUTE)

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

/** A subquery: when work of some kinds is due first, or null. `kinds` is a parameter, such as `?5`: a list as JSON. */
export const firstDueOf = (kinds: string): string =>
  `(SELECT min(due_at) FROM due_work WHERE tenant_id = ?1 AND kind IN (SELECT value FROM json_each(${kinds})))`

const OF_KIND = `
  SELECT ${DUE_COLUMNS} FROM due_work
  WHERE tenant_id = ?1 AND kind = ?2 AND subject = coalesce(?3, subject) ORDER BY subject LIMIT 1`

/** The tenant's work of a kind with any due time; without `subject`, the first in order of subjects. */
export function workOf(
  db: TenantDatabase,
  kind: DueKind,
  subject: string | null = null,
): Promise<DueWork | undefined> {
  return db.find(DueRow, OF_KIND, db.tenantId, kind, subject)
}

/** The progress that is stored as JSON; null if the work has not begun. */
export function readProgress<P>(schema: z.ZodType<P>, text: string | null): P | null {
  return text === null ? null : schema.parse(JSON.parse(text))
}

/** The progress as it is stored. */
export const progressText = (progress: unknown): string | null =>
  progress === null ? null : JSON.stringify(progress)

/** The same work with its progress, as its job sees it. `progress` is the schema of the job. */
export async function findWork<P>(
  db: TenantDatabase,
  kind: DueKind,
  progress: z.ZodType<P>,
  subject: string | null = null,
): Promise<Work<P> | undefined> {
  const row = await workOf(db, kind, subject)
  return row && new Work(db, row, readProgress(progress, row.progress))
}

// -- What a step stores --

const IT = 'tenant_id = ?1 AND kind = ?2 AND subject = ?3'
const GO_ON = `
  UPDATE due_work SET due_at = coalesce(?5, due_at), progress = coalesce(?6, progress)
  WHERE ${IT} AND asked = ?4`
const PUT = `UPDATE due_work SET due_at = ?4, progress = ?5, asked = coalesce(?6, asked) WHERE ${IT}`
const END = `DELETE FROM due_work WHERE ${IT} AND asked = coalesce(?4, asked)`
const UNCHANGED = guardSql(`
  EXISTS (SELECT 1 FROM due_work WHERE ${IT} AND progress IS ?4 AND asked = coalesce(?5, asked)
    AND due_at = coalesce(?6, due_at))`)

/** A piece of due work as it was read, with the statements that a step of its job stores in its database. */
export class Work<P> {
  readonly #db: TenantDatabase
  readonly #row: DueWork
  readonly subject: string
  readonly dueAt: Instant

  /** `progress` is null if the work has not begun. */
  constructor(
    db: TenantDatabase,
    row: DueWork,
    readonly progress: P | null,
  ) {
    this.#db = db
    this.#row = row
    this.subject = row.subject
    this.dueAt = row.dueAt
  }

  /** Ends the work, unless it was asked for again meanwhile. */
  end(): Statement {
    return this.#its(END, this.#row.asked)
  }

  /** The same; but work that `put` has stored as not asked for counts from that moment on. */
  endUnlessAsked(): Statement {
    return this.#its(END, 0)
  }

  /** Makes the work due at a moment, or ends it if that is null, unless it was asked for again meanwhile. */
  goOnAt(dueAt: Instant | null): Statement {
    return dueAt === null ? this.end() : this.#its(GO_ON, this.#row.asked, dueAt, null)
  }

  /** Stores its progress, and when it is due if that changes, unless it was asked for again meanwhile. */
  goOn(progress: P, dueAt: Instant | null = null): Statement {
    return this.#its(GO_ON, this.#row.asked, dueAt, JSON.stringify(progress))
  }

  /**
   * Stores its state, also if it was asked for again meanwhile, or deletes it if nothing is due. The batch must
   * have a guard, so that no later state is overwritten. `isAsked` notes whether it was asked for.
   */
  put({ progress, dueAt }: State<P>, isAsked: boolean | null = null): Statement {
    if (dueAt === null) return this.#its(END, null)
    return this.#its(PUT, dueAt, progressText(progress), isAsked === null ? null : Number(isAsked))
  }

  after({ progress, dueAt }: { progress: P; dueAt: Instant }): Work<P> {
    return new Work(this.#db, { ...this.#row, dueAt, progress: progressText(progress) }, progress)
  }

  /** A guard: holds while the work has this progress and was not asked for again. */
  unchanged(): Statement {
    return this.#its(UNCHANGED, this.#row.progress, this.#row.asked, null)
  }

  /** A guard: holds while the work has this progress and is due at the same moment. */
  progressUnchanged(): Statement {
    return this.#its(UNCHANGED, this.#row.progress, null, this.#row.dueAt)
  }

  #its(sql: string, ...more: readonly unknown[]): Statement {
    return this.#db.statement(sql, this.#db.tenantId, this.#row.kind, this.#row.subject, ...more)
  }
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

/*
 * Some work is done in sweeps over all users. Each sweep does the work that is due in a span of time. The
 * progress has `through`, the moment up to which all is done, and `sweep`. Between two sweeps, `sweep` is
 * null. Otherwise it has `to`, the end of the span, and `skipped`, the ids of users that must be visited
 * again.
 */

/** The moment that the present sweep, or the last one, has reached. */
const REACHED = "max(progress ->> '$.through', coalesce(progress ->> '$.sweep.to', 0))"

const BETWEEN_SWEEPS = guardSql(`
  NOT EXISTS (SELECT 1 FROM due_work
    WHERE tenant_id = ?1 AND kind = ?2 AND subject = '' AND progress ->> '$.sweep.to' IS NOT NULL)`)

/** A guard: holds while no sweep is under way. For a change of the configuration: in any database (B4). */
export function betweenSweeps(db: TenantDatabase, kind: DueKind): Statement {
  return { ...db.statement(BETWEEN_SWEEPS, db.tenantId, kind), isForUsers: true }
}

const STILL_AHEAD = guardSql(`
  NOT EXISTS (SELECT 1 FROM due_work WHERE tenant_id = ?1 AND kind = ?2 AND subject = ''
    AND ${REACHED} >= ?3)`)

/** A guard: holds while no sweep has reached a moment. For a change of the configuration: in any database. */
export function stillAhead(db: TenantDatabase, kind: DueKind, at: Instant): Statement {
  return { ...db.statement(STILL_AHEAD, db.tenantId, kind, at), isForUsers: true }
}

const ADVANCE_SWEEP = `
  UPDATE due_work SET
    progress = CASE skipped WHEN '[]' THEN ?4 ELSE json_set(?6, '$.sweep.skipped', json(skipped)) END,
    due_at = CASE skipped WHEN '[]' THEN ?5 ELSE ?7 END
  FROM (
    SELECT json_group_array(asked.value ->> 0) AS skipped FROM json_each(?3) asked WHERE NOT EXISTS (
      SELECT 1 FROM users u WHERE u.tenant_id = ?1 AND u.id = asked.value ->> 0
        AND u.iid = asked.value ->> 1 AND u.seq = asked.value ->> 2))
  WHERE tenant_id = ?1 AND kind = ?2 AND subject = ''
  RETURNING due_at AS dueAt, progress`

/**
 * Advances a sweep in the batch that changes these users, before they are changed. If all of them are as they
 * were read, it stores the state `done`. Otherwise it stores `open`, and skips the users who have changed.
 * The result is the stored state, for `parseState`.
 */
export function advanceSweep(
  db: TenantDatabase,
  kind: DueKind,
  users: readonly { id: string; iid: string; seq: number }[],
  { done, open }: { done: State<object>; open: State<object> },
): Statement {
  const seen = JSON.stringify(users.map(({ id, iid, seq }) => [id, iid, seq]))
  const states = [done, open].flatMap(({ progress, dueAt }) => [progressText(progress), dueAt])
  return db.statement(ADVANCE_SWEEP, db.tenantId, kind, seen, ...states)
}

const States = z.array(DueRow.pick({ dueAt: true, progress: true }))

/** The state that `advanceSweep` has stored. */
export function parseState<P>(schema: z.ZodType<P>, result: D1Result | undefined): State<P> {
  const [state] = States.parse(result?.results)
  return { dueAt: state?.dueAt ?? null, progress: readProgress(schema, state?.progress ?? null) }
}

const IS_AHEAD = `kind = ?2 AND ${REACHED} > ?1`

/** A query of the ids of tenants with a sweep of the kind ?2 that has passed the moment ?1. */
export const TENANTS_AHEAD = `SELECT tenant_id FROM due_work WHERE ${IS_AHEAD}`

const RESTART = [
  `UPDATE due_work SET progress = NULL WHERE ${IS_AHEAD}`,
  'UPDATE due_work SET due_at = min(due_at, ?1) WHERE kind = ?2',
] as const

/** Restarts all sweeps that have passed `now`, and makes all due by then: a clock went back (C1). */
export function restartSweeps(db: AccountDatabase, kind: DueKind, now: Instant): Statement[] {
  return RESTART.map((sql) => db.statement(sql, now, kind))
}
