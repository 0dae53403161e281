import { firstDayOf, isInside, type Run, windowOf } from '../../engine/runs.rules'
import { localDay } from '../../lib/zone'
import type { Definition, ScoreChange } from '../board.messages'
import type { Recounted, Row } from '../board.types'
import { plus, type Score, ZERO } from '../score.rules'

/** What decides which runs a change counts in. */
export type Frame = {
  readonly definition: Definition
  /** Whether the run that starts on this day is final. */
  isFinal(run: number): boolean
  /** The run that holds a local day; null where none does. */
  runHolding(day: number): Run | null
}

/** What is added to a run, and when that last altered the score. */
export type Sum = { amount: Score; reached: number }

const NOTHING: Sum = { amount: ZERO, reached: 0 }

/** The last change of a user that the scores know; null where they know none. */
export const cursorOf = (rows: readonly Row[]): number | null =>
  rows.length === 0 ? null : Math.max(...rows.map(({ cursor }) => cursor))

/** The `seq` as of which a user's group is known; -1 where it isn't. */
const groupedOf = (rows: readonly Row[]): number => Math.max(-1, ...rows.map(({ grouped }) => grouped))

/** A user's group after a message that says what it was as of a `seq`: the highest wins, so that a late one moves nobody back. */
const groupAfter = (rows: readonly Row[], seq: number, group: string | null): string | null =>
  seq >= groupedOf(rows) ? group : (rows.at(-1)?.group ?? null)

/** Whether a change comes right after the last one that was applied of its user, or was applied already. */
export function follows({ seq, input }: ScoreChange, rows: readonly Row[]): boolean {
  if (input === null) return true
  const known = cursorOf(rows)
  return known === null ? input.previous === null : seq <= known || input.previous === known
}

/** What a change adds to each run that isn't final, by first day: 0 to those that the daily window shuts it out of (L1). */
export function sumsOf({ definition, isFinal, runHolding }: Frame, { input }: ScoreChange): Map<number, Sum> {
  const sums = new Map<number, Sum>()
  const window = windowOf(definition)
  const byMoment = new Map<number, { utcOffset: number; amount: Score }>()
  for (const [at, utcOffset, amount] of input?.amounts ?? []) {
    if (definition.finished !== null && at > definition.finished) continue
    byMoment.set(at, { utcOffset, amount: plus(byMoment.get(at)?.amount ?? ZERO, amount) })
  }
  for (const [at, { utcOffset, amount }] of byMoment) {
    const run = runHolding(dayCounted(definition, localDay(at, utcOffset)))
    if (run === null || isFinal(run.start)) continue
    // A streak that was lost and begun anew at once has reached its length anew, although that is the same.
    const counts = (amount !== ZERO || definition.rankBy === 'streak') && isInside(window, at, utcOffset)
    add(sums, run.start, counts ? { amount, reached: at } : NOTHING)
  }
  return sums
}

/** The day on which a change counts: a streak is ranked by its whole length, so also by what it grew before the start (L3). */
const dayCounted = (definition: Definition, day: number): number =>
  definition.rankBy === 'streak' ? Math.max(day, firstDayOf(definition)) : day

function add(sums: Map<number, Sum>, run: number, { amount, reached }: Sum): void {
  const sum = sums.get(run) ?? NOTHING
  sums.set(run, { amount: plus(sum.amount, amount), reached: Math.max(sum.reached, reached) })
}

/** A user's rows that one change alters, as they are after it; the change follows what the rows know. */
export function applied(
  frame: Frame,
  rows: readonly Row[],
  change: ScoreChange,
  sums: ReadonlyMap<number, Sum>,
): Row[] {
  const { userId, iid, seq } = change
  const known = cursorOf(rows)
  const group = groupAfter(rows, seq, change.group)
  const grouped = Math.max(groupedOf(rows), seq)
  const isNew = change.input !== null && (known === null || seq > known)
  const open = rows.filter(({ run }) => !frame.isFinal(run))
  // A group that changed moves all runs that aren't final (L6).
  const moved = open.filter((row) => row.group !== group || change.input === null).map(({ run }) => run)
  const after = [...new Set([...(isNew ? sums.keys() : []), ...moved])].map((run): Row => {
    const old = open.find((row) => row.run === run)
    const sum = isNew ? sums.get(run) : undefined
    const score = plus(old?.score ?? ZERO, sum?.amount ?? ZERO)
    const reached = Math.max(old?.reached ?? 0, sum?.reached ?? 0)
    const cursor = isNew ? seq : (old?.cursor ?? known ?? -1)
    return { userId, iid, run, group, score, reached, cursor, grouped }
  })
  const newest = rows.at(-1)
  // Outside of all runs the change counts nowhere, but the next one follows it.
  return isNew && after.length === 0 && newest !== undefined ? [{ ...newest, cursor: seq }] : after
}

/** A user's rows of runs that aren't final as the log has them; none where the rows know more than the log did. */
export function settled(frame: Frame, rows: readonly Row[], truth: Recounted): Row[] {
  const { userId, iid, seq, cursor, days } = truth
  if ((cursor ?? 0) < (cursorOf(rows) ?? -1)) return []
  const sums = new Map<number, Sum>()
  for (const [day, amount, reached] of days) {
    const run = frame.runHolding(day)
    if (run !== null && !frame.isFinal(run.start)) add(sums, run.start, { amount, reached: reached ?? 0 })
  }
  const open = rows.filter(({ run }) => !frame.isFinal(run)).map(({ run }) => run)
  const group = groupAfter(rows, seq, truth.group)
  const grouped = Math.max(groupedOf(rows), seq)
  return [...new Set([...sums.keys(), ...open])].map((run): Row => {
    const { amount, reached: given } = sums.get(run) ?? NOTHING
    const old = rows.find((row) => row.run === run)
    // Where only the present streak says when it was extended, what is known of the same length is better than nothing.
    const reached = given === 0 && old?.score === amount ? old.reached : given
    return { userId, iid, run, group, score: amount, reached, cursor: cursor ?? 0, grouped }
  })
}

/** A user's rows with those in the place of what they were that are others now, or beside them. */
export const replaced = (rows: readonly Row[], by: readonly Row[]): Row[] => [
  ...rows.filter(({ run }) => !by.some((one) => one.run === run)),
  ...by,
]
