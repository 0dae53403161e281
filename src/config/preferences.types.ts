import * as z from 'zod'

/** What a user can be told of (N1). */
export const NOTIFICATION_TYPES = [
  'achievement_completed',
  'recap',
  'reactivation',
  'streak_reminder',
] as const

const channels = z.array(z.enum(['email', 'push'])).readonly()

/** What a user has set (U7), as stored; what was never set is left out. */
export const Preferences = z.object({
  notifications: z.partialRecord(z.enum(NOTIFICATION_TYPES), channels).readonly(),
  streak: z.object({
    /** Without it, on. */
    enabled: z.boolean().optional(),
    /** In the spelling in which it was set; AND and ALL are the same. */
    evaluationMode: z.enum(['ALL', 'AND', 'OR']).optional(),
    /** Thresholds in millionths; none where it is empty. */
    metrics: z
      .array(z.object({ metricId: z.string(), threshold: z.number() }))
      .readonly()
      .optional(),
  }),
})
export type Preferences = z.infer<typeof Preferences>

/** Those of someone who has set none. */
export const NO_PREFERENCES: Preferences = { notifications: {}, streak: {} }
