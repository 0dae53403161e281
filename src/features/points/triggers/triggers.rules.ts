import type { Configuration, Trigger } from '../../../config/configuration.types'
import type { Clearable } from '../../../config/drafts.rules'
import type { TriggerType } from '../../../config/enumerations.types'
import { filterObjection } from '../../../config/filters.rules'
import { isTicking } from '../../../engine/points/ticks.rules'
import type { Instant } from '../../../lib/clock'
import { unreachable } from '../../../lib/unreachable'

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

/** The fields that only triggers of some types have, as they are in a trigger of another type. */
const NONE = {
  eventAttributes: [],
  metricId: null,
  metricThreshold: null,
  achievementId: null,
  streakLength: null,
  timeUnit: null,
  timeInterval: null,
} as const satisfies Partial<Trigger>

/** Of these fields, the ones that a trigger of each type must have (P1–P4, U6). */
export const NEEDED_FIELDS = {
  metric: ['metricId', 'metricThreshold'],
  achievement: ['achievementId'],
  streak: ['streakLength'],
  time: ['timeUnit', 'timeInterval'],
  user_creation: [],
} as const satisfies Record<TriggerType, readonly (keyof typeof NONE)[]>

/** Drops the fields that belong to other types. */
function ofItsType(trigger: Trigger): Trigger {
  const bare = { ...trigger, ...NONE }
  switch (trigger.type) {
    case 'metric': {
      const { eventAttributes, metricId, metricThreshold } = trigger
      return { ...bare, eventAttributes, metricId, metricThreshold }
    }
    case 'achievement':
      return { ...bare, achievementId: trigger.achievementId }
    case 'streak':
      return { ...bare, streakLength: trigger.streakLength }
    case 'time':
      return { ...bare, timeUnit: trigger.timeUnit, timeInterval: trigger.timeInterval }
    case 'user_creation':
      return bare
    default:
      return unreachable(trigger.type)
  }
}

/** Why a trigger can't be configured so, or null: a field that its type needs, or something that it refers to, is missing. */
export function triggerObjection(config: Configuration, trigger: Trigger): string | null {
  const missing = NEEDED_FIELDS[trigger.type].find((field) => trigger[field] === null)
  if (missing !== undefined) return `A trigger of type ${trigger.type} needs ${missing}. Pass it too.`
  return (
    referenceObjection(config, trigger) ??
    filterObjection(config, 'user', trigger.userAttributes) ??
    filterObjection(config, 'event', trigger.eventAttributes)
  )
}

/** Why a trigger can't refer to what its type refers to, or null: there is no such metric or achievement. */
function referenceObjection(config: Configuration, trigger: Trigger): string | null {
  switch (trigger.type) {
    case 'metric':
      if (config.metrics.some(({ id }) => id === trigger.metricId)) return null
      return 'No metric has this metricId. Take one from GET /metrics.'
    case 'achievement':
      if (config.achievements.some(({ id }) => id === trigger.achievementId)) return null
      return 'No achievement has this achievementId. Take one from GET /achievements.'
    case 'streak':
    case 'time':
    case 'user_creation':
      return null
    default:
      return unreachable(trigger.type)
  }
}
