import type * as z from 'zod'
import { definitionOf, ParticipantsReply } from '../../boards/board.messages'
import { configurationOf } from '../../config/configuration.service'
import type {
  Achievement,
  Configuration,
  Leaderboard,
  Metric,
  System,
} from '../../config/configuration.types'
import { byIdOrKey } from '../../config/drafts.rules'
import { type CivilDate, civilDateOfDay, dayOf } from '../../lib/civil'
import { type Instant, iso } from '../../lib/clock'
import { fromMicros, micros } from '../../lib/decimal'
import { throwIfInvalid } from '../../lib/errors'
import { utcDay } from '../../lib/zone'
import type { Scope } from '../../runtime/context'
import { asked as askedOf } from '../leaderboards/leaderboards.service'
import {
  activeIn,
  KEPT_AFTER,
  LONGEST_WINDOW,
  retentionOf,
  runningSums,
  STREAK_CLASSES,
  WINDOWS,
} from './analytics.rules'
import {
  type AchievementAnalytics,
  type AnalyticsOverview,
  type AnalyticsQuery,
  type LeaderboardAnalytics,
  type MetricAnalytics,
  MOST_ANALYTICS_DAYS,
  type PointsAnalytics,
} from './analytics.schemas'
import { type Asked, type FigureRow, readFigures } from './figures.repository'
import { readUpdated } from './passes.repository'

/** The number of dates if `from` is left out. */
const DEFAULT_DAYS = 30

type Query = z.output<typeof AnalyticsQuery>

/** Local days, from the first one to the last one. */
type Range = { first: number; last: number }

/**
 * The days of a request. Without `to`, they end today (UTC); without `from`, they are 30. Throws 422 if they
 * are in the wrong order or too many (I1).
 */
function rangeOf({ now }: Scope, { from, to }: Query): Range {
  const last = to === undefined ? utcDay(now) : dayOf(to)
  const first = from === undefined ? last - DEFAULT_DAYS + 1 : dayOf(from)
  const end = to === undefined ? `today, ${civilDateOfDay(last)}, if to is left out` : 'to'
  if (first > last)
    throwIfInvalid([{ path: 'from', message: `must not be after ${end}. Pass an earlier date` }])
  if (last - first > MOST_ANALYTICS_DAYS) {
    const message = `must be at most ${MOST_ANALYTICS_DAYS} days before ${end}. Ask for several shorter periods`
    throwIfInvalid([{ path: 'from', message }])
  }
  return { first, last }
}

/** The sums of the rows by a part of them. */
function sumsBy<K>(rows: readonly FigureRow[], keyOf: (row: FigureRow) => K): Map<K, number> {
  const sums = new Map<K, number>()
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0) + row.amount)
  return sums
}

const byDay = (rows: readonly FigureRow[]) => sumsBy(rows, ({ day }) => day)

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
  { db, now }: Scope,
  asked: Readonly<Record<string, Asked>>,
  others: readonly Asked[] = [],
) {
  const names = Object.keys(asked)
  const [updated, lists] = await Promise.all([
    readUpdated(db, now),
    readFigures(db, [...Object.values(asked), ...others]),
  ])
  const rows = Object.fromEntries(names.map((name, nth) => [name, lists[nth] ?? []]))
  return { updated: momentOf(updated), rows, others: lists.slice(names.length) }
}

const momentOf = (at: Instant | null) => at && iso(at)

/** One row for each day. */
function rowsOf<Row>({ first, last }: Range, row: (day: number) => Row): (Row & { date: CivilDate })[] {
  const days = Array.from({ length: last - first + 1 }, (_, nth) => first + nth)
  return days.map((day) => ({ date: civilDateOfDay(day), ...row(day) }))
}

/** The figures of all users (I1). */
export async function overview(scope: Scope, query: Query): Promise<z.infer<typeof AnalyticsOverview>> {
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
export const findMetric = find(({ metrics }) => metrics, 'This metric')
export const findSystem = find(({ systems }) => systems, 'This points system')
export const findLeaderboard = find(({ leaderboards }) => leaderboards, 'This leaderboard')
export const findAchievement = find(({ achievements }) => achievements, 'This achievement')

/** The figures of a metric (I2). */
export async function metricAnalytics(
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
export async function pointsAnalytics(
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
export async function leaderboardAnalytics(
  scope: Scope,
  board: Leaderboard,
  query: Query,
): Promise<z.infer<typeof LeaderboardAnalytics>> {
  const range = rangeOf(scope, query)
  const config = await configurationOf(scope)
  const { now, db } = scope
  const [updated, participants] = await Promise.all([
    readUpdated(db, now),
    askedOf(scope, board, ParticipantsReply, (object) =>
      object.participants({ definition: definitionOf(config, board), now, ...range }),
    ),
  ])
  return {
    updated: momentOf(updated),
    series: rowsOf(range, (day) => ({ participants: participants[day - range.first] ?? 0 })),
  }
}

/** The figures of an achievement (I2). */
export async function achievementAnalytics(
  scope: Scope,
  { id }: Achievement,
  query: Query,
): Promise<z.infer<typeof AchievementAnalytics>> {
  const range = rangeOf(scope, query)
  const { updated, rows } = await read(scope, { completions: { figure: 'completions', id, ...range } })
  const completions = byDay(rows.completions)
  return { updated, series: rowsOf(range, (day) => ({ completions: completions.get(day) ?? 0 })) }
}
