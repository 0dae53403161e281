import * as z from 'zod'
import { EVALUATION_MODE_SPELLINGS, NOTIFICATION_CHANNELS, NOTIFICATION_TYPES } from './enumerations.types'

const channels = z.array(z.enum(NOTIFICATION_CHANNELS)).readonly()

/** What a user has set (U7), as stored; what was never set is left out. */
export const Preferences = z.object({
  notifications: z.partialRecord(z.enum(NOTIFICATION_TYPES), channels).readonly(),
  streak: z.object({
    /** Without it, on. */
    enabled: z.boolean().optional(),
    /** In the spelling in which it was set; AND and ALL are the same. */
    evaluationMode: z.enum(EVALUATION_MODE_SPELLINGS).optional(),
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
