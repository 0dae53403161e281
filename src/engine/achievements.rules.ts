import { type Achievement, type Configuration, meets } from '../config/configuration.types'
import { ACHIEVEMENT_TRIGGERS } from '../config/enumerations.types'
import { toMicros } from '../lib/decimal'
import type { FieldError } from '../lib/errors'
import { unreachable } from '../lib/unreachable'
import { count, NEW_COUNTER } from './metrics.rules'
import type { Completion, Counter, LocalTime, UserState } from './state.types'
import { termsOf } from './streaks/streaks.rules'

/** What happened that may complete achievements. */
export type AchievementInput = {
  local: LocalTime
  /** Makes the id of the n-th completion. */
  newId: (n: number) => string
  /** Which achievements are looked at first; composites follow from what these come to (E5). */
  isTried: (achievement: Achievement) => boolean
}

/** Whether an achievement counts matching events on its own (A2). */
export const countsItself = ({ trigger, eventAttributes }: Achievement): boolean =>
  trigger === 'metric' && eventAttributes.length > 0

/** Why a call can't complete an achievement, for anybody or for this user; `state` is null if there is no such user (A3). */
export function completionErrors(
  { id, trigger, status }: Achievement,
  state: UserState | null,
): FieldError[] {
  const sentence = (message: string) => [{ path: '', message }]
  if (trigger !== 'api') {
    return sentence(
      `This achievement is completed by its trigger, which is "${trigger}", not by this call. Send what triggers it`,
    )
  }
  if (status !== 'locked' || state?.achievements.has(id)) return []
  return sentence('This achievement is locked, so nobody new gets it. Activate it first')
}

/** An event as achievements see it. */
type Counted = { metricId: string; value: Counter['total']; attributes: ReadonlyMap<string, string> }

/**
 * A user's counters after an event, of the achievements that count matching events on their own. Until all users' counters have taken
 * in the log (A4), one that isn't there is left alone, but for users who are new and so have no log.
 */
export function countForAchievements(
  config: Configuration,
  user: UserState,
  isNew: boolean,
  event: Counted | null,
): UserState {
  let counters: Map<string, Counter> | null = null
  for (const achievement of config.achievements) {
    if (!countsItself(achievement) || achievement.status === 'inactive') continue
    const { counterId, counted, metricId, eventAttributes } = achievement
    const known = user.counters.get(counterId)
    const isMatch = event !== null && event.metricId === metricId && meets(eventAttributes, event.attributes)
    const mustBegin = isNew && !counted
    if ((!isMatch && !mustBegin) || (known === undefined && !counted && !isNew)) continue
    counters ??= new Map(user.counters)
    const before = known ?? NEW_COUNTER
    counters.set(counterId, isMatch && event !== null ? count(before, event.value) : before)
  }
  return counters === null ? user : { ...user, counters }
}

/** The triggers in the order in which they complete (E5); composites come after all others. */
const FIRST = ACHIEVEMENT_TRIGGERS.filter((trigger) => trigger !== 'achievement')

/**
 * Completes what a user qualifies for: metric, streak and api achievements, then composites until none is added (E5, A2). Answers the
 * ids of what was completed, in that order.
 */
export function complete(
  config: Configuration,
  user: UserState,
  input: AchievementInput,
): { user: UserState; completed: readonly string[] } {
  const { achievements } = config
  const had = new Map(user.achievements)
  const completed: string[] = []
  const add = (achievement: Achievement): void => {
    had.set(achievement.id, { ...input.local, id: input.newId(completed.length) })
    completed.push(achievement.id)
  }
  const isOpen = (achievement: Achievement) =>
    achievement.status === 'active' &&
    !had.has(achievement.id) &&
    meets(achievement.userAttributes, user.profile.attributes)
  for (const kind of FIRST) {
    for (const achievement of achievements) {
      if (achievement.trigger !== kind || !isOpen(achievement) || !input.isTried(achievement)) continue
      if (qualifies(config, user, achievement)) add(achievement)
    }
  }
  for (let isMore = true; isMore; ) {
    isMore = false
    for (const achievement of achievements) {
      if (achievement.trigger !== 'achievement' || !isOpen(achievement)) continue
      if (!hasAll(achievement, had) || !(completed.length > 0 || input.isTried(achievement))) continue
      add(achievement)
      isMore = true
    }
  }
  return completed.length === 0 ? { user, completed } : { user: { ...user, achievements: had }, completed }
}

const hasAll = ({ achievementIds }: Achievement, had: ReadonlyMap<string, Completion>): boolean =>
  achievementIds.length > 0 && achievementIds.every((id) => had.has(id))

/** Whether a user's totals and streak are enough for an achievement; for an api one it is the call that counts (A2). */
export function qualifies(config: Configuration, user: UserState, achievement: Achievement): boolean {
  const { trigger, metricId, metricValue, streakLength } = achievement
  switch (trigger) {
    case 'api':
      return true
    case 'streak': {
      const length = termsOf(config, user.preferences).isOn ? (user.streak.run?.length ?? 0) : 0
      return length >= (streakLength ?? Number.POSITIVE_INFINITY)
    }
    case 'metric':
      if (metricValue === null || !config.metrics.some(({ id }) => id === metricId)) return false
      return (totalOf(user, achievement)?.total ?? Number.NEGATIVE_INFINITY) >= toMicros(metricValue)
    case 'achievement':
      // Other achievements complete it, not totals.
      return false
    default:
      return unreachable(trigger)
  }
}

/** What an achievement counts of a user; undefined where that is not known yet (A4). */
function totalOf(user: UserState, achievement: Achievement): Counter | undefined {
  if (!countsItself(achievement)) return user.metrics.get(achievement.metricId ?? '') ?? NEW_COUNTER
  const known = user.counters.get(achievement.counterId)
  return known ?? (achievement.counted ? NEW_COUNTER : undefined)
}
