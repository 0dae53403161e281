import {
  type Attribute,
  attributeByKey,
  type Configuration,
  living,
  metricByKey,
  NO_PREFERENCES,
  type Preferences,
  type StreakSettings,
} from '../configuration/model'
import type { Instant } from '../lib/clock'
import type { Micros } from '../lib/decimal'
import { ApiError, type FieldError, throwIfInvalid } from '../lib/errors'
import { type CivilDate, dateOfDay, dayIn } from '../lib/zone'
import { NO_PROFILE, NOTHING_REVOKED, type Profile, type UserState } from './state'
import { NO_STREAK } from './streaks/streak-state.rules'

/** The fields of a user that a call passes. Undefined fields stay, null clears (U2). */
export type ProfileChange = {
  email?: string | undefined
  name?: string | undefined
  tz?: string | null | undefined
  subscribeToEmails?: boolean | undefined
  deviceTokens?: readonly string[] | null | undefined
  /** Values by attribute key. Null removes the value. */
  attributes?: ReadonlyMap<string, string | null> | undefined
  signUpDate?: CivilDate | null | undefined
}

/** The fields of a user that may be invalid although their shapes are right. */
export type ProfileCheck = Pick<ProfileChange, 'email' | 'tz' | 'subscribeToEmails' | 'signUpDate'> & {
  attributes?: ReadonlyMap<string, unknown> | undefined
}
/** The author of a change of a user: an admin key, or the user's own key (K7). */
export type Actor = 'admin' | 'user'

/** Changes a map by attribute key into a map by attribute id. Skips keys that are not configured. */
export function resolveAttributes<V>(
  config: Configuration,
  type: Attribute['type'],
  values: ReadonlyMap<string, V>,
): ReadonlyMap<string, V> {
  const resolved = new Map<string, V>()
  for (const [key, value] of values) {
    const attribute = attributeByKey(config, type, key)
    if (attribute !== undefined) resolved.set(attribute.id, value)
  }
  return resolved
}

/** One field error for all keys without a configured attribute of that type (U4, E6), or none. */
export function unknownAttributes(
  config: Configuration,
  type: Attribute['type'],
  values: ReadonlyMap<string, unknown> | undefined,
): FieldError[] {
  const unknown = [...(values?.keys() ?? [])].filter((key) => attributeByKey(config, type, key) === undefined)
  if (unknown.length === 0) return []
  const message = `Invalid attribute keys: ${unknown.join(', ')}. Attribute keys must match those configured for ${type}s`
  return [{ path: '', message }]
}

/** `at` is the path of the profile in the body, such as `user.` (U4). */
const subscriptionError = (at: string): FieldError => ({
  path: `${at}subscribeToEmails`,
  message: 'this user has no email address to subscribe. Pass email too, or leave this out',
})

/** The stored fields of a user that decide whether passed ones are valid. */
export type StoredFields = Pick<Profile, 'email' | 'tz' | 'signUpDate'>

/** Whether the stored fields of a user decide whether these are valid. */
export const dependsOnStored = ({ email, subscribeToEmails, signUpDate }: ProfileCheck): boolean =>
  (subscribeToEmails === true && email === undefined) || typeof signUpDate === 'string'

/** The errors of passed fields by the stored ones: the address (U4), and the date of signing up (U9). */
export function storedErrors(
  stored: StoredFields,
  { email, tz, subscribeToEmails, signUpDate }: ProfileCheck,
  at: string,
  now: Instant,
): FieldError[] {
  const today = dateOfDay(dayIn(tz === undefined ? stored.tz : tz, now))
  const isLater = (signUpDate ?? '') > today && signUpDate !== stored.signUpDate
  return [
    ...(subscribeToEmails === true && (email ?? stored.email) === null ? [subscriptionError(at)] : []),
    ...(isLater
      ? [{ path: `${at}signUpDate`, message: `must not be after the user's today, ${today}` }]
      : []),
  ]
}

