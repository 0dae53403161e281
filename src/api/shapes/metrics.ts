import * as z from 'zod'
import { DateResponse } from '../fields'
import { UserAchievementResponse } from './achievements'

/** A user's total in a metric (0 without events), with the achievements that the metric can complete (A6). */
export const MetricResponse = z
  .object({
    id: z.string(),
    key: z.string(),
    name: z.string(),
    /** The contract no longer has this field, but older client libraries require it. */
    status: z.literal('active'),
    current: z.number(),
    achievements: z.array(UserAchievementResponse),
  })
  .meta({ id: 'MetricResponse' })

export const MetricsResponse = z.array(MetricResponse)

/**
 * The parts of an event summary, of a metric or of points: the change in each, and the running total at its
 * end (P12).
 */
export const EventSummaryResponse = z
  .array(z.object({ date: DateResponse, total: z.number(), change: z.number() }))
  .meta({ id: 'EventSummaryResponse' })
