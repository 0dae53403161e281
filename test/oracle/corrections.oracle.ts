/**
 * An oracle for corrections (V1 to V4) and explanations (X1), written from the rules alone. Imports nothing from
 * the service. It keeps no running state except the ledger and the achievements that the user has: for each entry,
 * it counts the log before it again, without the events that were voided by then. Amounts are whole numbers:
 * millionths of metrics, and points.
 */

import { plusDays, streakOf, utcDate } from './calendar.oracle'
import { boosted, type OracleBoost, totalAfter } from './points.oracle'

/** A trigger as it was when an entry came. */
export type OracleTrigger = { id: string; system: string; points: number; active: boolean } & (
  | {
      on: 'metric'
      metric: string
      /** In whole units of the metric. */
      threshold: number
      /** The value that the event attribute must have. Null: the trigger counts the metric's total (P1). */
      kind: string | null
      /** Changes when the trigger begins to count something else. */
      counter: number
    }
  | { on: 'streak'; length: number }
  | { on: 'achievement'; achievement: string }
  | { on: 'creation' | 'tick' }
)

/** A points system as it was, with boosts for all users. */
export type OracleSystem = {
  id: string
  max: number | null
  boosts: readonly Pick<OracleBoost, 'multiplier' | 'rounding'>[]
}

/** An achievement. It is active from the beginning, and does not change. */
export type OracleAchievement = {
  id: string
  completes:
    | { by: 'metric'; metric: string; units: number; kind: string | null }
    | { by: 'streak'; length: number }
    | { by: 'call' }
    | { by: 'others'; ids: readonly string[] }
  /** The value that the user attribute must have, or null. */
  plan: string | null
}

/** A change of one user. The history of a user begins with the event that creates the user. */
export type Change =
  | { is: 'event'; id: string; metric: string; value: number; kind: string | null }
  | { is: 'void'; event: string; reason: string }
  | { is: 'adjustment'; system: string; amount: number; reason: string }
  /** A completion that is taken back, with its points or without them (V4). */
  | { is: 'taken'; achievement: string; withPoints: boolean }
  /** A call that completes an achievement (A3). */
  | { is: 'call'; achievement: string }
  /** A change of the user attribute. */
  | { is: 'plan'; value: string }
  | { is: 'tick' }

/** An entry of the history of one user, with the configuration at that moment. UTC is the user's zone. */
export type Entry = Change & {
  /** In milliseconds. */
  at: number
  /** In order of creation, like the triggers. */
  systems: readonly OracleSystem[]
  triggers: readonly OracleTrigger[]
}
type LoggedEvent = Extract<Entry, { is: 'event' }>

/** An entry of the ledger with its explanation. A reversal names the award that it reverses. */
export type LedgerEntry = {
  system: string
  type: 'adjustment' | 'reversal' | null
  reason: string | null
  reverses: { event: string | null; trigger: string | null; total: { before: number; after: number } } | null
  at: number
  event: string | null
  trigger: string | null
  counter: { before: number; after: number } | null
  firings: number | null
  base: number | null
  boosts: number
  afterBoosts: number
  limit: 'cap' | 'floor' | null
  awarded: number
  total: { before: number; after: number }
}

export type Recount = {
  /** By metric. */
  totals: Map<string, { total: number; highest: number }>
  ledger: LedgerEntry[]
  counting: LoggedEvent[]
  /** The ids of the achievements that the user has. */
  achievements: Set<string>
}

const UNIT = 1_000_000

/** The highest sum that a list of amounts has reached, from 0. */
function highest(amounts: readonly number[]): number {
  let best = 0
  for (let until = 1; until <= amounts.length; until += 1) best = Math.max(best, sum(amounts.slice(0, until)))
  return best
}

export const sum = (amounts: readonly number[]): number => amounts.reduce((all, one) => all + one, 0)

/** The events of some entries, without those that were voided among them. */
function logOf(past: readonly Entry[]): LoggedEvent[] {
  const voided = new Set(past.flatMap((one) => (one.is === 'void' ? [one.event] : [])))
  return past.flatMap((one) => (one.is === 'event' && !voided.has(one.id) ? [one] : []))
}

function isCounted(event: LoggedEvent, trigger: Extract<OracleTrigger, { on: 'metric' }>): boolean {
  if (event.metric !== trigger.metric) return false
  if (trigger.kind === null) return true
  const then = event.triggers.find(
    (one) => one.id === trigger.id && one.on === 'metric' && one.counter === trigger.counter,
  )
  return event.kind === trigger.kind && then?.active === true
}

/** The days on which the streak was extended: those with a positive event, voided or not (V2). */
const activeDays = (past: readonly Entry[]): string[] =>
  past.flatMap((one) => (one.is === 'event' && one.value > 0 ? [utcDate(one.at)] : []))

