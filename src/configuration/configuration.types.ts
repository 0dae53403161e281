import type { RecapFrequency } from '../access/tenants.sql.ts'
import type { Rounding } from '../lib/decimal'
import { MOST_RESOURCES } from '../lib/limits'
import type { CivilDate } from '../lib/zone'
import {
  type AchievementStatus,
  type AchievementTrigger,
  type AttributeType,
  type AttributeWriter,
  type LeaderboardStatus,
  type MetricUnitType,
  type NotificationChannel,
  type NotificationType,
  type RankBy,
  type RunUnit,
  type Subscription,
  type SwitchStatus,
  TRIGGER_FIELDS,
  type TriggerField,
  type TriggerType,
} from './enumerations'
import type { StreakSettings } from './settings'
import type { pointsTriggers } from './tables/points.table'

/** A filter on an attribute, as stored: the attribute's id and the value that it must have. */
export type Filter = { attributeId: string; attributeValue: string }

/** The fields of every configured resource. Times are in milliseconds. */
export type Resource = { id: string; created: number; updated: number }

export type Attribute = Resource & {
  type: AttributeType
  key: string
  name: string
  /**
   * The keys that may set it on users: admin keys only, or users' own keys too (K7). It has no meaning for
   * event attributes.
   */
  writableBy: AttributeWriter
}

export type Metric = Resource & {
  key: string
  name: string
  unitType: MetricUnitType
  units: string
}

export type Level = Resource & {
  systemId: string
  key: string
  name: string
  description: string
  badgeUrl: string | null
  points: number
}

/**
 * The fields that only triggers of some types have, typed by their columns. They are null in a trigger of
 * another type.
 */
export type TriggerFields = Pick<typeof pointsTriggers.$inferSelect, TriggerField>

type PresentFields = { [F in TriggerField]?: NonNullable<TriggerFields[F]> }

export type Trigger = Resource &
  TriggerFields & {
    key: string
    systemId: string
    type: TriggerType
    points: number
    status: SwitchStatus
    userAttributes: readonly Filter[]
    eventAttributes: readonly Filter[]
    blockIfOutOfPoints: boolean
    /** The id of users' own counters for it. It changes when the trigger counts something else (P1). */
    counterId: string
    /** Counts the different forms in which the trigger was shown (P10). */
    version: number
    /**
     * The moment from which a time trigger's ticks are counted, in milliseconds; null while it has no ticks
     * (P4).
     */
    anchor: number | null
  }

/** A boost. `start` and `end` are local dates. `end` is `9999-12-31` if the boost has no end. */
export type Boost = Resource & {
  key: string
  systemId: string
  userId: string | null
  userIid: string | null
  name: string
  start: string
  end: string
  multiplier: number
  rounding: Rounding
  userAttributes: readonly Filter[]
}

export type System = Resource & {
  key: string
  name: string
  description: string
  badgeUrl: string | null
  maxPoints: number | null
  /** In order of creation. */
  levels: readonly Level[]
  /** In order of creation. */
  triggers: readonly Trigger[]
  /**
   * Boosts for everyone and for attributes, in order of creation. A user's own boosts are read with the user.
   */
  boosts: readonly Boost[]
}

/** A leaderboard; dates are local dates, times of day `HH:MM` or `HH:MM:SS`. */
export type Leaderboard = Resource & {
  key: string
  name: string
  description: string | null
  /** The status as it was set. `statusOf` computes the present status from it and the dates (L7). */
  status: LeaderboardStatus
  rankBy: RankBy
  metricId: string | null
  systemId: string | null
  maxParticipants: number
  start: CivilDate
  end: CivilDate | null
  startTime: string | null
  endTime: string | null
  /** The ids of the user attributes that divide users into groups (L6). */
  breakdown: readonly string[]
  /** Null if it is perpetual. */
  runUnit: RunUnit | null
  runInterval: number | null
  /** When it was finished by hand, in milliseconds (L7). */
  finished: number | null
}

