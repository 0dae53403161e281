import * as z from 'zod'
import { DateResponse } from '../../api/fields'
import { integerQuery } from '../../api/queries'
import { UserAchievementResponse } from '../../api/shapes/achievement.schemas'
import { UserLeaderboardResponse } from '../../api/shapes/leaderboard.schemas'
import { StreakFrequency } from '../../api/shapes/streak.schemas'
import { User } from '../../api/shapes/user.schemas'

/** The last year in which a date can be written (G4). */
const LAST_YEAR = 9_999

/** The year to sum up. Without it, the current year in the user's zone (R1). */
export const WrappedQuery = z.object({ year: integerQuery({ min: 1, max: LAST_YEAR, fallback: undefined }) })

/** The total at the period's end, the change in it, and the place among all users by it (R1, R2). */
const Changed = z.object({
  name: z.string(),
  currentTotal: z.number(),
  changeThisPeriod: z.number(),
  percentChange: z.number(),
  percentileThisPeriod: z.int32().optional(),
})

/** A metric, or its events with one value of an event attribute. */
const MetricChanged = Changed.extend({ units: z.string().nullable() })

/** A metric in a period. `byAttribute` is by event attribute key, then by value (R1). */
export const WrappedMetric = MetricChanged.extend({
  byAttribute: z.record(z.string(), z.record(z.string(), MetricChanged)),
}).meta({ id: 'WrappedMetric' })

/** A points system in a period (R1). */
export const WrappedPoints = Changed.extend({ description: z.string().nullable() }).meta({
  id: 'WrappedPoints',
})

/**
 * The longest streak of the year. The period is the first in which it had this length. The dates are null if
 * there was no streak.
 */
export const WrappedStreak = z
  .object({
    length: z.int32(),
    frequency: StreakFrequency,
    periodStart: DateResponse.nullable(),
    periodEnd: DateResponse.nullable(),
    started: DateResponse.nullable(),
  })
  .meta({ id: 'WrappedStreak' })

/** The results of a period, by the keys of metrics, points systems and leaderboards (R1). */
export const WrappedActivityPeriod = z
  .object({
    metrics: z.record(z.string(), WrappedMetric),
    points: z.record(z.string(), WrappedPoints),
    achievements: z.array(UserAchievementResponse),
    leaderboards: z.record(z.string(), UserLeaderboardResponse),
  })
  .meta({ id: 'WrappedActivityPeriod' })

/** The user's year (R1). Months count from 0. */
export const WrappedResponse = z
  .object({
    user: User,
    activity: z
      .object({
        daysActive: z.int32(),
        weeksActive: z.int32(),
        monthsActive: z.int32(),
        mostActiveDay: WrappedActivityPeriod.extend({ date: DateResponse }),
        mostActiveWeek: WrappedActivityPeriod.extend({ start: DateResponse, end: DateResponse }),
        mostActiveMonth: WrappedActivityPeriod.extend({ month: z.int32() }),
        entireYear: WrappedActivityPeriod.extend({ longestStreak: WrappedStreak }),
      })
      .meta({ id: 'WrappedActivity' }),
  })
  .meta({ id: 'WrappedResponse' })
