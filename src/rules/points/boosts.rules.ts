import { type Boost, meets, type System } from '../../configuration/model'
import { FIRST_OFFSET, type Instant, LAST_OFFSET } from '../../lib/clock'
import { multiply, type Rounding } from '../../lib/decimal'
import { addDays, type CivilDate, civilDate, civilDateAt, dayBegins, dayOf, startOfDay } from '../../lib/zone'
import type { AppliedBoost, LocalTime, Profile, UserState } from '../state'

/** The stored `end` of a boost that has none. */
export const OPEN_END = '9999-12-31'

/** Points after boosts, and the boosts that applied. */
export type Boosted = { points: number; boosts: readonly AppliedBoost[] }

type Boostable = Pick<UserState, 'boosts'> & { profile: Pick<Profile, 'attributes'> }

/** The boosts that apply on a local date: those for all users that match, and the user's own (P5). */
export function boostsFor(system: System, user: Boostable, date: CivilDate): Boost[] {
  const forAll = system.boosts.filter((boost) => meets(boost.userAttributes, user.profile.attributes))
  const own = user.boosts.filter((boost) => boost.systemId === system.id)
  return [...forAll, ...own].filter(({ start, end }) => start <= date && date <= end)
}

/** A positive award after all boosts that apply: the product of all multipliers, rounded once (P5). */
export function boost(
  system: System,
  user: Boostable,
  { at, utcOffset }: LocalTime,
  points: number,
): Boosted {
  if (system.boosts.length === 0 && user.boosts.length === 0) return { points, boosts: [] }
  const applying = boostsFor(system, user, civilDateAt(at, utcOffset))
  if (applying.length === 0) return { points, boosts: [] }
  const multipliers = applying.map(({ multiplier }) => multiplier)
  return {
    points: multiply(points, multipliers, agreedRounding(applying)),
    boosts: applying.map((one) => ({ ...shown(one), status: 'active' as const })),
  }
}

/** The rounding of all boosts that apply if they agree, else down (P5). */
export function agreedRounding(boosts: readonly Pick<Boost, 'rounding'>[]): Rounding {
  const [first, ...others] = boosts.map(({ rounding }) => rounding)
  return first !== undefined && others.every((rounding) => rounding === first) ? first : 'down'
}

/** The fields of a boost that the application interface shows. */
export function shown(boost: Boost): Omit<AppliedBoost, 'status'> {
  const { id, name, start, multiplier, rounding } = boost
  return { id, name, start, end: boost.end === OPEN_END ? null : boost.end, multiplier, rounding }
}

/**
 * A boost's status (P5). It is scheduled until its first day begins somewhere on Earth, and finished when its
 * last day is over everywhere. For a user's own boost, the user's midnights count. `zone` is null for a boost
 * for all users.
 */
export function boostStatus(boost: Boost, now: Instant, zone: string | null): AppliedBoost['status'] {
  const { begins, ends } = boostSpan(boost, zone)
  if (now < begins) return 'scheduled'
  return ends !== null && now >= ends ? 'finished' : 'active'
}

/** The moments at which a boost begins and ends (P5). `zone` is null for a boost for all users. */
export function boostSpan(boost: Boost, zone: string | null): { begins: Instant; ends: Instant | null } {
  const start = civilDate(boost.start)
  const after = boost.end === OPEN_END ? null : addDays(civilDate(boost.end), 1)
  if (zone !== null) {
    return { begins: startOfDay(start, zone), ends: after === null ? null : startOfDay(after, zone) }
  }
  return {
    begins: dayBegins(dayOf(start), FIRST_OFFSET),
    ends: after === null ? null : dayBegins(dayOf(after), LAST_OFFSET),
  }
}
