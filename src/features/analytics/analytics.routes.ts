import * as z from 'zod'
import { endpointsOf, ok } from '../../api/endpoint'
import { DateField, DateResponse, IdOrKey, Timestamp } from '../../api/fields'
import { byIdOrKey } from '../../api/resources/drafts.rules'
import { configurationOf } from '../../configuration/configuration'
import type { Configuration } from '../../configuration/model'
import { definitionOf } from '../../leaderboards/board'
import { asked as askedOf } from '../../leaderboards/leaderboards'
import { isoOrNull } from '../../lib/clock'
import { fromMicros } from '../../lib/decimal'
import { throwIfInvalid } from '../../lib/errors'
import { MOST_SUMMARY_DAYS } from '../../lib/limits'
import { type CivilDate, civilDateOfDay, dayOf, FIRST_DAY, utcDay } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import {
  activeIn,
  byDay,
  byDayAnd,
  LONGEST_WINDOW,
  retentionOf,
  runningSums,
  STREAK_CLASSES,
  sumsBy,
  WINDOWS,
} from './analytics.rules'
import { readUpdated } from './counting'
import { type Asked, type Figure, type FigureRow, readFigures } from './figures.sql.ts'

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
const Window = Kept.extend({ days: Count })
const Retention = z.object({ users: Count, d1: Kept, d7: Kept, d30: Kept, window: Window })

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
  users: Count,
})

const LeaderboardAnalytics = series('LeaderboardAnalytics', { participants: Count })

const AchievementAnalytics = series('AchievementAnalytics', { completions: Count })

/** The number of dates if `from` is left out. */
const DEFAULT_DAYS = 30

type Query = z.output<typeof AnalyticsQuery>

/** Local days, from the first one to the last one. */
type Range = { first: number; last: number }

/** The days of a request, by default 30 that end today (UTC). Throws 422 if reversed or too many (I1). */
function rangeOf({ now }: Scope, { from, to }: Query): Range {
  const last = to === undefined ? utcDay(now) : dayOf(to)
  const first = from === undefined ? Math.max(FIRST_DAY, last - DEFAULT_DAYS + 1) : dayOf(from)
  const end = to === undefined ? `today, ${civilDateOfDay(last)}, if to is left out` : 'to'
  if (first > last)
    throwIfInvalid([{ path: 'from', message: `must not be after ${end}. Pass an earlier date` }])
  if (last - first > MOST_SUMMARY_DAYS) {
    const message = `must be at most ${MOST_SUMMARY_DAYS} days before ${end}. Ask for several shorter periods`
    throwIfInvalid([{ path: 'from', message }])
  }
  return { first, last }
}

/** Figures to read: those of the days of the request, unless other days are named. */
type AskedHere = Omit<Asked, keyof Range> & Partial<Range>

/** When the figures were last updated, and a function that returns the rows of one, maybe of one resource. */
async function read({ databases, tenant, now }: Scope, range: Range, figures: readonly AskedHere[]) {
  const asked = figures.map((one) => ({ ...range, ...one }))
  const [updated, lists] = await Promise.all([
    readUpdated(databases, tenant.id, now),
    readFigures(databases, tenant.id, asked),
  ])
  const rows = (figure: Figure, id?: string) => {
    const nth = asked.findIndex((one) => one.figure === figure && (id === undefined || one.id === id))
    return lists[nth] ?? []
  }
  return { updated: isoOrNull(updated), rows }
}

function rowsOf<Row>({ first, last }: Range, row: (day: number) => Row): (Row & { date: CivilDate })[] {
  const days = Array.from({ length: last - first + 1 }, (_, nth) => first + nth)
  return days.map((day) => ({ date: civilDateOfDay(day), ...row(day) }))
}

/** The figures of all users (I1). */
async function overview(scope: Scope, query: Query): Promise<z.infer<typeof AnalyticsOverview>> {
  const range = rangeOf(scope, query)
  const config = await configurationOf(scope)
  const latest = { first: range.last - LONGEST_WINDOW + 1, last: range.last }
  const window = config.settings.experimentation.userActivationWindow
  const keptAfter = [...new Set([1, 7, 30, window])]
  const { updated, rows } = await read(scope, range, [
    { figure: 'created' },
    { figure: 'active', first: Math.min(range.first, latest.first) },
    { figure: 'gap', ...latest },
    { figure: 'events' },
    { figure: 'completions' },
    ...keptAfter.map((n): AskedHere => ({ figure: `kept ${n}` })),
    { figure: 'streak', first: 0, last: utcDay(scope.now) },
    ...config.systems.map(({ id }): AskedHere => ({ figure: 'points', id })),
  ])
  const points = config.systems.map(({ id, key }) => ({ key, days: byDay(rows('points', id)) }))
  const [created, active] = [byDay(rows('created')), byDay(rows('active'))]
  const [events, completions] = [byDay(rows('events')), byDay(rows('completions'))]
  const gaps = byDayAnd(rows('gap'), ({ part }) => part)
  const cohort = (part: number) => {
    const of = (figure: Figure) => byDay(rows(figure).filter((row) => row.part === part))
    const kept = new Map(keptAfter.map((n) => [n, of(`kept ${n}`)]))
    return retentionOf({ created: of('created'), kept }, { ...range, window })
  }
  const activeUsers = (days: number) => activeIn({ active, gaps }, range.last, days)
  return {
    updated,
    series: rowsOf(range, (day) => ({
      newUsers: created.get(day) ?? 0,
      activeUsers: active.get(day) ?? 0,
      events: events.get(day) ?? 0,
      points: Object.fromEntries(points.map(({ key, days }) => [key, days.get(day) ?? 0])),
      achievements: completions.get(day) ?? 0,
    })),
    active: {
      day: activeUsers(WINDOWS.day),
      week: activeUsers(WINDOWS.week),
      month: activeUsers(WINDOWS.month),
    },
    retention: { control: cohort(1), others: cohort(0) },
    streaks: streakClasses(config, rows('streak')),
  }
}

