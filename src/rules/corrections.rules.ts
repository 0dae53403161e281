import {
  type Achievement,
  type Configuration,
  meets,
  type System,
  type Trigger,
} from '../configuration/model'
import { type Instant, instant } from '../lib/clock'
import { childId } from '../lib/ids'
import { localDay, offsetMinutes, periodStart } from '../lib/zone'
import { countsItself, keepRevoked, paidMark } from './achievements.rules'
import { type Change, noteInputs } from './change.rules'
import { bound, levelsOf } from './points/points.rules'
import type { AwardRecord, Correction, Counter, EventRecord, LocalTime, UserState } from './state'
import { STREAK_AS_IT_WAS } from './streaks/streak-change.rules'
import type { StreakState } from './streaks/streak-state.rules'
import { added } from './streaks/streaks.rules'

/** A change of an admin that puts right what a user has. It fires and completes nothing (V2). */
export type CorrectionChange = Change & { before: UserState }

/** The ids of the entries in the ledger are made from `id`. */
export type Occasion = { at: Instant; id: string; reason: string | null }

type ReversedAward = LocalTime &
  Pick<AwardRecord, 'id' | 'systemId' | 'awarded' | 'triggerVersion'> & { triggerId: string }

/** A change of a user that has no event, completes nothing and leaves the length of the streak alone. */
function changed(
  config: Configuration,
  before: UserState,
  after: UserState,
  awards: readonly AwardRecord[],
  metricId: string | null = null,
): CorrectionChange {
  const event = metricId === null ? null : { metricId }
  const kept = { ...after, revoked: keepRevoked(config, after) }
  return {
    ...STREAK_AS_IT_WAS,
    before,
    after: noteInputs(config, kept, { event, awards, growth: 0 }),
    event: null,
    awards,
    completed: [],
  }
}

/** The user with the next `seq`, as of a moment that is not before the user's last change. */
const next = (user: UserState, at: Instant): UserState => ({
  ...user,
  seq: user.seq + 1,
  changed: instant(Math.max(user.changed, at)),
})

/** An adjustment of points, within cap and floor and without boosts (V1). Null if it comes to 0. */
export function adjusted(
  config: Configuration,
  system: System,
  before: UserState,
  amount: number,
  { at: now, id, reason }: Occasion,
): CorrectionChange | null {
  const was = before.points.get(system.id) ?? 0
  const total = bound(system, was, was + amount)
  if (total === was) return null
  const after = { ...next(before, now), points: new Map(before.points).set(system.id, total) }
  const at = after.changed
  const award: AwardRecord = {
    at,
    utcOffset: offsetMinutes(before.profile.tz ?? 'UTC', at),
    id: childId(id, 0),
    systemId: system.id,
    seq: after.seq,
    position: 0,
    awarded: total - was,
    total,
    triggerId: null,
    triggerVersion: 0,
    boosts: [],
    counter: null,
    levels: levelsOf(system, was, total),
    correction: { type: 'adjustment', amount, reason, reverses: null },
  }
  return changed(config, before, after, [award])
}

/**
 * Reverses awards (V2, V4). In each system, the total changes by the opposite of their sum, within cap and
 * floor (P6). Returns the new totals, and an entry for each award that was reversed at least in part. An
 * entry has the moment and the offset of its award.
 */
function reversed(
  config: Configuration,
  user: UserState,
  awards: readonly ReversedAward[],
  { id, reason }: Occasion,
): { points: ReadonlyMap<string, number>; entries: AwardRecord[] } {
  const points = new Map(user.points)
  const entries: AwardRecord[] = []
  for (const system of config.systems) {
    const own = awards.filter(({ systemId }) => systemId === system.id)
    if (own.length === 0) continue
    let total = points.get(system.id) ?? 0
    for (const { award, amount } of amountsOf(system, total, own)) {
      const levels = levelsOf(system, total, total + amount)
      total += amount
      const correction: Correction = { type: 'reversal', amount: -award.awarded, reason, reverses: award.id }
      const position = entries.length
      const entry = { ...award, id: childId(id, position), seq: user.seq, position, boosts: [], correction }
      entries.push({ ...entry, awarded: amount, total, counter: null, levels })
    }
    points.set(system.id, total)
  }
  return { points, entries }
}

/**
 * How much of each award is reversed in a system. Amounts that give points back come first, so that the total
 * is never below 0 in between. If cap or floor allow less than the sum, the last ones are made smaller.
 */
