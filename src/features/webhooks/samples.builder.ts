import type { EventType } from '../../config/webhook-events.types'
import { addDays, type CivilDate } from '../../lib/civil'
import { type Instant, instant, iso } from '../../lib/clock'
import { DAY } from '../../lib/units'
import { civilDateAt } from '../../lib/zone'

/** The ids in samples: none of anything that is configured. */
const ID = '00000000-0000-7000-8000-00000000000'

/** A payload of a type with made-up data of nobody's, of the shape that the contract has for it; dates are around `now` (W2). */
export function sampleOf(type: EventType, now: Instant): { type: EventType } & Record<string, unknown> {
  return { type, ...SAMPLES[type]({ now, today: civilDateAt(now, 0) }) }
}

type When = { now: Instant; today: CivilDate }

const user = ({ now }: When) => ({
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

const achievement = ({ now }: When) => ({
  id: `${ID}1`,
  name: 'Sample achievement',
  trigger: 'api',
  description: null,
  badgeUrl: null,
  key: 'sample-achievement',
  userAttributes: [],
  achievedAt: iso(now),
})

const streak = ({ today }: When, length: number) => ({
  length,
  frequency: 'daily',
  started: addDays(today, 1 - length),
  periodStart: today,
  periodEnd: today,
  expires: addDays(today, 1),
})

const system = {
  id: `${ID}2`,
  key: 'sample-points',
  name: 'Sample points',
  description: null,
  badgeUrl: null,
  maxPoints: null,
}

const level = (key: string, points: number, id: string) => ({
  id,
  key,
  name: `Sample level ${key}`,
  description: '',
  badgeUrl: null,
  points,
})

const award = ({ now }: When) => ({
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

const boost = ({ today }: When, status: 'active' | 'finished') => ({
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

const board = ({ today }: When) => ({
  id: `${ID}8`,
  name: 'Sample leaderboard',
  key: 'sample-leaderboard',
  rankBy: 'points',
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
})

const RANKINGS = [{ userId: 'sample-user', userName: 'Sample user', rank: 1, value: 110 }]

const SAMPLES: Readonly<Record<EventType, (when: When) => Record<string, unknown>>> = {
  'achievement.completed': (when) => ({ user: user(when), achievement: achievement(when) }),
  'emails.achievement_due': (when) => ({
    timestamp: iso(when.now),
    user: user(when),
    achievement: achievement(when),
  }),
  'emails.reactivation_due': (when) => ({
    timestamp: iso(when.now),
    user: user(when),
    reactivation: { messageNumber: 1, daysSinceLastActive: 3 },
  }),
  'emails.recap_due': (when) => ({
    timestamp: iso(when.now),
    user: user(when),
    recap: { periodStart: addDays(when.today, -7), periodEnd: addDays(when.today, -1) },
  }),
  'emails.streak_reminder_due': (when) => ({
    timestamp: iso(when.now),
    user: user(when),
    streak: { ...streak(when, 2), expires: when.today, extended: null, streakHistory: [], pauses: [] },
  }),
  'leaderboard.changed': (when) => ({
    leaderboard: { ...board(when), status: 'active', rankings: RANKINGS },
  }),
  'leaderboard.finished': (when) => ({
    leaderboard: {
      ...board(when),
      end: addDays(when.today, -1),
      status: 'finished',
      rankings: RANKINGS,
    },
  }),
  'leaderboard.rank_changed': (when) => ({
    user: user(when),
    leaderboard: {
      ...board(when),
      status: 'active',
      rank: 1,
      value: 110,
      previousRank: 2,
      previousValue: 100,
    },
  }),
  'leaderboard.started': (when) => ({ leaderboard: { ...board(when), status: 'active', rankings: [] } }),
  'points.boost_finished': (when) => ({ timestamp: iso(when.now), boost: boost(when, 'finished') }),
  'points.boost_started': (when) => ({ timestamp: iso(when.now), boost: boost(when, 'active') }),
  'points.changed': (when) => ({
    user: user(when),
    points: { ...system, total: 110, added: 10, awards: [award(when)] },
  }),
  'points.level_changed': (when) => ({
    user: user(when),
    points: { ...system, total: 110 },
    previousLevel: level('one', 50, `${ID}3`),
    newLevel: level('two', 100, `${ID}4`),
  }),
  'streak.extended': (when) => ({ user: user(when), streak: streak(when, 2) }),
  'streak.freeze_consumed': (when) => ({ user: user(when), consumed: 1, freezes: 0 }),
  'streak.freeze_earned': (when) => ({ user: user(when), earned: 1, freezes: 1 }),
  'streak.lost': (when) => ({ user: user(when), length: 2 }),
  'streak.started': (when) => ({ user: user(when), streak: streak(when, 1) }),
}
