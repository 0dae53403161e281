import type { AwardRecord, Counter, LocalTime, UserState } from '../../engine/state'
import { refusals } from '../../errors'
import { INT32_MAX } from '../../http/fields'
import { MICROS_PER_UNIT, type Micros } from '../../shared/decimal'
import { childId } from '../../shared/ids'
import {
  type Configuration,
  type Level,
  living,
  meets,
  type System,
  type Trigger,
} from '../configuration/configuration'
import { count, NEW_COUNTER } from '../metrics/metrics.rules'
import { type Boosted, boost } from './boosts.rules'

/** What happened that triggers may fire on. */
export type Occasion = {
  local: LocalTime
  /** The id of the change, of which its awards' ids are made. */
  id: string
  /** Whether this change made the user (U6). */
  created: boolean
  event: {
    metricId: string
    value: Micros
    /** By attribute id. */
    attributes: ReadonlyMap<string, string>
    /** The user's counter of the metric before and after. */
    before: Counter
    after: Counter
  } | null
}

/** A user's running totals while the triggers of one change fire, one after another. */
type Ledger = {
  points: Map<string, number>
  counters: Map<string, Counter>
  awards: AwardRecord[]
}

/**
 * Fires the triggers that a change sets off, in order of creation (E5), and books their awards. Throws 422 where a
 * trigger blocks the event (P7).
 */
export function awardPoints(
  config: Configuration,
  user: UserState,
  occasion: Occasion,
): { after: UserState; awards: readonly AwardRecord[] } {
  const ledger: Ledger = { points: new Map(user.points), counters: new Map(user.counters), awards: [] }
  for (const system of config.systems) {
    for (const trigger of system.triggers) {
      if (trigger.status !== 'active') continue
      const firings = countFirings(trigger, occasion, ledger)
      if (firings > 0 && meets(trigger.userAttributes, user.profile.attributes)) {
        award(system, trigger, trigger.points * firings, user, occasion, ledger)
      }
    }
  }
  const points = living(ledger.points, config.systems)
  const { counters, awards } = ledger
  const triggers = counters.size === 0 ? [] : config.systems.flatMap((system) => system.triggers)
  const counting = triggers.map(({ counterId }) => ({ id: counterId }))
  return { after: { ...user, points, counters: living(counters, counting) }, awards }
}

/** How often a trigger fires (P1, U6); it counts on its own where it has filters on event attributes. */
function countFirings(trigger: Trigger, occasion: Occasion, ledger: Ledger): number {
  const { event, created } = occasion
  if (trigger.type === 'user_creation') return created ? 1 : 0
  if (trigger.type !== 'metric' || event === null || trigger.metricId !== event.metricId) return 0
  const threshold = (trigger.metricThreshold ?? 1) * MICROS_PER_UNIT
  if (trigger.eventAttributes.length === 0) return crossings(event.before, event.after, threshold)
  if (!meets(trigger.eventAttributes, event.attributes)) return 0
  const before = ledger.counters.get(trigger.counterId) ?? NEW_COUNTER
  const after = count(before, event.value)
  ledger.counters.set(trigger.counterId, after)
  return crossings(before, after, threshold)
}

/** How many multiples of the threshold the highest total has passed (P1). */
function crossings(before: Counter, after: Counter, threshold: number): number {
  return Math.floor(after.highest / threshold) - Math.floor(before.highest / threshold)
}

/** Books one award: boosts and rounding, cap, floor (P6); nothing where it comes to 0. */
function award(
  system: System,
  trigger: Trigger,
  points: number,
  user: UserState,
  { local, id }: Occasion,
  ledger: Ledger,
): void {
  const total = ledger.points.get(system.id) ?? 0
  if (trigger.type === 'metric' && trigger.blockIfOutOfPoints && total + points < 0) {
    throw refusals.unprocessable(
      `This event would take ${-points} points from ${system.name}, and the user has ${total}. Award points first.`,
    )
  }
  const boosted: Boosted = points > 0 ? boost(system, user, local, points) : { points, boosts: [] }
  const next = bound(system, total, total + boosted.points)
  if (next === total) return
  ledger.points.set(system.id, next)
  ledger.awards.push({
    ...local,
    id: childId(id, ledger.awards.length),
    systemId: system.id,
    seq: user.seq,
    position: ledger.awards.length,
    awarded: next - total,
    total: next,
    triggerId: trigger.id,
    triggerVersion: trigger.version,
    boosts: boosted.boosts,
  })
}

/** A new total within the cap and the floor; a cap that was lowered takes nothing away (P6, G11). */
function bound(system: System, total: number, next: number): number {
  const cap = Math.min(system.maxPoints ?? INT32_MAX, INT32_MAX)
  return next > total ? Math.max(total, Math.min(next, cap)) : Math.max(0, next)
}

/** A system's levels by points, ascending. */
export function ladder(system: System): Level[] {
  return system.levels.toSorted((a, b) => a.points - b.points)
}

/** The level of a total: the highest that it reaches, null where it reaches none (P9). */
export function levelOf(system: System, total: number): Level | null {
  let reached: Level | null = null
  for (const level of system.levels) {
    if (level.points <= total && (reached === null || level.points > reached.points)) reached = level
  }
  return reached
}
