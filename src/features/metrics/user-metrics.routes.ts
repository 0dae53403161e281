import * as z from 'zod'
import { endpointsOf, ok } from '../../api/endpoint'
import { UserId } from '../../api/fields'
import { SummaryQuery } from '../../api/queries'
import { userAchievementResponse } from '../../api/shapes/achievements'
import { EventSummaryResponse, MetricResponse, MetricsResponse } from '../../api/shapes/events'
import { configurationOf } from '../../configuration/configuration'
import { type Configuration, type Metric, metricByKey } from '../../configuration/model'
import { fromMicros, MICROS_PER_UNIT } from '../../lib/decimal'
import { errors } from '../../lib/errors'
import type { Scope } from '../../platform/context'
import { NEW_COUNTER, type UserState } from '../../rules/state'
import { type SummaryRange, summarise } from '../../store/day-sums/day-sums.rules'
import { readDaySums } from '../../store/day-sums/day-sums.sql.ts'
import { findUser } from '../../store/users/users.sql.ts'
import { visibleTo } from '../achievements/achievements.routes'

/** All metrics with a user's totals, in order of creation. Without events, the total is 0 (A6). */
export async function allUserMetrics(scope: Scope, user: UserState) {
  const config = await configurationOf(scope)
  return config.metrics.map(responseFor(config, user))
}

/** Shows metrics with a user's totals, and the visible achievements that they trigger (A6). */
function responseFor(config: Configuration, user: UserState) {
  const visible = visibleTo(config, user)
  return ({ id, key, name }: Metric): z.infer<typeof MetricResponse> => ({
    id,
    key,
    name,
    status: 'active',
    current: fromMicros((user.metrics.get(id) ?? NEW_COUNTER).total),
    achievements: visible
      .filter(({ metricId }) => metricId === id)
      .map((one) => userAchievementResponse(config, one, user.achievements.get(one.id))),
  })
}

async function metricSummary(scope: Scope, user: UserState, metric: Metric, range: SummaryRange) {
  const sums = await readDaySums(scope, user, { log: 'events', id: metric.id }, range)
  // A change can reach from one bound of E1 to the other, which is beyond the range of Micros. Nothing is
  // added to it any more.
  return summarise(sums.days, range, sums.total).map(({ date, total, change }) => ({
    date,
    total: total / MICROS_PER_UNIT,
    change: change / MICROS_PER_UNIT,
  }))
}

const params = z.object({ id: UserId, key: z.string() })

const endpoint = endpointsOf('application')

const find = async (scope: Scope, param: (name: string) => string) => {
  const user = await findUser(scope, param('id'))
  const metric = metricByKey(await configurationOf(scope), param('key'))
  if (metric === undefined) throw errors.notFound(`The metric ${JSON.stringify(param('key'))}`)
  return { user, metric }
}

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
    { find: (scope, param) => findUser(scope, param('id')) },
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
    { find },
    async (scope, _input, { user, metric }) => ok(responseFor(await configurationOf(scope), user)(metric)),
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
    { find },
    async (scope, { query }, { user, metric }) => ok(await metricSummary(scope, user, metric, query)),
  ),
]