/** The field errors of a passed user that are not about shapes (U4). `state` is null if there is no user. */
export const profileErrors = (
  config: Configuration,
  state: UserState | null,
  passed: ProfileCheck,
  at: string,
  now: Instant,
): FieldError[] => [
  ...unknownAttributes(config, 'user', passed.attributes),
  ...storedErrors(state?.profile ?? NO_PROFILE, passed, at, now),
]

/**
 * The passed fields that the actor may not change (K7): the keys of attributes that only admins may set, and
 * `signUpDate` (U9). Null is the value of a field that the user does not have.
 */
function forbidden(
  config: Configuration,
  state: UserState | null,
  { attributes = new Map(), signUpDate }: ProfileChange,
  by: Actor,
): { keys: readonly string[]; fields: readonly 'signUpDate'[] } {
  if (by === 'admin') return { keys: [], fields: [] }
  const { profile } = state ?? { profile: NO_PROFILE }
  const keys = [...attributes].flatMap(([key, value]) => {
    const attribute = attributeByKey(config, 'user', key)
    if (attribute?.writableBy !== 'admin') return []
    return value === (profile.attributes.get(attribute.id) ?? null) ? [] : [key]
  })
  return { keys, fields: signUpDate === undefined || signUpDate === profile.signUpDate ? [] : ['signUpDate'] }
}

/** The names of these fields, for a message. */
export function forbiddenFields(...given: Parameters<typeof forbidden>): string[] {
  const { keys, fields } = forbidden(...given)
  return [...keys, ...fields]
}

/** The passed user without the fields that the actor may not change. The response says so (K7). */
export function withoutForbidden(
  config: Configuration,
  state: UserState | null,
  passed: ProfileChange,
  by: Actor,
): ProfileChange {
  const { keys, fields } = forbidden(config, state, passed, by)
  const attributes = new Map([...(passed.attributes ?? [])].filter(([key]) => !keys.includes(key)))
  return { ...passed, attributes, ...(fields.length > 0 && { signUpDate: undefined }) }
}

/** The user with valid passed fields: new if `state` is null (U6), the same if nothing changes (U3). */
export function applyProfile(
  config: Configuration,
  state: UserState | null,
  passed: ProfileChange,
  { userId, at, newId }: { userId: string; at: Instant; newId: (at: Instant) => string },
): UserState {
  const given = passed.attributes ?? new Map<string, string | null>()
  const attributes = resolveAttributes(config, 'user', given)
  const profile = merge(state?.profile ?? NO_PROFILE, passed, attributes, config.attributes)
  if (state !== null) return sameProfile(state.profile, profile) ? state : { ...state, profile, updated: at }
  return {
    id: userId,
    iid: newId(at),
    seq: 0,
    changed: at,
    profile,
    control: isInControlGroup(config.tenantId, userId, config.settings.experimentation.controlRatio),
    created: at,
    updated: at,
    metrics: new Map(),
    points: new Map(),
    counters: new Map(),
    lastSeqByInput: new Map(),
    streak: NO_STREAK,
    achievements: new Map(),
    revoked: NOTHING_REVOKED,
    preferences: NO_PREFERENCES,
    activeDay: null,
    leftZones: [],
    boosts: [],
  }
}

function merge(
  profile: Profile,
  passed: ProfileChange,
  attributes: ReadonlyMap<string, string | null>,
  configured: Configuration['attributes'],
): Profile {
  const merged = new Map(profile.attributes)
  for (const [key, value] of attributes) {
    if (value === null) merged.delete(key)
    else merged.set(key, value)
  }
  return {
    email: passed.email ?? profile.email,
    name: passed.name ?? profile.name,
    tz: passed.tz === undefined ? profile.tz : passed.tz,
    subscribeToEmails: passed.subscribeToEmails ?? profile.subscribeToEmails,
    deviceTokens: passed.deviceTokens === undefined ? profile.deviceTokens : passed.deviceTokens,
    attributes: attributes.size === 0 ? profile.attributes : living(merged, configured),
    signUpDate: passed.signUpDate === undefined ? profile.signUpDate : passed.signUpDate,
  }
}

