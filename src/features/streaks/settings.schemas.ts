import * as z from 'zod'
import { optional, readable, wholeNumber, withIssues } from '../../api/fields'
import { ReadableMetrics, StreakMetrics } from '../../api/shapes/preferences.schemas'
import { StreakFrequency } from '../../api/shapes/streak.schemas'
import { EVALUATION_MODES } from '../../configuration/enumerations.types'
import { MOST_FREEZE_INTERVAL_DAYS, MOST_FREEZES } from '../../lib/limits'

const EvaluationMode = z.enum(EVALUATION_MODES)

const FreezesChange = z.object({
  initial: optional(wholeNumber(0, MOST_FREEZES)),
  max: optional(wholeNumber(1, MOST_FREEZES)),
  /** Days; null for never. */
  autoEarnInterval: wholeNumber(1, MOST_FREEZE_INTERVAL_DAYS).nullish(),
  autoEarnAmount: optional(wholeNumber(1, MOST_FREEZES)),
})

/** A change of the settings: absent fields stay; `freezes: null` switches freezes off (S1). */
export const UpdateStreakSettingsRequest = z
  .object({
    enabled: optional(z.boolean()),
    frequency: optional(StreakFrequency),
    metrics: optional(StreakMetrics),
    evaluationMode: optional(EvaluationMode),
    personalisation: optional(z.boolean()),
    freezes: FreezesChange.nullish(),
  })
  .meta({ id: 'UpdateStreakSettingsRequest' })

/**
 * The readable fields of a change whose shape is wrong, so that one 422 can name their errors too (G3).
 * `freezes` is undefined if it can't be read. It is never stored.
 */
export const ReadableStreakSettings = readable({
  metrics: ReadableMetrics,
  freezes: FreezesChange.pick({ initial: true, max: true }).nullish().catch(undefined),
})

/** The rules of a tenant's streaks (S1). Without metrics, any event with a positive value counts. */
export const StreakSettingsResponse = z
  .object({
    enabled: z.boolean(),
    frequency: StreakFrequency,
    metrics: z.array(z.object({ key: z.string(), threshold: z.number() })),
    evaluationMode: EvaluationMode,
    personalisation: z.boolean(),
    freezes: z
      .object({
        initial: z.int32(),
        max: z.int32(),
        /** Days; null for never. */
        autoEarnInterval: z.int32().nullable(),
        autoEarnAmount: z.int32(),
      })
      .nullable(),
  })
  .meta({ id: 'StreakSettings' })

/** The settings after a change. */
export const UpdatedStreakSettings = withIssues('UpdatedStreakSettings', StreakSettingsResponse)
