/**
 * An oracle for corrections (V1 to V4), written from the rules alone. Imports nothing from the service. It
 * keeps no running state except the ledger and the achievements that the user has: for each entry, it counts
 * the log before it again, without the events that were voided by then. Amounts are whole numbers: millionths
 * of metrics, and points.
 */

import { plusDays, streakOf } from './calendar.oracle'
import { boosted, totalAfter } from './points.oracle'

/** A metric trigger as it was when an event was stored. */
export type OracleTrigger = {
  id: string
  system: string
  metric: string
  /** In whole units of the metric. */
  threshold: number
  points: number
  active: boolean
  /** The value that the event attribute must have. Null: the trigger counts the metric's total (P1). */
  kind: string | null
  /** Changes when the trigger begins to count something else. */
  counter: string
}

/** A points system as it was. `percent` is a boost for all users, or null. */
export type OracleSystem = { id: string; max: number | null; percent: number | null }

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
  /** The points of each of its triggers, in the order in which they were created. All are in one system. */
  points: readonly number[]
  system: string
}

export type LoggedEvent = {
  is: 'event'
  id: string
  metric: string
  value: number
  kind: string | null
  /** The local date. */
  day: string
  /** Hours since local midnight. */
  hour: number
  triggers: readonly OracleTrigger[]
  systems: readonly OracleSystem[]
}
/** An entry of the history of one user. */
export type Entry =
  | LoggedEvent
  | { is: 'void'; event: string; systems: readonly OracleSystem[] }
  | { is: 'adjustment'; system: string; amount: number; day: string; hour: number; max: number | null }
  /** A completion that is taken back, with its points or without them (V4). */
  | Dated<{ is: 'taken'; achievement: string; withPoints: boolean }>
  /** A call that completes an achievement (A3). */
  | Dated<{ is: 'call'; achievement: string }>
  /** A change of the user attribute. */
  | Dated<{ is: 'plan'; value: string }>
type Dated<T> = T & { day: string; hour: number; systems: readonly OracleSystem[] }

/** An entry of the ledger. `of` is the event, the reversed event or the adjustment. */
export type LedgerEntry = {
  system: string
  is: 'award' | 'reversal' | 'adjustment'
  day: string
  hour: number
  amount: number
}

export type Recount = {
  /** By metric. */
  totals: Map<string, { total: number; highest: number }>
  ledger: LedgerEntry[]
  /** By event: how often each trigger fired. */
  firings: Map<string, Map<string, number>>
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

/** The events before an entry, without those that were voided before it. */
function logBefore(entries: readonly Entry[], until: number): LoggedEvent[] {
  const past = entries.slice(0, until)
  const voided = new Set(past.flatMap((one) => (one.is === 'void' ? [one.event] : [])))
  return past.flatMap((one) => (one.is === 'event' && !voided.has(one.id) ? [one] : []))
}

function isCounted(event: LoggedEvent, trigger: OracleTrigger): boolean {
  if (event.metric !== trigger.metric) return false
  if (trigger.kind === null) return true
  const then = event.triggers.find(({ counter }) => counter === trigger.counter)
  return event.kind === trigger.kind && then?.active === true
}

/** The days on which the streak was extended: those with a positive event, voided or not (V2). */
const activeDays = (past: readonly Entry[]): string[] =>
  past.flatMap((one) => (one.is === 'event' && one.value > 0 ? [one.day] : []))

const lastDay = (past: readonly Entry[]) => past.findLast((one) => 'day' in one)?.day ?? ''

/** True if the streak was lost between an entry and the one before it. */
function wasLost(past: readonly Entry[]): boolean {
  const entry = past.at(-1)
  const last = activeDays(past.slice(0, -1)).sort().at(-1)
  return entry !== undefined && 'day' in entry && (last === undefined || entry.day > plusDays(last, 1))
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
      const own = logBefore(past, past.length).filter((one) => one.metric === metric)
      return (
        sum(own.filter((one) => kind === null || one.kind === kind).map((one) => one.value)) >= units * UNIT
      )
    }
    case 'streak':
      return streakOf(activeDays(past), lastDay(past)) >= completes.length
    case 'others':
      return completes.ids.every((id) => had.has(id))
    case 'call':
      return true
    default:
      return completes satisfies never
  }
}

