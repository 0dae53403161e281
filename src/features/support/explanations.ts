import * as z from 'zod'
import { DateResponse, IdOrKey, Timestamp, UserId, Uuid, UuidResponse } from '../../api/fields'
import { cursorQuery, integerQuery } from '../../api/queries'
import { PointsBoost, PointsTrigger } from '../../api/shapes/points'
import { CORRECTION_TYPES, NOTIFICATION_CHANNELS } from '../../configuration/enumerations'
import type { Configuration } from '../../configuration/model'
import { type Instant, iso } from '../../lib/clock'
import { fromMicros, type Micros } from '../../lib/decimal'
import { PAGES } from '../../lib/limits'
import { uncheckedDateAt } from '../../lib/zone'
import { STREAK_ENTRY_KINDS } from '../../rules/streaks/streak-state.rules'

export const AwardExplanationParams = z.object({
  id: UserId,
  key: IdOrKey,
  awardId: Uuid,
})

/** A moment: in UTC, and on the user's clock at that time (E8). */
const moment = { at: Timestamp, localDate: DateResponse, utcOffsetMinutes: z.int() }

/** An event of the log. `metricKey` is null if the metric was deleted. */
const LoggedEvent = z
  .object({
    id: UuidResponse,
    metricId: UuidResponse,
    metricKey: z.string().nullable(),
    value: z.number(),
    attributes: z.record(z.string(), z.string()),
    ...moment,
  })
  .meta({ id: 'LoggedEvent' })

const count = z.number().nullable()

/** Why an award is what it is (X1). */
export const AwardExplanation = z
  .object({
    award: z.object({ id: UuidResponse, awarded: z.int32(), total: z.int32(), ...moment }),
    event: LoggedEvent.extend({ idempotencyKey: z.string().nullable() })
      .meta({ id: 'ExplainedEvent' })
      .nullable(),
    trigger: PointsTrigger.nullable(),
    /** Only corrections have these three (V5). */
    type: z.enum(CORRECTION_TYPES).optional(),
    reason: z.string().nullable().optional(),
    reverses: UuidResponse.nullable().optional(),
    counter: z.object({ before: z.number(), after: z.number() }).nullable(),
    firings: count,
    base: count,
    boosts: z.array(PointsBoost),
    afterBoosts: count,
    limit: z.enum(['cap', 'floor']).nullable(),
    total: z.object({ before: z.int32(), after: z.int32() }),
  })
  .meta({ id: 'AwardExplanation' })

/** The types of entries of a timeline (X2). */
export const TIMELINE_TYPES = [
  'event',
  'award',
  'level_changed',
  'achievement',
  'streak',
  'adjustment',
  'void',
  'notification',
  'change',
] as const
export type TimelineType = (typeof TIMELINE_TYPES)[number]

const STREAK_CHANGES = [...STREAK_ENTRY_KINDS, 'lost'] as const

export const TimelineParams = z.object({ id: UserId })

/** The place of the last entry of a page: see `Key`. */
const TimelineCursor = z.tuple([z.int(), z.int(), z.int(), z.string()]).readonly()

const isType = (text: string): text is TimelineType => TIMELINE_TYPES.some((type) => type === text)

const Types = z.string('must be given once').transform((text, context): readonly TimelineType[] => {
  const types = text.split(',').map((one) => one.trim())
  if (types.every(isType)) return types
  context.addIssue(`must be a list of these, separated by commas: ${TIMELINE_TYPES.join(', ')}`)
  return z.NEVER
})

export const TimelineQuery = z.object({
  types: Types.optional(),
  limit: integerQuery({ min: 1, ...PAGES.admin }),
  after: cursorQuery(TimelineCursor).optional(),
})

const System = { systemId: UuidResponse, systemKey: z.string().nullable() }
const Key = z.string().nullable()
const Level = z.object({ id: UuidResponse, key: z.string(), name: z.string(), points: z.int32() }).nullable()

const TimelineEvent = LoggedEvent.extend({
  type: z.literal('event'),
  /** When the event was voided (V2); else null. */
  voided: Timestamp.nullable(),
}).meta({ id: 'TimelineEvent' })

const TimelineAward = z
  .object({
    id: UuidResponse,
    ...moment,
    type: z.literal('award'),
    ...System,
    awarded: z.int32(),
    total: z.int32(),
    trigger: PointsTrigger.nullable(),
    boosts: z.array(PointsBoost),
  })
  .meta({ id: 'TimelineAward' })

