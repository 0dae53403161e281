import type * as z from 'zod'
import type { UserAchievementResponse } from '../../api/shapes/achievement.schemas'
import type { BaseStreakResponse } from '../../api/shapes/streak.schemas'
import { addDays } from '../../lib/civil'
import { instant, iso } from '../../lib/clock'
import { DAY } from '../../lib/units'
import type { UserPayload, When } from './event.builder'

/* Parts that samples of several types share: made-up data of no real user. */

/** The ids in samples, without the last digit. No configured resource has such an id. */
export const SAMPLE_ID = '00000000-0000-7000-8000-00000000000'

/** The user of samples. */
export const sampleUser = ({ now }: When): UserPayload => ({
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

/** An achievement that the user has just completed. */
export const sampleAchievement = ({ now }: When): z.infer<typeof UserAchievementResponse> => ({
  id: `${SAMPLE_ID}1`,
  name: 'Sample achievement',
  trigger: 'api',
  description: null,
  badgeUrl: null,
  key: 'sample-achievement',
  userAttributes: [],
  achievedAt: iso(now),
})

/** A daily streak that was extended today. */
export const sampleStreak = ({ today }: When, length: number): z.infer<typeof BaseStreakResponse> => ({
  length,
  frequency: 'daily',
  started: addDays(today, 1 - length),
  periodStart: today,
  periodEnd: today,
  expires: addDays(today, 1),
})

/** The points system of samples. */
export const SAMPLE_SYSTEM = {
  id: `${SAMPLE_ID}2`,
  key: 'sample-points',
  name: 'Sample points',
  description: null,
  badgeUrl: null,
  maxPoints: null,
}
