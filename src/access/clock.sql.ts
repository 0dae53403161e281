import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import type { Instant } from '../lib/clock'
import { Moment } from '../platform/columns'
import type { AccountDatabase, Statement } from '../platform/database'
import { changeClocks } from '../platform/databases/copies'
import type { Databases } from '../platform/databases/databases'

/** The test clock (C1): one row while it is set, none in real time. */
export const testClock = sqliteTable('test_clock', {
  /** Always 1. */
  id: integer('id').primaryKey(),
  now: integer('now').notNull(),
  /**
   * In a database that is not the first one: while a change of the clock is under way, until when it may be
   * stored, in milliseconds of real time. Else null (B4).
   */
  changing: integer('changing'),
  /** The random name of that change; null while none is under way. */
  change: text('change'),
})

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

/**
 * Moves the test clock, unless it is already later. Returns its time (C1). `before` are statements that
 * belong to the change.
 */
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

/**
 * Moves the test clock if it still shows `from` (null: it is not set). Returns whether it has moved (C1).
 * `before` are statements that belong to the change.
 */
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
  const [row] = await db.rows(db.statement('SELECT now FROM test_clock'))
  return row === undefined ? null : Row.parse(row).now
}

/** Removes the test clock, so that real time counts again (C1). */
export function removeTestClock(db: AccountDatabase): Statement {
  return db.statement('DELETE FROM test_clock')
}