/** The users by streak length. While streaks are off, all lengths are 0 (S10). */
function streakClasses(config: Configuration, rows: readonly FigureRow[]) {
  const users = sumsBy(rows, ({ part }) => (config.streaks.enabled ? part : 0))
  return STREAK_CLASSES.map(({ from, to }) => ({ from, to, users: users.get(from) ?? 0 }))
}

const keyOf = ({ key }: FigureRow) => key ?? ''

/** Numbers by key, as an object: all present resources, and deleted ones with a number that is not 0. */
function mapOf(present: readonly { key: string }[], numbers: ReadonlyMap<string, number>) {
  const all = new Map<string, number>(present.map(({ key }) => [key, 0]))
  for (const [key, number] of numbers) if (number !== 0) all.set(key, number)
  return Object.fromEntries(all)
}

const DESCRIPTION = 'A row for each local date, oldest first.'

const endpoint = endpointsOf('admin')

/** The endpoint for the figures of one kind of resource (I2), which the path names by id or key (O1). */
function figuresOf<R extends { id: string; key: string }, S extends z.ZodType>(
  path: string,
  { one, among, body }: { one: string; among: (config: Configuration) => readonly R[]; body: S },
  answer: (scope: Scope, resource: R, range: Range) => Promise<z.input<S>>,
) {
  const schema: z.ZodType = body
  return endpoint(
    `GET /${path}/{key}/analytics`,
    {
      id: `admin_${path}_analytics`,
      summary: `Get the figures of ${one} by day`,
      params: z.object({ key: IdOrKey }),
      query: AnalyticsQuery,
      responses: { 200: { description: DESCRIPTION, body: schema } },
    },
    {
      find: async (scope, param) =>
        byIdOrKey(among(await configurationOf(scope)), param('key'), one.replace(/^an? /, 'This ')),
    },
    async (scope, { query }, found) => ok(await answer(scope, found, rangeOf(scope, query))),
  )
}

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
  figuresOf(
    'metrics',
    { one: 'a metric', among: ({ metrics }) => metrics, body: MetricAnalytics },
    async (scope, { id }, range) => {
      const figures = ['events', 'value', 'active'] as const
      const asked = figures.map((figure) => ({ figure, id }))
      const { updated, rows } = await read(scope, range, asked)
      const [events, value, active] = [byDay(rows('events')), byDay(rows('value')), byDay(rows('active'))]
      return {
        updated,
        series: rowsOf(range, (day) => ({
          events: events.get(day) ?? 0,
          total: fromMicros(value.get(day) ?? 0),
          activeUsers: active.get(day) ?? 0,
        })),
      }
    },
  ),
  figuresOf(
    'points',
    { one: 'a points system', among: ({ systems }) => systems, body: PointsAnalytics },
    async (scope, { id, triggers, levels }, range) => {
      const { first, last } = range
      const { updated, rows } = await read(scope, range, [
        { figure: 'points', id },
        { figure: 'trigger', id },
        { figure: 'level', id, isRunning: true },
        { figure: 'holders', id, isRunning: true },
      ])
      const added = byDay(rows('points'))
      const byTrigger = byDayAnd(rows('trigger'), keyOf)
      const usersBy = (changes: readonly FigureRow[]) => {
        const days = byDay(changes)
        return runningSums(days, days.get(first - 1) ?? 0, first, last)
      }
      const counts = [...Map.groupBy(rows('level'), keyOf)].map(([key, changes]) => ({
        key,
        users: usersBy(changes),
      }))
      const users = usersBy(rows('holders'))
      return {
        updated,
        series: rowsOf(range, (day) => ({
          added: added.get(day) ?? 0,
          byTrigger: mapOf(triggers, byTrigger.get(day) ?? new Map()),
          byLevel: mapOf(levels, new Map(counts.map(({ key, users }) => [key, users[day - first] ?? 0]))),
          users: users[day - first] ?? 0,
        })),
      }
    },
  ),
  figuresOf(
    'leaderboards',
    { one: 'a leaderboard', among: ({ leaderboards }) => leaderboards, body: LeaderboardAnalytics },
    // The object of the leaderboard knows its figures. Their dates are in UTC, as its history (L10).
    async (scope, board, range) => {
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
    },
  ),
  figuresOf(
    'achievements',
    { one: 'an achievement', among: ({ achievements }) => achievements, body: AchievementAnalytics },
    async (scope, { id }, range) => {
      const { updated, rows } = await read(scope, range, [{ figure: 'completions', id }])
      const completions = byDay(rows('completions'))
      return { updated, series: rowsOf(range, (day) => ({ completions: completions.get(day) ?? 0 })) }
    },
  ),
]
