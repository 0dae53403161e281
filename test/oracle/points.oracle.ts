/**
 * An oracle for metric totals, points, levels and awards (E1, P1, P5–P9, U6), written from the rules alone.
 * Imports nothing from the service. It keeps no running state: for each entry, it counts everything that was
 * accepted before it again, in exact fractions.
 */

import { localAt, offsetIn } from './calendar.oracle'

/** Needs these attribute values, by key. */
export type Wanted = readonly (readonly [key: string, value: string])[]

export type OracleTrigger = {
  id: string
  on: 'event' | 'creation'
  metric: string
  threshold: number
  points: number
  active: boolean
  user: Wanted
  event: Wanted
  blocks: boolean
}

export type OracleBoost = {
  id: string
  start: string
  /** The last date. Null if the boost has no end. */
  end: string | null
  /** As a decimal text, such as `1.25`. */
  multiplier: string
  rounding: 'down' | 'up' | 'nearest'
  user: Wanted
}

export type OracleSystem = {
  id: string
  max: number | null
  levels: readonly { id: string; points: number }[]
  /** In order of creation. */
  triggers: readonly OracleTrigger[]
  boosts: readonly OracleBoost[]
}

/** The requests to the service, in order, each with the configuration at that moment. */
export type Entry = {
  systems: readonly OracleSystem[]
  /** The user's own boosts at that moment, by system. */
  own: Readonly<Record<string, readonly OracleBoost[]>>
  /** Milliseconds since the epoch. */
  now: number
  /** The zone that is passed. Undefined keeps the zone, null removes it. */
  tz?: string | null
  /** User attributes that are passed. Null removes one. */
  attributes: Readonly<Record<string, string | null>>
  event: { metric: string; value: string; attributes: Readonly<Record<string, string>> } | null
}

export type ExpectedAward = {
  system: string
  trigger: string
  awarded: number
  total: number
  /** Ids, sorted. */
  boosts: readonly string[]
}

/** The outcome of an entry. */
export type Expected =
  | { refused: true }
  | {
      refused: false
      /** The metric's total after the event, in millionths. Null if the entry is not an event. */
      total: bigint | null
      /** In order of the systems, and within a system in order of the triggers. */
      awards: readonly ExpectedAward[]
      /** By system. */
      points: Readonly<Record<string, number>>
      /** By system: the level's id. Null for no level. */
      levels: Readonly<Record<string, string | null>>
      /** The local date, and the offset of the zone in minutes ahead of UTC. */
      date: string
      offset: number
    }

const INT32 = 2_147_483_647n
/** E1: |total| stays within 9,007,199,254, here in millionths. */
export const FARTHEST = 9_007_199_254_000_000n

/** A fraction of whole numbers; the lower one is positive. */
type Fraction = { upper: bigint; lower: bigint }

/** The fraction of a decimal text such as `-1.25e-7`. */
function fraction(text: string): Fraction {
  const match = /^([+-]?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text)
  if (match === null) throw new Error(`not a decimal: ${text}`)
  const [, sign, whole = '', part = '', exponent = '0'] = match
  const power = Number(exponent) - part.length
  const size = BigInt(whole + part) * (power > 0 ? 10n ** BigInt(power) : 1n)
  return { upper: sign === '-' ? -size : size, lower: power < 0 ? 10n ** BigInt(-power) : 1n }
}

const times = (a: Fraction, b: Fraction): Fraction => ({ upper: a.upper * b.upper, lower: a.lower * b.lower })

/** The largest whole number that is not above the value. */
function floor({ upper, lower }: Fraction): bigint {
  const cut = upper / lower
  return upper < 0n && cut * lower !== upper ? cut - 1n : cut
}

const negated = ({ upper, lower }: Fraction): Fraction => ({ upper: -upper, lower })
const ceiling = (value: Fraction): bigint => -floor(negated(value))

/** The nearest whole number. Halves are rounded away from zero. */
function nearest(value: Fraction): bigint {
  if (value.upper < 0n) return -nearest(negated(value))
  return floor({ upper: 2n * value.upper + value.lower, lower: 2n * value.lower })
}

/** E1: a value in millionths, rounded to six decimals, half away from zero. */
export function millionths(value: string): bigint {
  return nearest(times(fraction(value), { upper: 1_000_000n, lower: 1n }))
}

type Accepted = { entry: Entry; awards: readonly ExpectedAward[] }

/** The outcome of each entry, in order. Only accepted entries are remembered. */
export function recount(entries: readonly Entry[]): Expected[] {
  const accepted: Accepted[] = []
  return entries.map((entry) => {
    const expected = decide(accepted, entry)
    if (!expected.refused) accepted.push({ entry, awards: expected.awards })
    return expected
  })
}

function decide(earlier: readonly Accepted[], entry: Entry): Expected {
  const log = [...earlier.map((one) => one.entry), entry]
  const attributes = attributesAfter(log)
  const offset = offsetIn(zoneAfter(log), entry.now)
  const { date } = localAt(entry.now, offset)
  const total = entry.event === null ? null : sums(log, () => true, entry.event.metric).at(-1)
  if (total === undefined) throw new Error('an event without a sum')
  if (total !== null && (total > FARTHEST || total < -FARTHEST)) return { refused: true }

  const awards: ExpectedAward[] = []
  for (const system of entry.systems) {
    for (const trigger of system.triggers) {
      const firings = timesFired(log, trigger, earlier.length === 0)
      if (firings === 0n || !has(attributes, trigger.user)) continue
      const before = pointsOf(earlier, awards, system.id)
      const plain = BigInt(trigger.points) * firings
      if (trigger.blocks && trigger.on === 'event' && before + plain < 0n) return { refused: true }
      const applying =
        plain < 0n
          ? []
          : [...system.boosts, ...(entry.own[system.id] ?? [])].filter(
              (boost) =>
                boost.start <= date &&
                (boost.end === null || date <= boost.end) &&
                has(attributes, boost.user),
            )
      const after = bounded(before, before + boosted(plain, applying), system.max)
      if (after === before) continue
      awards.push({
        system: system.id,
        trigger: trigger.id,
        awarded: Number(after - before),
        total: Number(after),
        boosts: applying.map(({ id }) => id).sort(),
      })
    }
  }
  const points: Record<string, number> = {}
  const levels: Record<string, string | null> = {}
  for (const { id, levels: all } of entry.systems) {
    const sum = Number(pointsOf(earlier, awards, id))
    points[id] = sum
    const reached = all.filter((level) => level.points <= sum)
    const highest = Math.max(...reached.map((level) => level.points))
    levels[id] = reached.find((level) => level.points === highest)?.id ?? null
  }
  return { refused: false, total, awards, points, levels, date, offset }
}

