import {
  type Configuration,
  living,
  meets,
  type System,
  type Trigger,
} from '../../config/configuration.types'
import { type Instant, instant } from '../../lib/clock'
import { childId, retimed } from '../../lib/ids'
import { DAY, HOUR } from '../../lib/units'
import { dayBegins, localDay, offsetMinutes, utcDay } from '../../lib/zone'
import { touch } from '../change.rules'
import type { AwardRecord, LocalTime, Profile, UserState } from '../state.types'
import { type Boosted, boost } from './boosts.rules'
import { award, isExhausted } from './points.rules'

/** The last moment that a timestamp can name; what would be due later is never due. */
const END_OF_TIME = 8.64e15

/** The most ticks of one pass over the users, so that what one user gets stays small. */
const MOST_TICKS = 2_000

/** A time trigger that is due (P4). */
export type Tick = { due: Instant; system: System; trigger: Trigger }

/** What of a user decides what ticks grant, and what they change. */
export type TickUser = Pick<
  UserState,
  'id' | 'iid' | 'seq' | 'changed' | 'created' | 'points' | 'lastSeqByInput' | 'boosts'
> & { profile: Pick<Profile, 'tz' | 'attributes'> }

/** What ticks come to for one user: one change, however many ticks; of the fields of a `Change` those that ticks know. */
export type TickChange = {
  before: TickUser
  after: TickUser
  event: null
  awards: readonly AwardRecord[]
  growth: number
}

/** When a trigger is due next after a moment, in milliseconds: at anchor + k × interval, k from 1 (P4). Null for never. */
export function nextTick(trigger: Trigger, after: number): Instant | null {
  if (!isTicking(trigger) || trigger.anchor === null || trigger.timeInterval === null) return null
  const interval = trigger.timeInterval * (trigger.timeUnit === 'hours' ? HOUR : DAY)
  const k = Math.max(1, Math.floor((after - trigger.anchor) / interval) + 1)
  const due = trigger.anchor + k * interval
  return due > END_OF_TIME ? null : instant(due)
}

/** When the first of all time triggers is due after a moment; null for never (P4). */
export function nextDue(config: Pick<Configuration, 'systems'>, after: number): Instant | null {
  return earliest(
    config.systems.flatMap(({ triggers }) => triggers),
    after,
  )
}

/** When the first of these triggers is due after a moment; null for never (P4). */
export function earliest(triggers: readonly Trigger[], after: number): Instant | null {
  let first: Instant | null = null
  for (const trigger of triggers) {
    const due = nextTick(trigger, after)
    if (due !== null && (first === null || due < first)) first = due
  }
  return first
}

/** All ticks due after a moment and up to another: in order of due time, then of the triggers' creation (P4). */
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
 * Up to when the next pass over the users goes, null where nothing is due: never beyond a UTC midnight, since leaderboards keep the
 * state at a day's end, and not over too many ticks at once.
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
 * Makes what grants ticks, in their order, to one user after another (P4): boosts by the due time's local date, attributes, points
 * and cap as they are, nobody who came after the due time. Answers null where nothing of the user changes. `newId` makes an id of
 * a moment.
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
      award(system, trigger, trigger.points, { local, seq, id, boosted }, ledger)
    }
    if (awards.length === 0) return null
    const points = living(ledger.points, config.systems)
    const change = { before: user, event: null, awards, growth: 0 }
    return { ...change, after: touch(config, { ...user, seq, points }, change) }
  }
}

/** Ids of one user's awards, of their due times; random only once, since randomness is most of what a tick would cost. */
function idsOf(newId: (at: Instant) => string): (due: Instant, position: number) => string {
  let first: string | undefined
  return (due, position) => {
    first ??= newId(due)
    return childId(retimed(first, due), position)
  }
}

/** Local times, each converted once for all users of a zone. */
function localTimes(): (zone: string, at: Instant) => LocalTime {
  const zones = new Map<string, Map<Instant, LocalTime>>()
  return (zone, at) => {
    let known = zones.get(zone)
    if (known === undefined) {
      known = new Map()
      zones.set(zone, known)
    }
    let local = known.get(at)
    if (local === undefined) {
      local = { at, utcOffset: offsetMinutes(zone, at) }
      known.set(at, local)
    }
    return local
  }
}

/** A trigger's points after a user's boosts (P5), worked out once a local day, since ticks come in order. */
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

/** Whether a trigger has ticks: it is a time trigger, and active (P4). */
export function isTicking(trigger: Pick<Trigger, 'type' | 'status'>): boolean {
  return trigger.type === 'time' && trigger.status === 'active'
}
