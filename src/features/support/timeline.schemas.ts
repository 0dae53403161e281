import * as z from 'zod'
import { cursorQuery } from '../../api/cursors'
import { DateResponse, Timestamp, UserId, UuidResponse } from '../../api/fields'
import { integerQuery } from '../../api/queries'
import { PointsBoost, PointsTrigger } from '../../api/shapes/points.schemas'
import { NOTIFICATION_CHANNELS } from '../../configuration/enumerations.types'
import { PAGES } from '../../lib/limits'
import { LoggedEvent, moment } from './award-explanation.schemas'
import { STREAK_CHANGES, TIMELINE_TYPES, type TimelineType } from './timeline.types'

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
