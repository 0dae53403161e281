import type { Achievement } from '../../configuration/configuration.types'
import { type Clearable, type Optional, revised } from '../../configuration/drafts.rules'
import type { Instant } from '../../lib/clock'
import { unreachable } from '../../lib/errors'
import { countsItself } from '../../rules/achievements.rules'

type Always = Pick<Achievement, 'name' | 'key' | 'trigger'>
type Sometimes = Optional<Pick<Achievement, 'description' | 'status'>> &
  Clearable<
    Pick<
      Achievement,
      'metricId' | 'metricValue' | 'streakLength' | 'achievementIds' | 'userAttributes' | 'eventAttributes'
    >
  > & { badge?: { url: string } | null | undefined }
type CreateItem = Always & Sometimes
type UpdateItem = Optional<Always> & Sometimes
type Status = Achievement['status']

/**
 * The achievement that an item asks for: created inactive, and then moved to its status. Returns the reason
 * as a text if that move is illegal (A1).
 */
export function achievementFrom(id: string, now: Instant, item: CreateItem): Achievement | string {
  const status = item.status ?? 'inactive'
  const achievement = ofItsTrigger({
    id,
    created: now,
    updated: now,
    key: item.key,
    name: item.name,
    description: item.description ?? '',
    badgeUrl: item.badge?.url ?? null,
    status,
    trigger: item.trigger,
    metricId: item.metricId ?? null,
    metricValue: item.metricValue ?? null,
    streakLength: item.streakLength ?? null,
    achievementIds: item.achievementIds ?? [],
    userAttributes: item.userAttributes ?? [],
    eventAttributes: item.eventAttributes ?? [],
    counterId: id,
    counted: false,
  })
  return moveProblem('inactive', status) ?? { ...achievement, counted: !countsItself(achievement) }
}

/**
 * The achievement after a change and the move that it asks for (A1). Returns the same object if nothing
 * changes, and the reason as a text if the change or the move is illegal. If the achievement counts other
 * events from now on, it counts under the new id (A2).
 */
export function achievementPatched(
  before: Achievement,
  item: UpdateItem,
  now: Instant,
  newCounterId: string,
): Achievement | string {
  const { status, trigger } = before
  const next = patched(before, item)
  if (next.trigger !== trigger && status !== 'inactive') {
    return `The achievement is ${status}, so its trigger, "${trigger}", can't change. Create another achievement instead.`
  }
  const counterId = countsTheSame(before, next) ? before.counterId : newCounterId
  const isRecounted = startsOver(before, next) || counterId !== before.counterId
  const counted = isRecounted ? !countsItself(next) : before.counted
  return moveProblem(status, next.status) ?? revised(before, { ...next, counterId, counted }, now)
}

function patched(before: Achievement, item: UpdateItem): Achievement {
  const { badge, userAttributes, eventAttributes } = item
  return ofItsTrigger({
    ...before,
    name: item.name ?? before.name,
    description: item.description ?? before.description,
    badgeUrl: badge === undefined ? before.badgeUrl : (badge?.url ?? null),
    status: item.status ?? before.status,
    trigger: item.trigger ?? before.trigger,
    metricId: item.metricId ?? before.metricId,
    metricValue: item.metricValue ?? before.metricValue,
    streakLength: item.streakLength ?? before.streakLength,
    achievementIds: item.achievementIds ?? before.achievementIds,
    userAttributes: userAttributes === undefined ? before.userAttributes : (userAttributes ?? []),
    eventAttributes: eventAttributes === undefined ? before.eventAttributes : (eventAttributes ?? []),
  })
}

/** The fields of only some triggers, with their values in an achievement with another trigger. */
const NONE = {
  metricId: null,
  metricValue: null,
  streakLength: null,
  achievementIds: [],
  eventAttributes: [],
} as const satisfies Partial<Achievement>

/** Drops the fields that belong to other triggers. */
function ofItsTrigger(achievement: Achievement): Achievement {
  const bare = { ...achievement, ...NONE }
  switch (achievement.trigger) {
    case 'metric': {
      const { metricId, metricValue, eventAttributes } = achievement
      return { ...bare, metricId, metricValue, eventAttributes }
    }
    case 'streak':
      return { ...bare, streakLength: achievement.streakLength }
    case 'achievement':
      return { ...bare, achievementIds: achievement.achievementIds }
    case 'api':
      return bare
    default:
      return unreachable(achievement.trigger)
  }
}

function countsTheSame(before: Achievement, after: Achievement): boolean {
  const basis = ({ metricId, eventAttributes }: Achievement) => JSON.stringify([metricId, eventAttributes])
  return basis(before) === basis(after)
}

/**
 * Whether an achievement asks for the same before and after a change: the same condition and the same
 * filters.
 */
export function asksTheSame(before: Achievement, after: Achievement): boolean {
  const condition = (one: Achievement) =>
    JSON.stringify([
      one.trigger,
      one.metricId,
      one.metricValue,
      one.streakLength,
      one.achievementIds,
      one.userAttributes,
      one.eventAttributes,
    ])
  return condition(before) === condition(after)
}

/**
 * Whether users may qualify for an achievement through earlier activity: it becomes active, or it asks for
 * something else (A4).
 */
export function startsOver(before: Achievement | undefined, after: Achievement): boolean {
  if (after.status !== 'active') return false
  return before?.status !== 'active' || !asksTheSame(before, after)
}

/** Why an achievement can't move from one status to another, or null (A1). */
function moveProblem(from: Status, to: Status): string | null {
  if (from === to) return null
  if (to === 'inactive') {
    return `The achievement is ${from} and can't become inactive again. Lock it, so that no more users get it, or delete it.`
  }
  if (from === 'inactive' && to === 'locked') {
    return "An inactive achievement can't be locked, because no user can have it. Make it active first."
  }
  return null
}
