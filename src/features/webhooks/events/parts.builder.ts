import type * as z from 'zod'
import { addDays, type CivilDate } from '../../../lib/civil'
import { type Instant, instant, iso } from '../../../lib/clock'
import type { UserAchievementResponse } from '../../../wire/achievement.schemas'
import type { PointsAward, PointsLevel } from '../../../wire/points.schemas'
import type { BaseStreakResponse } from '../../../wire/streak.schemas'
import type { User } from '../../../wire/user.schemas'
import type { PointsBoostWebhookPayload } from '../../../wire/webhook.schemas'

/* What the samples of events are made of: data that is nobody's. */

import { DAY } from '../../../lib/units'

/** The ids in samples: none of anything that is configured. */
export const ID = '00000000-0000-7000-8000-00000000000'

/** The moment of a sample, and its local date in UTC. */
export type When = { now: Instant; today: CivilDate }

export const user = ({ now }: When): z.input<typeof User> => ({
  id: 'sample-user',
  email: 'sample-user@example.com',
  name: 'Sample user',
  tz: 'UTC',
  deviceTokens: null,
  subscribeToEmails: true,
  attributes: { sample: 'yes' },
  control: false,
  created: iso(instant(now - DAY)),
  updated: iso(now),
})

export const achievement = ({ now }: When): z.input<typeof UserAchievementResponse> => ({
  id: `${ID}1`,
  name: 'Sample achievement',
  trigger: 'api',
  description: null,
  badgeUrl: null,
  key: 'sample-achievement',
  userAttributes: [],
  achievedAt: iso(now),
})

export const streak = ({ today }: When, length: number): z.input<typeof BaseStreakResponse> => ({
  length,
  frequency: 'daily',
  started: addDays(today, 1 - length),
  periodStart: today,
  periodEnd: today,
  expires: addDays(today, 1),
})

export const system = {
  id: `${ID}2`,
  key: 'sample-points',
  name: 'Sample points',
  description: null,
  badgeUrl: null,
  maxPoints: null,
}

export const level = (key: string, points: number, id: string): z.input<typeof PointsLevel> => ({
  id,
  key,
  name: `Sample level ${key}`,
  description: '',
  badgeUrl: null,
  points,
})

export const award = ({ now }: When): z.input<typeof PointsAward> => ({
  id: `${ID}5`,
  awarded: 10,
  date: iso(now),
  total: 110,
  trigger: {
    id: `${ID}6`,
    type: 'user_creation',
    points: 10,
    status: 'active',
    userAttributes: [],
    created: iso(instant(now - DAY)),
    updated: iso(instant(now - DAY)),
  },
  boosts: [],
})

export const boost = (
  { today }: When,
  status: 'active' | 'finished',
): z.input<typeof PointsBoostWebhookPayload> => ({
  id: `${ID}7`,
  name: 'Sample boost',
  status,
  userId: null,
  pointsSystemId: system.id,
  pointsSystemKey: system.key,
  pointsSystemName: system.name,
  start: addDays(today, -1),
  end: status === 'finished' ? addDays(today, -1) : null,
  multiplier: 2,
  rounding: 'down',
})

export const board = ({ today }: When, status: 'active' | 'finished') => ({
  id: `${ID}8`,
  name: 'Sample leaderboard',
  key: 'sample-leaderboard',
  rankBy: 'points' as const,
  breakdownAttribute: null,
  breakdownAttributes: [],
  pointsSystemKey: system.key,
  pointsSystemName: system.name,
  description: null,
  start: addDays(today, -1),
  end: null,
  startTime: null,
  endTime: null,
  maxParticipants: 1_000,
  runUnit: null,
  runInterval: null,
  status,
})

export const RANKINGS = [{ userId: 'sample-user', userName: 'Sample user', rank: 1, value: 110 }]
