import * as z from 'zod'
import { EVALUATION_MODE_SPELLINGS, NOTIFICATION_CHANNELS } from '../../../config/enumerations.types'
import { DateAnswer, Timestamp, UuidAnswer } from '../../../http/fields'
import type { ExportedField } from '../../../store/user-data/user-data.register'
import { PointsBoost } from '../../../wire/points.schemas'
import { UserPreferencesResponse } from '../../../wire/preferences.schemas'
import { StreakResponse } from '../../../wire/streak.schemas'
import { User } from '../../../wire/user.schemas'

/** The key of something configured; null where that was deleted, of which the id is left. */
const Key = z.string().nullable()

/** When something happened: in UTC, and by the user's clock of then (E8). */
const moment = { date: Timestamp, localDate: DateAnswer, utcOffsetMinutes: z.int() }

const ExportedAttribute = z.object({ id: UuidAnswer, key: Key, value: z.string() })
const Threshold = z.object({ metricId: UuidAnswer, metricKey: Key, threshold: z.number() })

const ExportedEvent = z
  .object({
    id: UuidAnswer,
    metricId: UuidAnswer,
    metricKey: Key,
    value: z.number(),
    ...moment,
    attributes: z.array(ExportedAttribute),
  })
  .meta({ id: 'ExportedEvent' })

const ExportedAward = z
  .object({
    id: UuidAnswer,
    systemId: UuidAnswer,
    systemKey: Key,
    triggerId: UuidAnswer,
    awarded: z.int32(),
    total: z.int32(),
    ...moment,
    boosts: z.array(PointsBoost),
  })
  .meta({ id: 'ExportedAward' })

/**
 * A streak from its first period to its last: what each period was, such as `5e1f2e` (e extended, f frozen, p paused, s skipped, o open,
 * r restored).
 */
const ExportedStreakRun = z
  .object({
    started: DateAnswer,
    firstPeriod: DateAnswer,
    lastPeriod: DateAnswer,
    periods: z.string(),
    length: z.int(),
  })
  .meta({ id: 'ExportedStreakRun' })

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
      sums: z.array(
        z.object({ period: DateAnswer, metricId: UuidAnswer, metricKey: Key, change: z.number() }),
      ),
      zoneChanges: z.array(z.object({ date: Timestamp, from: DateAnswer, to: DateAnswer })),
      /** The last date that travel spared (S11). */
      spared: DateAnswer.nullable(),
      /** Journeys to a later date that may still be undone, with the streak as it was before (S11). */
      journeys: z.array(
        z.object({
          date: Timestamp,
          from: DateAnswer,
          until: DateAnswer,
          length: z.int(),
          freezes: z.int(),
        }),
      ),
      /** When the length was last another one other than by an event or a midnight. */
      altered: Timestamp.nullable(),
    }),
    past: z.array(ExportedStreakRun),
    pauses: z.array(
      z.object({ id: UuidAnswer, start: DateAnswer, end: DateAnswer, deleted: Timestamp.nullable() }),
    ),
  })
  .meta({ id: 'ExportedStreak' })

const ExportedBoost = z
  .object({
    id: UuidAnswer,
    systemId: UuidAnswer,
    systemKey: Key,
    name: z.string(),
    start: DateAnswer,
    end: DateAnswer.nullable(),
    multiplier: z.number(),
    rounding: PointsBoost.shape.rounding,
    created: Timestamp,
    updated: Timestamp,
    deleted: Timestamp.nullable(),
  })
  .meta({ id: 'ExportedBoost' })

const Rank = z.int32().nullable()

/** A user in one run of a leaderboard: `value` is the whole score, also where it is not ranked. */
const ExportedPlace = z
  .object({
    leaderboardId: UuidAnswer,
    leaderboardKey: z.string(),
    start: DateAnswer,
    end: DateAnswer.nullable(),
    isFinal: z.boolean(),
    group: z.array(z.string()).nullable(),
    rank: Rank,
    value: z.number().nullable(),
    reached: Timestamp.nullable(),
    history: z.array(z.object({ date: DateAnswer, rank: Rank, value: z.number().nullable() })),
  })
  .meta({ id: 'ExportedPlace' })

const place = { batchId: UuidAnswer, position: z.int() }
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

/** What is kept of telling of a user: `payload` is what is sent. */
const told = {
  id: UuidAnswer,
  status: z.string(),
  attempts: z.int(),
  lastStatus: z.int().nullable(),
  lastError: z.string().nullable(),
  created: Timestamp,
  nextAttempt: Timestamp.nullable(),
  payload: z.unknown(),
}
const ExportedDelivery = z
  .object({ webhookId: UuidAnswer, event: z.string(), ...told })
  .meta({ id: 'ExportedDelivery' })
const ExportedNotification = z
  .object({ channel: z.enum(NOTIFICATION_CHANNELS), type: z.string(), ...told })
  .meta({ id: 'ExportedNotification' })

/** Everything that is held of a user (U8). What was configured and is deleted stands by its id, and null for its key. */
export const UserExport = z
  .object({
    exported: Timestamp,
    user: User,
    attributes: z.array(ExportedAttribute),
    preferences: UserPreferencesResponse.pick({ notifications: true }).extend({
      streak: z.object({
        enabled: z.boolean().optional(),
        evaluationMode: z.enum(EVALUATION_MODE_SPELLINGS).optional(),
        metrics: z.array(Threshold).optional(),
      }),
    }),
    metrics: z.array(
      z.object({ metricId: UuidAnswer, metricKey: Key, total: z.number(), highest: z.number() }),
    ),
    counters: z.array(z.object({ id: UuidAnswer, total: z.number(), highest: z.number() })),
    points: z.array(z.object({ systemId: UuidAnswer, systemKey: Key, total: z.int32() })),
    streak: ExportedStreak,
    achievements: z.array(
      z.object({ id: UuidAnswer, achievementId: UuidAnswer, achievementKey: Key, ...moment }),
    ),
    boosts: z.array(ExportedBoost),
    applicationKeys: z.array(z.object({ id: UuidAnswer, prefix: z.string(), created: Timestamp })),
    waitingEvents: z.array(ExportedWaitingEvent),
    parkedEvents: z.array(z.object({ ...place, event: z.unknown(), reason: z.string() })),
    events: z.array(ExportedEvent),
    awards: z.array(ExportedAward),
    idempotencyKeys: z.array(
      z.object({ metricId: UuidAnswer, metricKey: Key, key: z.string(), eventId: UuidAnswer }),
    ),
    deliveries: z.array(ExportedDelivery),
    notifications: z.array(ExportedNotification),
    leaderboards: z.array(ExportedPlace),
  } satisfies Record<ExportedField | 'exported', z.ZodType>)
  .meta({ id: 'UserExport' })
