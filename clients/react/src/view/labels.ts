import type { Change, Frequency, GroupData, LevelData, RankingRow } from './data.ts'
import type { Format } from './format.ts'
import type { PeriodState, StreakState } from './streak.ts'

/** All texts of the components. Pass your own as `labels` to translate or change them, all or some. */
export interface Labels {
  loading: string
  error: string
  retry: string
  dismiss: string
  you: string

  streak: string
  /** The words after the number, such as "day streak". */
  streakUnit: (streak: { length: number; frequency: Frequency }, format: Format) => string
  streakState: (streak: { state: StreakState; expires: string | null }, format: Format) => string
  freezes: (freezes: { count: number; max: number | undefined }, format: Format) => string
  calendar: string
  previousMonth: string
  nextMonth: string
  periodState: Record<PeriodState, string>

  level: string
  noLevel: string
  levelNext: (next: { level: LevelData; remaining: number; unit: string }, format: Format) => string
  levelTop: string
  levelText: (progress: { total: number; goal: number; unit: string }, format: Format) => string

  energyText: (energy: { total: number; max: number }, format: Format) => string
  energyFull: string
  energyNext: (next: { points: number; time: string }, format: Format) => string

  achievements: string
  achievementsDone: (count: { done: number; all: number }, format: Format) => string
  achieved: string
  notAchieved: string
  rarity: (rarity: { percent: string }) => string
  noAchievements: string

  rank: string
  player: string
  score: string
  noRanking: string
  notRanked: string
  live: string
  final: string
  scheduled: string
  group: string
  groupName: (group: GroupData, format: Format) => string
  /** Marks the user's own group. */
  ownGroup: string
  rankUp: (change: { places: number }, format: Format) => string
  rankDown: (change: { places: number }, format: Format) => string
  rankNew: string
  /** Screen readers say this when the user's own rank has changed. */
  ownRank: (row: Pick<RankingRow, 'rank' | 'value'>, format: Format) => string

  toast: string
  change: (change: Change, format: Format) => string
}

const UNITS: Record<Frequency, string> = { daily: 'day', weekly: 'week', monthly: 'month' }

// Each component has texts of its own, so that an app gets only those of the components that it uses.

export const cardLabels = {
  loading: 'Loading',
  error: 'This could not be loaded.',
  retry: 'Try again',
} satisfies Partial<Labels>

export const streakLabels = {
  streak: 'Streak',
  streakUnit: ({ frequency }) => `${UNITS[frequency]} streak`,
  streakState: ({ state, expires }, format) => {
    if (state === 'none' || expires === null) return 'Start your streak today'
    if (state === 'open') return `Keep it going by ${format.date(expires)}`
    return `Done, next by ${format.date(expires)}`
  },
  freezes: ({ count, max }, format) => {
    const noun = format.plural(max ?? count, { one: 'freeze', other: 'freezes' })
    if (max === undefined) return `${format.number(count)} ${noun}`
    return `${format.number(count)} of ${format.number(max)} ${noun}`
  },
} satisfies Partial<Labels>

export const calendarLabels = {
  calendar: 'Streak calendar',
  previousMonth: 'Previous month',
  nextMonth: 'Next month',
  periodState: {
    active: 'active',
    frozen: 'saved by a freeze',
    paused: 'paused',
    off: 'day off',
    kept: 'kept',
    missed: 'not active',
    reset: 'reset',
    open: 'still open',
    unknown: '',
  },
} satisfies Partial<Labels>

export const levelLabels = {
  level: 'Level',
  noLevel: 'No level yet',
  levelNext: ({ level, remaining, unit }, format) => `${format.number(remaining)} ${unit} to ${level.name}`,
  levelTop: 'Highest level reached',
  levelText: ({ total, goal, unit }, format) => `${format.number(total)} of ${format.number(goal)} ${unit}`,
} satisfies Partial<Labels>

export const energyLabels = {
  energyText: ({ total, max }, format) => `${format.number(total)} of ${format.number(max)}`,
  energyFull: 'Full',
  energyNext: ({ points, time }, format) => `${format.signed(points)} in ${time}`,
} satisfies Partial<Labels>

export const achievementLabels = {
  achievements: 'Achievements',
  achievementsDone: ({ done, all }, format) => `${format.number(done)} of ${format.number(all)} completed`,
  achieved: 'Completed',
  notAchieved: 'Not completed yet',
  rarity: ({ percent }) => `${percent} of users`,
  noAchievements: 'No achievements yet.',
} satisfies Partial<Labels>

export const groupLabels = {
  group: 'Group',
  groupName: ({ group }) => group.map(({ value }) => value).join(' · '),
  ownGroup: 'your group',
} satisfies Partial<Labels>

export const leaderboardLabels = {
  you: 'You',
  rank: 'Rank',
  player: 'Name',
  score: 'Score',
  noRanking: 'Nobody is ranked yet.',
  notRanked: 'Not ranked yet',
  live: 'Live',
  final: 'Final',
  scheduled: 'Starts soon',
  rankUp: ({ places }, format) => `up ${format.number(places)}`,
  rankDown: ({ places }, format) => `down ${format.number(places)}`,
  rankNew: 'new',
  ownRank: ({ rank, value }, format) =>
    `You are now on rank ${format.number(rank)} with ${format.number(value)}.`,
} satisfies Partial<Labels>

export const toastLabels = {
  dismiss: 'Dismiss',
  toast: 'Awards',
  change: (change, format) => {
    switch (change.type) {
      case 'points':
        return `${format.signed(change.added)} ${change.name}`
      case 'level':
        return change.level === null ? `${change.name}: no level` : `New level: ${change.level.name}`
      case 'streak':
        return `${format.number(change.length)} ${UNITS[change.frequency]} streak`
      case 'achievement':
        return `Achievement: ${change.achievement.name}`
      case 'rank':
        return `Rank ${format.number(change.rank)} in ${change.name}`
    }
  },
} satisfies Partial<Labels>
