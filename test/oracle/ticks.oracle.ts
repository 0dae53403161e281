/**
 * An oracle for time triggers (P4, P5, P6, E8), written from the rules alone. Imports nothing from the
 * service. It goes through time minute by minute, and checks for each trigger whether it fires in this
 * minute.
 */

import { localAt, MINUTE, offsetIn } from './calendar.oracle'
import { boosted, totalAfter } from './points.oracle'

/** The unit of time here is minutes since the epoch. */
export type TickTrigger = {
  id: string
  active: boolean
  anchor: number
  /** Minutes. */
  interval: number
  points: number
  /** The plan that a user must have. Null for any plan. */
  plan: string | null
}

export type TickBoost = {
  id: string
  start: string
  end: string
  /** The multiplier in tenths. */
  tenths: number
  rounding: 'down' | 'up' | 'nearest'
  plan: string | null
}

export type TickSystem = { id: string; max: number | null; triggers: TickTrigger[]; boosts: TickBoost[] }

export type TickPerson = {
  zone: string
  plan: string | null
  created: number
  /** By system. */
  points: Readonly<Record<string, number>>
  /** Own boosts, by system. */
  own: Readonly<Record<string, TickBoost[]>>
}

export type ExpectedTick = {
  system: string
  trigger: string
  /** Milliseconds since the epoch. */
  at: number
  /** Minutes ahead of UTC. */
  offset: number
  awarded: number
  total: number
  boosts: string[]
}

/** All awards of a user after `from`, up to and including `to`. */
export function expectedTicks(
  systems: readonly TickSystem[],
  person: TickPerson,
  after: number,
  to: number,
): ExpectedTick[] {
  const totals = new Map(Object.entries(person.points))
  const awards: ExpectedTick[] = []
  for (let minute = after + 1; minute <= to; minute += 1) {
    if (minute < person.created) continue
    for (const system of systems) {
      for (const one of system.triggers) {
        const isDue = one.active && minute > one.anchor && (minute - one.anchor) % one.interval === 0
        if (!isDue || (one.plan !== null && one.plan !== person.plan)) continue
        const offset = offsetIn(person.zone, minute * MINUTE)
        const { date } = localAt(minute * MINUTE, offset)
        const applying = [
          ...system.boosts.filter(({ plan }) => plan === null || plan === person.plan),
          ...(person.own[system.id] ?? []),
        ].filter(({ start, end }) => one.points > 0 && start <= date && date <= end)
        const total = totals.get(system.id) ?? 0
        const texts = applying.map(({ tenths, rounding }) => ({ multiplier: `${tenths}e-1`, rounding }))
        const next = totalAfter(total, Number(boosted(BigInt(one.points), texts)), system.max)
        if (next === total) continue
        totals.set(system.id, next)
        const boosts = applying.map(({ id }) => id)
        const told = { system: system.id, trigger: one.id, at: minute * MINUTE, offset }
        awards.push({ ...told, awarded: next - total, total: next, boosts })
      }
    }
  }
  return awards
}
