import * as z from 'zod'
import { DATABASE_NOW } from '../statement'
import type { Databases } from './databases-databases'
import { FIRST } from './directory'

/*
 * Each database has a copy of the test clock, because an event reads the clock with its user (B4). A copy
 * that expects a change has the random name of that change. Only a write that names it changes the copy, so a
 * write that arrives late does nothing.
 */

const STORE = `
  UPDATE test_clock SET now = ?1, changing = NULL, change = NULL WHERE changing IS NOT NULL AND change IS ?2`
const REMOVE = 'DELETE FROM test_clock WHERE changing IS NOT NULL AND change IS ?1'
const DOUBT = `
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
export const copyClock = async (databases: Databases, name: string, change: string): Promise<void> =>
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
    await db.run(db.statement(DOUBT, crypto.randomUUID()))
  }
  return settleClock(databases, name)
}
