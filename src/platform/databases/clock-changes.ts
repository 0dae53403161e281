import * as z from 'zod'
import { errors, RETRY_AFTER } from '../../lib/errors'
import { systemNow, wait } from '../../lib/system-clock'
import { guardSql, isConflict, mayBeStored } from '../guard'
import { DATABASE_NOW, type Statement } from '../statement'
import { copyClock, settleClock } from './clock-copies'
import type { Databases } from './databases-databases'
import { FIRST } from './directory'

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
 * Prepares a change in all these databases. Returns false if another change is under way. Adds the results of
 * its statements in each database to `elsewhere`. Throws 503 if a database can't be reached.
 */
async function prepareAll(
  databases: Databases,
  places: readonly string[],
  change: ClockChange,
  elsewhere: (readonly D1Result[])[],
) {
  // One database first, so that of several changes at once exactly one goes on.
  for (const some of [places.slice(0, 1), places.slice(1)]) {
    const results = await Promise.allSettled(some.map((place) => prepareIn(databases, place, change)))
    for (const result of results)
      if (result.status === 'fulfilled' && result.value !== null) elsewhere.push(result.value)
    for (const result of results) if (result.status === 'rejected') throw result.reason
    if (results.some((result) => result.status === 'fulfilled' && result.value === null)) return false
  }
  return true
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
  const places = databases.names.filter((name) => name !== FIRST)
  if (places.length === 0) return change([], [])
  const elsewhere: (readonly D1Result[])[] = []
  for (const end = systemNow() + PATIENCE; systemNow() < end; ) {
    const [name, until] = [crypto.randomUUID(), systemNow() + LIFETIME]
    // A database that can't be reached copies it later, by `settleClock`.
    const copy = () => Promise.allSettled(places.map((place) => copyClock(databases, place, name)))
    let isSent = false
    try {
      if (await prepareAll(databases, places, { name, until, beside }, elsewhere)) {
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
