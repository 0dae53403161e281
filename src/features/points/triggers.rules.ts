import type { Configuration, Trigger, TriggerFields } from '../../configuration/configuration.types'
import { freeKey, keyTaken, triggerKey } from '../../configuration/derived-keys.rules'
import { TRIGGER_FIELDS, type TriggerField, type TriggerType } from '../../configuration/enumerations'
import { filterProblem } from '../../configuration/filters.rules'
import type { Instant } from '../../lib/clock'
import { unreachable } from '../../lib/errors'
import { isTicking } from '../../rules/points/ticks.rules'

/** Fields that an admin write may leave out, or clear with null. */
type Clearable<T> = { [K in keyof T]?: T[K] | null | undefined }

/** The fields of a trigger that an admin write may set. */
type Named = Pick<Trigger, 'userAttributes' | 'eventAttributes'> & TriggerFields
type Timed = Pick<Trigger, 'timeUnit' | 'timeInterval'>
type Always = Pick<Trigger, 'type' | 'points' | 'status' | 'blockIfOutOfPoints'>
type CreateItem = Always & Clearable<Named> & { key?: string | undefined }
type PatchItem = Clearable<Always & Named> & { key?: string | undefined }

/**
 * The trigger that an item asks for, at version 1. If the item has no key, it gets a derived one that is not
 * `taken` (O2).
 */
export function triggerFrom(
  id: string,
  now: Instant,
  systemId: string,
  item: CreateItem,
  { config, taken }: { config: Configuration; taken: ReadonlySet<string> },
): Trigger {
  const trigger = {
    id,
    created: now,
    updated: now,
    systemId,
    type: item.type,
    points: item.points,
    status: item.status,
    userAttributes: item.userAttributes ?? [],
    eventAttributes: filtersOf(item.type, item.eventAttributes, []),
    ...fieldsOf(item.type, item, NO_FIELDS),
    blockIfOutOfPoints: item.blockIfOutOfPoints,
    counterId: id,
    version: 1,
    anchor: null,
  }
  const key = item.key ?? freeKey(triggerKey(config, trigger), taken)
  return { ...trigger, key, anchor: anchorOf(null, trigger, now) }
}

/** When ticks begin to count, in ms: at the activation or change of interval (P4). Null without ticks. */
function anchorOf(
  before: Trigger | null,
  after: Timed & Pick<Trigger, 'type' | 'status'>,
  now: Instant,
): number | null {
  if (!isTicking(after)) return null
  const interval = ({ timeUnit, timeInterval }: Timed) => `${timeInterval} ${timeUnit}`
  const goesOn = before !== null && isTicking(before) && interval(before) === interval(after)
  return goesOn ? before.anchor : now
}

/**
 * The trigger after a change: the same object if nothing changes, else its next version (P10). If it counts
 * other events from now on, it counts from 0 under the new id (P1). If it begins to tick, it has a new anchor
 * (P4).
 */
export function triggerPatched(
  trigger: Trigger,
  item: PatchItem,
  now: Instant,
  newCounterId: string,
): Trigger {
  const type = item.type ?? trigger.type
  const next: Trigger = {
    ...trigger,
    ...fieldsOf(type, item, trigger),
    key: item.key ?? trigger.key,
    type,
    points: item.points ?? trigger.points,
    status: item.status ?? trigger.status,
    userAttributes: item.userAttributes === undefined ? trigger.userAttributes : (item.userAttributes ?? []),
    eventAttributes: filtersOf(type, item.eventAttributes, trigger.eventAttributes),
    blockIfOutOfPoints: item.blockIfOutOfPoints ?? trigger.blockIfOutOfPoints,
  }
  if (JSON.stringify(next) === JSON.stringify(trigger)) return trigger
  const counterId = countsTheSame(trigger, next) ? trigger.counterId : newCounterId
  const anchor = anchorOf(trigger, next, now)
  return { ...next, anchor, counterId, updated: now, version: trigger.version + 1 }
}

function countsTheSame(before: Trigger, after: Trigger): boolean {
  const basis = ({ metricId, eventAttributes }: Trigger) => JSON.stringify([metricId, eventAttributes])
  return basis(before) === basis(after)
}

/** The filters on event attributes. Only metric triggers have them (P1). Null removes them. */
function filtersOf(
  type: TriggerType,
  asked: Trigger['eventAttributes'] | null | undefined,
  before: Trigger['eventAttributes'],
): Trigger['eventAttributes'] {
  if (type !== 'metric') return []
  return asked === undefined ? before : (asked ?? [])
}

/** The fields of only some types, with their values in a trigger of another type. */
const NO_FIELDS: TriggerFields = {
  metricId: null,
  metricThreshold: null,
  achievementId: null,
  streakLength: null,
  timeUnit: null,
  timeInterval: null,
}

/** The fields of a trigger of a type: the requested value, else the previous one. */
function fieldsOf(type: TriggerType, asked: Clearable<TriggerFields>, before: TriggerFields): TriggerFields {
  const fields = { ...NO_FIELDS }
  const set = <F extends TriggerField>(field: F) => {
    fields[field] = asked[field] ?? before[field]
  }
  for (const field of TRIGGER_FIELDS[type]) set(field)
  return fields
}

/**
 * Why a trigger can't be configured like this among the others of its system, or null: its key is taken, a
 * field that its type needs is missing, or something that it refers to does not exist.
 */
export function triggerProblem(
  config: Configuration,
  trigger: Trigger,
  others: readonly Trigger[],
): string | null {
  if (others.some(({ id, key }) => id !== trigger.id && key === trigger.key)) {
    return keyTaken(trigger.key, 'trigger of this points system')
  }
  const missing = TRIGGER_FIELDS[trigger.type].find((field) => trigger[field] === null)
  if (missing !== undefined) return `A trigger of type ${trigger.type} needs ${missing}. Pass it too.`
  return (
    referenceProblem(config, trigger) ??
    filterProblem(config, 'user', trigger.userAttributes) ??
    filterProblem(config, 'event', trigger.eventAttributes)
  )
}

/** Why the reference of a trigger is wrong, or null: the metric or achievement does not exist. */
function referenceProblem(config: Configuration, trigger: Trigger): string | null {
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
