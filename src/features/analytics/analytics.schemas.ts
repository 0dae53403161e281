import * as z from 'zod'
import { DateField, DateResponse, IdOrKey, Timestamp } from '../../api/fields'
import { MOST_SUMMARY_DAYS } from '../../lib/limits'

/** The resource in the path. */
export const AnalyticsParams = z.object({ key: IdOrKey })

/** The local dates of the figures, from the first one to the last one (I1). */
export const AnalyticsQuery = z.object({ from: DateField.optional(), to: DateField.optional() })

/** The most days from `from` to `to`. */
export const MOST_ANALYTICS_DAYS = MOST_SUMMARY_DAYS

const Count = z.int().min(0)
const Sum = z.number()
const byKey = <S extends z.ZodType>(value: S) => z.record(z.string(), value)

/** When the figures were last brought up to date; null if that was never done. */
const updated = Timestamp.nullable()

/** An answer with a row for each date. */
const series = <S extends z.ZodRawShape>(id: string, row: S) =>
  z.object({ updated, series: z.array(z.object({ date: DateResponse, ...row })) }).meta({ id })

const Kept = z.object({ users: Count, kept: Count })
const Retention = z.object({ users: Count, d1: Kept, d7: Kept, d30: Kept })

/** The figures of all users (I1). */
export const AnalyticsOverview = series('AnalyticsOverview', {
  newUsers: Count,
  activeUsers: Count,
  events: Count,
  points: byKey(Sum),
  achievements: Count,
})
  .extend({
    active: z.object({ day: Count, week: Count, month: Count }),
    retention: z.object({ control: Retention, others: Retention }),
    streaks: z.array(z.object({ from: Count, to: Count.nullable(), users: Count })),
  })
  .meta({ id: 'AnalyticsOverview' })

/** The figures of a metric (I2). */
export const MetricAnalytics = series('MetricAnalytics', { events: Count, total: Sum, activeUsers: Count })

/** The figures of a points system (I2). */
export const PointsAnalytics = series('PointsAnalytics', {
  added: Sum,
  byTrigger: byKey(Sum),
  byLevel: byKey(Count),
})

/** The figures of a leaderboard (I2). */
export const LeaderboardAnalytics = series('LeaderboardAnalytics', { participants: Count })

/** The figures of an achievement (I2). */
export const AchievementAnalytics = series('AchievementAnalytics', { completions: Count })
