import type { CorrectionType } from '../../configuration/enumerations'
import {
  type Configuration,
  type Level,
  living,
  meets,
  type System,
  type Trigger,
} from '../../configuration/model'
import { INT32_MAX, MICROS_PER_UNIT, type Micros } from '../../lib/decimal'
import { counted, errors, unreachable } from '../../lib/errors'
import { childId } from '../../lib/ids'
import { paidMark } from '../achievements.rules'
import {
  type AwardRecord,
  type Counter,
  count,
  type LocalTime,
  NEW_COUNTER,
  type ReachedLevel,
  type UserState,
} from '../state'
import { type Boosted, boost } from './boosts.rules'

/** An entry of the ledger. `type` is null for an award of a trigger. */
export type StoredAward = Pick<
  AwardRecord,
  'id' | 'at' | 'awarded' | 'total' | 'triggerId' | 'triggerVersion'
> & {
  type: CorrectionType | null
  boosts: AwardRecord['boosts'] | null
}

/** The input on which triggers may fire. */
export type TriggerInput = {
  local: LocalTime
  /** The id of the change. The ids of its awards derive from it. */
  id: string
  /** Whether this change created the user (U6). */
  created: boolean
  event: {
    metricId: string
    value: Micros
    /** Values by attribute id. */
    attributes: ReadonlyMap<string, string>
    /** The user's counter of the metric before and after the event. */
    before: Counter
    after: Counter
  } | null
  /** The lengths to which this change extended the streak (P2). */
  extendedTo: readonly number[]
  /** Ids of the achievements that this change completed (P2). */
  completed: readonly string[]
}

/** A user's running totals (P8) while the triggers of one change fire, one after the other. */
type Tally = {
  points: Map<string, number>
  counters: Map<string, Counter>
  awards: AwardRecord[]
  /** The ids of the triggers' own counters that have counted the event. */
  counterIds: string[]
}

/**
 * Fires the active triggers of a change whose user filters match (P2, P3), in the order in which they were
 * created (E5), and books their awards. `counterIds` are those of triggers' own counters that have counted
 * the event. Throws 422 if a trigger blocks the event (P7).
 */
export function awardPoints(
  config: Configuration,
  user: UserState,
  input: TriggerInput,
): { after: UserState; awards: readonly AwardRecord[]; counterIds: readonly string[] } {
  const tally: Tally = {
    points: new Map(user.points),
    counters: new Map(user.counters),
    awards: [],
    counterIds: [],
  }
  for (const system of config.systems) {
    for (const trigger of system.triggers) {
      if (trigger.status !== 'active') continue
      const { firings, counter } = countFirings(trigger, input, tally, user)
      if (firings > 0 && meets(trigger.userAttributes, user.profile.attributes)) {
        const points = trigger.points * firings
        const boosted = () => boost(system, user, input.local, points)
        const id = (position: number) => childId(input.id, position)
        award(system, trigger, points, { local: input.local, seq: user.seq, id, boosted, counter }, tally)
      }
    }
  }
  const points = living(tally.points, config.systems)
  const { counters, awards, counterIds } = tally
  return { after: { ...user, points, counters }, awards, counterIds }
}

type Firings = { firings: number; counter: AwardRecord['counter'] }

const once = (isSo: boolean): Firings => ({ firings: isSo ? 1 : 0, counter: null })

/** How often a change fires a trigger (P1, P2, U6). */
function countFirings(trigger: Trigger, input: TriggerInput, tally: Tally, { revoked }: UserState): Firings {
  const { event, created } = input
  const of = trigger.achievementId ?? ''
  switch (trigger.type) {
    case 'user_creation':
      return once(created)
    case 'streak': {
      const multiples = input.extendedTo.filter((length) => length % (trigger.streakLength ?? 1) === 0)
      return { firings: multiples.length, counter: null }
    }
    case 'achievement':
      return once(input.completed.includes(of) && !revoked.has(paidMark(of, trigger.id)))
    case 'metric':
      return event === null ? once(false) : crossingsOf(trigger, event, tally)
    case 'time':
      // Ticks make their own awards (P4).
      return once(false)
    default:
      return unreachable(trigger.type)
  }
}

