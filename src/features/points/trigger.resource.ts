import { and, eq, isNull, sql } from 'drizzle-orm'
import * as z from 'zod'
import {
  ConfigKey,
  defaulted,
  Filters,
  FiltersResponse,
  isNot,
  Uuid,
  UuidResponse,
  wholeNumber,
} from '../../api/fields'
import { keysIn } from '../../api/resources/drafts.rules'
import { DERIVED_KEY, field, filters, ID, optionally, reference, required } from '../../api/resources/fields'
import { defineResource } from '../../api/resources/resource'
import { triggerResponse } from '../../api/shapes/points'
import { SWITCH_STATUSES, TIME_UNITS } from '../../configuration/enumerations'
import { filterProblem, freeKey, keyTaken, triggerKey } from '../../configuration/keys.rules'
import {
  type Achievement,
  type Configuration,
  countsTheSame,
  type Metric,
  roomFor,
  type Trigger,
  type TriggerFields,
} from '../../configuration/model'
import { pointsTriggers, triggerVersions } from '../../configuration/tables.sql.ts'
import { TRIGGER_FIELDS, TRIGGER_TYPES, type TriggerField } from '../../configuration/trigger-types'
import type { Instant } from '../../lib/clock'
import { INT32_MAX } from '../../lib/decimal'
import { MOST_TRIGGER_POINTS } from '../../lib/limits'
import { newId } from '../../lib/new-id'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { isTicking, nextTick } from '../../rules/points/ticks.rules'
import { wakeTimekeeper } from '../../time/timekeeper'
import { scheduleTicks, settleTicks } from './ticks'

const Type = z.enum(TRIGGER_TYPES)
const Status = z.enum(SWITCH_STATUSES)
const Points = isNot(0, wholeNumber(-MOST_TRIGGER_POINTS, MOST_TRIGGER_POINTS))
const Positive = wholeNumber(1, INT32_MAX)
const TimeUnit = z.enum(TIME_UNITS)

const typedFields = {
  metricId: optionally(Uuid, UuidResponse.optional()),
  metricThreshold: optionally(Positive, z.int32().optional()),
  eventAttributes: filters(Filters, FiltersResponse.optional()),
  achievementId: optionally(Uuid, UuidResponse.optional()),
  streakLength: optionally(Positive, z.int32().optional()),
  timeUnit: optionally(TimeUnit, TimeUnit.optional()),
  timeInterval: optionally(Positive, z.int32().optional()),
} satisfies Record<TriggerField | 'eventAttributes', object>

/** Triggers of a points system (G7, P1–P4). A new one is inactive unless `status` says otherwise (P3). */
export const trigger = defineResource({
  kind: 'points_trigger',
  id: 'admin_points_triggers',
  path: '/points/{systemId}/triggers',
  one: 'a trigger',
  many: 'triggers',
  component: 'PointsTrigger',
  change: 'Patch',
  list: 'triggers',
  table: pointsTriggers,
  fields: {
    id: ID,
    key: DERIVED_KEY,
    type: required(Type, Type),
    points: required(Points, z.int32()),
    status: field(defaulted(Status, 'inactive'), Status, Status),
    userAttributes: filters(Filters, FiltersResponse),
    ...typedFields,
    metricKey: reference(ConfigKey),
    achievementKey: reference(ConfigKey),
    blockIfOutOfPoints: field(defaulted(z.boolean(), false), z.boolean(), z.boolean()),
  },
  needs: {
    by: 'type',
    fields: TRIGGER_FIELDS,
    error: (type) => `is needed by a trigger of type ${type}, and is missing`,
  },
  show: ({ type, eventAttributes }) => ({
    eventAttributes: type === 'metric' ? [...eventAttributes] : undefined,
  }),
  audited: ({ systemId }, shown) => ({ ...shown, pointsSystemId: systemId }),
  room: ({ config, draft }) => roomFor('triggers', config)(draft.added.length + 1),
  make: (row, { scope, config, draft: { list } }) => {
    const made = triggerFrom(row, scope.now, { config, taken: keysIn(list) })
    return triggerProblem(config, made, list) ?? made
  },
  patch: (named, before, { scope, config, draft: { list } }) => {
    const after = triggerPatched(before, named, scope.now, newId(scope.now))
    return triggerProblem(config, after, list) ?? after
  },
  /**
   * The forms in which the triggers are shown from now on (P10), and their ticks (P4). Ticks that are due are
   * granted before a change.
   */
  effects: async ({ scope, config, draft: { changes } }) => {
    const stored = changes.flatMap(({ after }) => after ?? [])
    const replaced = changes.flatMap(({ before }) => before ?? [])
    const ticking = changes.flatMap(({ before, after }) => {
      // To compare anchors is not enough. If the interval changes at the moment of the activation, the anchor
      // stays the same.
      const isNew = after !== null && (before === null || nextTick(before, 0) !== nextTick(after, 0))
      return isNew ? [after] : []
    })
    return {
      statements: [...rememberVersions(scope, config, stored), ...scheduleTicks(scope, ticking)],
      guards: await settleTicks(scope, replaced),
      after: stored.some(isTicking) ? () => wakeTimekeeper(scope) : undefined,
    }
  },
})

