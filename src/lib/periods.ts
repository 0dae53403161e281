import { type Aggregation, type CivilDate, civilDateOfDay, dayOf, isCivilDate } from './civil'

/** 9999-12-31: the last valid date, in days since 1970-01-01. */
export const LAST_DAY = 2_932_896

/** The first day of a week: Monday, as 1 of ISO 8601's 1 to 7. */
const WEEK_STARTS = 1
/** The day of the week of 1970-01-01: Thursday. */
const EPOCH_WEEKDAY = 4

/**
 * The first day of the period that contains a day: the day itself, the first day of its week, or the first of
 * its month. Days since 1970-01-01.
 */
export function periodStart(day: number, frequency: Aggregation): number {
  if (frequency === 'daily') return day
  if (frequency === 'weekly') return day - ((((day + EPOCH_WEEKDAY - WEEK_STARTS) % 7) + 7) % 7)
  const first = `${civilDateOfDay(day).slice(0, 8)}01`
  return isCivilDate(first) ? dayOf(first) : day
}

/** The first date of the period that contains a date (P12). */
export const periodStartDate = (date: CivilDate, frequency: Aggregation): CivilDate =>
  civilDateOfDay(periodStart(dayOf(date), frequency))

/** The first day of the period after the one that starts on a day. */
export function nextPeriod(start: number, frequency: Aggregation): number {
  if (frequency === 'daily') return start + 1
  if (frequency === 'weekly') return start + 7
  return start + 31 > LAST_DAY ? LAST_DAY + 1 : periodStart(start + 31, 'monthly')
}

/**
 * The first day of the period that is `count` periods before the one that starts on `start`. A negative
 * `count` goes forward.
 */
export function periodsBefore(start: number, count: number, frequency: Aggregation): number {
  if (frequency === 'daily') return start - count
  if (frequency === 'weekly') return start - 7 * count
  const [year = 0, month = 0] = civilDateOfDay(start).split('-').map(Number)
  const months = year * 12 + (month - 1) - count
  const text = `${String(Math.floor(months / 12)).padStart(4, '0')}-${String((((months % 12) + 12) % 12) + 1).padStart(2, '0')}-01`
  return isCivilDate(text) ? dayOf(text) : start
}

/** The last day of the period that starts on a day. */
export const periodEnd = (start: number, frequency: Aggregation): number =>
  frequency === 'monthly' ? nextPeriod(start, frequency) - 1 : start + (frequency === 'weekly' ? 6 : 0)
