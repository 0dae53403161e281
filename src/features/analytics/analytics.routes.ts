import type * as z from 'zod'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import * as schemas from './analytics.schemas'
import * as service from './analytics.service'
import { overview } from './overview.service'

const DESCRIPTION = 'A row for each local date, oldest first.'

const adminAnalyticsOverview = operation({
  id: 'admin_analytics_overview',
  surface: 'admin',
  method: 'get',
  path: '/analytics/overview',
  summary: 'Get the figures of all users by day',
  query: schemas.AnalyticsQuery,
  responses: { 200: { description: DESCRIPTION, body: schemas.AnalyticsOverview } },
})

/** The operation of the figures of one resource. `resource` is the path of its kind. */
const analyticsOf = <const R extends string, S extends z.ZodType>(resource: R, one: string, body: S) =>
  operation({
    id: `admin_${resource}_analytics`,
    surface: 'admin',
    method: 'get',
    path: `/${resource}/{key}/analytics`,
    summary: `Get the figures of ${one} by day`,
    params: schemas.AnalyticsParams,
    query: schemas.AnalyticsQuery,
    responses: { 200: { description: DESCRIPTION, body } },
  })

const adminMetricsAnalytics = analyticsOf('metrics', 'a metric', schemas.MetricAnalytics)
const adminPointsAnalytics = analyticsOf('points', 'a points system', schemas.PointsAnalytics)
const adminLeaderboardsAnalytics = analyticsOf('leaderboards', 'a leaderboard', schemas.LeaderboardAnalytics)
const adminAchievementsAnalytics = analyticsOf('achievements', 'an achievement', schemas.AchievementAnalytics)

/** The operations of the analytics, in the order of the OpenAPI document. */
export const analyticsOperations = [
  adminAnalyticsOverview,
  adminMetricsAnalytics,
  adminPointsAnalytics,
  adminLeaderboardsAnalytics,
  adminAchievementsAnalytics,
]

/** Serves the analytics (I). */
export function analyticsRoutes(app: App): void {
  mount(app, adminAnalyticsOverview, {}, async (scope, { query }) => ok(await overview(scope, query)))
  mount(
    app,
    adminMetricsAnalytics,
    { find: (scope, param) => service.findMetric(scope, param('key')) },
    async (scope, { query }, metric) => ok(await service.metricAnalytics(scope, metric, query)),
  )
  mount(
    app,
    adminPointsAnalytics,
    { find: (scope, param) => service.findSystem(scope, param('key')) },
    async (scope, { query }, system) => ok(await service.pointsAnalytics(scope, system, query)),
  )
  mount(
    app,
    adminLeaderboardsAnalytics,
    { find: (scope, param) => service.findLeaderboard(scope, param('key')) },
    async (scope, { query }, board) => ok(await service.leaderboardAnalytics(scope, board, query)),
  )
  mount(
    app,
    adminAchievementsAnalytics,
    { find: (scope, param) => service.findAchievement(scope, param('key')) },
    async (scope, { query }, achievement) =>
      ok(await service.achievementAnalytics(scope, achievement, query)),
  )
}
