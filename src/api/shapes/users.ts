import * as z from 'zod'
import { EVALUATION_MODES, NOTIFICATION_CHANNELS, NOTIFICATION_TYPES } from '../../configuration/enumerations'
import { type Configuration, Preferences } from '../../configuration/model'
import { iso } from '../../lib/clock'
import { fromMicros, MICROS_PER_UNIT, micros, toMicros } from '../../lib/decimal'
import {
  MOST_DAYS_OFF,
  MOST_DEVICE_TOKEN_CHARACTERS,
  MOST_DEVICE_TOKENS,
  MOST_NAME_CHARACTERS,
  MOST_STREAK_METRICS,
  MOST_THRESHOLD,
} from '../../lib/limits'
import type { UserState } from '../../rules/state'
import {
  DateResponse,
  Email,
  NullableAttributeMap,
  optional,
  ReadableAttributes,
  readable,
  SignUpDate,
  Timestamp,
  TimeZone,
  text,
  UserId,
  wholeNumber,
} from '../fields'

/**
 * The fields of a user that identify and update pass. src/api/fields.ts has the shapes of single fields
 * (U1). Absent fields stay, and null clears `tz`, `deviceTokens` and `signUpDate` (U2, U9). Empty form fields
 * send `""` for `email` and `tz`, which counts as absent, and browsers `Etc/Unknown` (U1).
 */
export const UpdatedUser = z
  .object({
    email: optional(Email).transform((email) => email || undefined),
    name: optional(text(MOST_NAME_CHARACTERS)),
    tz: TimeZone.nullish().transform((tz) => (tz === '' ? undefined : tz)),
    deviceTokens: z.array(text(MOST_DEVICE_TOKEN_CHARACTERS)).max(MOST_DEVICE_TOKENS).nullish(),
    subscribeToEmails: optional(z.boolean()),
    attributes: optional(NullableAttributeMap),
    signUpDate: SignUpDate.nullish(),
  })
  .meta({ id: 'UpdatedUser' })

/** The user of an event or of a create. An unknown user is created (U2). */
export const UpsertedUser = UpdatedUser.extend({ id: UserId }).meta({ id: 'UpsertedUser' })

/** A user as served. */
export const User = z
  .object({
    id: z.string(),
    email: z.string().nullable(),
    name: z.string().nullable(),
    tz: z.string().nullable(),
    deviceTokens: z.array(z.string()).nullable().optional(),
    subscribeToEmails: z.boolean(),
    attributes: z.record(z.string(), z.string()),
    signUpDate: DateResponse.nullable(),
    control: z.boolean(),
    created: Timestamp,
    updated: Timestamp,
  })
  .meta({ id: 'User' })

/** What can be read of a user of a wrong shape, so that one 422 names more errors (G3). Never stored. */
export const ReadableUser = readable({
  id: UserId.optional().catch(undefined),
  email: z
    .string()
    .optional()
    .catch(undefined)
    .transform((email) => email || undefined),
  tz: UpdatedUser.shape.tz.catch(undefined),
  subscribeToEmails: z.boolean().optional().catch(undefined),
  attributes: ReadableAttributes,
  signUpDate: SignUpDate.nullish().catch(undefined),
})

/** A user as served, with the values of the attributes that are configured now. */
export function userResponse(config: Configuration, user: UserState): z.infer<typeof User> {
  const { id, profile, control, created, updated } = user
  return {
    id,
    email: profile.email,
    name: profile.name,
    tz: profile.tz,
    deviceTokens: profile.deviceTokens === null ? null : [...profile.deviceTokens],
    subscribeToEmails: profile.subscribeToEmails,
    attributes: Object.fromEntries(
      config.attributes.flatMap((attribute) => {
        const value = profile.attributes.get(attribute.id)
        return value === undefined ? [] : [[attribute.key, value]]
      }),
    ),
    signUpDate: profile.signUpDate,
    control,
    created: iso(created),
    updated: iso(updated),
  }
}

const NotificationChannel = z.enum(NOTIFICATION_CHANNELS).meta({ id: 'NotificationChannel' })

const Channels = z.array(NotificationChannel).transform((channels) => [...new Set(channels)])

/** Channels by type. An empty list disables a type (U7). An unknown type is a validation error. */
const NotificationPreferences = z
  .strictObject(
    {
      achievement_completed: optional(Channels),
      recap: optional(Channels),
      reactivation: optional(Channels),
      streak_reminder: optional(Channels),
    },
    { error: (issue) => (issue.code === 'unrecognized_keys' ? unknownTypes(issue.keys) : undefined) },
  )
  .transform((given) => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)))

const unknownTypes = (keys: readonly string[]) =>
  `must contain only ${NOTIFICATION_TYPES.join(', ')}, but contains ${keys.join(', ')}`

