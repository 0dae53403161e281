/**
 * An oracle for explanations of awards (X1), written from the rules alone. Imports nothing from the service.
 * It plays the log of one user from the beginning, in whole millionths and exact fractions.
 */

import { streakOf, utcDate } from './calendar.oracle'
import { boosted, totalAfter } from './points.oracle'

export type OracleTrigger = { id: string; points: number } & (
  | { on: 'metric'; metric: string; threshold: number; language: string | null }
  | { on: 'streak'; length: number }
  | { on: 'achievement' | 'creation' | 'tick' }
)

/** `multiplier` in hundredths. */
export type OracleBoost = { hundredths: number; rounding: 'down' | 'up' | 'nearest' }

export type OracleSystem = {
  id: string
  max: number | null
  /** In order of creation. */
  triggers: readonly OracleTrigger[]
  boosts: readonly OracleBoost[]
}

/** A change of the user, in order. `at` is in milliseconds, UTC is the user's zone. */
export type Logged =
  | {
      kind: 'event'
      id: string
      at: number
      metric: string
      /** In hundredths. */
      hundredths: number
      language: string | null
    }
  | { kind: 'tick'; at: number }
  | { kind: 'adjust'; at: number; system: string; amount: number }
  /** `event` is the id of an event that is voided. */
  | { kind: 'void'; at: number; event: string }

/** A total of `achievement.metric` that completes the only achievement. */
export type Goal = { metric: string; total: number }

/** `reverses` is null, or names the award that a reversal reverses. */
export type Explained = {
  system: string
  trigger: string | null
  type: 'adjustment' | 'reversal' | null
  reverses: { event: string | null; trigger: string | null } | null
  at: number
  event: string | null
  counter: { before: number; after: number } | null
  firings: number | null
  base: number | null
  boosts: number
  afterBoosts: number
  limit: 'cap' | 'floor' | null
  awarded: number
  total: { before: number; after: number }
}

/** The explanation of each award of the log, in order. */
export function explained(log: readonly Logged[], systems: readonly OracleSystem[], goal: Goal): Explained[] {
  return log.reduce<Explained[]>((all, last, index) => {
    if (last.kind === 'adjust') return adjusted(all, last, systems)
    if (last.kind === 'void') return systems.reduce((some, system) => reversed(some, last.event, system), all)
    return explainedLast(log.slice(0, index + 1), systems, goal).reduce(book, all)
  }, [])
}

const CORRECTION = { counter: null, firings: null, base: null, boosts: 0, event: null, trigger: null }

/** P8: the total of a system is the sum of its entries. */
const totalOf = (all: readonly Explained[], system: OracleSystem) =>
  all.filter((one) => one.system === system.id).reduce((sum, { awarded }) => sum + awarded, 0)

const limitOf = (amount: number, awarded: number) =>
  amount === awarded ? null : amount > 0 ? ('cap' as const) : ('floor' as const)

/** V1: an adjustment that changes the total is an entry. Boosts do not apply. */
function adjusted(
  all: Explained[],
  { at, system: id, amount }: Extract<Logged, { kind: 'adjust' }>,
  systems: readonly OracleSystem[],
): Explained[] {
  return systems.reduce((some, system) => {
    if (system.id !== id) return some
    const before = totalOf(some, system)
    const after = totalAfter(before, amount, system.max)
    const awarded = after - before
    const entry: Explained = {
      ...{ ...CORRECTION, system: id, type: 'adjustment', reverses: null, at, afterBoosts: amount },
      ...{ limit: limitOf(amount, awarded), awarded, total: { before, after } },
    }
    return awarded === 0 ? some : some.concat(entry)
  }, all)
}

/**
 * V2: reverses the awards of metric triggers for an event in a system. Together they change the total as far
 * as cap and floor allow. Points that come back are first, and the last awards are reversed before the first.
 */
function reversed(all: Explained[], event: string, system: OracleSystem): Explained[] {
  const metric = system.triggers.filter(({ on }) => on === 'metric').map(({ id }) => id)
  const own = all.filter(
    (one) => one.system === system.id && one.event === event && metric.includes(one.trigger ?? ''),
  )
  const start = totalOf(all, system)
  const whole = own.reduce((sum, { awarded }) => sum - awarded, 0)
  const allowed = totalAfter(start, whole, system.max) - start
  const [down, up] = [own.filter(({ awarded }) => awarded > 0), own.filter(({ awarded }) => awarded < 0)]
  const sum = (list: readonly Explained[]) => list.reduce((total, { awarded }) => total + awarded, 0)
  // The part of the wanted change that is left out, on the side that goes too far.
  let [tooMuchDown, tooMuchUp] = [Math.max(0, allowed - whole), Math.max(0, whole - allowed)]
  const cuts = new Map<Explained, number>()
  for (const one of down.toReversed()) {
    const cut = Math.min(tooMuchDown, one.awarded)
    tooMuchDown -= cut
    cuts.set(one, cut)
  }
  for (const one of up.toReversed()) {
    const cut = Math.min(tooMuchUp, -one.awarded)
    tooMuchUp -= cut
    cuts.set(one, -cut)
  }
  if (sum(down) === 0 && sum(up) === 0) return all
  return [...up.toReversed(), ...down.toReversed()].reduce((some, award) => {
    const awarded = -award.awarded + (cuts.get(award) ?? 0)
    const before = totalOf(some, system)
    const reverses = { event: award.event, trigger: award.trigger }
    const entry: Explained = {
      ...{ ...CORRECTION, system: system.id, type: 'reversal', reverses, at: award.at },
      ...{ afterBoosts: -award.awarded, limit: limitOf(-award.awarded, awarded), awarded },
      total: { before, after: before + awarded },
    }
    return awarded === 0 ? some : some.concat(entry)
  }, all)
}

