import type * as z from 'zod'
import { moveTestClock, removeTestClock } from '../../access/clock.repository'
import { hasten } from '../../jobs/due-work.repository'
import { catchUpAll, wakeAll } from '../../jobs/timekeeper.service'
import { type Instant, iso } from '../../lib/clock'
import { later } from '../../lib/durations'
import { refusals } from '../../lib/errors'
import { systemNow } from '../../lib/system-clock'
import { shortenQuiet } from '../../outbox/points-notifications.repository'
import type { AccountScope } from '../../runtime/context'
import { restartTriggers } from '../points/ticks/schedule.service'
import { forgetSums } from '../summaries/day-sums.service'
import { type ClockResponse, MOST_DAYS_AHEAD, type MoveClockRequest } from './clock.schemas'

const DAY = 86_400_000

type Clock = z.infer<typeof ClockResponse>

/** Throws 404 unless the test clock is on: without it, its paths don't exist (C1). */
export function requireTestClock({ variables }: AccountScope): void {
  if (variables.TEST_CLOCK !== 'on') throw refusals.noSuchPath()
}

/** The service's time (C1). */
export function readClock({ now }: AccountScope): Clock {
  return { now: iso(now) }
}

/**
 * Moves the test clock forward, to a moment or by a duration, and answers when everything is done that falls due on the way (C1). Throws 422
 * if the move is backward, also as seen after a parallel one, or too far.
 */
export async function moveClock(
  scope: AccountScope,
  { now: moment, advance }: z.output<typeof MoveClockRequest>,
): Promise<Clock> {
  const { db, now } = scope
  const field = advance === undefined ? 'now' : 'advance'
  const to = advance === undefined ? (moment ?? now) : later(now, advance)
  if (to === null || to - now > MOST_DAYS_AHEAD * DAY) {
    throw refusals.unprocessable(
      `${field}: must be at most ${MOST_DAYS_AHEAD} days ahead of the present ${iso(now)}. Move in smaller steps.`,
    )
  }
  if (to < now) throw backward(field, now)
  const present = await moveTestClock(db, to)
  if (present > to) throw backward(field, present)
  await catchUpAll(scope, now, to)
  return { now: iso(to) }
}

/** Returns to real time, in which time triggers begin anew (C1, P4). */
export async function resetClock(scope: AccountScope): Promise<Clock> {
  const { db } = scope
  const now = systemNow()
  await db.batch([
    ...restartTriggers(db, now),
    hasten(db, now),
    shortenQuiet(db, now),
    forgetSums(db),
    removeTestClock(db),
  ])
  await wakeAll(scope)
  return { now: iso(systemNow()) }
}

const backward = (field: string, present: Instant) =>
  refusals.unprocessable(
    `${field}: must not be before the present, ${iso(present)}. The clock only moves forward; DELETE returns to real time.`,
  )
