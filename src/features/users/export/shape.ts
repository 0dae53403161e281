import * as z from 'zod'
import { DateResponse, Timestamp, UuidResponse } from '../../../api/fields'
import { LevelThen, PointsBoost } from '../../../api/shapes/points'
import { StreakResponse } from '../../../api/shapes/streaks'
import { User, UserPreferencesResponse } from '../../../api/shapes/users'
import {
  CORRECTION_TYPES,
  EVALUATION_MODES,
  NOTIFICATION_CHANNELS,
} from '../../../configuration/enumerations'
import { KEY_SCOPES } from '../../../platform/context'
import { STREAK_ENTRY_KINDS } from '../../../rules/streaks/streak-state.rules'
import type { ExportedField } from '../../../store/user-data/register'

/** The key of a configured item; null if the item was deleted. Its id stays. */
const Key = z.string().nullable()

const metric = { metricId: UuidResponse, metricKey: Key }
const system = { systemId: UuidResponse, systemKey: Key }
const achievement = { achievementId: UuidResponse, achievementKey: Key }
const days = { start: DateResponse, end: DateResponse }

/** A moment: in UTC, and on the user's clock at that time (E8). */
const moment = { date: Timestamp, localDate: DateResponse, utcOffsetMinutes: z.int() }

const ExportedAttribute = z.object({ id: UuidResponse, key: Key, value: z.string() })
const Threshold = z.object({ ...metric, threshold: z.number() })

/** An effect of an event or another change on the streak. `kind` decides which other fields it has (X2). */
const ExportedStreakEntry = z
  .object({
    kind: z.enum(STREAK_ENTRY_KINDS),
    length: z.int().optional(),
    earned: z.int().optional(),
    freezes: z.int().optional(),
    pause: z.object({ id: UuidResponse, ...days }).optional(),
  })
  .meta({ id: 'ExportedStreakEntry' })

/** A change without an event, or of the profile. `field` names an attribute by its id (X2). */
const ExportedChange = z
  .object({
    date: Timestamp,
    fields: z.array(z.object({ field: z.string(), before: z.unknown(), after: z.unknown() })),
    streak: z.array(ExportedStreakEntry),
  })
  .meta({ id: 'ExportedChange' })

const ExportedEvent = z
  .object({
    id: UuidResponse,
    ...metric,
    value: z.number(),
    ...moment,
    attributes: z.array(ExportedAttribute),
    streak: z.array(ExportedStreakEntry),
  })
  .meta({ id: 'ExportedEvent' })

const ExportedAward = z
  .object({
    id: UuidResponse,
    ...system,
    /** Null for an adjustment. A reversal has the trigger of the award that it reverses. */
    triggerId: UuidResponse.nullable(),
    awarded: z.int32(),
    total: z.int32(),
    ...moment,
    boosts: z.array(PointsBoost),
    counter: z.object({ before: z.number(), after: z.number() }).nullable(),
    level: z.object({ before: LevelThen.nullable(), after: LevelThen.nullable() }).nullable(),
    /** Only corrections have these four (V5). */
    type: z.enum(CORRECTION_TYPES).optional(),
    amount: z.int32().nullable().optional(),
    reason: z.string().nullable().optional(),
    reverses: UuidResponse.nullable().optional(),
  })
  .meta({ id: 'ExportedAward' })

const ExportedVoidedEvent = ExportedEvent.extend({
  voided: Timestamp,
  reason: z.string().nullable(),
}).meta({ id: 'ExportedVoidedEvent' })

/** A streak from its first period to its last. The reference explains the letters of `periods`. */
const ExportedStreakRun = z.object({
  started: DateResponse,
  firstPeriod: DateResponse,
  lastPeriod: DateResponse,
  periods: z.string(),
  length: z.int(),
})

const ExportedStreak = z
  .object({
    now: StreakResponse,
    stored: z.object({
      frequency: z.string().nullable(),
      run: ExportedStreakRun.extend({
        extended: Timestamp.nullable(),
        restored: Timestamp.nullable(),
      }).nullable(),
      freezes: z.int(),
      sums: z.array(z.object({ period: DateResponse, ...metric, change: z.number() })),
      zoneChanges: z.array(z.object({ date: Timestamp, from: DateResponse, to: DateResponse })),
      resets: z.array(z.object({ date: Timestamp, localDate: DateResponse, length: z.int() })),
      /** The last date that travel spared (S11). */
      spared: DateResponse.nullable(),
      /** When the length last changed for another reason than an event or a midnight. */
      altered: Timestamp.nullable(),
    }),
    past: z.array(ExportedStreakRun.extend({ lost: Timestamp.nullable() })),
    pauses: z.array(z.object({ id: UuidResponse, ...days, deleted: Timestamp.nullable() })),
  })
  .meta({ id: 'ExportedStreak' })