type Fired = {
  system: OracleSystem
  trigger: OracleTrigger
  at: number
  event: string | null
  firings: number
  counter: { before: number; after: number } | null
}

/** P6, P8: adds an award to the awards before it. A change of 0 is not an award. */
function book(all: Explained[], { system, trigger, at, event, firings, counter }: Fired): Explained[] {
  const before = totalOf(all, system)
  const base = trigger.points * firings
  const applying = base > 0 ? system.boosts : []
  const texts = applying.map(({ hundredths, rounding }) => ({ multiplier: `${hundredths}e-2`, rounding }))
  const afterBoosts = Number(boosted(BigInt(base), texts))
  const after = totalAfter(before, afterBoosts, system.max)
  if (after === before) return all
  return [
    ...all,
    {
      ...{ system: system.id, trigger: trigger.id, type: null, reverses: null, at, event, counter, firings },
      ...{ base, boosts: applying.length, afterBoosts, limit: limitOf(afterBoosts, after - before) },
      ...{ awarded: after - before, total: { before, after } },
    },
  ]
}

/** The triggers that the last change of the log fires. */
function explainedLast(log: readonly Logged[], systems: readonly OracleSystem[], goal: Goal): Fired[] {
  const last = log.at(-1)
  if (last === undefined || last.kind === 'adjust' || last.kind === 'void') return []
  const event = last.kind === 'event' ? last.id : null
  return systems.flatMap((system) =>
    system.triggers.flatMap((trigger) => {
      const { firings, counter } = fired(log, trigger, goal)
      return firings === 0 ? [] : [{ system, trigger, at: last.at, event, firings, counter }]
    }),
  )
}

function fired(
  log: readonly Logged[],
  trigger: OracleTrigger,
  goal: Goal,
): Pick<Fired, 'firings' | 'counter'> {
  const last = log.at(-1)
  const without = { firings: 0, counter: null }
  if (last === undefined || last.kind === 'adjust' || last.kind === 'void') return without
  if (last.kind === 'tick') return trigger.on === 'tick' ? { firings: 1, counter: null } : without
  switch (trigger.on) {
    case 'tick':
      return without
    case 'creation':
      return { firings: log.filter(({ kind }) => kind === 'event').length === 1 ? 1 : 0, counter: null }
    case 'achievement': {
      // A completion stays, also if an event is voided after it (V2).
      const reached = log.filter(
        (one, index) =>
          one.kind === 'event' &&
          one.metric === goal.metric &&
          (sums(log.slice(0, index + 1), goal.metric, null).at(-1) ?? 0) >= goal.total * 100,
      )
      return { firings: reached[0] === last ? 1 : 0, counter: null }
    }
    case 'streak': {
      const length = lengthAfter(log)
      const isExtended = length > 0 && length !== lengthAfter(log.slice(0, -1), last.at)
      return { firings: isExtended && length % trigger.length === 0 ? 1 : 0, counter: null }
    }
    default: {
      if (last.metric !== trigger.metric) return without
      if (trigger.language !== null && last.language !== trigger.language) return without
      const own = sums(log, trigger.metric, trigger.language)
      const [before, after] = [highest(own.slice(0, -1)), highest(own)]
      const step = trigger.threshold * 100
      const firings = Math.floor(after / step) - Math.floor(before / step)
      return { firings, counter: { before: before / 100, after: after / 100 } }
    }
  }
}

const highest = (list: readonly number[]) => Math.max(0, ...list)

/** The running sums of a metric, in hundredths, one for each event that counts. Voided ones do not (V3). */
function sums(log: readonly Logged[], metric: string, language: string | null): number[] {
  const voided = new Set(log.map((one) => (one.kind === 'void' ? one.event : null)))
  let sum = 0
  return log.flatMap((one) => {
    if (one.kind !== 'event' || one.metric !== metric || voided.has(one.id)) return []
    if (language !== null && one.language !== language) return []
    sum += one.hundredths
    return [sum]
  })
}

/** S2, S3: the length of the daily streak after the log, as of a moment. Any positive event counts. */
function lengthAfter(log: readonly Logged[], now = log.at(-1)?.at ?? 0): number {
  const days = log.flatMap((one) => (one.kind === 'event' && one.hundredths > 0 ? [utcDate(one.at)] : []))
  return streakOf(days, utcDate(now))
}
