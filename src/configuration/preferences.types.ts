import * as z from 'zod'
import { EVALUATION_MODE_SPELLINGS, NOTIFICATION_CHANNELS, NOTIFICATION_TYPES } from './enumerations.types'

const channels = z.array(z.enum(NOTIFICATION_CHANNELS)).readonly()

/** A user's preferences (U7), as stored. Preferences that were never set are left out. */
export const Preferences = z.object({
  notifications: z.partialRecord(z.enum(NOTIFICATION_TYPES), channels).readonly(),
  streak: z.object({
    /** On if it is left out. */
    enabled: z.boolean().optional(),
    /** In the spelling in which it was set. AND and ALL mean the same. */
    evaluationMode: z.enum(EVALUATION_MODE_SPELLINGS).optional(),
    /** Thresholds in millionths. If the list is empty, there are none. */
    metrics: z
      .array(z.object({ metricId: z.string(), threshold: z.number() }))
      .readonly()
      .optional(),
  }),
})
export type Preferences = z.infer<typeof Preferences>

/** The preferences of a user who has set none. */
export const NO_PREFERENCES: Preferences = { notifications: {}, streak: {} }
