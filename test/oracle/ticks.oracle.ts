/**
 * An oracle for time triggers (P4, P5, P6, E8), written from the rules alone. Imports nothing from the
 * service. It goes through time minute by minute, and checks for each trigger whether it fires in this
 * minute. Local dates come from `Intl`.
 */

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

/** The local date of a zone, and its offset in minutes ahead of UTC. */
export function wallAt(zone: string, ms: number): { date: string; offset: number } {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'iso8601',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  }).formatToParts(ms)
  const part = (type: string) => Number(parts.find((one) => one.type === type)?.value)
  const shown = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'))
  return {
    date: new Date(shown).toISOString().slice(0, 10),
    offset: (shown - Math.floor(ms / 60_000) * 60_000) / 60_000,
  }
}

function multiplied(points: number, boosts: readonly TickBoost[]): number {
  let [upper, lower] = [BigInt(points), 1n]
  for (const { tenths } of boosts) [upper, lower] = [upper * BigInt(tenths), lower * 10n]
  const agreed = new Set(boosts.map(({ rounding }) => rounding))
  const rounding = agreed.size === 1 ? [...agreed][0] : 'down'
  const add = rounding === 'up' ? lower - 1n : rounding === 'nearest' ? lower / 2n : 0n
  return Number((upper + add) / lower)
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
        const { date, offset } = wallAt(person.zone, minute * 60_000)
        const applying = [
          ...system.boosts.filter(({ plan }) => plan === null || plan === person.plan),
          ...(person.own[system.id] ?? []),
        ].filter(({ start, end }) => one.points > 0 && start <= date && date <= end)
        const total = totals.get(system.id) ?? 0
        const wanted = total + multiplied(one.points, applying)
        const next =
          one.points < 0 ? Math.max(0, wanted) : Math.max(total, Math.min(wanted, system.max ?? wanted))
        if (next === total) continue
        totals.set(system.id, next)
        const boosts = applying.map(({ id }) => id)
        const told = { system: system.id, trigger: one.id, at: minute * 60_000, offset }
        awards.push({ ...told, awarded: next - total, total: next, boosts })
      }
    }
  }
  return awards
}
