import type {
  AchievementData,
  Change,
  EnergyData,
  GroupData,
  LeaderboardData,
  LevelProgressData,
  StreakData,
  StreakPeriod,
} from '../src/index.ts'

/** Data of the gallery. The dates are fixed, so that pictures of it can be compared. */

const DAY = 86_400_000
const day = (date: string, by: number) =>
  new Date(Date.parse(`${date}T00:00:00Z`) + by * DAY).toISOString().slice(0, 10)

const TODAY = '2026-11-23'

/**
 * A daily history from a text, oldest first: `x` active, `f` saved by a freeze, `p` paused, `d` a day off, `r`
 * reset, `.` missed, `k` kept by a journey. The last letter is today; `o` is a today without activity.
 */
export function daily(text: string): StreakData {
  let length = 0
  const streakHistory = [...text].map((letter, index): StreakPeriod => {
    if (letter === 'x') length += 1
    if (letter === '.' || letter === 'r') length = 0
    const date = day(TODAY, index - text.length + 1)
    return {
      periodStart: date,
      periodEnd: date,
      length,
      usedFreeze: letter === 'f',
      usedPause: letter === 'p' || letter === 'd',
      ...(letter === 'd' && { dayOff: true }),
      ...(letter === 'r' && { resetAt: `${date}T12:00:00.000Z` }),
    }
  })
  const isActive = text.endsWith('x')
  return {
    length,
    frequency: 'daily',
    started: length > 0 ? day(TODAY, -length) : null,
    periodStart: length > 0 ? TODAY : null,
    periodEnd: length > 0 ? TODAY : null,
    expires: length > 0 ? day(TODAY, isActive ? 1 : 0) : null,
    freezes: 2,
    maxFreezes: 3,
    streakHistory,
  }
}

export const streakSafe = daily('..xxx.xxxxx..xxxxxfxxxx...xxxxxdxppxxxxfxxrxdxxx.xxxddxxxkxx')
export const streakOpen = daily('...xxxx.....xxxxxxxxfxxxxo')
export const streakNone = daily('....xx...............')
export const streakLong: StreakData = { ...streakSafe, length: 12_345, freezes: 87, maxFreezes: 100 }
const { freezes: _, maxFreezes: __, ...withoutFreezes } = streakSafe
export const streakWithoutFreezes: StreakData = withoutFreezes

export const weekly: StreakData = {
  length: 7,
  frequency: 'weekly',
  started: '2026-10-05',
  periodStart: TODAY,
  periodEnd: day(TODAY, 6),
  expires: day(TODAY, 6),
  freezes: 0,
  maxFreezes: 2,
  streakHistory: [2, 3, 0, 0, 1, 2, 2, 3, 4, 5, 5, 5].map((length, index) => ({
    periodStart: day(TODAY, (index - 11) * 7),
    periodEnd: day(TODAY, (index - 11) * 7 + 6),
    length,
    usedFreeze: index === 6,
    usedPause: index === 10,
  })),
}

export const monthly: StreakData = {
  length: 8,
  frequency: 'monthly',
  started: '2026-04-01',
  periodStart: '2026-11-01',
  periodEnd: '2026-11-30',
  expires: '2026-12-31',
  streakHistory: Array.from({ length: 12 }, (_unused, index) => {
    const start = new Date(Date.UTC(2025, 11 + index, 1)).toISOString().slice(0, 10)
    const end = new Date(Date.UTC(2025, 12 + index, 0)).toISOString().slice(0, 10)
    return { periodStart: start, periodEnd: end, length: Math.max(0, index - 3), usedPause: false }
  }),
}

const LONG = 'Grand Archivist of the Northern Reading Society and Keeper of Its Seven Keys'

export const levels = [
  { key: 'bronze', name: 'Bronze', points: 0 },
  { key: 'silver', name: 'Silver', points: 1000 },
  { key: 'gold', name: 'Gold', points: 2500 },
  { key: 'laurel', name: 'Laurel', points: 6000 },
]
export const levelMiddle: LevelProgressData = { name: 'XP', total: 1840, levels }
export const levelTop: LevelProgressData = { name: 'XP', total: 18_400, levels }
export const levelNone: LevelProgressData = { name: 'XP', total: 120, levels: levels.slice(1) }
export const levelLong: LevelProgressData = {
  name: 'XP',
  total: 812_345_678,
  levels: [
    { key: 'first', name: LONG, points: 500_000_000 },
    { key: 'second', name: `Chief ${LONG}`, points: 999_999_999 },
  ],
}