function amountsOf(
  system: System,
  total: number,
  awards: readonly ReversedAward[],
): { award: ReversedAward; amount: number }[] {
  const wanted = awards.reduce((sum, { awarded }) => sum - awarded, 0)
  // By how much the wanted change is too large: above 0 at the cap, below 0 at the floor.
  let excess = total + wanted - bound(system, total, total + wanted)
  const amounts: { award: ReversedAward; amount: number }[] = []
  for (const award of awards.toReversed()) {
    const whole = -award.awarded
    const isCut = excess !== 0 && whole > 0 === excess > 0
    const cut = isCut ? Math.sign(excess) * Math.min(Math.abs(excess), Math.abs(whole)) : 0
    excess -= cut
    if (whole !== cut) amounts.push({ award, amount: whole - cut })
  }
  return amounts.toSorted((a, b) => Math.sign(b.amount) - Math.sign(a.amount))
}

/** What counts an event by a counter of its own, and so has to be counted again without it (V2). */
export type CountersOfEvent = { triggers: readonly Trigger[]; achievements: readonly Achievement[] }

/**
 * Achievements count the whole log (A2). `isCountedBy` says whether the counter of a trigger whose filters
 * match has counted the event: only while the trigger was active (P1).
 */
export function countersOf(
  config: Configuration,
  user: UserState,
  event: Pick<EventRecord, 'metricId' | 'attributes'>,
  isCountedBy: (trigger: Trigger) => boolean,
): CountersOfEvent {
  const isMatch = (one: Trigger | Achievement) =>
    one.metricId === event.metricId &&
    user.counters.has(one.counterId) &&
    meets(one.eventAttributes, event.attributes)
  const triggers = config.systems.flatMap((system) => system.triggers)
  return {
    triggers: triggers.filter((one) => one.eventAttributes.length > 0 && isMatch(one) && isCountedBy(one)),
    achievements: config.achievements.filter((one) => countsItself(one) && isMatch(one)),
  }
}

/** An event that is voided. */
export type VoidedEvent = Omit<EventRecord, 'counterIds'>

type VoidInput = {
  event: VoidedEvent
  awards: readonly ReversedAward[]
  /** The counter of the metric without the event. */
  metric: Counter
  /** The other counters without the event, by counter id. */
  counters: ReadonlyMap<string, Counter>
}

/**
 * Voids an event (V2): its metric, its counters (V3) and, within cap and floor, its points are as without it.
 * The length of the streak and completed achievements stay.
 */
export function voided(
  config: Configuration,
  before: UserState,
  { event, awards, metric, counters }: VoidInput,
  occasion: Occasion,
): CorrectionChange {
  const user = next(before, occasion.at)
  const { points, entries } = reversed(config, user, awards, occasion)
  const after: UserState = {
    ...user,
    metrics: new Map(user.metrics).set(event.metricId, metric),
    counters: new Map([...user.counters, ...counters]),
    points,
    streak: withoutEvent(user.streak, event),
  }
  return changed(config, before, after, entries, event.metricId)
}

/** The streak without an event in the sum of its period, if that period is not satisfied yet. */
function withoutEvent(streak: StreakState, event: VoidedEvent): StreakState {
  const { frequency, sums, resets } = streak
  if (frequency === null || frequency === 'unknown') return streak
  const period = periodStart(localDay(event.at, event.utcOffset), frequency)
  // A reset has taken it out already (S13).
  if (resets.some(([, day, seq]) => event.seq < seq && periodStart(day, frequency) <= period)) return streak
  const without = sums.map(([start, own]) => {
    const isCounted = start === period && own.some(([id]) => id === event.metricId)
    return [start, isCounted ? added(own, event, -1) : own] as const
  })
  return { ...streak, sums: without }
}

/**
 * Takes the completion of an achievement back, and reverses or keeps the awards that it gave. The user
 * completes it again once its condition has been false (V4).
 */
export function revoked(
  config: Configuration,
  before: UserState,
  { id }: Pick<Achievement, 'id'>,
  awards: { reversed: readonly ReversedAward[]; kept: readonly ReversedAward[] },
  occasion: Occasion,
): CorrectionChange {
  const user = next(before, occasion.at)
  const { points, entries } = reversed(config, user, awards.reversed, occasion)
  const achievements = new Map([...user.achievements].filter(([of]) => of !== id))
  const paid = awards.kept.map(({ triggerId }) => paidMark(id, triggerId))
  const after = { ...user, achievements, points, revoked: new Set([...user.revoked, id, ...paid]) }
  return changed(config, before, after, entries)
}