const PLAIN = ['email', 'name', 'tz', 'subscribeToEmails', 'signUpDate'] as const

function sameProfile(a: Profile, b: Profile): boolean {
  return (
    PLAIN.every((field) => a[field] === b[field]) &&
    JSON.stringify(a.deviceTokens) === JSON.stringify(b.deviceTokens) &&
    a.attributes.size === b.attributes.size &&
    [...a.attributes].every(([key, value]) => b.attributes.get(key) === value)
  )
}

/**
 * Whether a stable hash of tenant and user, as a percentage, is below the ratio (U5). It is FNV-1a with a
 * final mix, so that similar ids get very different values.
 */
export function isInControlGroup(tenantId: string, userId: string, ratio: number): boolean {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(`${tenantId}\n${userId}`))
    hash = Math.imul(hash ^ byte, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32) * 100 < ratio
}

/** The preferences that a call sets (U7). Absent fields and absent notification types stay. */
export type PreferencesChange = {
  notifications?: Preferences['notifications'] | undefined
  streak?:
    | {
        enabled?: boolean | undefined
        evaluationMode?: StreakSettings['evaluationMode'] | undefined
        metrics?: readonly { key: string; threshold: Micros }[] | undefined
        /** Null removes the user's own list (S12). */
        daysOff?: readonly number[] | null | undefined
      }
    | undefined
}

/**
 * The user with the changed preferences, or the same object if nothing changes (U7). Throws 403 for fields
 * that need customisation while it is off, and 422 for metrics that do not count for streaks.
 */
export function withPreferences(
  config: Configuration,
  user: UserState,
  { notifications, streak }: PreferencesChange,
): UserState {
  const { preferences } = user
  const own = streak === undefined ? {} : streakChange(config, streak)
  const next: Preferences = {
    notifications: { ...preferences.notifications, ...notifications },
    streak: { ...preferences.streak, ...own },
  }
  if (JSON.stringify(next) === JSON.stringify(preferences)) return user
  return { ...user, preferences: next }
}

function streakChange(
  config: Configuration,
  { enabled, ...custom }: NonNullable<PreferencesChange['streak']>,
): Partial<Preferences['streak']> {
  const { evaluationMode, metrics, daysOff } = custom
  if (!config.streaks.customizationEnabled && Object.values(custom).some((value) => value !== undefined)) {
    throw new ApiError(
      403,
      "Streaks can't be customised: leave out metrics, evaluationMode and daysOff, or switch customizationEnabled on in the streak settings.",
    )
  }
  throwIfInvalid(streakErrors(config, metrics?.map(({ key }) => key) ?? []))
  const found = metrics?.flatMap(({ key, threshold }) => {
    const metric = metricByKey(config, key)
    return metric === undefined ? [] : [{ metricId: metric.id, threshold }]
  })
  return {
    ...(enabled !== undefined && { enabled }),
    ...(evaluationMode !== undefined && { evaluationMode }),
    ...(found !== undefined && { metrics: found }),
    ...(daysOff !== undefined && { daysOff: daysOff ?? undefined }),
  }
}

/** The field errors of metrics, by key, that do not count for streaks (U7). Skips undefined keys. */
export function streakErrors(config: Configuration, metrics: readonly (string | undefined)[]): FieldError[] {
  const counting = new Set(config.streaks.metrics.map(({ metricId }) => metricId))
  const isAny = !config.metrics.some(({ id }) => counting.has(id))
  return metrics.flatMap((key, index) => {
    const metric = key === undefined ? undefined : metricByKey(config, key)
    if (key === undefined || (metric !== undefined && (isAny || counting.has(metric.id)))) return []
    const message = `${JSON.stringify(key)} is not a metric that streaks count. Take one of the streak settings' metrics`
    return [{ path: `streak.metrics.${index}.key`, message }]
  })
}
