import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import type { Instant } from '../lib/clock'
import { errors } from '../lib/errors'
import { systemNow } from '../lib/system-clock'
import { json, Moment } from '../platform/columns'
import { type AccountDatabase, DATABASE_NOW, type Statement, statement } from '../platform/database'
import type { Databases } from '../platform/databases/databases'
import { FIRST } from '../platform/databases/directory'
import { changeEverywhere, prepareEach } from '../platform/databases/everywhere'
import { guardSql, isConflict } from '../platform/guard'

/** The test clock (C1): one row while it is set, none in real time. */
export const testClock = sqliteTable('test_clock', {
  id: integer('id').primaryKey(),
  now: integer('now').notNull(),
  /**
   * In a database that is not the first one: while a change of the clock is under way, until when it may be
   * stored, in milliseconds of real time. Else null (B4).
   */
  changing: integer('changing'),
  /** The random name of that change; null while none is under way. */
  change: text('change'),
  /** In the first database: the last move that goes on after its answer, as `Going`, until it is done (C1). */
  move: text('move'),
})

/*
 * Each database has a copy of the test clock, because an event reads the clock with its user (B4). A copy
 * that expects a change has the random name of that change. Only a write that names it changes the copy, so a
 * write that arrives late does nothing.
 */

const STORE = `
  UPDATE test_clock SET now = ?1, changing = NULL, change = NULL WHERE changing IS NOT NULL AND change IS ?2`
const REMOVE = 'DELETE FROM test_clock WHERE changing IS NOT NULL AND change IS ?1'
const DOUBT_COPY = `
  INSERT INTO test_clock (id, now, changing, change) VALUES (1, 0, 0, ?1)
  ON CONFLICT DO UPDATE SET changing = 0, change = excluded.change WHERE changing IS NULL`
const STATE = `
  SELECT ${DATABASE_NOW} AS real, (SELECT now FROM test_clock) AS now,
    (SELECT changing FROM test_clock) AS changing, (SELECT change FROM test_clock) AS change`

const State = z.object({
  real: z.number(),
  now: z.number().nullable(),
  changing: z.number().nullable(),
  change: z.string().nullable(),
})
type State = z.infer<typeof State>

const stateOf = (databases: Databases, name: string): Promise<State> =>
  databases.named(name).one(State, STATE)

const store = (databases: Databases, name: string, change: string | null, { now }: State) =>
  databases.named(name).run(now === null ? statement(REMOVE, change) : statement(STORE, now, change))

/** Copies the clock of the first database to another one, if that still expects this change (B4). */
const copyClock = async (databases: Databases, name: string, change: string) =>
  store(databases, name, change, await stateOf(databases, FIRST))

/**
 * If a change of the clock is under way in a database, whether it may still be stored. If it can't be, the
 * clock of the first database is copied. Also for a deployment without a test clock: the one before may have
 * had one (C1, B4).
 */
export async function settleClock(databases: Databases, name: string): Promise<'settled' | 'changing'> {
  const { changing, change } = await stateOf(databases, name)
  if (changing === null) return 'settled'
  const first = await stateOf(databases, FIRST)
  if (first.real <= changing) return 'changing'
  await store(databases, name, change, first)
  return 'settled'
}

/**
 * Compares the clock of a database with that of the first one, and copies it if they differ: the database may
 * be new, or it was not bound while the clock was changed. `changing`: a change is under way (C1, B4).
 */
export async function compareClock(databases: Databases, name: string): Promise<'settled' | 'changing'> {
  if (name === FIRST) return 'settled'
  const copy = await stateOf(databases, name)
  const first = await stateOf(databases, FIRST)
  if (copy.changing === null && copy.now !== first.now)
    await databases.named(name).run(statement(DOUBT_COPY, crypto.randomUUID()))
  return settleClock(databases, name)
}

/* Like the configuration, the clock is prepared in each copy, stored in the first, then copied (B4). */

/** The name of no change. A copy that expects it is compared with the original before the next batch. */
export const DOUBT = ''
/** The SQL of that expectation. */
export const DOUBTED = `json_object('change', '${DOUBT}', 'until', 0)`

/** How long a change may take from its preparation to its commit, in ms. */
const LIFETIME = 5_000

const PREPARE = `
  INSERT INTO test_clock (id, now, changing, change) VALUES (1, 0, ?1, ?2)
  ON CONFLICT DO UPDATE SET changing = excluded.changing, change = excluded.change WHERE changing IS NULL`
const IS_PREPARED = guardSql('(SELECT change FROM test_clock) = ?1')
const IN_TIME = guardSql(`${DATABASE_NOW} < ?1`)

const IS_CHANGING = `is_copy = 1 AND changing ->> '$.change' <> '${DOUBT}'`
const NONE_CHANGING = guardSql(`NOT EXISTS (SELECT 1 FROM tenants WHERE ${IS_CHANGING})`)
const CHANGING = `SELECT id FROM tenants WHERE ${IS_CHANGING} LIMIT 20`
const DOUBT_COPIES = `UPDATE tenants SET changing = ${DOUBTED} WHERE is_copy = 1`

/**
 * Makes the next batch to each copy of a configuration compare it with the original (C1). Raises a conflict
 * while a copy expects a change of its configuration: that change must not be forgotten (B4).
 */
export const doubtCopies = (): Statement[] => [statement(NONE_CHANGING), statement(DOUBT_COPIES)]

