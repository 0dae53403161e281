import type { RecapFrequency } from '../access/tenants.types'
import type { CivilDate } from '../lib/civil'
import type { Rounding } from '../lib/decimal'
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
  type SwitchStatus,
  TRIGGER_FIELDS,
  type TriggerField,
  type TriggerType,
} from './enumerations.types'
import type { StreakSettings } from './streak-settings.types'
import type { pointsTriggers } from './tables/points.table'
import type { Subscription } from './webhook-events.types'

/** A filter on an attribute, as stored: the attribute's id and the value that it must have. */
export type Filter = { attributeId: string; attributeValue: string }

/** What every configured resource has. Times in milliseconds. */
export type Resource = { id: string; created: number; updated: number }

export type Attribute = Resource & {
  type: AttributeType
  key: string
  name: string
  /** Who may set it on users: admin keys only, or users' own keys too (K7). Means nothing for event attributes. */
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

/** The fields that only triggers of some types have, typed by their columns. They are null in a trigger of another type. */
export type TriggerFields = Pick<typeof pointsTriggers.$inferSelect, TriggerField>

/** The same fields, only those that a trigger has. */
type PresentFields = { [F in TriggerField]?: NonNullable<TriggerFields[F]> }

export type Trigger = Resource &
  TriggerFields & {
    systemId: string
    type: TriggerType
    points: number
    status: SwitchStatus
    userAttributes: readonly Filter[]
    eventAttributes: readonly Filter[]
    blockIfOutOfPoints: boolean
    /** Under which users' own counters of it stand: another one once it counts something else (P1). */
    counterId: string
    /** Counts the forms in which it has been shown (P10). */
    version: number
    /** From when a time trigger's ticks are counted, in milliseconds; null while it has none (P4). */
    anchor: number | null
  }

/** A boost; `start` and `end` are local dates, `end` is `9999-12-31` where there is none. */
export type Boost = Resource & {
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
  /** Those for everyone and for attributes, in order of creation; users' own boosts stand with the user. */
  boosts: readonly Boost[]
}

/** A leaderboard; dates are local dates, times of day `HH:MM` or `HH:MM:SS`. */
export type Leaderboard = Resource & {
  key: string
  name: string
  description: string | null
  /** As it was set: what it has become by itself since then, `statusOf` tells (L7). */
  status: LeaderboardStatus
  rankBy: RankBy
  metricId: string | null
  systemId: string | null
  maxParticipants: number
  start: CivilDate
  end: CivilDate | null
  startTime: string | null
  endTime: string | null
  /** The ids of the user attributes by whose values users are grouped (L6). */
  breakdown: readonly string[]
  /** Null where it is perpetual. */
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
  /** What makes a composite complete, by id. */
  achievementIds: readonly string[]
  userAttributes: readonly Filter[]
  eventAttributes: readonly Filter[]
  /** Under which users' own counters of it stand, where it has filters on event attributes (A2). */
  counterId: string
  /** Whether all users' counters of it have taken in what the log had when it was activated (A4). */
  counted: boolean
}

/** A webhook (W1). */
export type Webhook = Resource & {
  url: string
  /** The types of events that it is told of, each once, or `*` alone. */
  events: readonly Subscription[]
  status: SwitchStatus
  /** What its deliveries are signed with; told to nobody but by the answers that show it once. */
  secret: string
}

/** A template of what users are told (N3). */
export type Template = Resource & {
  type: NotificationType
  channel: NotificationChannel
  /** The subject of an email, the title of a push message. Liquid. */
  title: string
  /** HTML of an email, text of a push message. Liquid. */
  body: string
  userAttributes: readonly Filter[]
  status: SwitchStatus
  /** Where links lead as long as PUBLIC_URL is not set: the address through which it was last written. */
  origin: string
}

export type Settings = { controlRatio: number; recapFrequency: RecapFrequency }

/** All that a tenant has configured, as of one version; resources in order of creation. */
export type Configuration = {
  tenantId: string
  version: number
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

/** The most resources of one kind that a tenant may have, in all systems together, so that a configuration fits an isolate. */
export const MOST_RESOURCES = 1_000
/** The most attributes of a tenant: each may stand in a user's row, 6 kB at worst, which D1 holds to 2 MB. */
export const MOST_ATTRIBUTES = 200
/** The most leaderboards of a tenant that are active or scheduled: each that an event touches is a call. */
export const MOST_RUNNING_LEADERBOARDS = 100
/** The most webhooks of a tenant: each that listens to a change is a delivery. */
export const MOST_WEBHOOKS = 20
/** The most templates of a tenant. */
export const MOST_TEMPLATES = 100
/** The most own boosts of a user that are not over: all of them are read with the user. */
export const MOST_OWN_BOOSTS = 100

/** Tells of so many new ones of a kind why there is no room for them in the tenant's points systems, or null. */
export function roomFor(kind: 'levels' | 'triggers' | 'boosts', { systems }: Pick<Configuration, 'systems'>) {
  const present = systems.reduce((sum, system) => sum + system[kind].length, 0)
  return (added: number): string | null =>
    present + added <= MOST_RESOURCES
      ? null
      : `There are at most ${MOST_RESOURCES} ${kind} in all points systems together. Delete some first.`
}

/** A user's running totals without those of what was deleted; looked through only where there are more than can be. */
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
