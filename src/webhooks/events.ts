import * as z from 'zod'
import { DateResponse, Timestamp } from '../api/fields'
import { UserAchievementResponse } from '../api/shapes/achievements'
import {
  Group,
  type LeaderboardResponse,
  UserLeaderboardResponse,
  WebhookLeaderboardResponse,
} from '../api/shapes/leaderboards'
import { MetricEventPointsResponse, PointsLevel, PointsResponse } from '../api/shapes/points'
import { BaseStreakResponse, StreakResponse } from '../api/shapes/streaks'
import { User } from '../api/shapes/users'
import type { EventType } from '../configuration/enumerations'
import { DAY, type Instant, instant, iso } from '../lib/clock'
import { ROUNDINGS } from '../lib/decimal'
import { addDays, type CivilDate, civilDateAt } from '../lib/zone'

type When = { now: Instant; today: CivilDate }

type Fields = z.core.$ZodShape

type Sample<F extends Fields> = (when: When) => z.infer<z.ZodObject<F>>

/** A type of webhook event (W2): the fields of its body without `type`, and a sample of them. */
type WebhookEvent = { fields: Fields; sample: (when: When) => Record<string, unknown> }

/** Declares types that all have the `shared` fields. Each declaration adds its own. */
const eventsWith =
  <Shared extends Fields>(shared: Shared, sampleOfShared: Sample<Shared>) =>
  <Own extends Fields>(own: Own, sampleOfOwn: Sample<Own>) => ({
    fields: { ...shared, ...own },
    sample: (when: When) => ({ ...sampleOfShared(when), ...sampleOfOwn(when) }),
  })

const webhookEvent = eventsWith({}, () => ({}))

const userEvent = eventsWith({ user: User }, (when) => ({ user: sampleUser(when) }))

/** The ids in samples, without the last digit. No configured resource has such an id. */
const SAMPLE_ID = '00000000-0000-7000-8000-00000000000'

const sampleUser = ({ now }: When): z.infer<typeof User> => ({
  id: 'sample-user',
  email: 'sample-user@example.com',
  name: 'Sample user',
  tz: 'UTC',
  deviceTokens: null,
  subscribeToEmails: true,
  attributes: { sample: 'yes' },
  signUpDate: null,
  control: false,
  created: iso(instant(now - DAY)),
  updated: iso(now),
})

const sampleAchievement = ({ now }: When) => ({
  id: `${SAMPLE_ID}1`,
  name: 'Sample achievement',
  trigger: 'api' as const,
  description: null,
  badgeUrl: null,
  key: 'sample-achievement',
  userAttributes: [],
  achievedAt: iso(now),
})

const sampleStreak = ({ today }: When, length: number) => ({
  length,
  frequency: 'daily' as const,
  started: addDays(today, 1 - length),
  periodStart: today,
  periodEnd: today,
  expires: addDays(today, 1),
})

const SAMPLE_SYSTEM = {
  id: `${SAMPLE_ID}2`,
  key: 'sample-points',
  name: 'Sample points',
  description: null,
  badgeUrl: null,
  maxPoints: null,
}

const grown = (length: number) =>
  userEvent({ streak: BaseStreakResponse }, (when) => ({ streak: sampleStreak(when, length) }))

const sampleLevel = (key: string, points: number, id: string) => ({
  id,
  key,
  name: `Sample level ${key}`,
  description: '',
  badgeUrl: null,
  points,
})

const PointsBoostWebhookPayload = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.enum(['active', 'finished']),
    userId: z.string().nullable(),
    pointsSystemId: z.string(),
    pointsSystemKey: z.string(),
    pointsSystemName: z.string(),
    start: DateResponse,
    end: DateResponse.nullable(),
    multiplier: z.number(),
    rounding: z.enum(ROUNDINGS),
  })
  .meta({ id: 'PointsBoostWebhookPayload' })

/** A boost began or ended. Both events differ only in the status and in the last day. */
const boostEvent = (status: 'active' | 'finished') =>
  webhookEvent({ timestamp: Timestamp, boost: PointsBoostWebhookPayload }, ({ now, today }) => ({
    timestamp: iso(now),
    boost: {
      id: `${SAMPLE_ID}7`,
      name: 'Sample boost',
      status,
      userId: null,
      pointsSystemId: SAMPLE_SYSTEM.id,
      pointsSystemKey: SAMPLE_SYSTEM.key,
      pointsSystemName: SAMPLE_SYSTEM.name,
      start: addDays(today, -1),
      end: status === 'finished' ? addDays(today, -1) : null,
      multiplier: 2,
      rounding: 'down' as const,
    },
  }))

/** A user's place on a leaderboard now, in a group if it has some, and the place in the last such event (W5). */
const WebhookUserLeaderboardResponse = UserLeaderboardResponse.extend({
  previousRank: z.int32().nullable(),
  previousValue: z.int32().nullable(),
  group: Group.optional(),
}).meta({ id: 'WebhookUserLeaderboardResponse' })

const sampleBoard = ({ today }: When): z.infer<typeof LeaderboardResponse> => ({
  id: `${SAMPLE_ID}8`,
  name: 'Sample leaderboard',
  key: 'sample-leaderboard',
  rankBy: 'points',
  breakdownAttribute: null,
  breakdownAttributes: [],
  pointsSystemKey: SAMPLE_SYSTEM.key,
  pointsSystemName: SAMPLE_SYSTEM.name,
  description: null,
  start: addDays(today, -1),
  end: null,
  startTime: null,
  endTime: null,
  maxParticipants: 1_000,
  runUnit: null,
  runInterval: null,
  status: 'active',
  userAttributes: [],
})

const SAMPLE_RANKINGS = [{ userId: 'sample-user', userName: 'Sample user', rank: 1, value: 110 }]

