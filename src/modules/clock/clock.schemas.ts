import * as z from 'zod'
import { Timestamp } from '../../http/fields'
import { isCivilDate } from '../../shared/civil'
import { type Instant, parseIso } from '../../shared/clock'

const ISO = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/

/** An ISO 8601 timestamp that names its offset from UTC. */
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

/** Where to move the test clock (C1). */
export const MoveClockRequest = z.object({ now: Moment }).meta({ id: 'MoveClockRequest' })

/** The service's time (C1). */
export const ClockResponse = z.object({ now: Timestamp }).meta({ id: 'ClockResponse' })