const TimelineLevelChange = z
  .object({
    id: UuidResponse,
    at: Timestamp,
    type: z.literal('level_changed'),
    ...System,
    before: Level,
    after: Level,
  })
  .meta({ id: 'TimelineLevelChange' })

const TimelineAchievement = z
  .object({
    id: UuidResponse,
    ...moment,
    type: z.literal('achievement'),
    achievementId: UuidResponse,
    achievementKey: Key,
    achievementName: z.string().nullable(),
  })
  .meta({ id: 'TimelineAchievement' })

/** A change of the streak. `change` decides which optional fields it has. */
const TimelineStreak = z
  .object({
    id: UuidResponse,
    at: Timestamp.nullable(),
    type: z.literal('streak'),
    change: z.enum(STREAK_CHANGES),
    length: z.int().optional(),
    earned: z.int().optional(),
    freezes: z.int().optional(),
    started: DateResponse.optional(),
    lastPeriod: DateResponse.optional(),
    pause: z.object({ id: UuidResponse, start: DateResponse, end: DateResponse }).optional(),
  })
  .meta({ id: 'TimelineStreak' })

/** An entry of the ledger that an admin made (V1), or that took points of a completion back (V4). */
const TimelineAdjustment = z
  .object({
    id: UuidResponse,
    at: Timestamp,
    type: z.literal('adjustment'),
    ...System,
    awarded: z.int32(),
    total: z.int32(),
    reason: z.string().nullable(),
    reverses: UuidResponse.nullable(),
  })
  .meta({ id: 'TimelineAdjustment' })

const TimelineVoid = z
  .object({
    id: UuidResponse,
    at: Timestamp,
    type: z.literal('void'),
    eventId: UuidResponse,
    metricId: UuidResponse,
    metricKey: Key,
    value: z.number(),
    reason: z.string().nullable(),
    reversals: z.array(
      z.object({
        id: UuidResponse,
        ...System,
        awarded: z.int32(),
        total: z.int32(),
        reverses: UuidResponse.nullable(),
      }),
    ),
  })
  .meta({ id: 'TimelineVoid' })

const TimelineNotification = z
  .object({
    id: UuidResponse,
    at: Timestamp,
    type: z.literal('notification'),
    channel: z.enum(NOTIFICATION_CHANNELS),
    notification: z.string(),
    status: z.string(),
    title: z.string().nullable(),
  })
  .meta({ id: 'TimelineNotification' })

const TimelineChange = z
  .object({
    id: UuidResponse,
    at: Timestamp,
    type: z.literal('change'),
    fields: z.record(z.string(), z.object({ before: z.unknown(), after: z.unknown() })),
  })
  .meta({ id: 'TimelineChange' })

/** An entry of a user's timeline (X2). */
export const TimelineEntry = z
  .discriminatedUnion('type', [
    TimelineEvent,
    TimelineAward,
    TimelineLevelChange,
    TimelineAchievement,
    TimelineStreak,
    TimelineAdjustment,
    TimelineVoid,
    TimelineNotification,
    TimelineChange,
  ])
  .meta({ id: 'TimelineEntry' })

export const Timeline = z.array(TimelineEntry).meta({ id: 'Timeline' })

/** A moment in UTC and on the user's clock at that time (E8). */
export const momentOf = ({ at, utcOffset }: { at: Instant; utcOffset: number }) => ({
  at: iso(at),
  localDate: uncheckedDateAt(at, utcOffset),
  utcOffsetMinutes: utcOffset,
})

/** The key of a configured item, or null if the item was deleted. */
export const keyOf = (list: readonly { id: string; key: string }[], id: string): string | null =>
  list.find((one) => one.id === id)?.key ?? null

/** An event of the log. The name of an attribute is its key, or its id if the attribute was deleted. */
export const eventResponse = (
  { attributes, metrics }: Pick<Configuration, 'attributes' | 'metrics'>,
  event: {
    id: string
    metricId: string
    at: Instant
    value: Micros
    utcOffset: number
    attributes: Readonly<Record<string, string>>
  },
): z.input<typeof LoggedEvent> => ({
  id: event.id,
  metricId: event.metricId,
  metricKey: keyOf(metrics, event.metricId),
  value: fromMicros(event.value),
  attributes: Object.fromEntries(
    Object.entries(event.attributes).map(([id, value]) => [keyOf(attributes, id) ?? id, value]),
  ),
  ...momentOf(event),
})
