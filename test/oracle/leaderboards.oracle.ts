import {
  finalAt,
  holds,
  localAt,
  MINUTE,
  type OracleRun,
  type OracleSchedule,
  offsetAt,
  runsUpTo,
} from './calendar.oracle'

/**
 * An oracle for leaderboards (L1–L6, L8), written from the rules alone. Imports nothing from the service. It
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

/** Wrong ways to rank. A test must be able to detect each of them. */
export const MUTANTS = [
  'a run ends a day late',
  'months from the run before',
  'dates are UTC dates',
  'dates move with the zone',
  'the window includes its end',
  'a window never crosses midnight',
  'ties go by user id alone',
  'ties go by the first change',
  'a zero is a change',
  'ids go by code units',
  'negative values are left out',
  'sums are floating',
  'zero is ranked',
  'places go by the rounded score',
  'groups are ignored',
  'scores stay in the group where they were made',
  'the maximum is one for all groups',
  'groups that match together have a maximum each',
  'final runs change',
  'final at the end in UTC',
] as const
export type Mutant = (typeof MUTANTS)[number]

/** A log up to a moment. */
export type View = { log: readonly ChangeInput[]; now: number; mutant?: Mutant | undefined }

/** Needs these values of user attributes, by key. */
export type Wanted = readonly (readonly [key: string, value: string])[]

export type Ranked = { userId: string; rank: number; value: number }

type Score = { user: string; millionths: bigint; since: number; attributes: Readonly<Record<string, string>> }

const INT32 = 2_147_483_647

