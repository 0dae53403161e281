import * as z from 'zod'
import { DAY } from '../../lib/clock'
import { errors, RETRY_AFTER } from '../../lib/errors'
import { jsonRow, packed } from '../../lib/packed'
import { systemNow, wait } from '../../lib/system-clock'
import { type AccountDatabase, DATABASE_NOW, type Statement } from '../database'
import { guardSql, isConflict, mayBeStored } from '../guard'
import type { Databases } from './databases'
import { FIRST } from './directory'
import { prepareEach } from './everywhere'

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

const stateOf = async (databases: Databases, name: string): Promise<State> => {
  const db = databases.named(name)
  return State.parse((await db.rows(db.statement(STATE)))[0])
}

const store = async (databases: Databases, name: string, change: string | null, { now }: State) => {
  const db = databases.named(name)
  await db.run(now === null ? db.statement(REMOVE, change) : db.statement(STORE, now, change))
}

/** Copies the clock of the first database to another one, if that still expects this change (B4). */
const copyClock = async (databases: Databases, name: string, change: string): Promise<void> =>
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
  if (copy.changing === null && copy.now !== first.now) {
    const db = databases.named(name)
    await db.run(db.statement(DOUBT_COPY, crypto.randomUUID()))
  }
  return settleClock(databases, name)
}

/*
 * A change of the test clock follows the same rule as a change of the configuration (copies.ts): it is
 * prepared in each copy, stored in the first database, and then copied (B4).
 */

/**
 * The name of a change that does not exist. A copy that expects it is compared with the original before the
 * next batch.
 */
export const DOUBT = ''
/** The SQL of that expectation. */
export const DOUBTED = `json_object('change', '${DOUBT}', 'until', 0)`

/** How long a change may take from its preparation to its commit, in ms. */
const LIFETIME = 5_000
/** How long a change waits for others, in ms: longer than one whose Worker has died can stay under way. */
const PATIENCE = 15_000
/** The pause while another change is under way, in ms. */
const PAUSE = 40

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
export const doubtCopies = (): Statement[] => [
  { sql: NONE_CHANGING, params: [] },
  { sql: DOUBT_COPIES, params: [] },
]

const Ids = z.array(z.object({ id: z.string() }))

/** Ends other changes in a database that can't be stored any more. */
async function settleAll(databases: Databases, name: string): Promise<void> {
  if ((await settleClock(databases, name)) === 'changing') return
  const db = databases.named(name)
  for (const { id } of Ids.parse(await db.rows(db.statement(CHANGING)))) await databases.settle(id, name)
}

/** A change of the clock: its random name, until when it may be stored, and statements for each database. */
type ClockChange = { name: string; until: number; beside: readonly Statement[] }

/** Prepares a change in one database. Returns its statements' results; null if another one is under way. */
async function prepareIn(databases: Databases, place: string, { name, until, beside }: ClockChange) {
  const db = databases.named(place)
  try {
    const results = await db.batch([
      db.statement(PREPARE, until, name),
      db.statement(IS_PREPARED, name),
      ...beside,
    ])
    return results.slice(2)
  } catch (error) {
    if (!isConflict(error)) throw error
    await settleAll(databases, place)
    return null
  }
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
  const elsewhere: (readonly D1Result[])[] = []
  for (const end = systemNow() + PATIENCE; systemNow() < end; ) {
    const [name, until] = [crypto.randomUUID(), systemNow() + LIFETIME]
    // A database that can't be reached copies it later, by `settleClock`.
    const copy = () => Promise.allSettled(places.map((place) => copyClock(databases, place, name)))
    let isSent = false
    try {
      const preparing = (place: string) => prepareIn(databases, place, { name, until, beside })
      const { prepared, isAll, error } = await prepareEach(places, preparing)
      elsewhere.push(...prepared)
      if (error !== undefined) throw error
      if (isAll) {
        isSent = true
        const result = await change([{ sql: IN_TIME, params: [until] }], elsewhere)
        await copy()
        return result
      }
    } catch (error) {
      // A change without an answer may still be stored. The copies expect it until it can't be any more.
      if (isSent && mayBeStored(error)) throw error
      // A conflict: it took too long.
      if (!isConflict(error)) {
        await copy()
        throw error
      }
    }
    await copy()
    await wait(PAUSE * (1 + Math.random()))
  }
  throw errors.unavailable(RETRY_AFTER.databaseAway)
}

/** How long deleted keys are remembered, in milliseconds. */
export const KEPT = 31 * DAY

/** How far back deleted keys are copied again, in ms: the first database's clock may go back a little. */
const MARGIN = 60_000

// The row without a prefix says up to which moment a database has all deleted keys. No key has an empty
// prefix.
const KNOWN = "SELECT at FROM deleted_keys WHERE prefix = ''"
// In two parts, so that each finds its rows by the index `deleted_keys_by_time`. The second part has old keys
// that are about to be forgotten. They are read only for a database that lacks keys of that age.
const SINCE = `
  SELECT prefix, at FROM deleted_keys WHERE dropped IS NULL AND at >= ?1 AND prefix <> ''
  UNION ALL SELECT prefix, at FROM deleted_keys WHERE dropped > 0 AND at >= ?1
    AND ?1 < ${DATABASE_NOW} - ${KEPT}`
const NOW = `SELECT ${DATABASE_NOW} AS now`
const KEEP = `
  INSERT INTO deleted_keys (prefix, at) SELECT value ->> 0, value ->> 1 FROM json_each(?1) WHERE true
  ON CONFLICT DO UPDATE SET at = excluded.at WHERE excluded.at > deleted_keys.at`
const KNOW = `
  INSERT INTO deleted_keys (prefix, at) VALUES ('', ?1) ON CONFLICT DO UPDATE SET at = excluded.at`

const Known = z.array(z.object({ at: z.number() }))
const Keys = z.array(z.object({ prefix: z.string(), at: z.number() }))
const Now = z.tuple([z.object({ now: z.number() })])

/**
 * Gives another database the deleted keys of the first one that it lacks, so that it knows all of them. A
 * database gets them before it gets its first users of a tenant, and by the cron trigger (K2, B4). Costs two
 * reads and a write.
 */
export async function fillDeletedKeys(first: AccountDatabase, other: AccountDatabase): Promise<void> {
  const [known] = Known.parse(await other.rows(other.statement(KNOWN)))
  const { keys, now } = await first.batchOf({
    keys: first.statement(SINCE, (known?.at ?? 0) - MARGIN),
    now: first.statement(NOW),
  })
  const [{ now: at }] = Now.parse(now.results)
  const rows = Keys.parse(keys.results).map((key) => jsonRow([key.prefix, key.at]))
  await other.batch([...packed(rows).map((list) => other.statement(KEEP, list)), other.statement(KNOW, at)])
}