const WithId = z.object({ id: z.string() })

async function settleAll(databases: Databases, name: string): Promise<void> {
  if ((await settleClock(databases, name)) === 'changing') return
  const changing = await databases.named(name).list(WithId, CHANGING)
  for (const { id } of changing) await databases.settle(id, name)
}

/**
 * Changes the test clock in all databases, one change after another (C1). `change` stores it in the first
 * one, in a batch that begins with these guards. `beside` are statements for each other database; `change`
 * gets their results, also those of attempts that other changes have interrupted. Throws 503 if a database
 * can't be reached: then the clock is unchanged everywhere (B4). With one database it only calls `change`.
 */
export async function changeClocks<T>(
  databases: Databases,
  change: (guards: readonly Statement[], elsewhere: readonly (readonly D1Result[])[]) => Promise<T>,
  beside: readonly Statement[] = [],
): Promise<T> {
  const places = databases.others
  if (places.length === 0) return change([], [])
  const elsewhere: D1Result[][] = []
  const begin = async () => {
    const [name, until] = [crypto.randomUUID(), systemNow() + LIFETIME]
    const prepare = async (place: string): Promise<true | null> => {
      const db = databases.named(place)
      try {
        const guarded = [db.statement(PREPARE, until, name), db.statement(IS_PREPARED, name)]
        const results = await db.batch([...guarded, ...beside])
        elsewhere.push(results.slice(guarded.length))
        return true
      } catch (error) {
        if (!isConflict(error)) throw error
        await settleAll(databases, place)
        return null
      }
    }
    // A database that can't be reached copies it later, by `settleClock`.
    const copy = () => Promise.allSettled(places.map((place) => copyClock(databases, place, name)))
    if ((await prepareEach(places, prepare, copy)) === null) return null
    const store = () => change([statement(IN_TIME, until)], elsewhere)
    return { store, finish: copy, withdraw: copy }
  }
  return changeEverywhere(begin, () => errors.unavailable())
}

const MOVE = `
  INSERT INTO test_clock (id, now) VALUES (1, ?1)
  ON CONFLICT DO UPDATE SET now = max(now, excluded.now)
  RETURNING now`

// ?1 is the expected time, ?2 the new time. The clock is set if the table has a row. If ?1 is null, the clock
// is expected not to be set: without a row, this inserts one. With a row, the insert becomes an update, and
// `now = NULL` is never true in SQL, so nothing moves.
const MOVE_FROM = `
  INSERT INTO test_clock (id, now) SELECT 1, ?2 WHERE ?1 IS NULL OR EXISTS (SELECT 1 FROM test_clock)
  ON CONFLICT DO UPDATE SET now = excluded.now WHERE now = ?1
  RETURNING now`

const Row = z.object({ now: Moment })

/** Moves the test clock, unless it is later, and returns its time (C1). `before` belongs to the change. */
export function moveTestClock(
  databases: Databases,
  to: Instant,
  before: readonly Statement[],
): Promise<Instant> {
  const db = databases.first
  return changeClocks(databases, async (guards) => {
    const { moved } = await db.batchOf({ guards, before, moved: db.statement(MOVE, to) })
    return Row.parse(moved.results[0]).now
  })
}

/** Moves the test clock if it still shows `from` (null: not set). Returns whether it has moved (C1). */
export function moveTestClockFrom(
  databases: Databases,
  from: Instant | null,
  to: Instant,
  before: readonly Statement[],
): Promise<boolean> {
  const db = databases.first
  return changeClocks(databases, async (guards) => {
    const { moved } = await db.batchOf({ guards, before, moved: db.statement(MOVE_FROM, from, to) })
    return moved.results.length > 0
  })
}

/** The time of the test clock; null if it is not set or not permitted (C1). */
export async function readTestClock(db: AccountDatabase): Promise<Instant | null> {
  if (!db.testClock) return null
  const row = await db.find(Row, 'SELECT now FROM test_clock')
  return row?.now ?? null
}

/**
 * A move that goes on after its answer. `tenants` had work at its begin, and it was last seen at work at `seen`, in
 * real time.
 */
const Going = z.object({ from: Moment, tenants: z.number(), progress: z.number(), seen: Moment })
export type Going = z.infer<typeof Going>

const GoingRow = z.object({ move: json(Going).nullable() })

/** The move of the test clock that goes on; null if none does (C1). */
export async function readMove(db: AccountDatabase): Promise<Going | null> {
  return (await db.find(GoingRow, 'SELECT move FROM test_clock'))?.move ?? null
}

const BEGIN_MOVE = 'UPDATE test_clock SET move = ?2 WHERE now = ?1'
const NOTE_MOVE = `${BEGIN_MOVE} AND move IS NOT NULL`

/** Notes that a move to `now` goes on after its answer. A later move takes its place. */
export const beginMove = (db: AccountDatabase, now: Instant, move: Going) =>
  db.run(db.statement(BEGIN_MOVE, now, JSON.stringify(move)))

/** Notes how far the move to `now` is, or that it is done (null). Changes nothing after it was noted as done. */
export const noteMove = (db: AccountDatabase, now: Instant, move: Going | null) =>
  db.run(db.statement(NOTE_MOVE, now, move && JSON.stringify(move)))

/** Removes the test clock, so that real time counts again (C1). */
export function removeTestClock(db: AccountDatabase): Statement {
  return db.statement('DELETE FROM test_clock')
}
