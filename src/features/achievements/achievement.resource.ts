import * as z from 'zod'
import { ConfigKey, Uuid, wholeNumber } from '../../api/fields'
import {
  BADGE,
  DESCRIPTION,
  FIXED_KEY,
  filters,
  ID,
  NAME,
  optionally,
  reference,
  required,
} from '../../api/resources/fields'
import { defineResource } from '../../api/resources/resource'
import { Filters, FiltersResponse } from '../../api/shapes/attributes'
import { ACHIEVEMENT_STATUSES, ACHIEVEMENT_TRIGGERS } from '../../configuration/enumerations'
import { achievements } from '../../configuration/tables.sql.ts'
import { INT32_MAX, MICROS_PER_UNIT } from '../../lib/decimal'
import { MOST_METRIC_TOTAL, MOST_PREREQUISITES } from '../../lib/limits'
import { newId } from '../../lib/new-id'
import { wakeTimekeeper } from '../../time/timekeeper'
import { retitledByAchievement } from '../points/trigger.resource'
import {
  achievementFrom,
  achievementPatched,
  achievementProblem,
  removalProblem,
  startsOver,
} from './achievements.rules'
import { beginBackdating } from './backdate'

/** The smallest amount by which a total changes (E1). */
const LEAST_TOTAL = 1 / MICROS_PER_UNIT

const Status = z.enum(ACHIEVEMENT_STATUSES)
const Trigger = z.enum(ACHIEVEMENT_TRIGGERS)
const MetricValue = z.number().min(LEAST_TOTAL).max(MOST_METRIC_TOTAL)
const some = <S extends z.ZodType>(schema: S) => z.array(schema).min(1).max(MOST_PREREQUISITES)
const orNone = (given: readonly string[] | undefined): readonly string[] => given ?? []

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
    key: FIXED_KEY,
    description: DESCRIPTION,
    badge: BADGE,
    status: {
      ...optionally(Status, Status),
      stored: (status: z.output<typeof Status> | undefined) => status ?? 'inactive',
    },
    trigger: required(Trigger, Trigger),
    // Only some triggers have the fields from here, except the filters on user attributes (A2).
    metricId: optionally(Uuid, z.string().meta({ format: 'uuid' }).optional()),
    metricKey: reference(ConfigKey),
    metricValue: optionally(MetricValue, z.number().optional()),
    streakLength: optionally(wholeNumber(1, INT32_MAX), z.int32().optional()),
    achievementIds: {
      ...optionally(some(Uuid), z.array(z.string().meta({ format: 'uuid' })).optional()),
      stored: orNone,
    },
    achievementKeys: reference(some(ConfigKey)),
    userAttributes: filters(Filters, FiltersResponse),
    eventAttributes: filters(Filters, FiltersResponse.optional()),
  },
  show: ({ trigger, achievementIds, eventAttributes }) => ({
    achievementIds: trigger === 'achievement' ? [...achievementIds] : undefined,
    eventAttributes: trigger === 'metric' ? [...eventAttributes] : undefined,
  }),
  make: (row, { config }) => {
    const made = achievementFrom({ ...row, counterId: row.id, counted: false })
    return typeof made === 'string' ? made : (achievementProblem(config, made) ?? made)
  },
  patch: (named, before, { scope, config }) => {
    const after = achievementPatched(before, named, newId(scope.now))
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
      after.trigger !== 'api' && startsOver(before, after) ? [after.id] : [],
    )
    return {
      statements: [
        ...renamed.flatMap((one) => retitledByAchievement(scope, config, one)),
        ...(begun.length === 0 ? [] : beginBackdating(scope, begun)),
      ],
      after: begun.length === 0 ? undefined : () => wakeTimekeeper(scope),
    }
  },
})