/** A threshold, in millionths (E1): one at least. */
const Threshold = z
  .number()
  .min(1 / MICROS_PER_UNIT)
  .max(MOST_THRESHOLD)
  .transform(toMicros)

const Keyed = z.object({ key: z.string() })

function keyIn(item: unknown): string | undefined {
  const { success, data } = Keyed.safeParse(item)
  return success ? data.key : undefined
}

/** The metrics that count for streaks, each once, with the threshold for a period. */
export const StreakMetrics = z
  .array(z.object({ key: z.string(), threshold: Threshold }))
  .max(MOST_STREAK_METRICS)
  .refine((list) => new Set(list.map(keyIn)).size === list.length, {
    error: 'must name each metric once',
    // Checked even if a metric has another field error (G3).
    when: ({ value }) => Array.isArray(value) && value.every((item) => keyIn(item) !== undefined),
  })

/** The readable keys of a list of metrics, each at its place; undefined if there is no list (G3). */
export const ReadableMetrics = z
  .unknown()
  .optional()
  .transform((given) => {
    if (given === undefined || given === null) return undefined
    return Array.isArray(given) && given.length <= MOST_STREAK_METRICS ? given.map(keyIn) : []
  })

/** How many of the metrics are needed, in a request. ALL means AND (S1). */
export const EvaluationMode = z
  .enum([...EVALUATION_MODES, 'ALL'])
  .transform((mode) => (mode === 'ALL' ? 'AND' : mode))

/** Days of the week from 0 (Sunday) to 6, so that one day always counts (S12). */
export const DaysOff = z
  .array(wholeNumber(0, 6))
  .max(MOST_DAYS_OFF)
  .refine((days) => new Set(days).size === days.length, 'must name each day once')
  .meta({ uniqueItems: true })

const StreakPreferences = z.object({
  enabled: optional(z.boolean()),
  evaluationMode: optional(EvaluationMode),
  metrics: optional(StreakMetrics),
  /** Null removes the user's own list (S12). */
  daysOff: DaysOff.nullish(),
})

/** A change of a user's preferences. Absent fields stay (U7). */
export const UpdateUserPreferencesRequest = z
  .object({ notifications: optional(NotificationPreferences), streak: optional(StreakPreferences) })
  .meta({ id: 'UpdateUserPreferencesRequest' })

/** What can be read of a change of a wrong shape, to name more errors in one 422 (G3). Never stored. */
export const ReadablePreferences = readable({
  streak: readable({ metrics: ReadableMetrics }),
})

const ChannelsResponse = z.array(NotificationChannel).optional()

/** A user's preferences. A type without an entry was never set. */
export const UserPreferencesResponse = z
  .object({
    notifications: z.object({
      achievement_completed: ChannelsResponse,
      recap: ChannelsResponse,
      reactivation: ChannelsResponse,
      streak_reminder: ChannelsResponse,
    }),
    streak: z
      .object({
        enabled: z.boolean().optional(),
        evaluationMode: z.enum(EVALUATION_MODES).optional(),
        metrics: z.array(z.object({ key: z.string(), threshold: z.number() })).optional(),
        daysOff: z.array(z.int32()).optional(),
      })
      .optional(),
  })
  .meta({ id: 'UserPreferencesResponse' })

/** A change as isolates send it to each other. */
export const PreferencesChangeMessage = z.object({
  notifications: Preferences.shape.notifications.optional(),
  streak: Preferences.shape.streak
    .extend({
      metrics: z.array(z.object({ key: z.string(), threshold: z.number().transform(micros) })).optional(),
      daysOff: z.array(z.number()).nullish(),
    })
    .optional(),
})

/** A user's preferences. While customisation is off, the streak fields that need it are left out (U7). */
export function preferencesResponse(
  config: Configuration,
  { notifications, streak }: Preferences,
): z.infer<typeof UserPreferencesResponse> {
  const { customizationEnabled } = config.streaks
  const metrics = streak.metrics?.flatMap(({ metricId, threshold }) => {
    const metric = config.metrics.find(({ id }) => id === metricId)
    return metric === undefined ? [] : [{ key: metric.key, threshold: fromMicros(micros(threshold)) }]
  })
  const own = {
    ...(streak.enabled !== undefined && { enabled: streak.enabled }),
    ...(customizationEnabled &&
      streak.evaluationMode !== undefined && { evaluationMode: streak.evaluationMode }),
    ...(customizationEnabled && metrics !== undefined && { metrics }),
    ...(customizationEnabled && streak.daysOff !== undefined && { daysOff: [...streak.daysOff] }),
  }
  const entries = Object.entries(notifications).map(([type, channels]) => [type, [...channels]])
  return {
    notifications: Object.fromEntries(entries),
    ...(Object.keys(own).length > 0 && { streak: own }),
  }
}