/** An achievement (A1); which fields are filled depends on the trigger. */
export type Achievement = Resource & {
  key: string
  name: string
  description: string
  badgeUrl: string | null
  status: AchievementStatus
  trigger: AchievementTrigger
  metricId: string | null
  /** In the metric's unit. */
  metricValue: number | null
  streakLength: number | null
  /** The ids of the achievements that complete a composite. */
  achievementIds: readonly string[]
  userAttributes: readonly Filter[]
  eventAttributes: readonly Filter[]
  /** The id of users' own counters for it, if it has filters on event attributes (A2). */
  counterId: string
  /** Whether all users' counters for it include the events that the log had when it was activated (A4). */
  counted: boolean
}

/** A webhook (W1). */
export type Webhook = Resource & {
  key: string
  url: string
  /** The types of events that it receives, each once, or `*` alone. */
  events: readonly Subscription[]
  status: SwitchStatus
  /** The secret that signs its deliveries. Only the responses that show it once contain it. */
  secret: string
  /** The secret before, which signs too until a moment, in milliseconds (W3). */
  previous: { secret: string; until: number } | null
  /** When the receiver answered 410, in milliseconds, if that switched it off (W4). */
  goneAt: number | null
}

/** A template of notifications (N3). */
export type Template = Resource & {
  key: string
  type: NotificationType
  channel: NotificationChannel
  /** The subject of an email, the title of a push message. Liquid. */
  title: string
  /** HTML of an email, text of a push message. Liquid. */
  body: string
  userAttributes: readonly Filter[]
  status: SwitchStatus
  /** The address through which the template was last written. Links use it while PUBLIC_URL is not set. */
  origin: string
}

export type Settings = { controlRatio: number; recapFrequency: RecapFrequency }

/** A tenant's whole configuration, at one version. Resources are in order of creation. */
export type Configuration = {
  tenantId: string
  /** Each restore of the database raises it to a number that was never used before (M1). */
  version: number
  /** When the database was last brought back to an earlier moment, in milliseconds; 0 if never (M1). */
  epoch: number
  settings: Settings
  streaks: StreakSettings
  attributes: readonly Attribute[]
  metrics: readonly Metric[]
  systems: readonly System[]
  leaderboards: readonly Leaderboard[]
  achievements: readonly Achievement[]
  webhooks: readonly Webhook[]
  templates: readonly Template[]
}

/**
 * Makes a check for new resources of a kind in the tenant's points systems. The check gets their number, and
 * returns why there is no room for them, or null.
 */
export function roomFor(kind: 'levels' | 'triggers' | 'boosts', { systems }: Pick<Configuration, 'systems'>) {
  const present = systems.reduce((sum, system) => sum + system[kind].length, 0)
  return (added: number): string | null =>
    present + added <= MOST_RESOURCES
      ? null
      : `There are at most ${MOST_RESOURCES} ${kind} in all points systems together. Delete some first.`
}

/**
 * A user's running totals, without the totals of deleted resources. They are filtered only if there are more
 * totals than resources.
 */
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

/** The metric by its key, or undefined. */
export function metricByKey(config: Configuration, key: string): Metric | undefined {
  return config.metrics.find((metric) => metric.key === key)
}

/** The points system by its key, or undefined. */
export function systemByKey(config: Configuration, key: string): System | undefined {
  return config.systems.find((system) => system.key === key)
}

/** The leaderboard by its key, or undefined. */
export function leaderboardByKey(config: Configuration, key: string): Leaderboard | undefined {
  return config.leaderboards.find((leaderboard) => leaderboard.key === key)
}

/** The achievement by its key, or undefined. */
export function achievementByKey(config: Configuration, key: string): Achievement | undefined {
  return config.achievements.find((achievement) => achievement.key === key)
}

/** Whether values by attribute id meet all filters (P2). */
export function meets(filters: readonly Filter[], values: ReadonlyMap<string, string>): boolean {
  return filters.every(({ attributeId, attributeValue }) => values.get(attributeId) === attributeValue)
}
