import * as z from 'zod'
import { DateField, DateResponse, IdOrKey, Timestamp } from '../../api/fields'
import { leaderboardFields, type UserLeaderboardResponse } from '../../api/shapes/leaderboards'
import type { Configuration, Leaderboard } from '../../configuration/model'
import { type BestFound, definitionOf } from '../../leaderboards/board'
import { boardObject } from '../../leaderboards/updates'
import { isoOrNull } from '../../lib/clock'
import { throwIfInvalid } from '../../lib/errors'
import { MOST_SUMMARY_DAYS } from '../../lib/limits'
import { within } from '../../lib/system-clock'
import { type CivilDate, civilDateOfDay, dayIn, dayOf, utcDay } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import { logProblem } from '../../platform/log'
import { firstDayOf, lastDayOf, statusOf } from '../../rules/runs.rules'
import type { UserState } from '../../rules/state'
import { readUpdated } from './counting'
import { type Asked, type FigureRow, readFigures } from './figures.sql.ts'
import type { Days } from './wrapped/wrapped.rules'

/** The resource in the path. */
export const AnalyticsParams = z.object({ key: IdOrKey })

/** The local dates of the figures, from the first one to the last one (I1). */
export const AnalyticsQuery = z.object({ from: DateField.optional(), to: DateField.optional() })

/** The most days from `from` to `to`. */
const MOST_ANALYTICS_DAYS = MOST_SUMMARY_DAYS

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
export const AnalyticsOverview = series('AnalyticsOverview', {
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

/** The figures of a metric (I2). */
export const MetricAnalytics = series('MetricAnalytics', { events: Count, total: Sum, activeUsers: Count })

/** The figures of a points system (I2). */
export const PointsAnalytics = series('PointsAnalytics', {
  added: Sum,
  byTrigger: byKey(Sum),
  byLevel: byKey(Count),
})

/** The figures of a leaderboard (I2). */
export const LeaderboardAnalytics = series('LeaderboardAnalytics', { participants: Count })

/** The figures of an achievement (I2). */
export const AchievementAnalytics = series('AchievementAnalytics', { completions: Count })

/** The number of dates if `from` is left out. */
const DEFAULT_DAYS = 30

/** The dates of a request. */
export type Query = z.output<typeof AnalyticsQuery>

/** Local days, from the first one to the last one. */
export type Range = { first: number; last: number }

/**
 * The days of a request. Without `to`, they end today (UTC); without `from`, there are 30. Throws 422 if they
 * are in the wrong order or too many (I1).
 */
export function rangeOf({ now }: Scope, { from, to }: Query): Range {
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
export function sumsBy<K>(rows: readonly FigureRow[], keyOf: (row: FigureRow) => K): Map<K, number> {
  const sums = new Map<K, number>()
  for (const row of rows) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0) + row.amount)
  return sums
}

/** The sums of the rows by local day. */
export const byDay = (rows: readonly FigureRow[]) => sumsBy(rows, ({ day }) => day)

/**
 * The figures of a request by their names, those without a name in their order, and when they were last
 * brought up to date.
 */
export async function read<const Names extends Readonly<Record<string, Asked>>>(
  scope: Scope,
  asked: Names,
  others?: readonly Asked[],
): Promise<{
  updated: string | null
  rows: { [Name in keyof Names]: FigureRow[] }
  others: FigureRow[][]
}>
export async function read(
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

/** One row for each day. */
export function rowsOf<Row>(
  { first, last }: Range,
  row: (day: number) => Row,
): (Row & { date: CivilDate })[] {
  const days = Array.from({ length: last - first + 1 }, (_, nth) => first + nth)
  return days.map((day) => ({ date: civilDateOfDay(day), ...row(day) }))
}

/** How long a wrapped waits for a leaderboard before it leaves it out, in milliseconds. */
const PATIENCE = 1_500

/** The most leaderboards for one wrapped, the newest: the platform limits the subrequests of a request. */
const MOST_BOARDS = 100

/** Leaderboards by key, with the user's best rank in a period (R1). */
export type BestPlaces = Record<string, z.infer<typeof UserLeaderboardResponse>>

/**
 * The user's best places in each of the periods, which are all in the year. Leaves out leaderboards that
 * can't be reached.
 */
export async function bestPlaces(
  scope: Scope,
  config: Configuration,
  user: UserState,
  year: Days,
  periods: readonly Days[],
): Promise<BestPlaces[]> {
  const boards = config.leaderboards
    .filter((board) => mayHold(board, user, year) && isShown(scope, board))
    .slice(-MOST_BOARDS)
  const found = await Promise.all(boards.map((board) => bestOf(scope, config, board, user, periods)))
  return periods.map((_, nth) =>
    Object.fromEntries(
      boards.flatMap((board, index) => {
        const place = found[index]?.[nth] ?? null
        return place === null
          ? []
          : [[board.key, { ...leaderboardFields(config, board, scope.now), ...place }]]
      }),
    ),
  )
}

/** Whether users see a leaderboard (L9). */
function isShown({ now }: Scope, board: Leaderboard): boolean {
  const status = statusOf(board, now)
  return status === 'active' || status === 'finished'
}

/** Whether the user may have had a place in the leaderboard in that year. */
function mayHold(board: Leaderboard, user: UserState, year: Days): boolean {
  if (firstDayOf(board) > year.last || (lastDayOf(board) ?? year.first) < year.first) return false
  if (board.metricId !== null) return user.metrics.has(board.metricId)
  return board.systemId !== null ? user.points.has(board.systemId) : user.streak.frequency !== null
}

async function bestOf(
  scope: Scope,
  config: Configuration,
  board: Leaderboard,
  { id, iid, profile }: UserState,
  periods: readonly Days[],
): Promise<BestFound> {
  // An async function, so that the `try` below also catches errors that are thrown at once.
  const ask = async () =>
    boardObject(scope, board.id).best({
      definition: definitionOf(config, board),
      now: scope.now,
      userId: id,
      iid,
      today: dayIn(profile.tz, scope.now),
      periods: periods.map(({ first, last }) => [first, last]),
    })
  const work = ask()
  try {
    return (await within(PATIENCE, work)) ?? []
  } catch (error) {
    logProblem('warn', { leaderboard: board.id, error: `leaderboard not reached: ${String(error)}` })
    work.catch(() => undefined)
    return []
  }
}
