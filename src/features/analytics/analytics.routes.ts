import * as z from 'zod'
import { endpointsOf, ok } from '../../api/endpoint'
import { DateField, DateResponse, IdOrKey, Timestamp } from '../../api/fields'
import { byIdOrKey } from '../../api/resources/drafts.rules'
import { configurationOf } from '../../configuration/configuration'
import type { Achievement, Configuration, Leaderboard, Metric, System } from '../../configuration/model'
import { definitionOf } from '../../leaderboards/board'
import { asked as askedOf } from '../../leaderboards/leaderboards'
import { isoOrNull } from '../../lib/clock'
import { fromMicros, micros } from '../../lib/decimal'
import { throwIfInvalid } from '../../lib/errors'
import { MOST_SUMMARY_DAYS } from '../../lib/limits'
import { type CivilDate, civilDateOfDay, dayOf, utcDay } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import {
  activeIn,
  byDay,
  byDayAnd,
  KEPT_AFTER,
  LONGEST_WINDOW,
  retentionOf,
  runningSums,
  STREAK_CLASSES,
  sumsBy,
  WINDOWS,
} from './analytics.rules'
import { readUpdated } from './counting'
import { type Asked, type FigureRow, readFigures } from './figures.sql.ts'

const AnalyticsParams = z.object({ key: IdOrKey })

/** The local dates of the figures, from the first one to the last one (I1). */
const AnalyticsQuery = z.object({ from: DateField.optional(), to: DateField.optional() })

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
const AnalyticsOverview = series('AnalyticsOverview', {
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

const MetricAnalytics = series('MetricAnalytics', { events: Count, total: Sum, activeUsers: Count })

const PointsAnalytics = series('PointsAnalytics', {
  added: Sum,
  byTrigger: byKey(Sum),
  byLevel: byKey(Count),
})

const LeaderboardAnalytics = series('LeaderboardAnalytics', { participants: Count })

const AchievementAnalytics = series('AchievementAnalytics', { completions: Count })

/** The number of dates if `from` is left out. */
const DEFAULT_DAYS = 30

type Query = z.output<typeof AnalyticsQuery>

/** Local days, from the first one to the last one. */
type Range = { first: number; last: number }

/**
 * The days of a request. Without `to`, they end today (UTC); without `from`, there are 30. Throws 422 if they
 * are in the wrong order or too many (I1).
 */
function rangeOf({ now }: Scope, { from, to }: Query): Range {
  const last = to === undefined ? utcDay(now) : dayOf(to)
  const first = from === undefined ? last - DEFAULT_DAYS + 1 : dayOf(from)
  const end = to === undefined ? `today, ${civilDateOfDay(last)}, if to is left out` : 'to'
  if (first > last)
    throwIfInvalid([{ path: 'from', message: `must not be after ${end}. Pass an earlier date` }])
  if (last - first > MOST_SUMMARY_DAYS) {
    const message = `must be at most ${MOST_SUMMARY_DAYS} days before ${end}. Ask for several shorter periods`
    throwIfInvalid([{ path: 'from', message }])
  }
  return { first, last }
}

/**
 * The figures of a request by their names, those without a name in their order, and when they were last
 * brought up to date.
 */
async function read<const Names extends Readonly<Record<string, Asked>>>(
  scope: Scope,
  asked: Names,
  others?: readonly Asked[],
): Promise<{
  updated: string | null
  rows: { [Name in keyof Names]: FigureRow[] }
  others: FigureRow[][]
}>
async function read(
  { databases, tenant, now }: Scope,
  asked: Readonly<Record<string, Asked>>,
  others: readonly Asked[] = [],
) {
  const names = Object.keys(asked)
  const [updated, lists] = await Promise.all([
    readUpdated(databases, tenant.id, now),
    readFigures(databases, tenant.id, [...Object.values(asked), ...others]),
  ])
  const rows = Object.fromEntries(names.map((name, nth) => [name, lists[nth] ?? []]))
  return { updated: isoOrNull(updated), rows, others: lists.slice(names.length) }
}

function rowsOf<Row>({ first, last }: Range, row: (day: number) => Row): (Row & { date: CivilDate })[] {
  const days = Array.from({ length: last - first + 1 }, (_, nth) => first + nth)
  return days.map((day) => ({ date: civilDateOfDay(day), ...row(day) }))
}

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
  const gaps = byDayAnd(rows.gaps, ({ part }) => part)
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

/** Finds the resource in the path, by its id or its key (O1). Throws 404 if there is none. */
const found = <R extends { id: string; key: string }>(
  list: (config: Configuration) => readonly R[],
  what: string,
) => ({
  find: async (scope: Scope, param: (name: string) => string): Promise<R> =>
    byIdOrKey(list(await configurationOf(scope)), param('key'), what),
})

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
  const byTrigger = byDayAnd(rows.triggers, keyOf)
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

/** What the document says of the figures of one kind of resource (I2). */
const figuresOf = <const R extends string, S extends z.ZodType>(resource: R, one: string, body: S) => ({
  id: `admin_${resource}_analytics`,
  summary: `Get the figures of ${one} by day`,
  params: AnalyticsParams,
  query: AnalyticsQuery,
  responses: { 200: { description: DESCRIPTION, body } },
})

/** The analytics (I). */
export const analyticsEndpoints = [
  endpoint(
    'GET /analytics/overview',
    {
      id: 'admin_analytics_overview',
      summary: 'Get the figures of all users by day',
      query: AnalyticsQuery,
      responses: { 200: { description: DESCRIPTION, body: AnalyticsOverview } },
    },
    async (scope, { query }) => ok(await overview(scope, query)),
  ),
  endpoint(
    'GET /metrics/{key}/analytics',
    figuresOf('metrics', 'a metric', MetricAnalytics),
    found(({ metrics }) => metrics, 'This metric'),
    async (scope, { query }, metric) => ok(await metricAnalytics(scope, metric, query)),
  ),
  endpoint(
    'GET /points/{key}/analytics',
    figuresOf('points', 'a points system', PointsAnalytics),
    found(({ systems }) => systems, 'This points system'),
    async (scope, { query }, system) => ok(await pointsAnalytics(scope, system, query)),
  ),
  endpoint(
    'GET /leaderboards/{key}/analytics',
    figuresOf('leaderboards', 'a leaderboard', LeaderboardAnalytics),
    found(({ leaderboards }) => leaderboards, 'This leaderboard'),
    async (scope, { query }, board) => ok(await leaderboardAnalytics(scope, board, query)),
  ),
  endpoint(
    'GET /achievements/{key}/analytics',
    figuresOf('achievements', 'an achievement', AchievementAnalytics),
    found(({ achievements }) => achievements, 'This achievement'),
    async (scope, { query }, achievement) => ok(await achievementAnalytics(scope, achievement, query)),
  ),
]