/** How often an event fires a metric trigger (P1). One with filters on the event has its own counter. */
function crossingsOf(trigger: Trigger, event: NonNullable<TriggerInput['event']>, tally: Tally): Firings {
  if (trigger.metricId !== event.metricId) return once(false)
  const threshold = (trigger.metricThreshold ?? 1) * MICROS_PER_UNIT
  if (trigger.eventAttributes.length === 0) return crossings(event.before, event.after, threshold)
  if (!meets(trigger.eventAttributes, event.attributes)) return once(false)
  const before = tally.counters.get(trigger.counterId) ?? NEW_COUNTER
  const after = count(before, event.value)
  tally.counters.set(trigger.counterId, after)
  tally.counterIds.push(trigger.counterId)
  return crossings(before, after, threshold)
}

function crossings({ highest: before }: Counter, { highest: after }: Counter, threshold: number): Firings {
  const firings = Math.floor(after / threshold) - Math.floor(before / threshold)
  return { firings, counter: { before, after } }
}

/** Costly values are functions, called only if they are needed. */
type AwardInput = {
  /** The moment at which it counts, and the user's offset. */
  local: LocalTime
  /** The user's `seq` after the change. */
  seq: number
  /** Returns the award's id from its position in the change. */
  id: (position: number) => string
  /** Returns the points after the boosts that apply. Only for positive points (P5). */
  boosted: () => Boosted
  counter: AwardRecord['counter']
}

/**
 * Books one award: boosts and rounding (P5), cap, floor (P6). The total changes by the amount of the award,
 * so it stays the sum of all awards (P8). Books nothing if the total does not change. Throws 422 if the
 * trigger blocks the event (P7).
 */
export function award(
  system: System,
  trigger: Trigger,
  points: number,
  making: AwardInput,
  tally: Pick<Tally, 'points' | 'awards'>,
): void {
  const total = tally.points.get(system.id) ?? 0
  if (trigger.type === 'metric' && trigger.blockIfOutOfPoints && total + points < 0) {
    throw errors.unprocessable(
      `This event would take ${counted(-points, 'point')} from ${system.name}, and the user has ${total}. Send it once there are enough.`,
    )
  }
  const boosted: Boosted = points > 0 ? making.boosted() : { points, boosts: [] }
  const next = bound(system, total, total + boosted.points)
  if (next === total) return
  const position = tally.awards.length
  tally.points.set(system.id, next)
  tally.awards.push({
    ...making.local,
    id: making.id(position),
    systemId: system.id,
    seq: making.seq,
    position,
    awarded: next - total,
    total: next,
    triggerId: trigger.id,
    triggerVersion: trigger.version,
    boosts: boosted.boosts,
    correction: null,
    counter: making.counter,
    levels: levelsOf(system, total, next),
  })
}

/** The levels at two totals; null if they are the same (P9). */
export function levelsOf(system: System, before: number, after: number): AwardRecord['levels'] {
  if (system.levels.length === 0) return null
  const [from, to] = [levelOf(system, before), levelOf(system, after)]
  return from?.id === to?.id ? null : [from && reached(from), to && reached(to)]
}

const reached = ({ id, key, name, points }: Level): ReachedLevel => ({ id, key, name, points })

/** Whether points can't change a total: up at the cap, or down at 0 (P6). */
export function isExhausted(system: System, total: number, points: number): boolean {
  return bound(system, total, total + points) === total
}

/** The new total within the cap and the floor. A lowered cap takes no points away (P6, G11). */
export function bound(system: System, total: number, next: number): number {
  const cap = Math.min(system.maxPoints ?? INT32_MAX, INT32_MAX)
  return next > total ? Math.max(total, Math.min(next, cap)) : Math.max(0, next)
}

/** A system's levels by points, ascending. */
export function ladder(system: System): Level[] {
  return system.levels.toSorted((a, b) => a.points - b.points)
}

/** The highest level that a total reaches, or null if it reaches none (P9). */
export function levelOf(system: System, total: number): Level | null {
  let reached: Level | null = null
  for (const level of system.levels) {
    if (level.points <= total && (reached === null || level.points > reached.points)) reached = level
  }
  return reached
}
