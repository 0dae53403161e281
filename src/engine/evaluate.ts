import { Refusal, refusals } from '../errors'
import { complete, countForAchievements, countsItself } from '../modules/achievements/achievements.rules'
import {
  type Achievement,
  achievementByKey,
  type Configuration,
  living,
  type Metric,
  metricByKey,
} from '../modules/configuration/configuration'
import { addToMetric } from '../modules/metrics/metrics.rules'
import { awardPoints, type Occasion } from '../modules/points/points.rules'
import { type PreferencesChange, withPreferences } from '../modules/preferences/preferences.rules'
import { changeStreak, type StreakChange } from '../modules/streaks/streaks.change'
import { applyProfile, type ProfileChange, refuse, resolveAttributes } from '../modules/users/users.rules'
import type { Instant } from '../shared/clock'
import type { Micros } from '../shared/decimal'
import { childId } from '../shared/ids'
import { offsetMinutes } from '../shared/zone'
import {
  type AwardRecord,
  type Completion,
  type EventRecord,
  type LocalTime,
  STREAK,
  type UserState,
} from './state'

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

/** Asks to complete an achievement of the trigger `api` (A3). */
export type CompletionCommand = {
  kind: 'completion'
  /** The completion's id, should it be one. */
  completionId: string
  achievementKey: string
  userId: string
  user: ProfileChange
}

/** Asks to change what a user has set (U7); refuses where there is no such user. */
export type PreferencesCommand = { kind: 'preferences'; preferences: PreferencesChange }

export type Command = EventCommand | UserCommand | CompletionCommand | PreferencesCommand

/** What a command, or what falls due, does to a user: all of it or nothing (E2). */
export type Change = StreakChange & {
  before: UserState | null
  after: UserState
  event: EventRecord | null
  awards: readonly AwardRecord[]
  /** The ids of the achievements that it completed. */
  completed: readonly string[]
}

export type Decision =
  /** It was refused, and nothing of it happens. */
  | { kind: 'refused'; refusal: Refusal }
  /** The idempotency key was used before: this is the event that it stands for (E4). */
  | { kind: 'replayed'; eventId: string; metric: Metric; state: UserState; at: Instant }
  | { kind: 'changed'; change: Change; metric: Metric | null }
  /** The achievement was completed before, which is this (A3). */
  | { kind: 'completed'; achievement: Achievement; completion: Completion; state: UserState }
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

/** Places among the ids that come of one change: its awards are counted from 0, completions from here (see childId). */
const FIRST_COMPLETION = 2_500

/**
 * Decides what a command does to a user: pure, from the configuration, the user's state (null where there is none) and
 * the moment. The order is E5's: user, metric total, streak, achievements, points in order of the triggers' creation.
 */