/** True if the streak was lost between an entry and the one before it. */
function wasLost(past: readonly Entry[]): boolean {
  const entry = past.at(-1)
  const last = activeDays(past.slice(0, -1)).sort().at(-1)
  return entry !== undefined && (last === undefined || utcDate(entry.at) > plusDays(last, 1))
}

/** True if the condition of an achievement is true after the last of some entries (A2). */
function isTrue(
  { completes, plan }: OracleAchievement,
  past: readonly Entry[],
  had: ReadonlySet<string>,
): boolean {
  const last = past.findLast((one) => one.is === 'plan')
  if (plan !== null && last?.value !== plan) return false
  switch (completes.by) {
    case 'metric': {
      const { metric, kind, units } = completes
      const own = logOf(past).filter((one) => one.metric === metric && (kind === null || one.kind === kind))
      return sum(own.map((one) => one.value)) >= units * UNIT
    }
    case 'streak':
      return streakOf(activeDays(past), utcDate(past.at(-1)?.at ?? 0)) >= completes.length
    case 'others':
      return completes.ids.every((id) => had.has(id))
    case 'call':
      return true
    default:
      return completes satisfies never
  }
}

/** How often the last of some entries fires a trigger (P1, P2), and the trigger's counter. */
function fired(
  trigger: OracleTrigger,
  past: readonly Entry[],
  completed: readonly string[],
): Pick<LedgerEntry, 'counter'> & { firings: number } {
  const [entry, earlier] = [past.at(-1), past.slice(0, -1)]
  const once = (isFired: boolean) => ({ firings: isFired && trigger.active ? 1 : 0, counter: null })
  switch (trigger.on) {
    case 'tick':
      return once(entry?.is === 'tick')
    case 'creation':
      return once(earlier.length === 0)
    case 'achievement':
      return once(completed.includes(trigger.achievement))
    case 'streak': {
      const lengthOf = (list: readonly Entry[]) => streakOf(activeDays(list), utcDate(entry?.at ?? 0))
      const length = lengthOf(past)
      return once(length > lengthOf(earlier) && length % trigger.length === 0)
    }
    case 'metric': {
      if (entry?.is !== 'event' || !trigger.active || !isCounted(entry, trigger)) return once(false)
      const values = logOf(earlier).flatMap((one) => (isCounted(one, trigger) ? [one.value] : []))
      const [before, after] = [highest(values), highest([...values, entry.value])]
      const crossed = (amount: number) => Math.floor(amount / (trigger.threshold * UNIT))
      const counter = { before: before / UNIT, after: after / UNIT }
      return { firings: crossed(after) - crossed(before), counter }
    }
    default:
      return trigger satisfies never
  }
}

/**
 * V2: the amounts of the entries that reverse some awards of a system, in order. Together they change the total as
 * far as cap and floor allow. Points that come back are first, and the last awards are reversed before the first.
 */
function reversals(awards: readonly LedgerEntry[], total: number, max: number | null) {
  const wanted = -sum(awards.map(({ awarded }) => awarded))
  const allowed = totalAfter(total, wanted, max) - total
  // Cap and floor may allow less than all. `up` says how many points may not come back, `down` how many may not go.
  const tooMuch = { up: Math.max(0, wanted - allowed), down: Math.max(0, allowed - wanted) }
  const last = awards.toReversed()
  const up = last.filter(({ awarded }) => awarded < 0)
  const down = last.filter(({ awarded }) => awarded > 0)
  return [...up, ...down].map((award) => {
    const side = award.awarded < 0 ? 'up' : 'down'
    const cut = Math.min(tooMuch[side], Math.abs(award.awarded))
    tooMuch[side] -= cut
    return { award, amount: -award.awarded + (side === 'up' ? -cut : cut) }
  })
}

/** A part of the ledger that is only about awards. */
const CORRECTION = { event: null, trigger: null, counter: null, firings: null, base: null, boosts: 0 }

