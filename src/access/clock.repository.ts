import * as z from 'zod'
import type { AccountDatabase } from '../db/database'
import { type Instant, instant } from '../lib/clock'

const MOVE = `
  INSERT INTO test_clock (id, now) VALUES (1, ?1)
  ON CONFLICT DO UPDATE SET now = max(now, excluded.now)
  RETURNING now`

const Row = z.object({ now: z.number().transform(instant) })

/** Moves the test clock, unless it is already beyond that moment. Answers where it stands (C1). */
export async function moveTestClock(db: AccountDatabase, to: Instant): Promise<Instant> {
  const [row] = await db.rows(db.statement(MOVE, to))
  return Row.parse(row).now
}

/** Where the test clock stands; null where it is not set, or may not be (C1). */
export async function readTestClock(db: AccountDatabase): Promise<Instant | null> {
  if (!db.testClock) return null
  const [row] = await db.rows(db.statement('SELECT now FROM test_clock'))
  return row === undefined ? null : Row.parse(row).now
}

/** Takes the test clock away, so that real time counts (C1). */
export function removeTestClock(db: AccountDatabase): D1PreparedStatement {
  return db.statement('DELETE FROM test_clock')
}
