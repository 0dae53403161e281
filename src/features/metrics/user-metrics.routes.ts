import * as z from 'zod'
import { endpointsOf, ok } from '../../api/endpoint'
import { UserId } from '../../api/fields'
import { SummaryQuery } from '../../api/queries'
import { userAchievementResponse } from '../../api/shapes/achievements'
import { EventSummaryResponse, MetricResponse, MetricsResponse } from '../../api/shapes/events'
import { configurationOf } from '../../configuration/configuration'
import { type Achievement, type Configuration, type Metric, metricByKey } from '../../configuration/model'
import { fromMicros, MICROS_PER_UNIT } from '../../lib/decimal'
import { errors } from '../../lib/errors'
import type { Scope } from '../../platform/context'
import { NEW_COUNTER, type UserState } from '../../rules/state'
import { type SummaryRange, summarise } from '../../store/day-sums/day-sums.rules'
import { readDaySums } from '../../store/day-sums/day-sums.sql.ts'
import { findUser } from '../../store/users/find-user'
import { visibleTo } from '../achievements/achievements.routes'

type UserMetric = { user: UserState; metric: Metric }

async function findUserMetric(scope: Scope, userId: string, key: string): Promise<UserMetric> {
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

async function userMetricResponse(scope: Scope, found: UserMetric) {
  const config = await configurationOf(scope)
  return answerOf(config, found, visibleTo(config, found.user))
}

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

async function metricSummary(
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

const params = z.object({ id: UserId, key: z.string() })

const endpoint = endpointsOf('application')

const subject = (_json: unknown, param: (name: string) => string) => param('id')
const find = (scope: Scope, param: (name: string) => string) =>
  findUserMetric(scope, param('id'), param('key'))

/** The endpoints of the totals and the summaries of a user's metrics. */
export const userMetricEndpoints = [
  endpoint(
    'GET /users/{id}/metrics',
    {
      id: 'users_all_metrics',
      summary: "Get a user's totals in all metrics",
      params: z.object({ id: UserId }),
      responses: { 200: { description: 'Every metric, in order of creation.', body: MetricsResponse } },
    },
    { subject, find: (scope, param) => findUser(scope, param('id')) },
    async (scope, _input, user) => ok(await allUserMetrics(scope, user)),
  ),
  endpoint(
    'GET /users/{id}/metrics/{key}',
    {
      id: 'users_single_metric',
      summary: "Get a user's total in a metric",
      params,
      responses: { 200: { description: 'The metric with the total of the user.', body: MetricResponse } },
    },
    { subject, find },
    async (scope, _input, found) => ok(await userMetricResponse(scope, found)),
  ),
  endpoint(
    'GET /users/{id}/metrics/{key}/event-summary',
    {
      id: 'users_metric_event_summary',
      summary: "Get the changes of a user's metric by day, week or month",
      params,
      query: SummaryQuery,
      responses: { 200: { description: 'The buckets, oldest first.', body: EventSummaryResponse } },
    },
    { subject, find },
    async (scope, { query }, found) => ok(await metricSummary(scope, found, query)),
  ),
]
