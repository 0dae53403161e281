import type * as z from 'zod'
import { userAchievementResponse } from '../../api/shapes/achievement.presenter'
import type { EventSummaryResponse, MetricResponse } from '../../api/shapes/metric.schemas'
import { configurationOf } from '../../configuration/configuration.service'
import {
  type Achievement,
  type Configuration,
  type Metric,
  metricByKey,
} from '../../configuration/configuration.types'
import { fromMicros, MICROS_PER_UNIT } from '../../lib/decimal'
import { errors } from '../../lib/errors'
import type { Scope } from '../../platform/context'
import { NEW_COUNTER } from '../../rules/metrics.rules'
import type { UserState } from '../../rules/state.types'
import { readDaySums } from '../../store/day-sums/day-sums.service'
import { type SummaryRange, summarise } from '../../store/day-sums/summary-buckets.rules'
import { findUser } from '../../store/find-user.service'
import { visibleTo } from '../achievements/achievements.service'

/** A user and the requested metric. */
export type UserMetric = { user: UserState; metric: Metric }

/** A user, and the metric with this key. Throws 404 if either does not exist. */
export async function findUserMetric(scope: Scope, userId: string, key: string): Promise<UserMetric> {
  const user = await findUser(scope, userId)
  const metric = metricByKey(await configurationOf(scope), key)
  if (metric === undefined) throw errors.notFound(`The metric ${JSON.stringify(key)}`)
  return { user, metric }
}

/**
 * All metrics with a user's totals, in order of creation. The total is 0 if the user has no events of a
 * metric (A6).
 */
export async function allUserMetrics(scope: Scope, user: UserState) {
  const config = await configurationOf(scope)
  const achievements = visibleTo(config, user)
  return config.metrics.map((metric) => answerOf(config, { user, metric }, achievements))
}

/** A metric with a user's total. */
export async function userMetricResponse(scope: Scope, found: UserMetric) {
  const config = await configurationOf(scope)
  return answerOf(config, found, visibleTo(config, found.user))
}

/** A metric with a user's total, and the visible achievements that it triggers (A6). */
function answerOf(
  config: Configuration,
  { user, metric }: UserMetric,
  visible: readonly Achievement[],
): z.infer<typeof MetricResponse> {
  const { id, key, name } = metric
  return {
    id,
    key,
    name,
    status: 'active',
    current: fromMicros(totalOf({ user, metric })),
    achievements: visible
      .filter(({ metricId }) => metricId === id)
      .map((one) => userAchievementResponse(config, one, user.achievements.get(one.id))),
  }
}

/**
 * The changes of a user's metric in buckets of local days. The local dates are as stored with the events
 * (P12, E8).
 */
export async function metricSummary(
  scope: Scope,
  { user, metric }: UserMetric,
  range: SummaryRange,
): Promise<z.infer<typeof EventSummaryResponse>> {
  const sums = await readDaySums(scope, user, { log: 'events', id: metric.id }, range)
  // A change can reach from one bound of E1 to the other, which is beyond the range of Micros. Nothing is
  // added to it any more.
  return summarise(sums.days, range, sums.total).map(({ date, total, change }) => ({
    date,
    total: total / MICROS_PER_UNIT,
    change: change / MICROS_PER_UNIT,
  }))
}

const totalOf = ({ user, metric }: UserMetric) => (user.metrics.get(metric.id) ?? NEW_COUNTER).total
