import * as z from 'zod'
import { MomentField, optional, rule, Timestamp, withIssues } from '../../api/fields'
import { type Duration, parseDuration, signOfOversized } from '../../lib/durations'
import { MOST_CLOCK_DAYS } from '../../lib/limits'

/** Longer than any useful duration. */
const MOST_DURATION_CHARACTERS = 100

/** An ISO 8601 duration that is not negative. */
const Advance = z
  .string()
  .max(MOST_DURATION_CHARACTERS)
  .meta({ format: 'duration' })
  .transform((text, context): Duration => {
    const duration = parseDuration(text)
    if (duration !== null && duration.sign >= 0) return duration
    const sign = duration?.sign ?? signOfOversized(text)
    if (sign === null) context.addIssue('must be an ISO 8601 duration, such as P1D or PT1H30M')
    else if (sign < 0) context.addIssue('must not be negative, since the clock only moves forward')
    else context.addIssue(`must be at most ${MOST_CLOCK_DAYS} days. Move in smaller steps`)
    return z.NEVER
  })

const isGiven = (field: unknown) => field !== undefined && field !== null

/** How to move the test clock: to a moment, or by a duration (C1). */
export const MoveClockRequest = z
  .object({
    now: optional(MomentField),
    advance: optional(Advance),
  })
  .refine(
    ({ now, advance }) => isGiven(now) || isGiven(advance),
    rule('now', 'must be an ISO 8601 timestamp, and is missing. Pass it, or advance instead'),
  )
  .refine(
    ({ now, advance }) => !isGiven(now) || !isGiven(advance),
    rule('advance', 'must not be passed together with now. Pass one of the two'),
  )
  .meta({ id: 'MoveClockRequest' })

/** The service's time (C1). */
export const ClockResponse = z.object({ now: Timestamp }).meta({ id: 'ClockResponse' })

/** The time after a move. */
export const MovedClock = withIssues('MovedClock', ClockResponse)
