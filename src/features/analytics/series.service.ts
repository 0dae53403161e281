import type * as z from 'zod'
import { type CivilDate, civilDateOfDay, dayOf } from '../../lib/civil'
import { type Instant, iso } from '../../lib/clock'
import { throwIfInvalid } from '../../lib/errors'
import { utcDay } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import { type AnalyticsQuery, MOST_ANALYTICS_DAYS } from './analytics.schemas'
import { type Asked, type FigureRow, readFigures } from './figures.repository'
import { readUpdated } from './passes.repository'

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
  return { updated: momentOf(updated), rows, others: lists.slice(names.length) }
}

/** A moment in an answer. */
export const momentOf = (at: Instant | null) => at && iso(at)

/** One row for each day. */
export function rowsOf<Row>(
  { first, last }: Range,
  row: (day: number) => Row,
): (Row & { date: CivilDate })[] {
  const days = Array.from({ length: last - first + 1 }, (_, nth) => first + nth)
  return days.map((day) => ({ date: civilDateOfDay(day), ...row(day) }))
}
