import { filterProblem, freeKey, keyTaken, triggerKey } from '../../configuration/keys.rules'
import type { Configuration, Trigger, TriggerFields } from '../../configuration/model'
import { TRIGGER_FIELDS, type TriggerField } from '../../configuration/trigger-types'
import type { Instant } from '../../lib/clock'
import { isTicking } from '../../rules/points/ticks.rules'

type Timed = Pick<Trigger, 'timeUnit' | 'timeInterval'>
/** What a create says about a trigger. */
type Asked = Omit<Trigger, 'key' | 'counterId' | 'version' | 'anchor'> & { key?: string | undefined }

/**
 * The trigger that an item asks for, at version 1. If the item has no key, it gets a derived one that is not
 * `taken` (O2).
 */
export function triggerFrom(
  asked: Asked,
  now: Instant,
  { config, taken }: { config: Configuration; taken: ReadonlySet<string> },
): Trigger {
  const bare = ofItsType({ ...asked, key: '', counterId: asked.id, version: 1, anchor: null })
  const key = asked.key ?? freeKey(triggerKey(config, bare), taken)
  return { ...bare, key, anchor: anchorOf(null, bare, now) }
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
 * The trigger after a change: the same object if nothing changes, else its next version (P10). `named` has the
 * fields that the change names. If it counts other events from now on, it counts from 0 under the new id (P1).
 * If it begins to tick, it has a new anchor (P4).
 */
export function triggerPatched(
  trigger: Trigger,
  named: Trigger,
  now: Instant,
  newCounterId: string,
): Trigger {
  const next = ofItsType(named)
  if (JSON.stringify(next) === JSON.stringify(trigger)) return trigger
  const counterId = countsTheSame(trigger, next) ? trigger.counterId : newCounterId
  return { ...next, anchor: anchorOf(trigger, next, now), counterId, version: trigger.version + 1 }
}

function countsTheSame(before: Trigger, after: Trigger): boolean {
  const basis = ({ metricId, eventAttributes }: Trigger) => JSON.stringify([metricId, eventAttributes])
  return basis(before) === basis(after)
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

/** Drops the fields that belong to other types. Only metric triggers have filters on events (P1). */
function ofItsType(trigger: Trigger): Trigger {
  const fields = { ...NO_FIELDS }
  const set = <F extends TriggerField>(field: F) => {
    fields[field] = trigger[field]
  }
  for (const field of TRIGGER_FIELDS[trigger.type]) set(field)
  return {
    ...trigger,
    ...fields,
    eventAttributes: trigger.type === 'metric' ? trigger.eventAttributes : [],
  }
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

/** Why a reference of a trigger is wrong, or null: the metric or achievement does not exist. */
function referenceProblem(
  { metrics, achievements }: Configuration,
  { metricId, achievementId }: Trigger,
): string | null {
  if (metricId !== null && !metrics.some(({ id }) => id === metricId)) {
    return 'No metric has this metricId. Take one from GET /metrics.'
  }
  if (achievementId !== null && !achievements.some(({ id }) => id === achievementId)) {
    return 'No achievement has this achievementId. Take one from GET /achievements.'
  }
  return null
}
