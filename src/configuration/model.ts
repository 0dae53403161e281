import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { LEAST_ACTIVATION_DAYS, MOST_ACTIVATION_DAYS, MOST_RESOURCES } from '../lib/limits'
import type { Living } from '../platform/columns'
import {
  AGGREGATION_PERIODS,
  EVALUATION_MODES,
  FONTS,
  NOTIFICATION_CHANNELS,
  NOTIFICATION_TYPES,
  STREAK_FREQUENCIES,
} from './enumerations'
import type {
  Filter,
  LISTS,
  pointsBoosts,
  pointsLevels,
  pointsSystems,
  pointsTriggers,
  UNREAD,
} from './tables.sql.ts'
import { TRIGGER_FIELDS, type TriggerField } from './trigger-types'

const channels = z.array(z.enum(NOTIFICATION_CHANNELS)).readonly()
const weekdays = z.array(z.number()).readonly()

/** A user's preferences (U7), as stored. Preferences that were never set are left out. */
export const Preferences = z.object({
  notifications: z.partialRecord(z.enum(NOTIFICATION_TYPES), channels).readonly(),
  streak: z.object({
    /** On if it is left out. */
    enabled: z.boolean().optional(),
    evaluationMode: z.enum(EVALUATION_MODES).optional(),
    /** Thresholds in millionths. If the list is empty, there are none. */
    metrics: z
      .array(z.object({ metricId: z.string(), threshold: z.number() }))
      .readonly()
      .optional(),
    /** Days of the week, from 0 (Sunday) to 6, instead of the tenant's (S12). */
    daysOff: weekdays.optional(),
  }),
})
export type Preferences = z.infer<typeof Preferences>

/** The preferences of a user who has set none. */
export const NO_PREFERENCES: Preferences = { notifications: {}, streak: {} }

const FreezeSettings = z.object({
  startCount: z.number(),
  maxCount: z.number(),
  /** Days between two earnings, and how many are earned. Both are null if freezes are never earned. */
  autoEarnInterval: z.number().nullable(),
  autoEarnAmount: z.number().nullable(),
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
  customizationEnabled: z.boolean(),
  /** Days of the week, from 0 (Sunday) to 6, on which daily streaks need no activity (S12). */
  daysOff: weekdays,
  /**
   * Earlier lists of days off, the newest last. Each one counted until its moment (ms), and judges the dates that
   * ended by then. After a change of the frequency there are none: all dates are counted again (S9).
   */
  daysOffBefore: z
    .array(z.object({ until: z.number(), daysOff: weekdays, customizationEnabled: z.boolean() }))
    .readonly(),
  /** The moment of the last change of the goal of a period, in milliseconds (S2). */
  goalSince: z.number().default(0),
  freezes: FreezeSettings.nullable(),
})
/** A tenant's streak settings (S1). */
export type StreakSettings = z.infer<typeof StreakSettings>

const DEFAULT_STREAKS: StreakSettings = {
  enabled: true,
  off: [],
  frequency: 'daily',
  epoch: 0,
  metrics: [],
  evaluationMode: 'OR',
  customizationEnabled: false,
  daysOff: [],
  daysOffBefore: [],
  goalSince: 0,
  freezes: null,
}

const Picture = z.object({ url: z.string().meta({ format: 'uri' }) }).nullable()

/** A tenant's settings (T4, U5, I1), as they are stored and served, with what counts until they are set. */
export const Settings = z.object({
  branding: z
    .object({
      appName: z.string().default('My app'),
      appUrl: z.string().default(''),
      brandColor: z.string().default('#2563EB'),
      font: z.enum(FONTS).default('MODERN_SANS'),
      logo: Picture.default(null),
      appIcon: Picture.default(null),
    })
    .prefault({}),
  experimentation: z
    .object({
      controlRatio: z.int().min(0).max(100).default(0),
      userActivationWindow: z.int().min(LEAST_ACTIVATION_DAYS).max(MOST_ACTIVATION_DAYS).default(7),
    })
    .prefault({}),
  aggregationPeriod: z.enum(AGGREGATION_PERIODS).default('weekly'),
})
export type Settings = z.infer<typeof Settings>

/** The schema of a JSON column of a tenant's row, which is null if nothing was set. */
const stored = <S extends z.ZodType>(schema: S, fallback: z.input<S>) =>
  z
    .string()
    .nullable()
    .transform((text): unknown => (text === null ? fallback : JSON.parse(text)))
    .pipe(schema)

/** The settings in a tenant's row. */
export const storedSettings = {
  settings: stored(Settings, {}),
  streaks: stored(StreakSettings, DEFAULT_STREAKS),
}

export type { AuditKind, Filter } from './tables.sql.ts'

/** The fields of every configured resource. Times are in milliseconds. */
export type Resource = { id: string; created: number; updated: number }

