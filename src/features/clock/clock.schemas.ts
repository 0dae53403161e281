import * as z from 'zod'
import { optional, rule, Timestamp, withIssues } from '../../http/fields'
import { isCivilDate } from '../../lib/civil'
import { type Instant, parseIso } from '../../lib/clock'
import { type Duration, parseDuration, signOfOversized } from '../../lib/durations'
import { MOST_CLOCK_DAYS } from '../../lib/limits'

const ISO = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/

/** An ISO 8601 timestamp with its offset from UTC. */
const Moment = z
  .string()
  .meta({ format: 'date-time' })
  .transform((text, context): Instant => {
    const [date] = ISO.exec(text)?.slice(1) ?? []
    const at = date !== undefined && isCivilDate(date) ? parseIso(text) : null
    if (at !== null) return at
    context.addIssue('must be an ISO 8601 timestamp with its offset, such as 2026-01-31T09:00:00Z')
    return z.NEVER
  })

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
    now: optional(Moment),
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
