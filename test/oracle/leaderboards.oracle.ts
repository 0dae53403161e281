import { finalAt, holds, localAt, type OracleRun, type OracleSchedule, runsUpTo } from './calendar.oracle'

/**
 * An oracle for leaderboards (L1–L6, L8, L13), written from the rules alone. Imports nothing from the service. It
 * keeps no state: it computes every ranking from a plain log of inputs, in exact millionths.
 */

export type OracleBoard = OracleSchedule & {
  key: string
  /** The key of the metric or points system that is counted. */
  of: string
  /** The daily window in local time, `HH:MM` or `HH:MM:SS`. */
  from: string | null
  to: string | null
  /** Keys of user attributes. */
  breakdown: readonly string[]
  /** Only users with all of these values take part (L13). */
  filters: Wanted
}

export type Status = 'inactive' | 'scheduled' | 'active' | 'finished'

/** The inputs, in order. `at` never decreases. */
export type ChangeInput = { at: number } & (
  | {
      kind: 'profile'
      user: string
      /** Null removes an attribute. */
      attributes: Readonly<Record<string, string | null>>
      /** The zone that is passed. Undefined keeps the zone, null removes it. */
      tz: string | null | undefined
    }
  | {
      /**
       * An event of a metric or an award of a points system, with the offset of the user's zone at that
       * moment.
       */
      kind: 'change'
      user: string
      of: string
      millionths: bigint
      offset: number
    }
  | { kind: 'board'; board: string; status: Status; max: number }
)

/** A log up to a moment. */
export type View = { log: readonly ChangeInput[]; now: number }

/** Needs these values of user attributes, by key. */
export type Wanted = readonly (readonly [key: string, value: string])[]

export type Ranked = { userId: string; rank: number; value: number }

type Score = { user: string; millionths: bigint; since: number; attributes: Readonly<Record<string, string>> }

const INT32 = 2_147_483_647

/** The number of inputs that a run includes: all, or those before it became final (L6–L8). */
export function extent(board: OracleBoard, run: OracleRun, { log }: View): number {
  const final = finalAt(run) ?? Number.POSITIVE_INFINITY
  let live = false
  for (const [index, one] of log.entries()) {
    if (live && one.at >= final) return index
    if (one.kind !== 'board' || one.board !== board.key) continue
    // A run that is finished by hand is final at once. If a run's final moment passed before the leaderboard
    // was active, it is final when the leaderboard becomes active.
    live = one.status !== 'inactive'
    if (one.status === 'finished' || (live && one.at >= final)) return index + 1
  }
  return log.length
}

/** True if a change counts in a run: by its local date, inside the daily window (L1). */
export function counts(board: OracleBoard, run: OracleRun, at: number, offset: number): boolean {
  const { date, time } = localAt(at, offset)
  if (!holds(run, date)) return false
  const from = board.from ?? '00:00'
  const to = board.to ?? '24:00'
  return from <= to ? from <= time && time < to : from <= time || time < to
}

/** The scores of a run, with their users (L3). */
function scores(board: OracleBoard, run: OracleRun, view: View): Score[] {
  const log = view.log.slice(0, extent(board, run, view))
  const attributes = attributesOf(log)
  const all = new Map<string, Score>()
  for (const one of log) {
    if (one.kind !== 'change' || one.of !== board.of) continue
    if (!counts(board, run, one.at, one.offset)) continue
    const fresh = { user: one.user, millionths: 0n, since: 0, attributes: attributes.get(one.user) ?? {} }
    const score = all.get(one.user) ?? fresh
    if (one.millionths !== 0n) score.since = one.at
    score.millionths += one.millionths
    all.set(one.user, score)
  }
  return [...all.values()]
}

/** The attributes of the users after all inputs (U2). */
export function attributesOf(log: readonly ChangeInput[]): Map<string, Record<string, string>> {
  const users = new Map<string, Record<string, string>>()
  for (const one of log) {
    if (one.kind !== 'profile') continue
    const merged = { ...users.get(one.user), ...one.attributes }
    const kept = Object.entries(merged).flatMap(([key, value]) => (value === null ? [] : [[key, value]]))
    users.set(one.user, Object.fromEntries(kept))
  }
  return users
}

export const matches = (attributes: Readonly<Record<string, string>>, wanted: Wanted) =>
  wanted.every(([key, value]) => attributes[key] === value)

/** Compares by code points. Characters beyond 16 bits come last. */
function byCodePoints(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => Array.from(text, (one) => one.codePointAt(0) ?? 0))
  for (const [index, one] of (left ?? []).entries()) {
    const other = right?.[index]
    if (other === undefined) return 1
    if (one !== other) return one - other
  }
  return (left?.length ?? 0) - (right?.length ?? 0)
}

/** L4: by score descending, then by the time at which it was reached, then by user id. */
function byPlace(a: Score, b: Score): number {
  if (a.millionths !== b.millionths) return a.millionths < b.millionths ? 1 : -1
  return a.since - b.since || byCodePoints(a.user, b.user)
}

/** The maximum number of ranked users in a group, as last set (L5). */
export function maxOf(board: OracleBoard, log: readonly ChangeInput[]): number {
  const last = log.findLast((one) => one.kind === 'board' && one.board === board.key)
  return last?.kind === 'board' ? last.max : 1_000
}

/** The ranking of a run: of one group, or of all matching groups together (L3–L6, L8, L13). */
export function ranking(board: OracleBoard, run: OracleRun, view: View, wanted: Wanted): Ranked[] {
  const max = maxOf(board, view.log.slice(0, extent(board, run, view)))
  return scores(board, run, view)
    .filter(({ millionths, attributes }) => millionths > 0n && matches(attributes, wanted))
    .filter(({ attributes }) => board.breakdown.every((key) => Object.hasOwn(attributes, key)))
    .filter(({ attributes }) => matches(attributes, board.filters))
    .sort(byPlace)
    .slice(0, max)
    .map(({ user, millionths }, index) => {
      const value = Math.min(Number(millionths / 1_000_000n), INT32)
      return { userId: user, rank: index + 1, value }
    })
}

/** The ranking of the run that holds a date. Null if no run holds it. */
export function rankingOn(board: OracleBoard, date: string, view: View, wanted: Wanted): Ranked[] | null {
  const run = runsUpTo(board, date).at(-1)
  return run === undefined || !holds(run, date) ? null : ranking(board, run, view, wanted)
}