const ExportedKey = z.object({
  id: UuidResponse,
  prefix: z.string(),
  scope: z.enum(KEY_SCOPES),
  expires: Timestamp.nullable(),
  created: Timestamp,
})

const ExportedBoost = z
  .object({
    id: UuidResponse,
    ...system,
    name: z.string(),
    start: DateResponse,
    end: DateResponse.nullable(),
    multiplier: z.number(),
    rounding: PointsBoost.shape.rounding,
    created: Timestamp,
    updated: Timestamp,
    deleted: Timestamp.nullable(),
  })
  .meta({ id: 'ExportedBoost' })

const Rank = z.int32().nullable()

/** A user in one run of a leaderboard. `value` is the whole score, even if the user is not ranked. */
const ExportedPlace = z
  .object({
    leaderboardId: UuidResponse,
    leaderboardKey: z.string(),
    start: DateResponse,
    end: DateResponse.nullable(),
    isFinal: z.boolean(),
    group: z.array(z.string()).nullable(),
    rank: Rank,
    value: z.number().nullable(),
    reached: Timestamp.nullable(),
    history: z.array(z.object({ date: DateResponse, rank: Rank, value: z.number().nullable() })),
  })
  .meta({ id: 'ExportedPlace' })

const place = { batchId: UuidResponse, position: z.int() }
const ExportedWaitingEvent = z
  .object({
    ...place,
    key: z.string(),
    idempotencyKey: z.string().nullable(),
    user: z.record(z.string(), z.unknown()),
    value: z.number(),
    attributes: z.record(z.string(), z.string()),
  })
  .meta({ id: 'ExportedWaitingEvent' })

/** A stored delivery about a user. `payload` is the content that is sent. */
const delivery = {
  id: UuidResponse,
  status: z.string(),
  attempts: z.int(),
  lastStatus: z.int().nullable(),
  lastError: z.string().nullable(),
  created: Timestamp,
  nextAttempt: Timestamp.nullable(),
  payload: z.unknown(),
}
const ExportedDelivery = z
  .object({ webhookId: UuidResponse, event: z.string(), ...delivery })
  .meta({ id: 'ExportedDelivery' })
const ExportedNotification = z
  .object({ channel: z.enum(NOTIFICATION_CHANNELS), type: z.string(), ...delivery })
  .meta({ id: 'ExportedNotification' })

/** All stored data of a user (U8). A deleted item of the configuration has its id, and null as key. */
export const UserExport = z
  .object({
    exported: Timestamp,
    user: User,
    attributes: z.array(ExportedAttribute),
    preferences: UserPreferencesResponse.pick({ notifications: true }).extend({
      streak: z.object({
        enabled: z.boolean().optional(),
        evaluationMode: z.enum(EVALUATION_MODES).optional(),
        metrics: z.array(Threshold).optional(),
        daysOff: z.array(z.int()).optional(),
      }),
    }),
    metrics: z.array(z.object({ ...metric, total: z.number(), highest: z.number() })),
    counters: z.array(z.object({ id: UuidResponse, total: z.number(), highest: z.number() })),
    points: z.array(z.object({ ...system, total: z.int32() })),
    streak: ExportedStreak,
    achievements: z.array(z.object({ id: UuidResponse, ...achievement, ...moment })),
    revokedAchievements: z.array(z.object({ ...achievement, triggerId: UuidResponse.nullable() })),
    boosts: z.array(ExportedBoost),
    applicationKeys: z.array(ExportedKey),
    waitingEvents: z.array(ExportedWaitingEvent),
    parkedEvents: z.array(z.object({ ...place, event: z.unknown(), reason: z.string() })),
    events: z.array(ExportedEvent),
    voidedEvents: z.array(ExportedVoidedEvent),
    awards: z.array(ExportedAward),
    changes: z.array(ExportedChange),
    idempotencyKeys: z.array(z.object({ ...metric, key: z.string(), eventId: UuidResponse })),
    adjustmentKeys: z.array(z.object({ ...system, key: z.string(), awardId: UuidResponse })),
    deliveries: z.array(ExportedDelivery),
    notifications: z.array(ExportedNotification),
    leaderboards: z.array(ExportedPlace),
  } satisfies Record<ExportedField | 'exported', z.ZodType>)
  .meta({ id: 'UserExport' })
