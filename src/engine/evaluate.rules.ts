import {
  type Achievement,
  achievementByKey,
  type Configuration,
  living,
  type Metric,
  metricByKey,
} from '../config/configuration.types'
import type { Instant } from '../lib/clock'
import type { Micros } from '../lib/decimal'
import { ApiError, errors, throwIfInvalid } from '../lib/errors'
import { MINUTE } from '../lib/units'
import { unreachable } from '../lib/unreachable'
import { completionErrors } from './achievements.rules'
import { applyChange, type Change } from './change.rules'
import { addToMetric } from './metrics.rules'
import { type PreferencesChange, withPreferences } from './preferences.rules'
import {
  type Actor,
  applyProfile,
  forbiddenAttributes,
  type ProfileChange,
  profileErrors,
  resolveAttributes,
  unknownAttributes,
  withoutForbidden,
} from './profile.rules'
import type { Completion, UserState } from './state.types'

/** Asks to record an event of a user (E). */
export type EventCommand = {
  kind: 'event'
  /** The event's id, should it be recorded. */
  eventId: string
  metricKey: string
  userId: string
  user: ProfileChange
  by: Actor
  value: Micros
  /** By key. */
  attributes: ReadonlyMap<string, string>
  idempotencyKey: string | null
}

/** Asks to create or update a user (U2): `update` refuses where there is none. */
export type UserCommand = { kind: 'upsert' | 'update'; user: ProfileChange; by: Actor }

/** Asks to complete an achievement of the trigger `api` (A3). */
export type CompletionCommand = {
  kind: 'completion'
  /** The completion's id, should it be one. */
  completionId: string
  achievementKey: string
  userId: string
  user: ProfileChange
  by: Actor
}

/** Asks to change what a user has set (U7); refuses where there is no such user. */
export type PreferencesCommand = { kind: 'preferences'; preferences: PreferencesChange }

/** What one request asks to do to one user, in the engine's terms: amounts in whole millionths, nothing of HTTP. */
export type Command = EventCommand | UserCommand | CompletionCommand | PreferencesCommand

/** What the rules make of one command on one state of a user. */
export type Decision =
  /** It was refused, and nothing of it happens. */
  | { kind: 'refused'; apiError: ApiError }
  /** The idempotency key was used before: this is the event that it stands for (E4). */
  | { kind: 'replayed'; eventId: string; metric: Metric; state: UserState; at: Instant }
  | { kind: 'changed'; change: Change; metric: Metric | null }
  /** The achievement was completed before, which is this (A3). */
  | { kind: 'completed'; achievement: Achievement; completion: Completion; state: UserState }
  /** Nothing of the user would change. */
  | { kind: 'unchanged'; state: UserState }

/** What `evaluate` may know and ask for besides the state: the moment, new ids, and the idempotency keys in use. */
export type EvaluationContext = {
  userId: string
  /** When the command arrived. */
  now: Instant
  newId: (at: Instant) => string
  /** The event that a key of this user stands for on a metric, if it was used. */
  usedKey: (metricId: string, key: string) => string | undefined
}

/** A pause between two isolates' clocks that counts as one moment: changes of a user never go back by less. */
const SKEW = MINUTE

/**
 * Decides what a command does to a user: pure, from the configuration, the user's state (null where there is none) and
 * the moment. The order is E5's: user, metric total, streak, achievements, points in order of the triggers' creation.
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
  const forbidden = forbiddenAttributes(config, state, command.user, command.by)
  if (forbidden.length > 0) throw errors.adminAttributes(forbidden)
  throwIfInvalid(profileErrors(config, state, command.user, ''))
  const at = momentOf(state, given)
  const user = applyProfile(config, state, command.user, { ...given, at })
  if (user === state) return { kind: 'unchanged', state }
  const input = { before: state, user, at, id: given.newId(at), event: null, isTried: () => false }
  return { kind: 'changed', change: applyChange(config, input), metric: null }
}

function evaluateEvent(
  config: Configuration,
  state: UserState | null,
  command: EventCommand,
  given: EvaluationContext,
): Decision {
  const metric = metricByKey(config, command.metricKey)
  if (metric === undefined) throw errors.notFound(`The metric ${JSON.stringify(command.metricKey)}`)
  // A replay's body is still validated (E4).
  throwIfInvalid([
    ...unknownAttributes(config, 'event', command.attributes),
    ...profileErrors(config, state, command.user, 'user.'),
  ])
  const attributes = resolveAttributes(config, 'event', command.attributes)
  const at = momentOf(state, given)
  const first = command.idempotencyKey === null ? undefined : given.usedKey(metric.id, command.idempotencyKey)
  if (first !== undefined && state !== null) {
    return { kind: 'replayed', eventId: first, metric, state, at }
  }

  const user = applyProfile(config, state, permitted(config, state, command), { ...given, at })
  const { before, after: total } = addToMetric(user, metric, command.value)
  const metrics = living(new Map(user.metrics).set(metric.id, total), config.metrics)
  const event = { metricId: metric.id, value: command.value, attributes, before, after: total }
  const change = applyChange(config, {
    before: state,
    user: { ...user, metrics },
    at,
    id: command.eventId,
    event,
    isTried: ({ trigger }) => trigger !== 'api',
  })
  return { kind: 'changed', change, metric }
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
  throwIfInvalid([
    ...completionErrors(achievement, state),
    ...profileErrors(config, state, command.user, 'user.'),
  ])
  const had = state?.achievements.get(achievement.id)
  if (had !== undefined && state !== null) return { kind: 'completed', achievement, completion: had, state }
  const at = momentOf(state, given)
  const user = applyProfile(config, state, permitted(config, state, command), { ...given, at })
  const isTried = (one: Achievement) => one.id === achievement.id
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
  const input = { before: state, user, at, id: given.newId(at), event: null, isTried: () => false }
  return { kind: 'changed', change: applyChange(config, input), metric: null }
}

/** What of the user an event or a completion may change: the rest is left out, and the answer says so (K7). */
const permitted = (
  config: Configuration,
  state: UserState | null,
  { user, by }: EventCommand | CompletionCommand,
): ProfileChange => withoutForbidden(config, state, user, by)

/**
 * The moment of a change: when its command arrived, but not before the user's last change, where another isolate's
 * clock is a little ahead or its change was faster, so that the log's order by time is the order of `seq`.
 */
function momentOf(state: UserState | null, { now }: EvaluationContext): Instant {
  return state !== null && state.changed > now && state.changed - now < SKEW ? state.changed : now
}
