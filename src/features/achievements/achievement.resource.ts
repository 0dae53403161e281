import * as z from 'zod'
import {
  ConfigKey,
  Description,
  Filters,
  FiltersResponse,
  optional,
  Uuid,
  wholeNumber,
} from '../../api/fields'
import { keysIn } from '../../api/resources/drafts.rules'
import {
  BADGE,
  fieldOf,
  filters,
  fixed,
  ID,
  type Item,
  NAME,
  optionally,
  reference,
  removable,
  required,
} from '../../api/resources/fields'
import { defineResource } from '../../api/resources/resource'
import { ACHIEVEMENT_STATUSES } from '../../configuration/enumerations'
import { achievementKey, filterProblem, freeKey, keyTaken } from '../../configuration/keys.rules'
import { type Achievement, type Configuration, countsTheSame } from '../../configuration/model'
import { achievements } from '../../configuration/tables.sql.ts'
import {
  ACHIEVEMENT_FIELDS,
  ACHIEVEMENT_TRIGGERS,
  type AchievementField,
  ALL_ACHIEVEMENT_FIELDS,
  keyField,
} from '../../configuration/trigger-types'
import { INT32_MAX, MICROS_PER_UNIT } from '../../lib/decimal'
import {
  MOST_ANNIVERSARY_YEARS,
  MOST_METRIC_TOTAL,
  MOST_PREREQUISITES,
  MOST_RESOURCES,
} from '../../lib/limits'
import { newId } from '../../lib/new-id'
import { countsItself } from '../../rules/achievements.rules'
import { wakeTimekeeper } from '../../time/timekeeper'
import { retitledTriggers } from '../points/trigger.resource'
import { beginAnniversaries } from './anniversaries'
import { beginBackdating } from './backdate'

const LEAST_TOTAL = 1 / MICROS_PER_UNIT

const Status = z.enum(ACHIEVEMENT_STATUSES)
const Trigger = z.enum(ACHIEVEMENT_TRIGGERS)
const MetricValue = z.number().min(LEAST_TOTAL).max(MOST_METRIC_TOTAL)
const some = <S extends z.ZodType>(schema: S) => z.array(schema).min(1).max(MOST_PREREQUISITES)
const orNone = (given: readonly string[] | undefined): readonly string[] => given ?? []

/** The fields that only achievements with some triggers have (A2). */
const typedFields = {
  metricId: optionally(Uuid, z.string().meta({ format: 'uuid' }).optional()),
  metricValue: optionally(MetricValue, z.number().optional()),
  streakLength: optionally(wholeNumber(1, INT32_MAX), z.int32().optional()),
  achievementIds: {
    ...optionally(some(Uuid), z.array(z.string().meta({ format: 'uuid' })).optional()),
    update: optional(z.array(Uuid).max(MOST_PREREQUISITES)),
    stored: orNone,
  },
  anniversaryYears: optionally(wholeNumber(1, MOST_ANNIVERSARY_YEARS), z.int32().optional()),
} satisfies Record<AchievementField, object>

