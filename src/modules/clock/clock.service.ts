import type { z } from 'zod'
import type { Scope } from '../../context'
import { refusals } from '../../errors'
import { type Instant, iso, systemNow } from '../../shared/clock'
import { moveTestClock, removeTestClock } from './clock.repository'
import type { ClockResponse } from './clock.schemas'

const DAY = 86_400_000
const MOST_DAYS_AHEAD = 400

type Clock = z.infer<typeof ClockResponse>

/** Throws 404 unless the test clock is on: without it, its paths don't exist (C1). */
export function requireTestClock({ variables }: Scope): void {
  if (variables.TEST_CLOCK !== 'on') throw refusals.noSuchPath()
}

/** The service's time (C1). */
export function readClock({ now }: Scope): Clock {
  return { now: iso(now) }
}

/**
 * Moves the test clock forward, and answers when everything is done that falls due on the way (C1). Throws 422 where the
 * move is backward, also as seen after a parallel one, or too far.
 */
export async function moveClock({ db, now }: Scope, to: Instant): Promise<Clock> {
  if (to < now) throw backward(now)
  if (to - now > MOST_DAYS_AHEAD * DAY) {
    throw refusals.unprocessable(
      `now: must be at most ${MOST_DAYS_AHEAD} days ahead of the present ${iso(now)}. Move in smaller steps.`,
    )
  }
  // What falls due up to `to` is done here, in order of due time, each with the clock at its own due time.
  const present = await moveTestClock(db, to)
  if (present > to) throw backward(present)
  return { now: iso(to) }
}

/** Returns to real time (C1). */
export async function resetClock({ db }: Scope): Promise<Clock> {
  await removeTestClock(db)
  return { now: iso(systemNow()) }
}

const backward = (present: Instant) =>
  refusals.unprocessable(
    `now: must not be before the present, ${iso(present)}. The clock only moves forward; DELETE returns to real time.`,
  )
