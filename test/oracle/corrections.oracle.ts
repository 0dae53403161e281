/**
 * An oracle for corrections (V1 to V3), written from the rules alone. Imports nothing from the service. It
 * keeps no running state except the ledger: for each entry, it counts the log before it again, without the
 * events that were voided by then. Amounts are whole numbers: millionths of metrics, and points.
 */

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
  /** The events that count. */
  counting: LoggedEvent[]
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

/** Whether an event is one that a trigger counts. */
function isCounted(event: LoggedEvent, trigger: OracleTrigger): boolean {
  if (event.metric !== trigger.metric) return false
  if (trigger.kind === null) return true
  const then = event.triggers.find(({ counter }) => counter === trigger.counter)
  return event.kind === trigger.kind && then?.active === true
}

/** A total after an amount, within floor and cap. A lowered cap takes nothing away (P6). */
function within(total: number, amount: number, max: number | null): number {
  if (amount > 0) return Math.max(total, Math.min(total + amount, max ?? Number.MAX_SAFE_INTEGER))
  return Math.max(0, total + amount)
}

export function recount(entries: readonly Entry[]): Recount {
  const ledger: (LedgerEntry & { event?: string })[] = []
  const firings: Recount['firings'] = new Map()
  const totalOf = (system: string) =>
    sum(ledger.filter((one) => one.system === system).map(({ amount }) => amount))
  for (const [nth, entry] of entries.entries()) {
    if (entry.is === 'adjustment') {
      const { system, day, hour } = entry
      const total = totalOf(system)
      const amount = within(total, entry.amount, entry.max) - total
      if (amount !== 0) ledger.push({ system, is: 'adjustment', day, hour, amount })
    } else if (entry.is === 'void') {
      for (const { id, max } of entry.systems) {
        const own = ledger.filter((one) => one.event === entry.event && one.system === id)
        const [first] = own
        if (first === undefined) continue
        const total = totalOf(id)
        const amount = within(total, -sum(own.map((one) => one.amount)), max) - total
        if (amount === 0) continue
        ledger.push({ system: id, is: 'reversal', day: first.day, hour: first.hour, amount })
      }
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
        const system = entry.systems.find(({ id }) => id === trigger.system)
        if (system === undefined) continue
        const base = trigger.points * times
        const boosted =
          base > 0 && system.percent !== null ? Math.floor((base * (100 + system.percent)) / 100) : base
        const total = totalOf(system.id)
        const amount = within(total, boosted, system.max) - total
        const { day, hour, id: event } = entry
        if (amount !== 0) ledger.push({ system: system.id, is: 'award', day, hour, amount, event })
      }
    }
  }
  const counting = logBefore(entries, entries.length)
  const metrics = new Set(entries.flatMap((one) => (one.is === 'event' ? [one.metric] : [])))
  const totals = new Map(
    [...metrics].map((metric) => {
      const values = counting.filter((one) => one.metric === metric).map(({ value }) => value)
      return [metric, { total: sum(values), highest: highest(values) }] as const
    }),
  )
  return { totals, ledger, firings, counting }
}
