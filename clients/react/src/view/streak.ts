import type { StreakData, StreakPeriod } from './data.ts'

/** `open`: the current period still needs activity. `safe`: it does not. */
export type StreakState = 'none' | 'open' | 'safe'

/** Says if a streak needs activity in the current period (S5). The answer needs no clock. */
export function streakState({ length, expires, periodEnd }: StreakData): StreakState {
  if (length <= 0 || expires === null || periodEnd === null) return 'none'
  return expires > periodEnd ? 'safe' : 'open'
}

export type PeriodState =
  | 'active'
  | 'frozen'
  | 'paused'
  | 'off'
  | 'kept'
  | 'missed'
  | 'reset'
  | 'open'
  | 'unknown'
/** The states of a period that continues a streak. */
const HOLDS: readonly unknown[] = ['active', 'frozen', 'paused', 'kept', 'off']

export interface PeriodView {
  start: string
  end: string
  length: number
  state: PeriodState
  /** The period that is not over yet. */
  isCurrent: boolean
  /** Continues the streak of the period before, or is continued by the next one. */
  joins: { before: boolean; after: boolean }
}

/** The state of each period, oldest first. The last period is the current one (S6). */
export function periodViews(history: readonly StreakPeriod[]): PeriodView[] {
  const states = history.map((period, index) =>
    stateOf(period, history[index - 1], index === history.length - 1),
  )
  const holds = (index: number) => HOLDS.includes(states[index])
  // A length of 1 in an active period is the start of a streak.
  const joins = (index: number) =>
    holds(index - 1) && holds(index) && !(states[index] === 'active' && history[index]?.length === 1)
  return history.map(({ periodStart, periodEnd, length }, index) => ({
    start: periodStart,
    end: periodEnd,
    length,
    state: states[index] ?? 'unknown',
    isCurrent: index === history.length - 1,
    joins: { before: joins(index), after: joins(index + 1) },
  }))
}

function stateOf(period: StreakPeriod, before: StreakPeriod | undefined, isCurrent: boolean): PeriodState {
  const { length, usedFreeze, usedPause } = period
  const isSaved = usedFreeze || usedPause
  // After a reset, activity begins at 1. A longer streak was restored, with or without activity (S13).
  if (period.resetAt && length < 2 && !isSaved) return length ? 'active' : 'reset'
  // Activity in a paused period extends the streak too (S3).
  if (before ? length > before.length : length && !isSaved) return 'active'
  if (usedFreeze) return 'frozen'
  if (usedPause) return period.dayOff ? 'off' : 'paused'
  return isCurrent ? 'open' : length ? 'kept' : 'missed'
}

/** A day of a month, or null for an empty cell before the first or after the last day. */
export type MonthCell = { date: string; period: PeriodView | undefined } | null

const pad = (value: number) => String(value).padStart(2, '0')

/** Month of a date as `YYYY-MM`. */
export const monthOf = (date: string): string => date.slice(0, 7)

/** The month that is `by` months later, as `YYYY-MM`. */
export function addMonths(month: string, by: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number)
  const index = year * 12 + (number - 1) + by
  return `${Math.floor(index / 12)}-${pad((index % 12) + 1)}`
}

/**
 * Weeks of a month (`YYYY-MM`) as rows of seven cells. `firstDay` is the weekday of the first column: 1 is
 * Monday, 7 is Sunday.
 */
export function monthWeeks(month: string, firstDay: number, periods: readonly PeriodView[]): MonthCell[][] {
  const byDate = new Map(periods.map((period) => [period.start, period]))
  const [year = 0, number = 1] = month.split('-').map(Number)
  const days = new Date(Date.UTC(year, number, 0)).getUTCDate()
  const weekday = new Date(Date.UTC(year, number - 1, 1)).getUTCDay()
  const lead = (weekday - (firstDay % 7) + 7) % 7
  const weeks: MonthCell[][] = []
  for (let cell = -lead; cell < days; cell += 7) {
    const week: MonthCell[] = []
    for (let day = cell + 1; day <= cell + 7; day++) {
      const date = `${month}-${pad(day)}`
      week.push(day < 1 || day > days ? null : { date, period: byDate.get(date) })
    }
    weeks.push(week)
  }
  return weeks
}

/** The seven dates of a week that begins on `firstDay` (1 is Monday, 7 is Sunday), for names of weekdays. */
export const weekDates = (firstDay: number): string[] =>
  // 1 January 2024 is a Monday.
  [0, 1, 2, 3, 4, 5, 6].map((offset) => `2024-01-${pad(firstDay + offset)}`)
