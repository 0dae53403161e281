import { type Achievement, type Configuration, meets } from '../configuration/model'
import { ACHIEVEMENT_TRIGGERS } from '../configuration/trigger-types'
import { type Instant, MINUTE } from '../lib/clock'
import { toMicros } from '../lib/decimal'
import { type FieldError, unreachable } from '../lib/errors'
import { dayAfterYears, dayIn, localDay } from '../lib/zone'
import { type Completion, type Counter, count, type LocalTime, NEW_COUNTER, type UserState } from './state'
import type { StreakChange } from './streaks/streak-change.rules'
import { extensionsOf, NO_STREAK_EVENTS, termsOf } from './streaks/streak-state.rules'
import { isStale } from './streaks/streaks.rules'

type AchievementInput = {
  local: LocalTime
  /** Makes the id of the n-th completion. */
  newId: (n: number) => string
  /** The achievements to check first. Composites follow from the achievements that these complete (E5). */
  isTried: (achievement: Achievement) => boolean
}

/** Whether an achievement counts matching events by its own counter (A2). */
export const countsItself = ({ trigger, eventAttributes }: Achievement): boolean =>
  trigger === 'metric' && eventAttributes.length > 0

/** The day of an anniversary (A7), since 1970-01-01. It never comes for a user without `signUpDate`. */
export function anniversaryOf(
  { profile: { signUpDate } }: Pick<UserState, 'profile'>,
  { anniversaryYears }: Pick<Achievement, 'anniversaryYears'>,
): number {
  if (signUpDate === null || anniversaryYears === null) return Number.POSITIVE_INFINITY
  return dayAfterYears(signUpDate, anniversaryYears)
}

/** Whether users can complete anniversaries. */
export const hasAnniversaries = ({ achievements }: Configuration): boolean =>
  achievements.some(({ trigger, status }) => trigger === 'anniversary' && status === 'active')

/** How long after the midnight of an anniversary an event does not complete it: due work does that (A7). */
const ON_TIME = 15 * MINUTE

/**
 * Returns whether a change of a user itself completes an anniversary (A7): an event does after the first quarter of
 * an hour, and a change of zone if it skips the midnight. A change of `signUpDate` does not.
 */
export function bringsAnniversary(
  before: UserState | null,
  user: UserState,
  { at, isEvent }: { at: Instant; isEvent: boolean },
): (achievement: Achievement) => boolean {
  const [was, is] = [before?.profile, user.profile]
  if (was === undefined || was.signUpDate !== is.signUpDate) return () => false
  const [left, reached] = [dayIn(was.tz, at - ON_TIME), dayIn(is.tz, at - ON_TIME)]
  return (one) => {
    if (one.trigger !== 'anniversary') return false
    const day = anniversaryOf(user, one)
    return (isEvent && day <= reached) || (was.tz !== is.tz && day > left)
  }
}

/** Why a call can't complete an achievement (A3). `state` is null if the user does not exist. */
export function completionErrors(
  { id, trigger, status }: Achievement,
  state: UserState | null,
): FieldError[] {
  const sentence = (message: string) => [{ path: '', message }]
  if (trigger !== 'api') {
    return sentence(
      `This achievement has the trigger "${trigger}" and completes by itself. Call this only for the trigger "api"`,
    )
  }
  if (status !== 'locked' || state?.achievements.has(id)) return []
  return sentence('This achievement is locked, so no other user can get it. Activate it first')
}

type Counted = { metricId: string; value: Counter['total']; attributes: ReadonlyMap<string, string> }

/**
 * The user with the counters of achievements after an event. Until the job that reads the log has filled the
 * counters of all users (A4), a missing counter stays missing. New users have no log, so their counters begin
 * at once.
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

/** The order in which achievements complete: first what a call completes (A3), composites after all others (E5). */
const FIRST = ['api', ...ACHIEVEMENT_TRIGGERS.filter((one) => one !== 'api' && one !== 'achievement')]

