import * as z from 'zod'
import { EVALUATION_MODES, STREAK_FREQUENCIES } from './enumerations.types'

const FreezeSettings = z.object({
  /** What a new user begins with. */
  initial: z.number(),
  max: z.number(),
  /** Days between two earnings; null for never. */
  autoEarnInterval: z.number().nullable(),
  autoEarnAmount: z.number(),
  /** From when freezes are earned so, in milliseconds: what was before takes nothing back and gives nothing (S1). */
  since: z.number(),
})
/** How freezes are had (S7). */
export type FreezeSettings = z.infer<typeof FreezeSettings>

const StreakSettings = z.object({
  enabled: z.boolean(),
  /** When they were off, in milliseconds, the newest last: periods that ended then are not judged (S1). The last one has no end while they are. */
  off: z.array(z.object({ from: z.number(), to: z.number().nullable() })).readonly(),
  frequency: z.enum(STREAK_FREQUENCIES),
  /** Counts the switches of the frequency: streaks of an earlier one are to be counted anew (S9). */
  epoch: z.number(),
  /** Thresholds in millionths; where there are none, any positive event counts. */
  metrics: z.array(z.object({ metricId: z.string(), threshold: z.number() })).readonly(),
  evaluationMode: z.enum(EVALUATION_MODES),
  personalisation: z.boolean(),
  freezes: FreezeSettings.nullable(),
})
/** A tenant's settings of streaks (S1). */
export type StreakSettings = z.infer<typeof StreakSettings>

/** What counts where nothing was ever set (S1). */
export const DEFAULT_STREAKS: StreakSettings = {
  enabled: true,
  off: [],
  frequency: 'daily',
  epoch: 0,
  metrics: [],
  evaluationMode: 'OR',
  personalisation: false,
  freezes: null,
}

/** The settings as a tenant's row has them. */
export const streakSettings = z
  .string()
  .nullable()
  .transform((text): unknown => (text === null ? DEFAULT_STREAKS : JSON.parse(text)))
  .pipe(StreakSettings)