export function recount(entries: readonly Entry[], achievements: readonly OracleAchievement[] = []): Recount {
  const ledger: (LedgerEntry & { event?: string; completion?: number; trigger?: string })[] = []
  const firings: Recount['firings'] = new Map()
  const totalOf = (system: string) =>
    sum(ledger.filter((one) => one.system === system).map(({ amount }) => amount))
  /** The achievements that the user has, by id, with the entry that completed them. */
  const had = new Map<string, number>()
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
        had.set(one.id, nth)
        completed.push(one.id)
        isMore = true
      }
    }
    return completed
  }
  const book = (
    {
      system,
      points,
      ...more
    }: { system: string; points: number; event?: string; completion?: number; trigger?: string },
    { day, hour, systems }: { day: string; hour: number; systems: readonly OracleSystem[] },
  ): void => {
    const own = systems.find(({ id }) => id === system)
    if (own === undefined) return
    const boosts =
      own.percent === null || points < 0
        ? []
        : [{ multiplier: `${100 + own.percent}e-2`, rounding: 'down' as const }]
    const total = totalOf(system)
    const amount = totalAfter(total, Number(boosted(BigInt(points), boosts)), own.max) - total
    if (amount !== 0) ledger.push({ system, is: 'award', day, hour, amount, ...more })
  }
  /** Reverses entries of the ledger, those of each system together. */
  const reverse = (entries: readonly LedgerEntry[], systems: readonly OracleSystem[]): void => {
    for (const { id, max } of systems) {
      const own = entries.filter(({ system }) => system === id)
      const [first] = own
      if (first === undefined) continue
      const total = totalOf(id)
      const amount = totalAfter(total, -sum(own.map((one) => one.amount)), max) - total
      if (amount !== 0) ledger.push({ system: id, is: 'reversal', day: first.day, hour: first.hour, amount })
    }
  }
  const reward = (nth: number, completed: readonly string[], at: Parameters<typeof book>[1]): void => {
    for (const { id, system, points: amounts } of achievements) {
      if (!completed.includes(id)) continue
      for (const [index, points] of amounts.entries()) {
        const trigger = `${id} ${index}`
        if (!paid.has(trigger)) book({ system, points, completion: nth, trigger }, at)
      }
    }
  }
  for (const [nth, entry] of entries.entries()) {
    if (entry.is === 'plan') {
      // It completes nothing by itself.
    } else if (entry.is === 'call') {
      reward(
        nth,
        complete(nth, ({ id }) => id === entry.achievement),
        entry,
      )
    } else if (entry.is === 'taken') {
      const own = ledger.filter(
        (one) =>
          one.completion === had.get(entry.achievement) && one.trigger?.startsWith(`${entry.achievement} `),
      )
      had.delete(entry.achievement)
      takenAt.set(entry.achievement, nth)
      if (!entry.withPoints) for (const one of own) paid.add(one.trigger ?? '')
      if (entry.withPoints) reverse(own, entry.systems)
    } else if (entry.is === 'adjustment') {
      const { system, day, hour } = entry
      const total = totalOf(system)
      const amount = totalAfter(total, entry.amount, entry.max) - total
      if (amount !== 0) ledger.push({ system, is: 'adjustment', day, hour, amount })
    } else if (entry.is === 'void') {
      reverse(
        ledger.filter((one) => one.event === entry.event),
        entry.systems,
      )
    } else {
      const log = logBefore(entries, nth)
      const fired = new Map<string, number>()
      firings.set(entry.id, fired)
      for (const trigger of entry.triggers) {
        if (!trigger.active || !isCounted(entry, trigger)) continue
        const values = log.filter((one) => isCounted(one, trigger)).map(({ value }) => value)
        const crossed = (amounts: readonly number[]) =>
          Math.floor(highest(amounts) / (trigger.threshold * UNIT))
        const times = crossed([...values, entry.value]) - crossed(values)
        if (times === 0) continue
        fired.set(trigger.id, times)
        book({ system: trigger.system, points: trigger.points * times, event: entry.id }, entry)
      }
      reward(
        nth,
        complete(nth, ({ completes }) => completes.by !== 'call'),
        entry,
      )
    }
    hadAfter.push(new Set(had.keys()))
  }
  const counting = logBefore(entries, entries.length)
  const metrics = new Set(entries.flatMap((one) => (one.is === 'event' ? [one.metric] : [])))
  const totals = new Map(
    [...metrics].map((metric) => {
      const values = counting.filter((one) => one.metric === metric).map(({ value }) => value)
      return [metric, { total: sum(values), highest: highest(values) }] as const
    }),
  )
  return { totals, ledger, firings, counting, achievements: new Set(had.keys()) }
}
