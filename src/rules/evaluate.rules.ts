import {
  type Achievement,
  achievementByKey,
  type Configuration,
  living,
  type Metric,
  metricByKey,
} from '../configuration/model'
import { type Instant, instant, MINUTE } from '../lib/clock'
import type { Micros } from '../lib/decimal'
import { ApiError, errors, throwIfInvalid, unreachable } from '../lib/errors'
import { namedId } from '../lib/ids'
import { MOST_METRIC_TOTAL } from '../lib/limits'
import { bringsAnniversary, completionErrors } from './achievements.rules'
import { applyChange, type Change } from './change.rules'
import {
  type Actor,
  applyProfile,
  forbiddenFields,
  type PreferencesChange,
  type ProfileChange,
  profileErrors,
  resolveAttributes,
  unknownAttributes,
  withoutForbidden,
  withPreferences,
} from './profile.rules'
import { type Completion, type Counter, count, MOST_TOTAL, NEW_COUNTER, type UserState } from './state'

/** A command to record an event of a user (E). */
export type EventCommand = {
  kind: 'event'
  /** The id that the event gets if it is recorded. */
  eventId: string
  metricKey: string
  userId: string
  user: ProfileChange
  by: Actor
  value: Micros
  /** Values by attribute key. */
  attributes: ReadonlyMap<string, string>
  idempotencyKey: string | null
}

/** A command to create or update a user (U2). `update` is refused with 404 if the user does not exist. */
type UserCommand = { kind: 'upsert' | 'update'; user: ProfileChange; by: Actor }

/** A command to complete an achievement that only requests complete: its `trigger` is `api` (A3). */
export type CompletionCommand = {
  kind: 'completion'
  /** The id that the completion gets if the achievement is completed. */
  completionId: string
  achievementKey: string
  userId: string
  user: ProfileChange
  by: Actor
}

/** A command to change a user's preferences (U7). It is refused with 404 if the user does not exist. */
type PreferencesCommand = { kind: 'preferences'; preferences: PreferencesChange }

/** One request about one user, in the engine's terms: amounts in whole millionths, nothing of HTTP. */
export type Command = EventCommand | UserCommand | CompletionCommand | PreferencesCommand

/** The engine's result for one command and one state of a user. */
export type Decision =
  /** The command failed and changes nothing. */
  | { kind: 'refused'; apiError: ApiError }
  /**
   * The idempotency key was used before. `eventId` is the event that it stands for; `bodyDiffers` is true if that
   * event came with another body (E4).
   */
  | {
      kind: 'replayed'
      eventId: string
      bodyDiffers: boolean
      metric: Metric
      state: UserState
      at: Instant
    }
  | { kind: 'changed'; change: Change; metric: Metric | null }
  /** The achievement was completed before. `completion` is that completion (A3). */
  | { kind: 'completed'; achievement: Achievement; completion: Completion; state: UserState }
  /** The command would change nothing. */
  | { kind: 'unchanged'; state: UserState }

/** The input of `evaluate` in addition to the state: the moment, new ids, and the idempotency keys in use. */
type EvaluationContext = {
  userId: string
  /** When the command arrived. */
  now: Instant
  newId: (at: Instant) => string
  /** Returns the event of a key that this user has used on a metric, and the hash of its body, or undefined. */
  usedKey: (metricId: string, key: string) => { eventId: string; body: number | null } | undefined
}

/** A hash of what an event says, in 32 bits. The order of attributes does not matter (E4). */
export function hashOf({ value, attributes, user }: EventCommand): number {
  const sorted = (_: string, part: unknown) => (part instanceof Map ? [...part].sort() : part)
  return Number.parseInt(namedId(instant(0), JSON.stringify([value, attributes, user], sorted)).slice(-8), 16)
}

/** Isolates' clocks differ by less. A change that is earlier by less gets the time of the user's last one. */
const SKEW = MINUTE

/**
 * Decides the effect of a command on a user. `state` is null if the user does not exist. The order is E5's:
 * user, metric total, streak, achievements, then points in the order in which the triggers were created.
 */
export function evaluate(
  config: Configuration,
  state: UserState | null,
  command: Command,
  given: EvaluationContext,
): Decision {
  try {
    switch (command.kind) {
      case 'event':
        return evaluateEvent(config, state, command, given)
      case 'upsert':
      case 'update':
        return evaluateUser(config, state, command, given)
      case 'completion':
        return evaluateCompletion(config, state, command, given)
      case 'preferences':
        return evaluatePreferences(config, state, command, given)
      default:
        return unreachable(command)
    }
  } catch (apiError) {
    if (apiError instanceof ApiError) return { kind: 'refused', apiError }
    throw apiError
  }
}

