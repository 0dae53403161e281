import * as z from 'zod'
import { errors, RETRY_AFTER } from '../../lib/errors'
import { systemNow } from '../../lib/system-clock'
import { guardSql, isDatabaseAway } from '../guard'
import type { Statement } from '../statement'
import type { Databases } from './databases'
import { FIRST } from './directory'

/*
 * Each database has a copy of the test clock, because an event reads the clock with its user. A change of the
 * clock follows the same rule as a change of the configuration (copies.ts): it is prepared everywhere, stored
 * in the first database, and then copied (B4).
 */

/** How long a change may take from its preparation to its commit, in ms. */
const LIFETIME = 5_000

const PREPARE = `
  INSERT INTO test_clock (id, now, changing) VALUES (1, 0, ?1) ON CONFLICT DO UPDATE SET changing = ?1`
const IN_TIME = guardSql("CAST(unixepoch('subsec') * 1000 AS INTEGER) < ?1")
const REMOVE = 'DELETE FROM test_clock'
const STORE = `
  INSERT INTO test_clock (id, now, changing) VALUES (1, ?1, NULL)
  ON CONFLICT DO UPDATE SET now = ?1, changing = NULL`
const STATE = `
  SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS real, (SELECT now FROM test_clock) AS now,
    (SELECT changing FROM test_clock) AS changing`

const DOUBT_COPIES = `
  UPDATE tenants SET changing = json_object('change', '', 'until', 0) WHERE is_copy = 1`

/** Makes the next batch to each copy of a configuration compare it with the original. */
export const doubtCopies = (): Statement => ({ sql: DOUBT_COPIES, params: [] })

const State = z.object({ real: z.number(), now: z.number().nullable(), changing: z.number().nullable() })

const stateOf = async (databases: Databases, name: string) => {
  const db = databases.named(name)
  return State.parse((await db.rows(db.statement(STATE)))[0])
}

/** Copies the clock of the first database to another one. */
async function copyClock(databases: Databases, name: string): Promise<void> {
  const { now } = await stateOf(databases, FIRST)
  const db = databases.named(name)
  await db.run(now === null ? db.statement(REMOVE) : db.statement(STORE, now))
}

/**
 * If a change of the clock is under way in a database, whether it may still be stored. If it can't be, the
 * clock of the first database is copied.
 */
export async function settleClock(databases: Databases, name: string): Promise<'settled' | 'changing'> {
  const [{ changing }, { real }] = [await stateOf(databases, name), await stateOf(databases, FIRST)]
  if (changing === null) return 'settled'
  if (real <= changing) return 'changing'
  await copyClock(databases, name)
  return 'settled'
}

/**
 * Changes the test clock in all databases. `change` stores it in the first one, in a batch that begins with
 * these guards. `beside` are statements for each other database; `change` gets their results in each one.
 * Throws 503 if a database can't be reached: then the clock is unchanged everywhere. With one database it
 * only calls `change`.
 */
export async function changeClocks<T>(
  databases: Databases,
  change: (guards: readonly Statement[], elsewhere: readonly (readonly D1Result[])[]) => Promise<T>,
  beside: readonly Statement[] = [],
): Promise<T> {
  const names = databases.names.filter((name) => name !== FIRST)
  if (names.length === 0) return change([], [])
  const until = systemNow() + LIFETIME
  const results = await Promise.allSettled(
    names.map(async (name) => {
      const db = databases.named(name)
      const [, ...done] = await db.batch([db.statement(PREPARE, until), ...beside])
      return done
    }),
  )
  // A database that can't be reached copies it later, by `settleClock`.
  const copy = () => Promise.allSettled(names.map((name) => copyClock(databases, name)))
  try {
    if (results.some(({ status }) => status === 'rejected'))
      throw errors.unavailable(RETRY_AFTER.databaseAway)
    const elsewhere = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const result = await change([{ sql: IN_TIME, params: [until] }], elsewhere)
    await copy()
    return result
  } catch (error) {
    // A change without an answer may still be stored. The copies expect it until it can't be any more.
    if (!isDatabaseAway(error)) await copy()
    throw error
  }
}
