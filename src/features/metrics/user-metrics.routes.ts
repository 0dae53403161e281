import * as z from 'zod'
import { UserId } from '../../api/fields'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import { SummaryQuery } from '../../api/queries'
import { EventSummaryResponse, MetricResponse, MetricsResponse } from '../../api/shapes/metric.schemas'
import type { Scope } from '../../platform/context'
import { findUser } from '../../store/find-user.service'
import { allUserMetrics, findUserMetric, metricSummary, userMetricResponse } from './user-metrics.service'

const params = z.object({ id: UserId, key: z.string() })

export const usersAllMetrics = operation({
  id: 'users_all_metrics',
  surface: 'application',
  method: 'get',
  path: '/users/{id}/metrics',
  summary: "Get a user's totals in all metrics",
  params: z.object({ id: UserId }),
  responses: { 200: { description: 'Every metric, in order of creation.', body: MetricsResponse } },
})

export const usersSingleMetric = operation({
  id: 'users_single_metric',
  surface: 'application',
  method: 'get',
  path: '/users/{id}/metrics/{key}',
  summary: "Get a user's total in a metric",
  params,
  responses: { 200: { description: 'The metric with the total of the user.', body: MetricResponse } },
})

export const usersMetricEventSummary = operation({
  id: 'users_metric_event_summary',
  surface: 'application',
  method: 'get',
  path: '/users/{id}/metrics/{key}/event-summary',
  summary: "Get the changes of a user's metric by day, week or month",
  params,
  query: SummaryQuery,
  responses: { 200: { description: 'The buckets, oldest first.', body: EventSummaryResponse } },
})

/** Serves the totals and the summaries of a user's metrics. */
export function userMetricRoutes(app: App): void {
  const subject = (_json: unknown, param: (name: string) => string) => param('id')
  const find = (scope: Scope, param: (name: string) => string) =>
    findUserMetric(scope, param('id'), param('key'))
  mount(
    app,
    usersAllMetrics,
    { subject, find: (scope, param) => findUser(scope, param('id')) },
    async (scope, _input, user) => ok(await allUserMetrics(scope, user)),
  )
  mount(app, usersSingleMetric, { subject, find }, async (scope, _input, found) =>
    ok(await userMetricResponse(scope, found)),
  )
  mount(app, usersMetricEventSummary, { subject, find }, async (scope, { query }, found) =>
    ok(await metricSummary(scope, found, query)),
  )
}
