import type * as z from 'zod'
import { configurationOf } from '../../configuration/configuration.service'
import type { Configuration } from '../../configuration/configuration.types'
import { utcDay } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import { activeIn, KEPT_AFTER, LONGEST_WINDOW, retentionOf, STREAK_CLASSES, WINDOWS } from './analytics.rules'
import type { AnalyticsOverview } from './analytics.schemas'
import type { FigureRow } from './figures.repository'
import { byDay, type Query, rangeOf, read, rowsOf, sumsBy } from './series.service'

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