/** Keeps the form of triggers from now on, for the awards that they will make (P10). */
function rememberVersions({ db }: Scope, config: Configuration, triggers: readonly Trigger[]): Statement[] {
  const rows = triggers.map((trigger) => ({
    triggerId: trigger.id,
    version: trigger.version,
    document: JSON.stringify(triggerResponse(config, trigger)),
  }))
  return db.inserts(triggerVersions, rows)
}

/** Statements that give the triggers of a renamed metric or achievement their new form (P10). */
export function retitledTriggers(
  scope: Scope,
  before: Configuration,
  by: 'metricId' | 'achievementId',
  renamed: Metric | Achievement,
): Statement[] {
  const { db, tenant } = scope
  const { id } = renamed
  const withRenamed = <R extends Metric | Achievement>(all: readonly R[]) =>
    all.map((one) => (one.id === id ? { ...one, name: renamed.name } : one))
  const { metrics, achievements } = before
  const config = { ...before, metrics: withRenamed(metrics), achievements: withRenamed(achievements) }
  const triggers = config.systems
    .flatMap((system) => system.triggers)
    .filter((trigger) => trigger[by] === id)
    .map((trigger) => ({ ...trigger, version: trigger.version + 1 }))
  if (triggers.length === 0) return []
  const its = and(
    eq(pointsTriggers.tenantId, tenant.id),
    eq(pointsTriggers[by], id),
    isNull(pointsTriggers.deleted),
  )
  const version = sql`${pointsTriggers.version} + 1`
  return [
    db.built(db.orm.update(pointsTriggers).set({ version }).where(its)),
    ...rememberVersions(scope, config, triggers),
  ]
}

type Timed = Pick<Trigger, 'timeUnit' | 'timeInterval'>
type Asked = Omit<Trigger, 'key' | 'counterId' | 'version' | 'anchor'> & { key?: string | undefined }

/** The trigger that an item asks for. Without a key, it gets a derived one that is not `taken` (O2). */
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
 * The trigger after a change: the same object if nothing changes, else its next version (P10). `named` has
 * the fields that the change names. If it counts other events from now on, it counts from 0 under the new id
 * (P1). If it begins to tick, it has a new anchor (P4).
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

/** The fields of only some types, with their values in a trigger of another type. */
const NO_FIELDS: TriggerFields = {
  metricId: null,
  metricThreshold: null,
  achievementId: null,
  streakLength: null,
  timeUnit: null,
  timeInterval: null,
}

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

function triggerProblem(config: Configuration, trigger: Trigger, others: readonly Trigger[]): string | null {
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