const dueEvent = eventsWith({ timestamp: Timestamp, user: User }, (when) => ({
  timestamp: iso(when.now),
  user: sampleUser(when),
}))

/** Every type of webhook event (W2, W5, W6). */
const EVENTS = {
  'achievement.completed': userEvent({ achievement: UserAchievementResponse }, (when) => ({
    achievement: sampleAchievement(when),
  })),
  'emails.achievement_due': dueEvent({ achievement: UserAchievementResponse }, (when) => ({
    achievement: sampleAchievement(when),
  })),
  'emails.reactivation_due': dueEvent(
    { reactivation: z.object({ messageNumber: z.int32(), daysSinceLastActive: z.int32() }) },
    () => ({ reactivation: { messageNumber: 1, daysSinceLastActive: 3 } }),
  ),
  /** A recap of a week or a month. The dates are local dates of the user, both inclusive. */
  'emails.recap_due': dueEvent(
    { recap: z.object({ periodStart: DateResponse, periodEnd: DateResponse }) },
    ({ today }) => ({ recap: { periodStart: addDays(today, -7), periodEnd: addDays(today, -1) } }),
  ),
  'emails.streak_reminder_due': dueEvent({ streak: StreakResponse }, (when) => ({
    streak: {
      ...sampleStreak(when, 2),
      expires: when.today,
      extended: null,
      streakHistory: [],
      pauses: [],
    },
  })),
  /** A run began (W6). Its rankings are empty. */
  'leaderboard.started': webhookEvent({ leaderboard: WebhookLeaderboardResponse }, (when) => ({
    leaderboard: { ...sampleBoard(when), rankings: [] },
  })),
  'leaderboard.changed': webhookEvent({ leaderboard: WebhookLeaderboardResponse }, (when) => ({
    leaderboard: { ...sampleBoard(when), rankings: SAMPLE_RANKINGS },
  })),
  'leaderboard.rank_changed': userEvent({ leaderboard: WebhookUserLeaderboardResponse }, (when) => ({
    leaderboard: { ...sampleBoard(when), rank: 1, value: 110, previousRank: 2, previousValue: 100 },
  })),
  /** A run is final (W6). Its status is `finished`, even if more runs follow. */
  'leaderboard.finished': webhookEvent({ leaderboard: WebhookLeaderboardResponse }, (when) => ({
    leaderboard: {
      ...sampleBoard(when),
      status: 'finished' as const,
      end: addDays(when.today, -1),
      rankings: SAMPLE_RANKINGS,
    },
  })),
  'points.changed': userEvent({ points: MetricEventPointsResponse }, ({ now }) => ({
    points: {
      ...SAMPLE_SYSTEM,
      total: 110,
      added: 10,
      awards: [
        {
          id: `${SAMPLE_ID}5`,
          awarded: 10,
          date: iso(now),
          total: 110,
          trigger: {
            id: `${SAMPLE_ID}6`,
            type: 'user_creation' as const,
            points: 10,
            status: 'active' as const,
            userAttributes: [],
            created: iso(instant(now - DAY)),
            updated: iso(instant(now - DAY)),
          },
          boosts: [],
        },
      ],
    },
  })),
  /** Points took a user to another level (W6). Null means no level. */
  'points.level_changed': userEvent(
    {
      points: PointsResponse.extend({ total: z.int32() }),
      previousLevel: PointsLevel.nullable(),
      newLevel: PointsLevel.nullable(),
    },
    () => ({
      points: { ...SAMPLE_SYSTEM, total: 110 },
      previousLevel: sampleLevel('one', 50, `${SAMPLE_ID}3`),
      newLevel: sampleLevel('two', 100, `${SAMPLE_ID}4`),
    }),
  ),
  'points.boost_started': boostEvent('active'),
  'points.boost_finished': boostEvent('finished'),
  /** A streak began: its length went from 0 to 1 (W6). */
  'streak.started': grown(1),
  /** A streak grew by one period (W6). */
  'streak.extended': grown(2),
  /** A streak ended (W6). `length` is the length that was lost. */
  'streak.lost': userEvent({ length: z.int32() }, () => ({ length: 2 })),
  /** A user got freezes (W6). `freezes` are all that the user has now. */
  'streak.freeze_earned': userEvent({ earned: z.int32(), freezes: z.int32() }, () => ({
    earned: 1,
    freezes: 1,
  })),
  /** A freeze kept a streak: one event for each period (W6). `freezes` are those left. */
  'streak.freeze_consumed': userEvent({ consumed: z.int32(), freezes: z.int32() }, () => ({
    consumed: 1,
    freezes: 0,
  })),
} satisfies Record<EventType, WebhookEvent>

/** The body of a type, without `type`. */
export type EventBody<Type extends EventType = EventType> = z.infer<
  z.ZodObject<(typeof EVENTS)[Type]['fields']>
>

/** A message of a webhook event, without its id. */
export type EventDraft = { type: EventType; body: Record<string, unknown> }

/** The message of an event, without its id. The type check makes sure that the body fits the type. */
export const draftOf = <Type extends EventType>(type: Type, body: EventBody<Type>): EventDraft => ({
  type,
  body,
})

/** The schema of the whole body that is sent, by type. */
export const WEBHOOKS: Readonly<Record<string, z.ZodObject>> = Object.fromEntries(
  Object.entries(EVENTS).map(([type, { fields }]) => [type, z.object({ type: z.literal(type), ...fields })]),
)

/** The body of a type with made-up data. Its dates are around `now` (W2). */
export function sampleOf(type: EventType, now: Instant): { type: EventType } & Record<string, unknown> {
  return { type, ...EVENTS[type].sample({ now, today: civilDateAt(now, 0) }) }
}