/** Achievements (G7). Each one is created inactive, and then moved to the status that it asks for (A1). */
export const achievement = defineResource({
  kind: 'achievement',
  id: 'admin_achievements',
  path: '/achievements',
  one: 'an achievement',
  many: 'achievements',
  component: 'Achievement',
  list: 'achievements',
  table: achievements,
  fields: {
    id: ID,
    name: NAME,
    // It is made from the name if there is none, and the key of an `api` achievement can change (A1).
    key: {
      ...fixed(optional(ConfigKey), z.string()),
      isFixed: (one: object) => fieldOf(one, 'trigger') !== 'api',
    },
    description: {
      ...removable(Description, z.string()),
      stored: (given: string | null | undefined) => given ?? '',
    },
    badge: BADGE,
    status: {
      ...optionally(Status, Status),
      stored: (status: z.output<typeof Status> | undefined) => status ?? 'inactive',
    },
    trigger: required(Trigger, Trigger),
    ...typedFields,
    metricKey: reference(ConfigKey),
    achievementKeys: reference(some(ConfigKey)),
    userAttributes: filters(Filters, FiltersResponse),
    eventAttributes: filters(Filters, FiltersResponse.optional()),
  },
  // A missing one is an issue of its item.
  needs: { by: 'trigger', fields: { ...ACHIEVEMENT_FIELDS, api: ['key'] }, error: null },
  show: ({ trigger, achievementIds, eventAttributes }) => ({
    achievementIds: trigger === 'achievement' ? [...achievementIds] : undefined,
    eventAttributes: trigger === 'metric' ? [...eventAttributes] : undefined,
  }),
  make: (row, { config, draft }, item) => {
    if (row.key === undefined && row.trigger === 'api') return missing('api', 'key')
    const key = row.key ?? freeKey(achievementKey(row), keysIn(draft.list))
    const made =
      foreignField(row, item) ?? achievementFrom({ ...row, key, counterId: row.id, counted: false })
    return typeof made === 'string' ? made : (achievementProblem(config, made) ?? made)
  },
  patch: (named, before, { scope, config }, item) => {
    const after = foreignField(named, item) ?? achievementPatched(before, named, newId(scope.now))
    return typeof after === 'string' ? after : (achievementProblem(config, after) ?? after)
  },
  kept: (id, { config }) => removalProblem(config, id),
  /**
   * The triggers of a renamed achievement show its new name from then on (P10). If an achievement starts
   * over, users who already qualify get it. That begins as soon as the change is stored (A4).
   */
  effects: ({ scope, config, draft }) => {
    const changes = draft.changes.flatMap(({ before, after }) => (after === null ? [] : [{ before, after }]))
    const renamed = changes.flatMap(({ before, after }) =>
      before === null || before.name === after.name ? [] : [after],
    )
    // Only the customer's product completes an `api` achievement, so no user can have earned it before.
    const begun = changes.flatMap(({ before, after }) =>
      after.trigger !== 'api' && startsOver(before, after) ? [after] : [],
    )
    const isOfDates = begun.some(({ trigger }) => trigger === 'anniversary')
    return {
      statements: [
        ...renamed.flatMap((one) => retitledTriggers(scope, config, 'achievementId', one)),
        ...beginBackdating(scope, begun),
        ...(isOfDates ? [beginAnniversaries(scope)] : []),
      ],
      after: begun.length === 0 ? undefined : () => wakeTimekeeper(scope),
    }
  },
})

/** Returns the reason as a text if the move from inactive to its status is illegal (A1). */
function achievementFrom(asked: Achievement): Achievement | string {
  const achievement = ofItsTrigger(asked)
  const counted = !countsItself(achievement)
  return moveProblem('inactive', achievement.status) ?? { ...achievement, counted }
}

/**
 * Returns the reason as a text if the change or the move is illegal (A1). If the achievement counts other
 * events from now on, it counts under the new id (A2).
 */
function achievementPatched(
  before: Achievement,
  named: Achievement,
  newCounterId: string,
): Achievement | string {
  const { status, trigger } = before
  const next = ofItsTrigger(named)
  if (next.trigger !== trigger && status !== 'inactive') {
    return `The achievement is ${status}, so its trigger, "${trigger}", can't change. Create another achievement instead.`
  }
  const counterId = countsTheSame(before, next) ? before.counterId : newCounterId
  const isRecounted = startsOver(before, next) || counterId !== before.counterId
  const counted = isRecounted ? !countsItself(next) : before.counted
  return moveProblem(status, next.status) ?? { ...next, counterId, counted }
}

/** The fields that an achievement has because of its trigger. */
const fieldsOf = ({ trigger }: Pick<Achievement, 'trigger'>): readonly AchievementField[] =>
  ACHIEVEMENT_FIELDS[trigger]

/** Why an item can't have one of its fields: only achievements with another trigger have it. Null if it can. */
function foreignField({ trigger }: Pick<Achievement, 'trigger'>, item: Item): string | null {
  const own = fieldsOf({ trigger })
  const others = ALL_ACHIEVEMENT_FIELDS.filter((name) => !own.includes(name))
  // By the name that the item itself has: a key has become an id by now.
  const never = [...others.map(keyField), ...others, ...(trigger === 'metric' ? [] : ['eventAttributes'])]
  const given = never.find((name) => item[name] !== undefined && item[name] !== null)
  if (given === undefined) return null
  return `An achievement with the trigger ${trigger} has no ${given}. Leave it out, or choose another trigger.`
}

/** The fields of only some triggers, with their values in an achievement with another trigger. */
const NONE: Pick<Achievement, AchievementField> = {
  metricId: null,
  metricValue: null,
  streakLength: null,
  achievementIds: [],
  anniversaryYears: null,
}

function ofItsTrigger(achievement: Achievement): Achievement {
  const fields = { ...NONE }
  const set = <F extends AchievementField>(field: F) => {
    fields[field] = achievement[field]
  }
  for (const field of fieldsOf(achievement)) set(field)
  const { trigger, eventAttributes } = achievement
  return { ...achievement, ...fields, eventAttributes: trigger === 'metric' ? eventAttributes : [] }
}

