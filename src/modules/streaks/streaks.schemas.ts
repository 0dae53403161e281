import { z } from 'zod'
import { DateAnswer } from '../../http/fields'

export const StreakFrequency = z.enum(['daily', 'weekly', 'monthly']).meta({ id: 'StreakFrequency' })

/** A streak: the dates are null where its length is 0, and the freeze fields only there when freezes are on (S5). */
export const BaseStreakResponse = z
  .object({
    length: z.int32(),
    frequency: StreakFrequency,
    started: DateAnswer.nullable(),
    periodStart: DateAnswer.nullable(),
    periodEnd: DateAnswer.nullable(),
    expires: DateAnswer.nullable(),
    freezes: z.int32().optional(),
    maxFreezes: z.int32().optional(),
    freezeAutoEarnInterval: z.int32().optional(),
    freezeAutoEarnAmount: z.int32().optional(),
  })
  .meta({ id: 'BaseStreakResponse' })

/** The streak in an event's answer; `extended` says whether this event extended it (S2). */
export const MetricEventStreakResponse = BaseStreakResponse.extend({ extended: z.boolean() }).meta({
  id: 'MetricEventStreakResponse',
})
