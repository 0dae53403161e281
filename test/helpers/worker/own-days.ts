import { DAY, dateAt, HOUR, moveTo } from './boards'
import { forgetDueWork } from './due-work'

/**
 * Days of its own for each test of a file, since all its tests share the clock. They begin with a Monday at midnight in
 * UTC. `apart` is how many days come between the beginnings of two tests, in whole weeks.
 */
export function ownDays(apart = 35) {
  let start = Date.UTC(2026, 5, 8)
  let reached = start
  const at = (days: number, hours = 0) => start + days * DAY + hours * HOUR
  return {
    /** Begins the days of the next test. Due work of earlier tests is deleted, since the clock would run it. */
    async begin(): Promise<void> {
      await forgetDueWork()
      do start += apart * DAY
      while (start <= reached)
    },
    /** The moment that many days and hours after the test's first midnight. */
    at,
    date: (days: number): string => dateAt(at(days)),
    /** Moves the clock to that moment. */
    async move(days: number, hours = 0): Promise<void> {
      reached = at(days, hours)
      await moveTo(reached)
    },
  }
}