/**
 * Completes the achievements that a user qualifies for: first the triggers api, metric and streak, then
 * composites until no more is added (E5, A2). `completed` has their ids in that order.
 */
export function complete(
  config: Configuration,
  user: UserState,
  input: AchievementInput,
): { user: UserState; completed: readonly string[] } {
  const { achievements } = config
  const had = new Map(user.achievements)
  const today = localDay(input.local.at, input.local.utcOffset)
  const completed: string[] = []
  const add = (achievement: Achievement): void => {
    had.set(achievement.id, { ...input.local, id: input.newId(completed.length) })
    completed.push(achievement.id)
  }
  const isOpen = (achievement: Achievement) =>
    achievement.status === 'active' &&
    !had.has(achievement.id) &&
    !user.revoked.has(achievement.id) &&
    meets(achievement.userAttributes, user.profile.attributes)
  for (const kind of FIRST) {
    for (const achievement of achievements) {
      if (achievement.trigger !== kind || !isOpen(achievement) || !input.isTried(achievement)) continue
      if (qualifies(config, user, achievement, today)) add(achievement)
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

/**
 * Whether a user has enough for an achievement on a local day, since 1970-01-01 (A2). With the trigger `api`, the
 * call itself is enough.
 */
function qualifies(config: Configuration, user: UserState, achievement: Achievement, today: number): boolean {
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
      return hasAll(achievement, user.achievements)
    case 'anniversary':
      return anniversaryOf(user, achievement) <= today
    default:
      return unreachable(trigger)
  }
}

/** The mark of a trigger that gave points for an achievement, and does not give them again (V4). */
export const paidMark = (achievementId: string, triggerId: string): string => `${achievementId} ${triggerId}`

/**
 * The marks `revoked` of a user without those of achievements that are gone or whose condition is false (V4).
 * The shortest length of the streak in a change counts, also while streaks are off (S10). If `isOfStreak`,
 * only the streak and the attributes of the user are known.
 */
export function keepRevoked(
  config: Configuration,
  user: UserState,
  change: Pick<StreakChange, 'ended' | 'streakEvents'> = { ended: [], streakEvents: NO_STREAK_EVENTS },
  isOfStreak = false,
): UserState['revoked'] {
  if (user.revoked.size === 0) return user.revoked
  const now = user.streak.run?.length ?? 0
  const length = change.ended.length > 0 ? 0 : now - extensionsOf(change.streakEvents).length
  const kept = [...user.revoked].filter((mark) => {
    const one = config.achievements.find(({ id }) => `${mark} `.startsWith(`${id} `))
    const isSeen = mark === one?.id && (!isOfStreak || one.trigger === 'streak')
    return one !== undefined && (!isSeen || isStillTrue(config, user, one, length))
  })
  return kept.length === user.revoked.size ? user.revoked : new Set(kept)
}

/** Whether a condition is true, or unknown because a streak or a counter is not counted yet (S9, A4). */
function isStillTrue(config: Configuration, user: UserState, achievement: Achievement, length: number) {
  const { trigger, userAttributes, streakLength } = achievement
  // Only a call completes it, so it needs no mark (A3).
  if (trigger === 'api' || !meets(userAttributes, user.profile.attributes)) return false
  if (trigger === 'streak') return length >= (streakLength ?? 0) || isStale(user.streak, config.streaks)
  const today = dayIn(user.profile.tz, user.changed)
  return totalOf(user, achievement) === undefined || qualifies(config, user, achievement, today)
}

/** The counter that an achievement compares, or undefined if it is not known yet (A4). */
function totalOf(user: UserState, achievement: Achievement): Counter | undefined {
  if (!countsItself(achievement)) return user.metrics.get(achievement.metricId ?? '') ?? NEW_COUNTER
  const known = user.counters.get(achievement.counterId)
  return known ?? (achievement.counted ? NEW_COUNTER : undefined)
}
