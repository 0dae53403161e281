import * as z from 'zod'
import { MOST_FREEZES } from '../lib/limits'
import {
  EVALUATION_MODE_SPELLINGS,
  EVALUATION_MODES,
  NOTIFICATION_CHANNELS,
  NOTIFICATION_TYPES,
  STREAK_FREQUENCIES,
} from './enumerations'

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

const FreezeSettings = z.object({
  initial: z.number(),
  max: z.number(),
  /** Days between two automatic earnings; null if freezes are never earned. */
  autoEarnInterval: z.number().nullable(),
  autoEarnAmount: z.number(),
  /** Freezes are earned by these settings from then on (ms). Earlier time gives and takes back none (S1). */
  since: z.number(),
})
/** How users get freezes (S7). */
export type FreezeSettings = z.infer<typeof FreezeSettings>

const StreakSettings = z.object({
  enabled: z.boolean(),
  /**
   * The times in which streaks were off, in milliseconds, the newest last. Periods that ended in these times
   * are not evaluated (S1). The last one has no end while streaks are off.
   */
  off: z.array(z.object({ from: z.number(), to: z.number().nullable() })).readonly(),
  frequency: z.enum(STREAK_FREQUENCIES),
  /** Counts the changes of the frequency. Streaks of an earlier frequency must be counted again (S9). */
  epoch: z.number(),
  /** Thresholds in millionths. If there are none, any positive event counts. */
  metrics: z.array(z.object({ metricId: z.string(), threshold: z.number() })).readonly(),
  evaluationMode: z.enum(EVALUATION_MODES),
  personalisation: z.boolean(),
  /** The moment of the last change of the goal of a period, in milliseconds (S2). */
  goalSince: z.number().default(0),
  freezes: FreezeSettings.nullable(),
})
/** A tenant's streak settings (S1). */
export type StreakSettings = z.infer<typeof StreakSettings>

/** The settings if none were ever set (S1). */
const DEFAULT_STREAKS: StreakSettings = {
  enabled: true,
  off: [],
  frequency: 'daily',
  epoch: 0,
  metrics: [],
  evaluationMode: 'OR',
  personalisation: false,
  goalSince: 0,
  freezes: null,
}

/** The freeze settings if freezes are switched on without values of their own (S1). */
export const DEFAULT_FREEZES: Omit<FreezeSettings, 'since'> = {
  initial: 0,
  max: MOST_FREEZES,
  autoEarnInterval: null,
  autoEarnAmount: 1,
}

/** The schema of the settings in a tenant's row. */
export const streakSettings = z
  .string()
  .nullable()
  .transform((text): unknown => (text === null ? DEFAULT_STREAKS : JSON.parse(text)))
  .pipe(StreakSettings)