function asksTheSame(before: Achievement, after: Achievement): boolean {
  const condition = ({ trigger, userAttributes, eventAttributes, ...one }: Achievement) =>
    JSON.stringify([
      trigger,
      userAttributes,
      eventAttributes,
      ...ALL_ACHIEVEMENT_FIELDS.map((name) => one[name]),
    ])
  return condition(before) === condition(after)
}

/**
 * Whether users may qualify for an achievement through earlier activity: it becomes active, or it asks for
 * something else (A4). Its counters may also start over because changes of one request took each other back.
 */
function startsOver(before: Achievement | null, after: Achievement): boolean {
  if (after.status !== 'active') return false
  if (before?.status !== 'active' || !asksTheSame(before, after)) return true
  return before.counterId !== after.counterId || (before.counted && !after.counted)
}

function moveProblem(from: Achievement['status'], to: Achievement['status']): string | null {
  if (from === to) return null
  if (to === 'inactive') {
    return `The achievement is ${from} and can't become inactive again. Lock it, so that no more users get it, or delete it.`
  }
  if (from === 'inactive' && to === 'locked') {
    return "An inactive achievement can't be locked, because no user can have it. Make it active first."
  }
  return null
}

/** Why an achievement can't be in the configuration, or null (G5, A1, A2). It may be there already. */
function achievementProblem(config: Configuration, achievement: Achievement): string | null {
  const { id, key, userAttributes, eventAttributes } = achievement
  const before = config.achievements.find((one) => one.id === id) ?? null
  const others = config.achievements.filter((one) => one !== before)
  if (others.some((other) => other.key === key)) return keyTaken(key, 'achievement')
  if (others.length >= MOST_RESOURCES) {
    return `Limit of ${MOST_RESOURCES} achievements reached. Delete one first.`
  }
  // If a change asks for nothing new, the achievement may refer to deleted things (G9), unless it becomes
  // active.
  if (before !== null && asksTheSame(before, achievement) && !startsOver(before, achievement)) return null
  return (
    conditionProblem(config, achievement) ??
    filterProblem(config, 'user', userAttributes) ??
    filterProblem(config, 'event', eventAttributes)
  )
}

const missing = (trigger: Achievement['trigger'], field: string) =>
  `An achievement with the trigger ${trigger} needs ${field}. Pass it too.`

function conditionProblem(config: Configuration, achievement: Achievement): string | null {
  const { trigger, metricId } = achievement
  const absent = fieldsOf(achievement).find(
    (name) => JSON.stringify(achievement[name]) === JSON.stringify(NONE[name]),
  )
  if (absent !== undefined) return missing(trigger, absent)
  if (metricId !== null && !config.metrics.some(({ id }) => id === metricId))
    return 'No metric has this metricId. Take one from GET /metrics.'
  return compositeProblem(config, achievement)
}

function compositeProblem(
  { achievements }: Configuration,
  { id: self, achievementIds }: Achievement,
): string | null {
  const present = new Map(achievements.map((one) => [one.id, one]))
  const unknown = achievementIds.find((id) => id !== self && !present.has(id))
  if (unknown !== undefined) {
    return `achievementIds: no achievement has the id ${unknown}. Take the ids from GET /achievements.`
  }
  const again = achievementIds.find((id, index) => achievementIds.indexOf(id) !== index)
  if (again !== undefined) return `achievementIds names ${again} more than once. Name each achievement once.`
  const circular = achievementIds.find((id) => needs(present, id, self))
  if (circular === undefined) return null
  return `achievementIds: ${circular} itself needs this achievement, so no user could ever get either. Leave it out.`
}

/** Whether an achievement is the wanted one, or needs it directly or through others. */
function needs(achievements: ReadonlyMap<string, Achievement>, from: string, wanted: string): boolean {
  const seen = new Set<string>()
  const ahead = [from]
  for (let id = ahead.pop(); id !== undefined; id = ahead.pop()) {
    if (id === wanted) return true
    if (seen.has(id)) continue
    seen.add(id)
    ahead.push(...(achievements.get(id)?.achievementIds ?? []))
  }
  return false
}

/** Why an achievement can't be deleted, or null (G9). */
function removalProblem(
  { achievements, systems }: Pick<Configuration, 'achievements' | 'systems'>,
  id: string,
): string | null {
  const used = (by: string) => `The achievement is used by ${by}. Change or delete that first.`
  const composite = achievements.find(
    ({ status, achievementIds }) => status !== 'inactive' && achievementIds.includes(id),
  )
  if (composite) return used(`the achievement ${composite.key}, which is ${composite.status}`)
  for (const { key, triggers } of systems) {
    const trigger = triggers.find(({ status, achievementId }) => status === 'active' && achievementId === id)
    if (trigger) return used(`the active trigger ${trigger.id} of the points system ${key}`)
  }
  return null
}
