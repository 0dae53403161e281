import type * as z from 'zod'
import { configurationOf } from '../../configuration/configuration.service'
import type {
  Achievement,
  Configuration,
  Leaderboard,
  Metric,
  System,
} from '../../configuration/configuration.types'
import { byIdOrKey } from '../../configuration/drafts.rules'
import { definitionOf, ParticipantsReply } from '../../leaderboards/board.messages'
import { asked as askedOf } from '../../leaderboards/leaderboards.service'
import { fromMicros, micros } from '../../lib/decimal'
import type { Scope } from '../../platform/context'
import { runningSums } from './analytics.rules'
import type {
  AchievementAnalytics,
  LeaderboardAnalytics,
  MetricAnalytics,
  PointsAnalytics,
} from './analytics.schemas'
import type { FigureRow } from './figures.repository'
import { readUpdated } from './passes.repository'
import { byDay, momentOf, type Query, rangeOf, read, rowsOf, sumsBy } from './series.service'

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
  const { now, databases, tenant } = scope
  const [updated, participants] = await Promise.all([
    readUpdated(databases, tenant.id, now),
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
