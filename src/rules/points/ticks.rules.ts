import { type Configuration, living, meets, type System, type Trigger } from '../../configuration/model'
import { DAY, HOUR, type Instant, instant } from '../../lib/clock'
import { childId, retimed } from '../../lib/ids'
import { dayBegins, localDay, offsetMinutes, utcDay } from '../../lib/zone'
import { noteInputs } from '../change.rules'
import type { AwardRecord, LocalTime, Profile, UserState } from '../state'
import { type Boosted, boost } from './boosts.rules'
import { award, isExhausted } from './points.rules'

/** The last moment that a timestamp can name, in milliseconds. Later ticks are never due. */
const END_OF_TIME = 8.64e15

/** The most ticks of one sweep over the users. It bounds the awards that one user gets in a sweep. */
const MOST_TICKS = 2_000

/** A tick: one firing of a time trigger, with its due time (P4). */
export type Tick = { due: Instant; system: System; trigger: Trigger }

/** The data of a user that decides the awards of ticks, or that ticks change. */
export type TickUser = Pick<
  UserState,
  'id' | 'iid' | 'seq' | 'changed' | 'created' | 'points' | 'lastSeqByInput' | 'boosts'
> & { profile: Pick<Profile, 'tz' | 'attributes'> }

/** The effect of ticks on one user: one change, however many ticks there are. */
export type TickChange = {
  before: TickUser
  after: TickUser
  event: null
  awards: readonly AwardRecord[]
  growth: number
}

/** Anchor + k × interval, with k from 1: the first after a moment. Null for never (P4). */
export function nextTick(trigger: Trigger, after: number): Instant | null {
  if (!isTicking(trigger) || trigger.anchor === null || trigger.timeInterval === null) return null
  const interval = trigger.timeInterval * (trigger.timeUnit === 'hours' ? HOUR : DAY)
  const k = Math.max(1, Math.floor((after - trigger.anchor) / interval) + 1)
  const due = trigger.anchor + k * interval
  return due > END_OF_TIME ? null : instant(due)
}

/** The next due time of all time triggers after a moment, or null for never (P4). */
export const nextDue = ({ systems }: Pick<Configuration, 'systems'>, after: number): Instant | null =>
  earliest(
    systems.flatMap(({ triggers }) => triggers),
    after,
  )

/** The next due time of these triggers after a moment, or null for never (P4). */
export function earliest(triggers: readonly Trigger[], after: number): Instant | null {
  const dues = triggers.flatMap((trigger) => nextTick(trigger, after) ?? [])
  return dues.length === 0 ? null : instant(Math.min(...dues))
}

/** Ticks after `after` and up to `to`, by due time, then in the order in which triggers were created (P4). */
export function ticksBetween(config: Pick<Configuration, 'systems'>, after: Instant, to: Instant): Tick[] {
  const ticks: Tick[] = []
  for (const system of config.systems) {
    for (const trigger of system.triggers) {
      let due = nextTick(trigger, after)
      while (due !== null && due <= to) {
        ticks.push({ due, system, trigger })
        due = nextTick(trigger, due)
      }
    }
  }
  return ticks.sort((a, b) => a.due - b.due)
}

/**
 * The last moment of the next sweep over the users, or null if no tick is due. A sweep never crosses a UTC
 * midnight, since leaderboards store the state at the end of a day. It also has a limited number of ticks.
 */
export function endOfSweep(
  config: Pick<Configuration, 'systems'>,
  through: Instant,
  to: Instant,
): Instant | null {
  const first = nextDue(config, through)
  if (first === null || first > to) return null
  const end = instant(Math.min(to, dayBegins(utcDay(first) + 1, 0) - 1))
  const ticks = ticksBetween(config, through, end)
  const beyond = ticks[MOST_TICKS]
  return ticks.findLast(({ due }) => beyond !== undefined && due < beyond.due)?.due ?? end
}

/**
 * Returns a function that applies ticks, in their order, to one user after the other (P4). It uses the boosts
 * on the local date of the due time, and the user's present attributes, points and cap. It skips ticks before
 * the user's creation, and returns null if nothing changes. An award has the offset of its tick's due time
 * (E8).
 */
export function granting(
  config: Configuration,
  ticks: readonly Tick[],
  newId: (at: Instant) => string,
): (user: TickUser) => TickChange | null {
  const triggers = [...new Set(ticks.map(({ trigger }) => trigger))]
  const localTimeOf = localTimes()
  return (user) => {
    const matching = new Set(
      triggers.filter((trigger) => meets(trigger.userAttributes, user.profile.attributes)),
    )
    if (matching.size === 0) return null
    const awards: AwardRecord[] = []
    const ledger = { points: new Map(user.points), awards }
    const seq = user.seq + 1
    const boostedAt = boosting(user)
    const idOf = idsOf(newId)
    for (const { due, system, trigger } of ticks) {
      if (due < user.created || !matching.has(trigger)) continue
      if (isExhausted(system, ledger.points.get(system.id) ?? 0, trigger.points)) continue
      const local = localTimeOf(user.profile.tz ?? 'UTC', due)
      const id = (position: number) => idOf(due, position)
      const boosted = () => boostedAt(system, trigger, local)
      award(system, trigger, trigger.points, { local, seq, id, boosted, counter: null }, ledger)
    }
    if (awards.length === 0) return null
    const points = living(ledger.points, config.systems)
    const change = { before: user, event: null, awards, growth: 0 }
    return { ...change, after: noteInputs(config, { ...user, seq, points }, change) }
  }
}

/** Makes award ids from due times. Only the first one is random: randomness is most of the cost of a tick. */
function idsOf(newId: (at: Instant) => string): (due: Instant, position: number) => string {
  let first: string | undefined
  return (due, position) => {
    first ??= newId(due)
    return childId(retimed(first, due), position)
  }
}

/** Converts moments to local times, each once for all users of a zone. */
function localTimes(): (zone: string, at: Instant) => LocalTime {
  const zones = new Map<string, Map<Instant, LocalTime>>()
  return (zone, at) => {
    const known = zones.get(zone) ?? new Map<Instant, LocalTime>()
    zones.set(zone, known)
    const local = known.get(at) ?? { at, utcOffset: offsetMinutes(zone, at) }
    known.set(at, local)
    return local
  }
}

/** A trigger's points after a user's boosts (P5). Ticks come in order, so it computes once per local day. */
function boosting(user: TickUser): (system: System, trigger: Trigger, local: LocalTime) => Boosted {
  const last = new Map<Trigger, { day: number; boosted: Boosted }>()
  return (system, trigger, local) => {
    const day = localDay(local.at, local.utcOffset)
    const known = last.get(trigger)
    if (known?.day === day) return known.boosted
    const boosted = boost(system, user, local, trigger.points)
    last.set(trigger, { day, boosted })
    return boosted
  }
}

/** Whether a trigger has ticks: it is an active time trigger (P4). */
export function isTicking(trigger: Pick<Trigger, 'type' | 'status'>): boolean {
  return trigger.type === 'time' && trigger.status === 'active'
}
