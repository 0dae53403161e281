import { DAY, HOUR, type Instant, instant, MINUTE } from '../../lib/clock'

/** The pauses after the first, second … failed attempt, in ms. After the seventh a message is dead (W4). */
const PAUSES = [MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR] as const
/** The longest wait that a receiver can ask for, in milliseconds. */
const LONGEST = DAY

/** The furthest ahead that a message can be due, in ms: its longest wait, and the rest of its destination. */
export const FURTHEST_DELIVERY = LONGEST + HOUR

/** How long after its event's moment an undelivered message holds up later ones of the user, in ms. */
const HOLD = HOUR

/** A destination rests for `REST` ms after this many failed attempts in a row, of any messages. */
const MOST_FAILURES = 20
const REST = 5 * MINUTE
/** The longest rest that a receiver can ask for, in milliseconds. */
export const MOST_REST = HOUR
/** During a rest, messages that are pending for longer, in ms, are given up: the backlog is bounded. */
const OLD = DAY

/** When a message whose last of `tries` attempts failed at `at` is tried again. Null: it is dead (W4). */
export function retryAt(tries: number, at: Instant, retryAfter = 0): Instant | null {
  const pause = PAUSES[tries - 1]
  return pause === undefined ? null : instant(at + Math.ceil(Math.max(pause, Math.min(retryAfter, LONGEST))))
}

/** Until when a message of the moment `at` that has not arrived holds up later ones of its user. */
export const heldUntil = (at: number): Instant => instant(at + HOLD)

/** Messages with this moment or an earlier one hold up nothing. */
export const heldSince = (now: Instant): Instant => instant(now - HOLD)

/**
 * The health of a destination. `failures` counts failed attempts since the last success. During a rest,
 * `probeAt` is when one message is tried, to see whether the destination works again. `restedUntil` is the
 * end of the last rest; messages that waited for it were not due earlier. A receiver has asked to rest until
 * `askedUntil`.
 */
export type Health = {
  failures: number
  probeAt: Instant | null
  restedUntil: Instant | null
  askedUntil?: Instant
}

/** A destination without any attempts. */
export const HEALTHY: Health = { failures: 0, probeAt: null, restedUntil: null }

/** Whether a rest is further ahead than a rest can last. Then a test clock went back (C1). */
export const isOfAnotherTime = ({ probeAt, restedUntil }: Health, now: Instant): boolean =>
  Math.max(probeAt ?? now, restedUntil ?? now) > now + MOST_REST

/**
 * The health after an attempt has failed at a moment. After 20 failures in a row the destination rests, and
 * again after each failed probe. It also rests for `asked` milliseconds. An attempt from before the rest does
 * not end it.
 */
export function afterFailure(health: Health, at: Instant, asked = 0): Health {
  const failures = health.failures + 1
  const own = failures < MOST_FAILURES ? 0 : REST
  const askedUntil = instant(Math.max(at + Math.min(asked, MOST_REST), health.askedUntil ?? at))
  const probeAt = instant(Math.max(at + own, askedUntil, health.probeAt ?? at))
  return probeAt > at ? { ...health, failures, probeAt, askedUntil } : { ...afterRest(health, at), failures }
}

/** The health after an attempt has succeeded at a moment: a rest ends, unless the receiver asked for it. */
export function afterSuccess(health: Health, at: Instant): Health {
  const { askedUntil = at } = health
  return askedUntil > at ? { ...health, failures: 0, probeAt: askedUntil } : afterRest(health, at)
}

function afterRest({ probeAt, restedUntil }: Health, at: Instant): Health {
  return { failures: 0, probeAt: null, restedUntil: probeAt === null ? restedUntil : at }
}

/** Whether an endpoint fails: it rests after failures, or several messages have failed, at least a tenth. */
export const isFailing = ({ failures }: Health, tried: number, failed: number): boolean =>
  failures >= MOST_FAILURES || (failed > 1 && failed * 10 >= tried)

/** Whether a message is given up: it is pending for over a day, and its destination keeps failing. */
export const isGivenUp = ({ failures, probeAt }: Health, since: number, now: Instant): boolean =>
  probeAt !== null && failures >= MOST_FAILURES && now - since > OLD
