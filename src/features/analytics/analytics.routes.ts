import type * as z from 'zod'
import { endpointsOf, ok } from '../../api/endpoint'
import { byIdOrKey } from '../../api/resources/drafts.rules'
import { configurationOf } from '../../configuration/configuration'
import type { Achievement, Configuration, Leaderboard, Metric, System } from '../../configuration/model'
import { definitionOf } from '../../leaderboards/board'
import { asked as askedOf } from '../../leaderboards/leaderboards'
import { isoOrNull } from '../../lib/clock'
import { fromMicros, micros } from '../../lib/decimal'
import { utcDay } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import {
  activeIn,
  KEPT_AFTER,
  LONGEST_WINDOW,
  retentionOf,
  runningSums,
  STREAK_CLASSES,
  WINDOWS,
} from './analytics.rules'
import { readUpdated } from './counting'
import type { FigureRow } from './figures.sql.ts'
import * as schemas from './series'
import {
  type AchievementAnalytics,
  type AnalyticsOverview,
  byDay,
  type LeaderboardAnalytics,
  type MetricAnalytics,
  type PointsAnalytics,
  type Query,
  rangeOf,
  read,
  rowsOf,
  sumsBy,
} from './series'

/** The figures of all users (I1). */
async function overview(scope: Scope, query: Query): Promise<z.infer<typeof AnalyticsOverview>> {
  const { now } = scope
  const range = rangeOf(scope, query)
  const config = await configurationOf(scope)
  const window = { first: range.last - LONGEST_WINDOW + 1, last: range.last }
  const {
    updated,
    rows,
    others: points,
  } = await read(
    scope,
    {
      created: { figure: 'created', ...range },
      active: { figure: 'active', first: Math.min(range.first, window.first), last: range.last },
      gaps: { figure: 'gap', ...window },
      events: { figure: 'events', ...range },
      completions: { figure: 'completions', ...range },
      kept1: { figure: 'kept 1', ...range },
      kept7: { figure: 'kept 7', ...range },
      kept30: { figure: 'kept 30', ...range },
      streaks: { figure: 'streak', first: 0, last: utcDay(now) },
    },
    config.systems.map(({ id }) => ({ figure: 'points', id, ...range })),
  )
  const pointsOf = config.systems.map(({ key }, nth) => ({ key, days: byDay(points[nth] ?? []) }))
  const [created, active, events, completions] = [
    byDay(rows.created),
    byDay(rows.active),
    byDay(rows.events),
    byDay(rows.completions),
  ]
  const gaps = new Map(
    [...Map.groupBy(rows.gaps, ({ day }) => day)].map(([day, some]) => [
      day,
      sumsBy(some, ({ part }) => part),
    ]),
  )
  const cohort = (part: number) => {
    const of = (some: readonly FigureRow[]) => byDay(some.filter((row) => row.part === part))
    const lists = [rows.kept1, rows.kept7, rows.kept30]
    const kept = new Map(KEPT_AFTER.map((n, nth) => [n, of(lists[nth] ?? [])]))
    return retentionOf({ created: of(rows.created), kept }, range.first, range.last)
  }
  const activeUsers = (days: number) => activeIn({ active, gaps }, range.last, days)
  return {
    updated,
    series: rowsOf(range, (day) => ({
      newUsers: created.get(day) ?? 0,
      activeUsers: active.get(day) ?? 0,
      events: events.get(day) ?? 0,
      points: Object.fromEntries(pointsOf.map(({ key, days }) => [key, days.get(day) ?? 0])),
      achievements: completions.get(day) ?? 0,
    })),
    active: {
      day: activeUsers(WINDOWS.day),
      week: activeUsers(WINDOWS.week),
      month: activeUsers(WINDOWS.month),
    },
    retention: { control: cohort(1), others: cohort(0) },
    streaks: streakClasses(config, rows.streaks),
  }
}

/** The users by streak length. While streaks are off, all lengths are 0 (S10). */
function streakClasses(config: Configuration, rows: readonly FigureRow[]) {
  const users = sumsBy(rows, ({ part }) => (config.streaks.enabled ? part : 0))
  return STREAK_CLASSES.map(({ from, to }) => ({ from, to, users: users.get(from) ?? 0 }))
}

/** Finds a resource by the id or the key in a path (O1). */
const find =
  <R extends { id: string; key: string }>(list: (config: Configuration) => readonly R[], what: string) =>
  async (scope: Scope, idOrKey: string): Promise<R> =>
    byIdOrKey(list(await configurationOf(scope)), idOrKey, what)

/** Finds the resource of a path. Throws 404 if there is none. */
const findMetric = find(({ metrics }) => metrics, 'This metric')
const findSystem = find(({ systems }) => systems, 'This points system')
const findLeaderboard = find(({ leaderboards }) => leaderboards, 'This leaderboard')
const findAchievement = find(({ achievements }) => achievements, 'This achievement')

/** The figures of a metric (I2). */
async function metricAnalytics(
  scope: Scope,
  { id }: Metric,
  query: Query,
): Promise<z.infer<typeof MetricAnalytics>> {
  const range = rangeOf(scope, query)
  const { updated, rows } = await read(scope, {
    events: { figure: 'events', id, ...range },
    value: { figure: 'value', id, ...range },
    active: { figure: 'active', id, ...range },
  })
  const [events, value, active] = [byDay(rows.events), byDay(rows.value), byDay(rows.active)]
  return {
    updated,
    series: rowsOf(range, (day) => ({
      events: events.get(day) ?? 0,
      total: fromMicros(micros(value.get(day) ?? 0)),
      activeUsers: active.get(day) ?? 0,
    })),
  }
}

