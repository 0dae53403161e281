import { Refusal, refusals } from '../errors'
import { type Configuration, living, type Metric, metricByKey } from '../modules/configuration/configuration'
import { addToMetric } from '../modules/metrics/metrics.rules'
import { awardPoints } from '../modules/points/points.rules'
import { applyProfile, type ProfileChange, refuse, resolveAttributes } from '../modules/users/users.rules'
import type { Instant } from '../shared/clock'
import type { Micros } from '../shared/decimal'
import { offsetMinutes } from '../shared/zone'
import type { AwardRecord, EventRecord, UserState } from './state'

/** Asks to record an event of a user (E). */
export type EventCommand = {
  kind: 'event'
  /** The event's id, should it be recorded. */
  eventId: string
  metricKey: string
  userId: string
  user: ProfileChange
  value: Micros
  /** By key. */
  attributes: ReadonlyMap<string, string>
  idempotencyKey: string | null
}

/** Asks to create or update a user (U2): `update` refuses where there is none. */
export type UserCommand = { kind: 'upsert' | 'update'; user: ProfileChange }

export type Command = EventCommand | UserCommand

/** What a command does to a user, all of it or nothing (E2). */
export type Change = {
  before: UserState | null
  after: UserState
  event: EventRecord | null
  awards: readonly AwardRecord[]
}

export type Decision =
  /** It was refused, and nothing of it happens. */
  | { kind: 'refused'; refusal: Refusal }
  /** The idempotency key was used before: this is the event that it stands for (E4). */
  | { kind: 'replayed'; eventId: string; metric: Metric; state: UserState }
  | { kind: 'changed'; change: Change; metric: Metric | null }
  /** Nothing of the user would change. */
  | { kind: 'unchanged'; state: UserState }

/** What `evaluate` may know and ask for besides the state: the moment, new ids, and the idempotency keys in use. */
export type Given = {
  userId: string
  /** When the command arrived. */
  now: Instant
  newId: (at: Instant) => string
  /** The event that a key of this user stands for on a metric, if it was used. */
  usedKey: (metricId: string, key: string) => string | undefined
}

/** A pause between two isolates' clocks that counts as one moment: changes of a user never go back by less. */
const SKEW = 60_000

/**
 * Decides what a command does to a user: pure, from the configuration, the user's state (null where there is none) and
 * the moment. The order is E5's: user, metric total, points in order of the triggers' creation.
 */
export function evaluate(
  config: Configuration,
  state: UserState | null,
  command: Command,
  given: Given,
): Decision {
  try {
    return command.kind === 'event'
      ? evaluateEvent(config, state, command, given)
      : evaluateUser(config, state, command, given)
  } catch (refusal) {
    if (refusal instanceof Refusal) return { kind: 'refused', refusal }
    throw refusal
  }
}

function evaluateUser(
  config: Configuration,
  state: UserState | null,
  command: UserCommand,
  given: Given,
): Decision {
  if (command.kind === 'update' && state === null) throw refusals.notFound('This user')
  const at = momentOf(state, given)
  const faults: string[] = []
  const user = applyProfile(config, state, command.user, { ...given, at }, faults)
  refuse(faults)
  if (user === state) return { kind: 'unchanged', state }
  const local = { at, utcOffset: offsetMinutes(user.profile.tz ?? 'UTC', at) }
  const base = { ...user, seq: (state?.seq ?? 0) + 1, changed: at }
  const { after, awards } = awardPoints(config, base, {
    local,
    id: given.newId(at),
    created: state === null,
    event: null,
  })
  const change = { before: state, after: touch(config, after, null, awards), event: null, awards }
  return { kind: 'changed', change, metric: null }
}

function evaluateEvent(
  config: Configuration,
  state: UserState | null,
  command: EventCommand,
  given: Given,
): Decision {
  const metric = metricByKey(config, command.metricKey)
  if (metric === undefined) throw refusals.notFound(`The metric ${JSON.stringify(command.metricKey)}`)
  const faults: string[] = []
  const attributes = resolveAttributes(config, 'event', command.attributes, faults)
  const at = momentOf(state, given)
  // A replay's body is still validated, so the profile is applied before the key is looked up, and then let go (E4).
  const user = applyProfile(config, state, command.user, { ...given, at }, faults)
  refuse(faults)
  const first = command.idempotencyKey === null ? undefined : given.usedKey(metric.id, command.idempotencyKey)
  if (first !== undefined && state !== null) return { kind: 'replayed', eventId: first, metric, state }

  const local = { at, utcOffset: offsetMinutes(user.profile.tz ?? 'UTC', at) }
  const seq = (state?.seq ?? 0) + 1
  const { before, after: total } = addToMetric(user, metric, command.value)
  const event: EventRecord = {
    ...local,
    id: command.eventId,
    metricId: metric.id,
    seq,
    value: command.value,
    attributes,
  }
  const metrics = living(new Map(user.metrics).set(metric.id, total), config.metrics)
  const counted = { ...user, seq, changed: at, metrics }
  const { after, awards } = awardPoints(config, counted, {
    local,
    id: command.eventId,
    created: state === null,
    event: { metricId: metric.id, value: command.value, attributes, before, after: total },
  })
  const change = { before: state, after: touch(config, after, event, awards), event, awards }
  return { kind: 'changed', change, metric }
}

/** The user with a note of which totals this change was about, so that whoever follows them sees a gap. */
export function touch<U extends Pick<UserState, 'seq' | 'touched'>>(
  config: Configuration,
  user: U,
  event: Pick<EventRecord, 'metricId'> | null,
  awards: readonly Pick<AwardRecord, 'systemId'>[],
): U {
  if (event === null && awards.length === 0) return user
  const touched = new Map(user.touched)
  if (event !== null) touched.set(event.metricId, user.seq)
  for (const { systemId } of awards) touched.set(systemId, user.seq)
  return { ...user, touched: living(touched, [...config.metrics, ...config.systems]) }
}

/**
 * The moment of a change: when its command arrived, but not before the user's last change, where another isolate's
 * clock is a little ahead or its change was faster, so that the log's order by time is the order of `seq`.
 */
function momentOf(state: UserState | null, { now }: Given): Instant {
  return state !== null && state.changed > now && state.changed - now < SKEW ? state.changed : now
}
