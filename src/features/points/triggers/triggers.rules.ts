import type { Configuration, Trigger } from '../../../config/configuration.types'
import type { Clearable } from '../../../config/drafts.rules'
import { filterObjection } from '../../../config/filters.rules'
import { isTicking } from '../../../engine/points/ticks.rules'
import type { Instant } from '../../../lib/clock'

/** The fields of a trigger that an admin write may name. */
type Named = Pick<
  Trigger,
  | 'userAttributes'
  | 'eventAttributes'
  | 'metricId'
  | 'metricThreshold'
  | 'achievementId'
  | 'streakLength'
  | 'timeUnit'
  | 'timeInterval'
>
type Always = Pick<Trigger, 'type' | 'points' | 'status' | 'blockIfOutOfPoints'>
type CreateItem = Always & Clearable<Named>
type PatchItem = Clearable<Always & Named>

/** The trigger that an item asks for, at its first version. */
export function triggerFrom(id: string, now: Instant, systemId: string, item: CreateItem): Trigger {
  const trigger = ofItsType({
    id,
    created: now,
    updated: now,
    systemId,
    type: item.type,
    points: item.points,
    status: item.status,
    userAttributes: item.userAttributes ?? [],
    eventAttributes: item.eventAttributes ?? [],
    metricId: item.metricId ?? null,
    metricThreshold: item.metricThreshold ?? null,
    achievementId: item.achievementId ?? null,
    streakLength: item.streakLength ?? null,
    timeUnit: item.timeUnit ?? null,
    timeInterval: item.timeInterval ?? null,
    blockIfOutOfPoints: item.blockIfOutOfPoints,
    counterId: id,
    version: 1,
    anchor: null,
  })
  return { ...trigger, anchor: anchorOf(null, trigger, now) }
}

/** From when a trigger's ticks count, in milliseconds: anew at each activation and with another interval (P4). */
function anchorOf(before: Trigger | null, after: Trigger, now: Instant): number | null {
  if (!isTicking(after)) return null
  const interval = ({ timeUnit, timeInterval }: Trigger) => `${timeInterval} ${timeUnit}`
  const goesOn = before !== null && isTicking(before) && interval(before) === interval(after)
  return goesOn ? before.anchor : now
}

/**
 * The trigger after a change: the very same object where nothing changes, else at its next version (P10). One that counts something
 * else from now on counts from 0, under the new id (P1); one that ticks from now on has a new anchor (P4).
 */
export function triggerPatched(
  trigger: Trigger,
  item: PatchItem,
  now: Instant,
  newCounterId: string,
): Trigger {
  const next = ofItsType({
    ...trigger,
    type: item.type ?? trigger.type,
    points: item.points ?? trigger.points,
    status: item.status ?? trigger.status,
    userAttributes: item.userAttributes === undefined ? trigger.userAttributes : (item.userAttributes ?? []),
    eventAttributes:
      item.eventAttributes === undefined ? trigger.eventAttributes : (item.eventAttributes ?? []),
    metricId: item.metricId ?? trigger.metricId,
    metricThreshold: item.metricThreshold ?? trigger.metricThreshold,
    achievementId: item.achievementId ?? trigger.achievementId,
    streakLength: item.streakLength ?? trigger.streakLength,
    timeUnit: item.timeUnit ?? trigger.timeUnit,
    timeInterval: item.timeInterval ?? trigger.timeInterval,
    blockIfOutOfPoints: item.blockIfOutOfPoints ?? trigger.blockIfOutOfPoints,
  })
  if (JSON.stringify(next) === JSON.stringify(trigger)) return trigger
  const counterId = countsTheSame(trigger, next) ? trigger.counterId : newCounterId
  const anchor = anchorOf(trigger, next, now)
  return { ...next, anchor, counterId, updated: now, version: trigger.version + 1 }
}

function countsTheSame(before: Trigger, after: Trigger): boolean {
  const basis = ({ metricId, eventAttributes }: Trigger) => JSON.stringify([metricId, eventAttributes])
  return basis(before) === basis(after)
}

/** Drops the fields that belong to other types. */
function ofItsType(trigger: Trigger): Trigger {
  const { type } = trigger
  const metric = type === 'metric'
  return {
    ...trigger,
    eventAttributes: metric ? trigger.eventAttributes : [],
    metricId: metric ? trigger.metricId : null,
    metricThreshold: metric ? trigger.metricThreshold : null,
    achievementId: type === 'achievement' ? trigger.achievementId : null,
    streakLength: type === 'streak' ? trigger.streakLength : null,
    timeUnit: type === 'time' ? trigger.timeUnit : null,
    timeInterval: type === 'time' ? trigger.timeInterval : null,
  }
}

/** Why a trigger can't be configured so, or null: a field that its type needs, or something that it refers to, is missing. */
export function triggerObjection(config: Configuration, trigger: Trigger): string | null {
  const { type } = trigger
  const missing = (field: string) => `A trigger of type ${type} needs ${field}. Pass it too.`
  if (type === 'metric') {
    if (trigger.metricId === null) return missing('metricId')
    if (trigger.metricThreshold === null) return missing('metricThreshold')
    if (!config.metrics.some(({ id }) => id === trigger.metricId)) {
      return 'No metric has this metricId. Take one from GET /metrics.'
    }
  }
  if (type === 'achievement') {
    if (trigger.achievementId === null) return missing('achievementId')
    if (!config.achievements.some(({ id }) => id === trigger.achievementId)) {
      return 'No achievement has this achievementId. Take one from GET /achievements.'
    }
  }
  if (type === 'streak' && trigger.streakLength === null) return missing('streakLength')
  if (type === 'time' && trigger.timeUnit === null) return missing('timeUnit')
  if (type === 'time' && trigger.timeInterval === null) return missing('timeInterval')
  return (
    filterObjection(config, 'user', trigger.userAttributes) ??
    filterObjection(config, 'event', trigger.eventAttributes)
  )
}