/** U2: the attributes after all entries. */
function attributesAfter(log: readonly Entry[]): Record<string, string> {
  const passed = log.flatMap(({ attributes }) => Object.entries(attributes))
  const last = new Map(passed)
  return Object.fromEntries([...last].flatMap(([key, value]) => (value === null ? [] : [[key, value]])))
}

/** The zone that was passed last. UTC if it was removed or never passed (U1). */
function zoneAfter(log: readonly Entry[]): string {
  return log.map(({ tz }) => tz).findLast((tz) => tz !== undefined) ?? 'UTC'
}

const has = (values: Readonly<Record<string, string>>, wanted: Wanted) =>
  wanted.every(([key, value]) => Object.hasOwn(values, key) && values[key] === value)

/** The running sums of a metric, in millionths, one for each of its events that counts. */
function sums(log: readonly Entry[], counts: (entry: Entry) => boolean, metric: string): bigint[] {
  const values = log.flatMap((entry) =>
    entry.event?.metric === metric && counts(entry) ? [millionths(entry.event.value)] : [],
  )
  return values.map((_, index) => values.slice(0, index + 1).reduce((sum, value) => sum + value, 0n))
}

/** P1, U6: the number of multiples of the threshold that the last entry reaches for the first time. */
function timesFired(log: readonly Entry[], trigger: OracleTrigger, creates: boolean): bigint {
  if (!trigger.active) return 0n
  if (trigger.on === 'creation') return creates ? 1n : 0n
  const last = log.at(-1)
  if (last?.event?.metric !== trigger.metric) return 0n
  // A trigger with filters counts only matching events that arrived while it was active.
  const wasActive = ({ systems }: Entry) =>
    systems.some(({ triggers }) => triggers.some(({ id, active }) => id === trigger.id && active))
  const counts =
    trigger.event.length === 0
      ? () => true
      : (entry: Entry) => wasActive(entry) && has(entry.event?.attributes ?? {}, trigger.event)
  if (!counts(last)) return 0n
  const threshold = BigInt(trigger.threshold) * 1_000_000n
  const reached = sums(log, counts, trigger.metric).map((sum) => (sum < 0n ? 0n : sum / threshold))
  return most(reached) - most(reached.slice(0, -1))
}

/** The largest value, or 0 if no value is above 0. */
function most(list: readonly bigint[]): bigint {
  let high = 0n
  for (const one of list) if (one > high) high = one
  return high
}

/** P8: the points of a system are the sum of its awards. */
function pointsOf(earlier: readonly Accepted[], fresh: readonly ExpectedAward[], system: string): bigint {
  return [...earlier.flatMap(({ awards }) => awards), ...fresh]
    .filter((award) => award.system === system)
    .reduce((sum, { awarded }) => sum + BigInt(awarded), 0n)
}

/** P5: all multipliers together, then rounded once. */
export function boosted(
  points: bigint,
  boosts: readonly Pick<OracleBoost, 'multiplier' | 'rounding'>[],
): bigint {
  const product = boosts.reduce((value, { multiplier }) => times(value, fraction(multiplier)), {
    upper: points,
    lower: 1n,
  })
  const roundings = new Set(boosts.map(({ rounding }) => rounding))
  if (roundings.size === 1 && roundings.has('up')) return ceiling(product)
  if (roundings.size === 1 && roundings.has('nearest')) return nearest(product)
  return floor(product)
}

/**
 * P6, G11: a rise stops at the cap, a fall stops at zero. A cap below the current points takes nothing away.
 */
export function bounded(before: bigint, after: bigint, max: number | null): bigint {
  if (after <= before) return after < 0n ? 0n : after
  const cap = max === null || BigInt(max) > INT32 ? INT32 : BigInt(max)
  if (before >= cap) return before
  return after > cap ? cap : after
}

/** The same for numbers: the total after an amount. */
export const totalAfter = (total: number, amount: number, max: number | null): number =>
  Number(bounded(BigInt(total), BigInt(total + amount), max))

/** The largest total that a user can have (G11). */
export const LARGEST_TOTAL = 2_147_483_647

/** The ranges of a summary (P11), from the totals of all users. */
export function rangesOf(totals: readonly number[]): { from: number; to: number; users: number }[] {
  let end = 10
  while (totals.some((total) => total > end)) end *= 10
  const ranges = [{ from: 0, to: 0 }]
  for (let from = 1; from <= Math.min(end, LARGEST_TOTAL); from += end / 10)
    ranges.push({ from, to: Math.min(from + end / 10 - 1, LARGEST_TOTAL) })
  const inRange = ({ from, to }: { from: number; to: number }) =>
    totals.filter((total) => total >= from && total <= to).length
  return ranges.map((range) => ({ ...range, users: inRange(range) }))
}