export function evaluate(
  config: Configuration,
  state: UserState | null,
  command: Command,
  given: Given,
): Decision {
  try {
    if (command.kind === 'event') return evaluateEvent(config, state, command, given)
    if (command.kind === 'completion') return evaluateCompletion(config, state, command, given)
    if (command.kind === 'preferences') return evaluatePreferences(config, state, command, given)
    return evaluateUser(config, state, command, given)
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
  const happening = { before: state, user, at, id: given.newId(at), event: null, isTried: () => false }
  return { kind: 'changed', change: happen(config, happening), metric: null }
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
  if (first !== undefined && state !== null) {
    return { kind: 'replayed', eventId: first, metric, state, at }
  }

  const { before, after: total } = addToMetric(user, metric, command.value)
  const metrics = living(new Map(user.metrics).set(metric.id, total), config.metrics)
  const event = { metricId: metric.id, value: command.value, attributes, before, after: total }
  const change = happen(config, {
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
  given: Given,
): Decision {
  const { achievementKey, completionId: id } = command
  const achievement = achievementByKey(config, achievementKey)
  if (achievement === undefined || achievement.status === 'inactive') {
    throw refusals.notFound(`The achievement ${JSON.stringify(achievementKey)}`)
  }
  const at = momentOf(state, given)
  const faults: string[] = []
  const user = applyProfile(config, state, command.user, { ...given, at }, faults)
  refuse(faults)
  if (achievement.trigger !== 'api') {
    throw refusals.unprocessable(
      `This achievement is completed by its trigger, which is "${achievement.trigger}", not by this call. Send what triggers it.`,
    )
  }
  const had = state?.achievements.get(achievement.id)
  if (had !== undefined && state !== null) return { kind: 'completed', achievement, completion: had, state }
  if (achievement.status === 'locked') {
    throw refusals.unprocessable('This achievement is locked, so nobody new gets it. Activate it first.')
  }
  const isTried = (one: Achievement) => one.id === achievement.id
  const change = happen(config, { before: state, user, at, id, event: null, isTried })
  if (!change.completed.includes(achievement.id)) {
    throw refusals.unprocessable(
      "The user's attributes do not meet this achievement's userAttributes. Change them first.",
    )
  }
  return { kind: 'changed', change, metric: null }
}

function evaluatePreferences(
  config: Configuration,
  state: UserState | null,
  command: PreferencesCommand,
  given: Given,
): Decision {
  if (state === null) throw refusals.notFound('This user')
  const at = momentOf(state, given)
  const user = withPreferences(config, state, command.preferences)
  if (user === state) return { kind: 'unchanged', state }
  const happening = { before: state, user, at, id: given.newId(at), event: null, isTried: () => false }
  return { kind: 'changed', change: happen(config, happening), metric: null }
}

/** Something that happens to a user, whose profile and metric total have it already. */
export type Happening = {
  before: UserState | null
  user: UserState
  at: Instant
  /** The id of which those of awards and completions are made. */
  id: string
  event: Occasion['event']
  /** The achievements that are looked at. */
  isTried: (achievement: Achievement) => boolean
}

/** What comes of something that happens to a user, in E5's order: streak, achievements, points. */
export function happen(config: Configuration, { before, user, at, id, event, isTried }: Happening): Change {
  const local: LocalTime = { at, utcOffset: offsetMinutes(user.profile.tz ?? 'UTC', at) }
  const isNew = before === null
  const next = { ...user, seq: (before?.seq ?? 0) + 1, changed: at }
  const { user: streaked, change: streak } = changeStreak(config, before, next, local, event)
  const counted = countForAchievements(config, streaked, isNew, event)
  const achieved = complete(config, counted, {
    local,
    newId: (n) => (n === 0 && event === null ? id : childId(id, FIRST_COMPLETION + n)),
    isTried,
  })
  const { after, awards } = awardPoints(config, achieved.user, {
    local,
    id,
    created: isNew,
    event,
    extendedTo: streak.isExtended ? (streaked.streak.run?.length ?? null) : null,
    completed: achieved.completed,
  })
  const record =
    event === null
      ? null
      : {
          ...local,
          id,
          metricId: event.metricId,
          seq: next.seq,
          value: event.value,
          attributes: event.attributes,
        }
  const change = { ...streak, before, event: record, awards, completed: achieved.completed }
  return { ...change, after: touch(config, trimmed(config, after), change) }
}

/** The user without the counters of what no longer counts. */
function trimmed(config: Configuration, user: UserState): UserState {
  const { counters } = user
  if (counters.size === 0) return user
  const counting = [
    ...config.systems.flatMap(({ triggers }) => triggers),
    ...config.achievements.filter(countsItself),
  ]
  const kept = living(
    counters,
    counting.map(({ counterId }) => ({ id: counterId })),
  )
  return kept === counters ? user : { ...user, counters: kept }
}

/** The user with a note of which totals this change was about, so that whoever follows them sees a gap. */
export function touch<U extends Pick<UserState, 'seq' | 'touched'>>(
  config: Configuration,
  user: U,
  change: {
    event: Pick<EventRecord, 'metricId'> | null
    awards: readonly Pick<AwardRecord, 'systemId'>[]
    growth: number
  },
): U {
  const { event, awards, growth } = change
  if (event === null && awards.length === 0 && growth === 0) return user
  const touched = new Map(user.touched)
  if (event !== null) touched.set(event.metricId, user.seq)
  if (growth !== 0) touched.set(STREAK, user.seq)
  for (const { systemId } of awards) touched.set(systemId, user.seq)
  return { ...user, touched: living(touched, [{ id: STREAK }, ...config.metrics, ...config.systems]) }
}

/**
 * The moment of a change: when its command arrived, but not before the user's last change, where another isolate's
 * clock is a little ahead or its change was faster, so that the log's order by time is the order of `seq`.
 */
function momentOf(state: UserState | null, { now }: Given): Instant {
  return state !== null && state.changed > now && state.changed - now < SKEW ? state.changed : now
}