function evaluateUser(
  config: Configuration,
  state: UserState | null,
  command: UserCommand,
  given: EvaluationContext,
): Decision {
  if (command.kind === 'update' && state === null) throw errors.notFound('This user')
  const forbidden = forbiddenFields(config, state, command.user, command.by)
  if (forbidden.length > 0) throw errors.adminFields(forbidden)
  const at = momentOf(state, given)
  throwIfInvalid(profileErrors(config, state, command.user, '', at))
  const user = applyProfile(config, state, command.user, { ...given, at })
  if (user === state) return { kind: 'unchanged', state }
  return changedWithoutEvent(config, state, user, at, given)
}

function changedWithoutEvent(
  config: Configuration,
  before: UserState | null,
  user: UserState,
  at: Instant,
  { newId }: EvaluationContext,
): Decision {
  const isTried = bringsAnniversary(before, user, { at, isEvent: false })
  const change = applyChange(config, { before, user, at, id: newId(at), event: null, isTried })
  return { kind: 'changed', change, metric: null }
}

function evaluateEvent(
  config: Configuration,
  state: UserState | null,
  command: EventCommand,
  given: EvaluationContext,
): Decision {
  const metric = metricByKey(config, command.metricKey)
  // An unknown metric is 404 (E7).
  if (metric === undefined) throw errors.notFound(`The metric ${JSON.stringify(command.metricKey)}`)
  const at = momentOf(state, given)
  // A replay's body is still validated (E4).
  throwIfInvalid([
    ...unknownAttributes(config, 'event', command.attributes),
    ...profileErrors(config, state, command.user, 'user.', at),
  ])
  const attributes = resolveAttributes(config, 'event', command.attributes)
  const first = command.idempotencyKey === null ? undefined : given.usedKey(metric.id, command.idempotencyKey)
  if (first !== undefined && state !== null) {
    const bodyDiffers = first.body !== null && first.body !== hashOf(command)
    return { kind: 'replayed', eventId: first.eventId, bodyDiffers, metric, state, at }
  }

  const permitted = withoutForbidden(config, state, command.user, command.by)
  const user = applyProfile(config, state, permitted, { ...given, at })
  const { before, after: total } = addToMetric(user, metric, command.value)
  const metrics = living(new Map(user.metrics).set(metric.id, total), config.metrics)
  const event = { metricId: metric.id, value: command.value, attributes, before, after: total }
  const brings = bringsAnniversary(state, user, { at, isEvent: true })
  const change = applyChange(config, {
    before: state,
    user: { ...user, metrics },
    at,
    id: command.eventId,
    event,
    isTried: (one) => (one.trigger === 'anniversary' ? brings(one) : one.trigger !== 'api'),
  })
  return { kind: 'changed', change, metric }
}

/** Throws 422 if the total would leave E1's bounds. */
function addToMetric(user: UserState, metric: Metric, value: Micros): { before: Counter; after: Counter } {
  const before = user.metrics.get(metric.id) ?? NEW_COUNTER
  if (Math.abs(before.total + value) > MOST_TOTAL) {
    throw errors.unprocessable(
      `value: the user's total in this metric would leave ±${MOST_METRIC_TOTAL}. Send a smaller value.`,
    )
  }
  return { before, after: count(before, value) }
}

function evaluateCompletion(
  config: Configuration,
  state: UserState | null,
  command: CompletionCommand,
  given: EvaluationContext,
): Decision {
  const { achievementKey, completionId: id } = command
  const achievement = achievementByKey(config, achievementKey)
  if (achievement === undefined || achievement.status === 'inactive') {
    throw errors.notFound(`The achievement ${JSON.stringify(achievementKey)}`)
  }
  const at = momentOf(state, given)
  throwIfInvalid([
    ...completionErrors(achievement, state),
    ...profileErrors(config, state, command.user, 'user.', at),
  ])
  const had = state?.achievements.get(achievement.id)
  if (had !== undefined && state !== null) return { kind: 'completed', achievement, completion: had, state }
  const permitted = withoutForbidden(config, state, command.user, command.by)
  const user = applyProfile(config, state, permitted, { ...given, at })
  const brings = bringsAnniversary(state, user, { at, isEvent: false })
  const isTried = (one: Achievement) => one.id === achievement.id || brings(one)
  const change = applyChange(config, { before: state, user, at, id, event: null, isTried })
  if (!change.completed.includes(achievement.id)) {
    throw errors.unprocessable(
      "The user's attributes do not meet this achievement's userAttributes. Change them first.",
    )
  }
  return { kind: 'changed', change, metric: null }
}

function evaluatePreferences(
  config: Configuration,
  state: UserState | null,
  command: PreferencesCommand,
  given: EvaluationContext,
): Decision {
  if (state === null) throw errors.notFound('This user')
  const at = momentOf(state, given)
  const user = withPreferences(config, state, command.preferences)
  if (user === state) return { kind: 'unchanged', state }
  return changedWithoutEvent(config, state, user, at, given)
}

/**
 * The arrival of the command, but not before the user's last change: another isolate's clock may be a little
 * ahead, or its change may have been faster. So the log has the same order by time and by `seq` (E8).
 */
function momentOf(state: UserState | null, { now }: EvaluationContext): Instant {
  return state !== null && state.changed > now && state.changed - now < SKEW ? state.changed : now
}
