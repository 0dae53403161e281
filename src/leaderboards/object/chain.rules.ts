import { localDay } from '../../lib/zone'
import { firstDayOf, isInside, type Run, windowOf } from '../../rules/runs.rules'
import type { Definition, Recounted, Row, ScoreChange } from '../board'
import { plus, type Score, ZERO } from '../score.rules'

type Frame = {
  readonly definition: Definition
  /** Whether the run that starts on this day is final. */
  isFinal(run: number): boolean
  /** The run with a local day; null if there is none. */
  runHolding(day: number): Run | null
}

/** The amount to add to a run, and the moment of the last amount that altered the score. */
export type Sum = { amount: Score; reached: number }

const NOTHING: Sum = { amount: ZERO, reached: 0 }

/** The last change of a user that the scores contain; null if they contain none. */
export const cursorOf = (rows: readonly Row[]): number | null =>
  rows.length === 0 ? null : Math.max(...rows.map(({ cursor }) => cursor))

/** The `seq` of the change from which a user's group is known; -1 if it is unknown. */
const groupedOf = (rows: readonly Row[]): number => Math.max(-1, ...rows.map(({ grouped }) => grouped))

/** A user's group after a message. The highest `seq` wins, so a late message moves no user back (L6). */
const groupAfter = (rows: readonly Row[], seq: number, group: string | null): string | null =>
  seq >= groupedOf(rows) ? group : (rows.at(-1)?.group ?? null)

/** Whether a change comes right after the user's last applied change, or was applied already (L12). */
export function follows({ seq, input }: ScoreChange, rows: readonly Row[]): boolean {
  if (input === null) return true
  const known = cursorOf(rows)
  return known === null ? input.previous === null : seq <= known || input.previous === known
}

/** The amounts that a change adds to each open run (L3), by first day; 0 outside the daily window (L1). */
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
    // If a streak was lost and began again at once, its length may be the same, but it was reached again.
    const counts = (amount !== ZERO || definition.rankBy === 'streak') && isInside(window, at, utcOffset)
    add(sums, run.start, counts ? { amount, reached: at } : NOTHING)
  }
  return sums
}

/** The day on which a change counts. A streak ranks by its whole length, also from before the start (L3). */
const dayCounted = (definition: Definition, day: number): number =>
  definition.rankBy === 'streak' ? Math.max(day, firstDayOf(definition)) : day

function add(sums: Map<number, Sum>, run: number, { amount, reached }: Sum): void {
  const sum = sums.get(run) ?? NOTHING
  sums.set(run, { amount: plus(sum.amount, amount), reached: Math.max(sum.reached, reached) })
}

/** The rows of a user that a change alters, after it. The change must follow the last one in the rows. */
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
  // A changed group moves all runs that are not final (L6).
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
  // Outside of all runs the change counts nowhere. It is stored as the last change, since the next one
  // follows it.
  return isNew && after.length === 0 && newest !== undefined ? [{ ...newest, cursor: seq }] : after
}

/** A user's rows of open runs by the log (L12). Empty if they contain a later change than the log did. */
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
    // For some streaks D1 has no moment. Then the known moment of the same length is kept.
    const reached = given === 0 && old?.score === amount ? old.reached : given
    return { userId, iid, run, group, score: amount, reached, cursor: cursor ?? 0, grouped }
  })
}

/** A user's rows, with changed rows replaced and new rows added. */
export const replaced = (rows: readonly Row[], by: readonly Row[]): Row[] => [
  ...rows.filter(({ run }) => !by.some((one) => one.run === run)),
  ...by,
]
