import type { LaurelOptions, LeaderboardResponseWithRankings } from '@laurel/client/app'
import { FakeServer } from './fake-server.ts'

/** Answers of Laurel about the users Ada and Bob. */

const none = { description: null, badgeUrl: null }

export const points = (total: number) => ({
  ...{ ...none, id: 'p1', key: 'xp', name: 'XP', maxPoints: null, total, level: null, awards: [] },
})

const period = (date: string, length: number) => ({
  ...{ periodStart: date, periodEnd: date, length, usedPause: false },
})

export const streak = {
  ...{ length: 3, frequency: 'daily', started: '2026-11-20', periodStart: '2026-11-23' },
  ...{ periodEnd: '2026-11-23', expires: '2026-11-23', extended: '2026-11-22T10:00:00.000Z' },
  streakHistory: [period('2026-11-22', 3), period('2026-11-23', 3)],
  pauses: [],
}

export const achievement = {
  ...{ ...none, id: 'a1', key: 'first', name: 'First', trigger: 'metric', userAttributes: [] },
  ...{ achievedAt: null, completions: 0, rarity: 0 },
}

export const board: Omit<LeaderboardResponseWithRankings, 'rankings'> = {
  ...{ id: 'b1', key: 'weekly-xp', name: 'Weekly XP', rankBy: 'points', pointsSystemName: 'XP' },
  ...{ status: 'active', start: '2026-11-02', end: null, runUnit: 'day', runInterval: 7 },
  ...{ breakdownAttribute: null, breakdownAttributes: [], userAttributes: [], description: null },
  ...{ startTime: null, endTime: null, maxParticipants: null },
  run: { key: '2026-11-23', startsAt: '2026-11-23T00:00:00.000Z', endsAt: '2026-11-30T00:00:00.000Z' },
}

export const row = (userId: string, rank: number, value: number) => ({
  userId,
  userName: userId,
  rank,
  value,
})

export const answer = {
  ...{ eventId: 'e1', metricId: 'm1', total: 5, idempotentReplayed: false },
  achievements: [{ ...achievement, achievedAt: '2026-11-23T12:00:00.000Z' }],
  currentStreak: { ...streak, length: 4, expires: '2026-11-24', extended: true },
  points: { xp: { ...points(150), added: 50, level: { key: 'gold', name: 'Gold', points: 120 } } },
  leaderboards: { 'weekly-xp': { ...board, start: board.run.key, rank: 1, previousRank: 2, threshold: 0 } },
  idempotentReplayed: false,
}

/** A server that has them. */
export function serverOfAda(options: Partial<LaurelOptions> = {}): FakeServer {
  const server = new FakeServer(options)
  const answers = {
    'GET users/ada': { id: 'ada', name: 'Ada', attributes: { team: 'owls' } },
    'GET users/ada/points/xp': points(100),
    'GET points/xp/levels': [{ id: 'l1', key: 'gold', name: 'Gold', points: 120 }],
    'GET users/ada/streak': streak,
    'GET users/ada/achievements': [achievement],
    'GET leaderboards/weekly-xp': { ...board, rankings: [row('bob', 1, 90), row('ada', 2, 80)] },
    'GET users/ada/leaderboards/weekly-xp': { ...board, rank: 2, value: 80, history: [] },
    'POST metrics/lessons/event': answer,
  }
  for (const [path, data] of Object.entries(answers)) server.answers.set(path, data)
  return server
}