const badge = (color: string, shape: string) =>
  `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" fill="${color}"/>${shape}</svg>`,
  )}`
const book = badge('#2f5d8c', '<path d="M10 13h12a3 3 0 0 1 2 1 3 3 0 0 1 2-1h12v22H10z" fill="#fff"/>')
const sun = badge('#d9772b', '<circle cx="24" cy="24" r="9" fill="#fff3d6"/>')
const leaf = badge('#2c7a51', '<path d="M12 36C12 20 22 12 37 11c1 16-8 25-25 25z" fill="#dff5e6"/>')
export const BROKEN = 'data:image/png;base64,AAAA'

export const achievements: AchievementData[] = [
  {
    id: '1',
    name: 'First page',
    description: 'Read your first page',
    badgeUrl: book,
    achievedAt: '2026-03-02T09:30:00.000Z',
    rarity: 91.4,
  },
  {
    id: '2',
    name: 'Early bird',
    description: 'Finish a lesson before seven in the morning',
    badgeUrl: sun,
    achievedAt: '2026-10-14T05:12:00.000Z',
    rarity: 12.07,
  },
  {
    id: '3',
    name: 'Ten days',
    description: 'A streak of ten days',
    achievedAt: '2026-11-01T20:00:00.000Z',
    rarity: 34,
  },
  {
    id: '4',
    name: 'Bookworm',
    description: 'Read 1,000 pages',
    badgeUrl: leaf,
    achievedAt: null,
    rarity: 8.25,
    progress: { value: 640, goal: 1000 },
  },
  {
    id: '5',
    name: 'Perfect month',
    description: 'Be active on every day of a month',
    achievedAt: null,
    rarity: 2.1,
  },
  { id: '6', name: LONG, description: `${LONG}. ${LONG}.`, badgeUrl: BROKEN, achievedAt: null, rarity: 0.01 },
]

export const energyFull: EnergyData = { name: 'Energy', total: 5, maxPoints: 5 }
export const energySome: EnergyData = {
  ...energyFull,
  total: 2,
  nextAt: '2026-11-23T12:12:34.000Z',
  nextPoints: 1,
}
export const energyNone: EnergyData = { ...energyFull, total: 0 }
export const energyMany: EnergyData = {
  name: 'Mana of the deep forest and all of its rivers',
  total: 12_345_678,
  maxPoints: 30_000_000,
  nextAt: '2026-11-23T15:59:59.000Z',
  nextPoints: 25_000,
}

export const board: LeaderboardData = {
  name: 'Weekly XP',
  unit: 'XP',
  status: 'active',
  start: TODAY,
  end: day(TODAY, 6),
  rankings: [
    { userId: 'grace', userName: 'Grace Hopper', rank: 1, value: 2480, previousRank: 2, imageUrl: leaf },
    { userId: 'alan', userName: 'Alan Turing', rank: 2, value: 2310, previousRank: 1 },
    { userId: 'ada', userName: 'Ada Lovelace', rank: 3, value: 1980, previousRank: 3 },
    { userId: 'emmy', userName: 'Emmy Noether', rank: 4, value: 1505, previousRank: 9, imageUrl: BROKEN },
    { userId: 'user_01HZX', userName: null, rank: 5, value: 1490, previousRank: null },
  ],
  own: { userId: 'ada', userName: 'Ada Lovelace', rank: 3, value: 1980 },
}

export const boardOutside: LeaderboardData = {
  ...board,
  own: { userId: 'me', userName: 'Katherine Johnson', rank: 1284, value: 75, previousRank: 1301 },
}
export const boardUnranked: LeaderboardData = { ...board, own: { userId: 'me', rank: null, value: null } }
export const boardUnrankedNamed: LeaderboardData = {
  ...board,
  own: { userId: 'me', userName: 'Mary Jackson', rank: null, value: null },
}
/** The picture of a user, from the app. */
export const avatar = (userId: string) => ({ alan: sun, ada: book })[userId]
export const boardLong: LeaderboardData = {
  name: 'The great perpetual championship of all readers of the northern libraries',
  unit: 'points of merit',
  rankings: [
    { userId: '1', userName: LONG, rank: 1, value: 9_007_199_254_740, previousRank: 2 },
    { userId: '2', userName: 'Al', rank: 2, value: 98_765_432, previousRank: 1 },
    { userId: '3', userName: 'محمد بن موسى الخوارزمي', rank: 3, value: 9_999_999 },
    { userId: '4', userName: '王小雲', rank: 4, value: 1_234_567 },
    { userId: '5', userName: 'Wolfeschlegelsteinhausenbergerdorff', rank: 5, value: 12, previousRank: 4 },
  ],
  own: { userId: 'me', userName: LONG, rank: 12_345_678, value: 1, previousRank: 12_345_670 },
}
export const boardFinal: LeaderboardData = {
  ...board,
  status: 'finished',
  start: '2026-11-16',
  end: '2026-11-22',
}
export const boardScroll: LeaderboardData = {
  ...board,
  name: 'All time',
  start: null,
  end: null,
  rankings: Array.from({ length: 40 }, (_unused, index) => ({
    userId: `reader-${index + 1}`,
    userName: `Reader ${index + 1}`,
    rank: index + 1,
    value: 9000 - index * 130,
  })),
  own: { userId: 'reader-17', userName: 'Reader 17', rank: 17, value: 6920 },
}

const group = (users: number, ...values: string[]): GroupData => ({
  group: values.map((value, index) => ({ key: ['team', 'city'][index] ?? 'team', value })),
  users,
})
export const teams = [{ ...group(418, 'Owls'), isOwn: true }, group(390, 'Foxes'), group(77, 'Hares')]
export const cities = [
  { ...group(1204, 'Owls', 'Washington, DC'), isOwn: true },
  group(980, 'Foxes', 'Llanfairpwllgwyngyll'),
  group(412, 'Owls', 'Lima'),
  group(300, 'Foxes', 'Lima'),
  group(55, 'Hares', 'Oslo'),
]

export const changes: Change[] = [
  { type: 'points', key: 'xp', name: 'XP', added: 50, total: 2510 },
  { type: 'level', key: 'xp', name: 'XP', level: { key: 'gold', name: 'Gold', points: 2500 } },
  { type: 'streak', length: 12, frequency: 'daily' },
  { type: 'rank', key: 'weekly-xp', name: 'Weekly XP', rank: 3, previousRank: 5 },
]
export const changesLong: Change[] = [
  { type: 'points', key: 'xp', name: 'XP', added: 1_250_000, total: 9_000_000 },
  {
    type: 'achievement',
    achievement: {
      id: '6',
      name: LONG,
      description: null,
      badgeUrl: book,
      achievedAt: '2026-11-23T10:00:00.000Z',
    },
  },
]