/** The number of inputs that a run includes: all, or those before it became final (L6–L8). */
export function extent(board: OracleBoard, run: OracleRun, { log, mutant }: View): number {
  const due = finalAt(run)
  const early = mutant === 'final at the end in UTC' ? 12 * 60 * MINUTE : 0
  const final = due === null || mutant === 'final runs change' ? Number.POSITIVE_INFINITY : due - early
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
export function counts(
  board: OracleBoard,
  run: OracleRun,
  at: number,
  offset: number,
  mutant?: Mutant,
): boolean {
  const { date, time } = localAt(at, mutant === 'dates are UTC dates' ? 0 : offset)
  if (!holds(run, date)) return false
  const from = board.from ?? '00:00'
  const to = board.to ?? '24:00'
  const beforeEnd = time < to || (mutant === 'the window includes its end' && time.startsWith(padded(to)))
  if (from <= to) return from <= time && beforeEnd
  if (mutant === 'a window never crosses midnight') return false
  return from <= time || beforeEnd
}

const padded = (time: string) => (time.length === 5 ? `${time}:00.000` : `${time}.000`)

/** The scores of a run, with their users (L3). */
function scores(board: OracleBoard, run: OracleRun, view: View, wanted: Wanted): Score[] {
  const { mutant } = view
  const log = view.log.slice(0, extent(board, run, view))
  const attributes = attributesOf(log)
  const lastZone = mutant === 'dates move with the zone' ? zonesOf(view.log) : null
  const all = new Map<string, Score & { parts: bigint[] }>()
  for (const [index, one] of log.entries()) {
    if (one.kind !== 'change' || one.of !== board.of) continue
    const zone = lastZone?.get(one.user)
    const offset = zone === undefined ? one.offset : offsetAt(zone, one.at)
    if (!counts(board, run, one.at, offset, mutant)) continue
    if (mutant === 'negative values are left out' && one.millionths < 0n) continue
    if (mutant === 'scores stay in the group where they were made') {
      if (!matches(attributesOf(log.slice(0, index)).get(one.user) ?? {}, wanted)) continue
    }
    const own = attributes.get(one.user) ?? {}
    const score = all.get(one.user) ?? {
      user: one.user,
      millionths: 0n,
      since: 0,
      attributes: own,
      parts: [],
    }
    const first = score.since === 0
    if (one.millionths !== 0n || mutant === 'a zero is a change') {
      score.since = mutant === 'ties go by the first change' && !first ? score.since : one.at
    }
    score.parts.push(one.millionths)
    score.millionths += one.millionths
    all.set(one.user, score)
  }
  return [...all.values()].map(({ parts, ...score }) =>
    mutant === 'sums are floating' ? { ...score, millionths: floating(parts) } : score,
  )
}

const floating = (parts: readonly bigint[]) =>
  BigInt(Math.floor(parts.reduce((sum, part) => sum + Number(part) / 1e6, 0) * 1e6))

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

/** The zones of the users after all inputs. UTC if none was passed, or if it was removed (U1). */
export function zonesOf(log: readonly ChangeInput[]): Map<string, string> {
  const zones = new Map<string, string>()
  for (const one of log) {
    if (one.kind === 'profile' && one.tz !== undefined) zones.set(one.user, one.tz ?? 'UTC')
  }
  return zones
}

const matches = (attributes: Readonly<Record<string, string>>, wanted: Wanted) =>
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
function byPlace(mutant?: Mutant): (a: Score, b: Score) => number {
  const whole = mutant === 'places go by the rounded score'
  const size = ({ millionths }: Score) => (whole ? millionths / 1_000_000n : millionths)
  return (a, b) => {
    if (size(a) !== size(b)) return size(a) < size(b) ? 1 : -1
    if (a.since !== b.since && mutant !== 'ties go by user id alone') return a.since - b.since
    if (mutant === 'ids go by code units') return a.user < b.user ? -1 : 1
    return byCodePoints(a.user, b.user)
  }
}

/** The maximum number of ranked users in a group, as last set (L5). */
export function maxOf(board: OracleBoard, log: readonly ChangeInput[]): number {
  const last = log.findLast((one) => one.kind === 'board' && one.board === board.key)
  return last?.kind === 'board' ? last.max : 1_000
}

/** The ranking of a run: of one group, or of all matching groups together (L3–L6, L8). */
export function ranking(board: OracleBoard, run: OracleRun, view: View, wanted: Wanted): Ranked[] {
  const { mutant } = view
  const whole = mutant === 'groups are ignored'
  const max = maxOf(board, view.log.slice(0, extent(board, run, view)))
  const inOrder = scores(board, run, view, wanted)
    .filter(({ millionths }) => millionths > 0n || (mutant === 'zero is ranked' && millionths === 0n))
    .filter(({ attributes }) => whole || board.breakdown.every((key) => Object.hasOwn(attributes, key)))
    .sort(byPlace(mutant))
  const matching = ({ attributes }: Score) => whole || matches(attributes, wanted)
  const taken = new Map<string, number>()
  const ranked = inOrder.filter((score) => {
    if (mutant !== 'the maximum is one for all groups' && !matching(score)) return false
    if (mutant !== 'groups that match together have a maximum each') return true
    const group = JSON.stringify(board.breakdown.map((key) => score.attributes[key]))
    taken.set(group, (taken.get(group) ?? 0) + 1)
    return (taken.get(group) ?? 0) <= max
  })
  const most = mutant === 'groups that match together have a maximum each' ? ranked.length : max
  return ranked
    .slice(0, most)
    .filter(matching)
    .map(({ user, millionths }, index) => {
      const value = Math.min(Number(millionths / 1_000_000n), INT32)
      return { userId: user, rank: index + 1, value }
    })
}

/** The runs that begin up to a date, oldest first (L2). */
export function runsOf(board: OracleBoard, date: string, mutant?: Mutant): OracleRun[] {
  const wrong = mutant === 'a run ends a day late' || mutant === 'months from the run before'
  return runsUpTo(board, date, wrong ? mutant : undefined)
}

/** The ranking of the run that holds a date. Null if no run holds it. */
export function rankingOn(board: OracleBoard, date: string, view: View, wanted: Wanted): Ranked[] | null {
  const run = runsOf(board, date, view.mutant).at(-1)
  return run === undefined || !holds(run, date) ? null : ranking(board, run, view, wanted)
}