/** The figures of a points system (I2). */
async function pointsAnalytics(
  scope: Scope,
  { id, triggers, levels }: System,
  query: Query,
): Promise<z.infer<typeof PointsAnalytics>> {
  const range = rangeOf(scope, query)
  const { first, last } = range
  const { updated, rows } = await read(scope, {
    points: { figure: 'points', id, ...range },
    triggers: { figure: 'trigger', id, ...range },
    levels: { figure: 'level', id, ...range, isRunning: true },
  })
  const added = byDay(rows.points)
  const byTrigger = new Map(
    [...Map.groupBy(rows.triggers, ({ day }) => day)].map(([day, some]) => [day, sumsBy(some, keyOf)]),
  )
  const counts = [...Map.groupBy(rows.levels, keyOf)].map(([key, changes]) => {
    const days = byDay(changes)
    return { key, users: runningSums(days, days.get(first - 1) ?? 0, first, last) }
  })
  return {
    updated,
    series: rowsOf(range, (day) => ({
      added: added.get(day) ?? 0,
      byTrigger: mapOf(triggers, byTrigger.get(day) ?? new Map()),
      byLevel: mapOf(levels, new Map(counts.map(({ key, users }) => [key, users[day - first] ?? 0]))),
    })),
  }
}

const keyOf = ({ key }: FigureRow) => key ?? ''

/** Numbers by key, as an object: all present resources, and deleted ones with a number that is not 0. */
function mapOf(present: readonly { key: string }[], numbers: ReadonlyMap<string, number>) {
  const all = new Map<string, number>(present.map(({ key }) => [key, 0]))
  for (const [key, number] of numbers) if (number !== 0) all.set(key, number)
  return Object.fromEntries(all)
}

/** The figures of a leaderboard (I2). Its object knows them; their dates are in UTC, as its history (L10). */
async function leaderboardAnalytics(
  scope: Scope,
  board: Leaderboard,
  query: Query,
): Promise<z.infer<typeof LeaderboardAnalytics>> {
  const range = rangeOf(scope, query)
  const config = await configurationOf(scope)
  const { now, databases, tenant } = scope
  const [updated, participants] = await Promise.all([
    readUpdated(databases, tenant.id, now),
    askedOf(scope, board, (object) =>
      object.participants({ definition: definitionOf(config, board), now, ...range }),
    ),
  ])
  return {
    updated: isoOrNull(updated),
    series: rowsOf(range, (day) => ({ participants: participants[day - range.first] ?? 0 })),
  }
}

/** The figures of an achievement (I2). */
async function achievementAnalytics(
  scope: Scope,
  { id }: Achievement,
  query: Query,
): Promise<z.infer<typeof AchievementAnalytics>> {
  const range = rangeOf(scope, query)
  const { updated, rows } = await read(scope, { completions: { figure: 'completions', id, ...range } })
  const completions = byDay(rows.completions)
  return { updated, series: rowsOf(range, (day) => ({ completions: completions.get(day) ?? 0 })) }
}

const DESCRIPTION = 'A row for each local date, oldest first.'

const endpoint = endpointsOf('admin')

/** What the document says of the figures of one kind of resource. */
const figuresOf = <const R extends string, S extends z.ZodType>(resource: R, one: string, body: S) => ({
  id: `admin_${resource}_analytics`,
  summary: `Get the figures of ${one} by day`,
  params: schemas.AnalyticsParams,
  query: schemas.AnalyticsQuery,
  responses: { 200: { description: DESCRIPTION, body } },
})

/** The analytics (I). */
export const analyticsEndpoints = [
  endpoint(
    'GET /analytics/overview',
    {
      id: 'admin_analytics_overview',
      summary: 'Get the figures of all users by day',
      query: schemas.AnalyticsQuery,
      responses: { 200: { description: DESCRIPTION, body: schemas.AnalyticsOverview } },
    },
    async (scope, { query }) => ok(await overview(scope, query)),
  ),
  endpoint(
    'GET /metrics/{key}/analytics',
    figuresOf('metrics', 'a metric', schemas.MetricAnalytics),
    { find: (scope, param) => findMetric(scope, param('key')) },
    async (scope, { query }, metric) => ok(await metricAnalytics(scope, metric, query)),
  ),
  endpoint(
    'GET /points/{key}/analytics',
    figuresOf('points', 'a points system', schemas.PointsAnalytics),
    { find: (scope, param) => findSystem(scope, param('key')) },
    async (scope, { query }, system) => ok(await pointsAnalytics(scope, system, query)),
  ),
  endpoint(
    'GET /leaderboards/{key}/analytics',
    figuresOf('leaderboards', 'a leaderboard', schemas.LeaderboardAnalytics),
    { find: (scope, param) => findLeaderboard(scope, param('key')) },
    async (scope, { query }, board) => ok(await leaderboardAnalytics(scope, board, query)),
  ),
  endpoint(
    'GET /achievements/{key}/analytics',
    figuresOf('achievements', 'an achievement', schemas.AchievementAnalytics),
    { find: (scope, param) => findAchievement(scope, param('key')) },
    async (scope, { query }, achievement) => ok(await achievementAnalytics(scope, achievement, query)),
  ),
]