/* A resource is a row of its table, which says what each field means. */

type Row<T extends SQLiteTable> = Omit<Living<T>, (typeof UNREAD)[number]>

/** The lists of a configuration, in order of creation. */
export type Lists = { [Name in keyof typeof LISTS]: readonly Row<(typeof LISTS)[Name]>[] }

export type Attribute = Lists['attributes'][number]
export type Metric = Lists['metrics'][number]
export type Level = Row<typeof pointsLevels>
export type Trigger = Row<typeof pointsTriggers>
export type Boost = Row<typeof pointsBoosts>
/** A leaderboard has its status as it was set. `statusOf` computes the present one from it and the dates. */
export type Leaderboard = Lists['leaderboards'][number]
export type Achievement = Lists['achievements'][number]
export type Webhook = Lists['webhooks'][number]
export type Template = Lists['templates'][number]

/** A points system with what it contains, in order of creation. */
export type System = Row<typeof pointsSystems> & {
  levels: readonly Level[]
  triggers: readonly Trigger[]
  /** Boosts for everyone and for attributes. A user's own boosts are read with the user. */
  boosts: readonly Boost[]
}

/** The fields that only triggers of some types have. They are null in a trigger of another type. */
export type TriggerFields = Pick<Trigger, TriggerField>

type PresentFields = { [F in TriggerField]?: NonNullable<TriggerFields[F]> }

/** A tenant's whole configuration, at one version. */
export type Configuration = Lists & {
  tenantId: string
  /** Each restore of the database raises it to a number that was never used before (M1). */
  version: number
  /** When the database was last brought back to an earlier moment, in milliseconds; 0 if never (M1). */
  epoch: number
  settings: Settings
  streaks: StreakSettings
  systems: readonly System[]
}

/**
 * Makes a check for new resources of a kind in the tenant's points systems. The check gets their number, and
 * returns why there is no room for them, or null. Users' own boosts, which only new systems have, don't count.
 */
export function roomFor(kind: 'levels' | 'triggers' | 'boosts', { systems }: Pick<Configuration, 'systems'>) {
  const all = systems.flatMap((system): readonly { id: string; userId?: string | null }[] => system[kind])
  const present = all.filter(({ userId = null }) => userId === null).length
  return (added: number): string | null =>
    present + added <= MOST_RESOURCES
      ? null
      : `There are at most ${MOST_RESOURCES} ${kind} in all points systems together. Delete some first.`
}

/** Running totals without those of deleted resources, which exist only if there are more totals. */
export function living<V>(
  totals: ReadonlyMap<string, V>,
  resources: readonly { id: string }[],
): ReadonlyMap<string, V> {
  if (totals.size <= resources.length) return totals
  const ids = new Set(resources.map(({ id }) => id))
  return new Map([...totals].filter(([id]) => ids.has(id)))
}

/** The fields that a trigger has because of its type. */
export function presentFields(trigger: Trigger): PresentFields
export function presentFields(trigger: Trigger): Record<string, TriggerFields[TriggerField]> {
  const present = TRIGGER_FIELDS[trigger.type].filter((field) => trigger[field] !== null)
  return Object.fromEntries(present.map((field) => [field, trigger[field]]))
}

/** The attribute of a type by its key, or undefined. */
export function attributeByKey(config: Configuration, type: Attribute['type'], key: string) {
  return config.attributes.find((attribute) => attribute.type === type && attribute.key === key)
}

const byKey = <R extends { key: string }>(list: readonly R[], key: string): R | undefined =>
  list.find((one) => one.key === key)

/** The metric by its key, or undefined. */
export const metricByKey = ({ metrics }: Configuration, key: string) => byKey(metrics, key)

/** The points system by its key, or undefined. */
export const systemByKey = ({ systems }: Configuration, key: string) => byKey(systems, key)

/** The leaderboard by its key, or undefined. */
export const leaderboardByKey = ({ leaderboards }: Configuration, key: string) => byKey(leaderboards, key)

/** The achievement by its key, or undefined. */
export const achievementByKey = ({ achievements }: Configuration, key: string) => byKey(achievements, key)

/** Whether values by attribute id meet all filters (P2). */
export function meets(filters: readonly Filter[], values: ReadonlyMap<string, string>): boolean {
  return filters.every(({ attributeId, attributeValue }) => values.get(attributeId) === attributeValue)
}

/** True if both count the same events (P1, A2): those of one metric, with the same filters in any order. */
export function countsTheSame(...both: readonly Pick<Trigger, 'metricId' | 'eventAttributes'>[]): boolean {
  const [before, after] = both.map(({ metricId, eventAttributes: filters }) =>
    JSON.stringify([metricId, filters.map((one) => [one.attributeId, one.attributeValue].join()).sort()]),
  )
  return before === after
}
