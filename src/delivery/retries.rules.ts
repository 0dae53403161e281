import { type Instant, instant } from '../lib/clock'
import { DAY, HOUR, MINUTE } from '../lib/units'

/** The pauses after the first, second … failed attempt, in milliseconds; after the seventh attempt a letter is dead (W4). */
const PAUSES = [MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR] as const
/** The longest that the other side can ask us to wait, in milliseconds. */
const LONGEST = DAY

/** How long a letter that has not arrived holds up the later ones about the same user, in milliseconds, counted from what it tells of. */
const HOLD = HOUR

/** Failed attempts in a row, of whatever letter, after which a destination rests, and how long each rest is in milliseconds. */
const MOST_FAILURES = 20
const REST = 5 * MINUTE
/** The age in milliseconds, since it was last made pending, at which a letter is given up while the destination rests, so that its backlog is bounded. */
const OLD = DAY

/** When a letter is tried again after so many attempts since it was last made pending, the last of which has failed at `at`; null: it is dead (W4). */
export function retryAt(tries: number, at: Instant, retryAfter = 0): Instant | null {
  const pause = PAUSES[tries - 1]
  return pause === undefined ? null : instant(at + Math.ceil(Math.max(pause, Math.min(retryAfter, LONGEST))))
}

/** Until when a letter that has not arrived holds up the later ones about the same user; `at` is the letter's. */
export const heldUntil = (at: number): Instant => instant(at + HOLD)

/** What happened at that moment or before holds up nothing any more. */
export const heldSince = (now: Instant): Instant => instant(now - HOLD)

/**
 * How a destination does: the failed attempts since the last success; while it rests, when one letter is tried to see whether that is
 * over; and when the last rest ended, before which nothing that waited for that was due.
 */
export type Health = { failures: number; probeAt: Instant | null; restedUntil: Instant | null }

/** A destination of which nothing is known. */
export const HEALTHY: Health = { failures: 0, probeAt: null, restedUntil: null }

/** Whether a destination rests, or did, further ahead of now than a rest can last: by a test clock that went back (C1). */
export const isOfAnotherTime = ({ probeAt, restedUntil }: Health, now: Instant): boolean =>
  Math.max(probeAt ?? now, restedUntil ?? now) > now + REST

/** How a destination does after an attempt has failed at a moment: after 20 in a row it rests, and each failed probe makes it rest again. */
export function afterFailure({ failures, restedUntil }: Health, at: Instant): Health {
  const isResting = failures + 1 >= MOST_FAILURES
  return { failures: failures + 1, probeAt: isResting ? instant(at + REST) : null, restedUntil }
}

/** How a destination does after an attempt has succeeded at a moment: any rest is over. */
export function afterSuccess({ probeAt, restedUntil }: Health, at: Instant): Health {
  return { failures: 0, probeAt: null, restedUntil: probeAt === null ? restedUntil : at }
}

/** Whether a letter that is pending since a moment is given up without another attempt: the destination rests, and that was a day ago. */
export const isGivenUp = ({ probeAt }: Health, since: number, now: Instant): boolean =>
  probeAt !== null && now - since > OLD
