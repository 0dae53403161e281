import { z } from 'zod'
import type { Database } from '../../db/database'
import { type Instant, instant } from '../../shared/clock'

const MOVE = `
  INSERT INTO test_clock (id, now) VALUES (1, ?1)
  ON CONFLICT DO UPDATE SET now = max(now, excluded.now)
  RETURNING now`

const Row = z.object({ now: z.number().transform(instant) })

/** Moves the test clock, unless it is already beyond that moment. Answers where it stands (C1). */
export async function moveTestClock(db: Database, to: Instant): Promise<Instant> {
  const [row] = await db.rows(db.statement(MOVE, to))
  return Row.parse(row).now
}

/** Takes the test clock away, so that real time counts (C1). */
export async function removeTestClock(db: Database): Promise<void> {
  await db.batch([db.statement('DELETE FROM test_clock')])
}