export function recount(entries: readonly Entry[], achievements: readonly OracleAchievement[]): Recount {
  const ledger: LedgerEntry[] = []
  /** P8: the total of a system is the sum of its entries. */
  const totalOf = (system: string) =>
    sum(ledger.filter((one) => one.system === system).map(({ awarded }) => awarded))
  /** The achievements that the user has, by id, with the awards of their completions. */
  const had = new Map<string, LedgerEntry[]>()
  /** After each entry, the achievements that the user had. */
  const hadAfter: ReadonlySet<string>[] = []
  const takenAt = new Map<string, number>()
  /** The triggers that gave points for completions that were taken back without them. */
  const paid = new Set<string>()
  /** True if a condition has been true from the take-back up to the entry before this one (V4). */
  const hasStayedTrue = (one: OracleAchievement, nth: number): boolean => {
    const taken = takenAt.get(one.id)
    if (taken === undefined) return false
    for (let k = taken; k < nth; k += 1) {
      if (!isTrue(one, entries.slice(0, k + 1), hadAfter[k] ?? new Set())) return false
      if (one.completes.by === 'streak' && wasLost(entries.slice(0, k + 2))) return false
    }
    return true
  }
  const complete = (nth: number, isTried: (one: OracleAchievement) => boolean): string[] => {
    const completed: string[] = []
    const past = entries.slice(0, nth + 1)
    for (let isMore = true; isMore; ) {
      isMore = false
      for (const one of achievements) {
        const follows = one.completes.by === 'others' && completed.length > 0
        if (had.has(one.id) || !(isTried(one) || follows)) continue
        if (!isTrue(one, past, new Set(had.keys()))) continue
        if (one.completes.by !== 'call' && hasStayedTrue(one, nth)) continue
        had.set(one.id, [])
        completed.push(one.id)
        isMore = true
      }
    }
    return completed
  }
  /** Adds an entry to the ledger. An amount that comes to 0 is no entry (P6). */
  const book = (entry: Omit<LedgerEntry, 'limit' | 'total'>): LedgerEntry[] => {
    const { system, afterBoosts, awarded } = entry
    if (awarded === 0) return []
    const before = totalOf(system)
    const limit = afterBoosts === awarded ? null : afterBoosts > 0 ? 'cap' : 'floor'
    const made = { ...entry, limit, total: { before, after: before + awarded } } as const
    ledger.push(made)
    return [made]
  }
  /** The awards of all triggers that an entry fires (E5, P5, P6). */
  const award = (nth: number, completed: readonly string[]): void => {
    const entry = entries[nth]
    for (const { id: system, max, boosts } of entry?.systems ?? []) {
      for (const trigger of entry?.triggers ?? []) {
        if (entry === undefined || trigger.system !== system || paid.has(trigger.id)) continue
        const { firings, counter } = fired(trigger, entries.slice(0, nth + 1), completed)
        const base = trigger.points * firings
        const applying = base > 0 ? boosts : []
        const afterBoosts = Number(boosted(BigInt(base), applying))
        const awarded = totalAfter(totalOf(system), afterBoosts, max) - totalOf(system)
        const event = entry.is === 'event' ? entry.id : null
        const made = book({
          ...{ system, type: null, reason: null, reverses: null, at: entry.at, event, trigger: trigger.id },
          ...{ counter, firings, base, boosts: applying.length, afterBoosts, awarded },
        })
        if (trigger.on === 'achievement') had.get(trigger.achievement)?.push(...made)
      }
    }
  }
  /** Reverses awards, those of each system together. */
  const reverse = (
    awards: readonly LedgerEntry[],
    systems: readonly OracleSystem[],
    reason: string | null,
  ): void => {
    for (const { id, max } of systems) {
      const own = awards.filter(({ system }) => system === id)
      for (const { award, amount } of reversals(own, totalOf(id), max)) {
        const { event, trigger, total, at } = award
        const reverses = { event, trigger, total }
        book({
          ...{ ...CORRECTION, system: id, type: 'reversal', reason, reverses, at },
          ...{ afterBoosts: -award.awarded, awarded: amount },
        })
      }
    }
  }
  for (const [nth, entry] of entries.entries()) {
    switch (entry.is) {
      case 'plan':
        // It completes nothing by itself.
        break
      case 'tick':
        award(nth, [])
        break
      case 'event':
        award(
          nth,
          complete(nth, ({ completes }) => completes.by !== 'call'),
        )
        break
      case 'call':
        award(
          nth,
          complete(nth, ({ id }) => id === entry.achievement),
        )
        break
      case 'taken': {
        const own = had.get(entry.achievement) ?? []
        had.delete(entry.achievement)
        takenAt.set(entry.achievement, nth)
        if (entry.withPoints) reverse(own, entry.systems, null)
        else for (const { trigger } of own) paid.add(trigger ?? '')
        break
      }
      case 'adjustment': {
        const { system, amount, reason, at } = entry
        const max = entry.systems.find(({ id }) => id === system)?.max ?? null
        const awarded = totalAfter(totalOf(system), amount, max) - totalOf(system)
        const of = { system, type: 'adjustment' as const, reason, reverses: null, at }
        book({ ...CORRECTION, ...of, afterBoosts: amount, awarded })
        break
      }
      case 'void': {
        // Only metric triggers have counters.
        const own = ledger.filter((one) => one.event === entry.event && one.counter !== null)
        reverse(own, entry.systems, entry.reason)
        break
      }
      default:
        entry satisfies never
    }
    hadAfter.push(new Set(had.keys()))
  }
  const counting = logOf(entries)
  const metrics = new Set(entries.flatMap((one) => (one.is === 'event' ? [one.metric] : [])))
  const totals = new Map(
    [...metrics].map((metric) => {
      const values = counting.filter((one) => one.metric === metric).map(({ value }) => value)
      return [metric, { total: sum(values), highest: highest(values) }] as const
    }),
  )
  return { totals, ledger, counting, achievements: new Set(had.keys()) }
}
