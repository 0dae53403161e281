import * as z from 'zod'
import { defaulted, text } from '../../api/fields'
import { FIXED_KEY, field, ID, NAME, optionally } from '../../api/resources/fields'
import { defineResource } from '../../api/resources/resource'
import { deleteWith } from '../../api/resources/store.sql.ts'
import { removals } from '../../configuration/audit.rules'
import { METRIC_UNIT_TYPES } from '../../configuration/enumerations'
import { keyTaken } from '../../configuration/keys.rules'
import { leaderboards, metrics, pointsTriggers } from '../../configuration/tables.sql.ts'
import { leaderboard } from '../../leaderboards/leaderboard.resource'
import { MOST_NAME_CHARACTERS, MOST_RESOURCES } from '../../lib/limits'
import { schedule } from '../../time/due-work.sql.ts'
import { wakeTimekeeper } from '../../time/timekeeper'
import { retitledTriggers, trigger } from '../points/trigger.resource'
import { storeSettings } from '../streaks/admin.routes'

const UnitType = z.enum(METRIC_UNIT_TYPES)

/** Metrics (G5, G7). Without units, `units` is empty (G10). */
export const metric = defineResource({
  kind: 'metric',
  id: 'admin_metrics',
  path: '/metrics',
  one: 'a metric',
  many: 'metrics',
  component: 'Metric',
  item: 'CreatedMetric',
  list: 'metrics',
  table: metrics,
  fields: {
    id: ID,
    name: NAME,
    key: FIXED_KEY,
    unitType: field(defaulted(UnitType, 'number'), UnitType, UnitType),
    units: {
      ...optionally(text(MOST_NAME_CHARACTERS), z.string()),
      stored: (units: string | undefined) => units ?? '',
    },
  },
  demo: [
    { key: 'demo-lessons', name: 'Lessons completed', units: 'lessons' },
    { key: 'demo-minutes', name: 'Minutes learned', units: 'minutes' },
    { key: 'demo-quizzes', name: 'Quizzes passed (unused)', units: 'quizzes' },
  ],
  make: (row, { draft: { list } }) => {
    if (list.some(({ key }) => key === row.key)) return keyTaken(row.key, 'metric')
    return list.length < MOST_RESOURCES
      ? row
      : `Limit of ${MOST_RESOURCES} metrics reached. Delete one first.`
  },
  /**
   * The triggers of a renamed metric show its new name from then on (P10). Those of a deleted metric go with
   * it, as its leaderboards do (G9). Streaks may have another goal then (S2).
   */
  effects: ({ scope, config, draft: { changed, removed } }) => {
    const renamed = changed.filter(
      ({ id, name }) => !config.metrics.some((one) => one.id === id && one.name === name),
    )
    const retitled = renamed.flatMap((one) => retitledTriggers(scope, config, 'metricId', one))
    if (removed.length === 0) return { statements: retitled }
    const isOfRemoved = ({ metricId }: { metricId: string | null }) =>
      metricId !== null && removed.includes(metricId)
    const boards = config.leaderboards.filter(isOfRemoved)
    const triggers = config.systems.flatMap((system) => system.triggers.filter(isOfRemoved))
    return {
      statements: [
        ...retitled,
        // No user needs a write, since `termsOf` skips deleted metrics. The settings note that the goal changed.
        ...deleteWith(scope, pointsTriggers, pointsTriggers.metricId, removed),
        ...deleteWith(scope, leaderboards, leaderboards.metricId, removed),
        ...boards.map(({ id }) => schedule(scope.db, 'leaderboard', { at: scope.now, subject: id })),
        ...storeSettings(scope, { ...config.streaks, goalSince: scope.now }),
      ],
      audit: [
        ...trigger.entries(removals(triggers), { now: scope.now, facts: undefined }),
        ...leaderboard.entries(removals(boards), { now: scope.now, facts: undefined }),
      ],
      after: () => wakeTimekeeper(scope),
    }
  },
})
