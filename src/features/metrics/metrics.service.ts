import type * as z from 'zod'
import type {
  CreatedMetric,
  CreateMetricRequestItem,
  UpdateMetricRequestItem,
} from '../../api/shapes/metric.schemas'
import { entriesOf, removals } from '../../configuration/audit.rules'
import { configurationOf, configure } from '../../configuration/configuration'
import type { Metric } from '../../configuration/configuration.types'
import {
  byIdOrKey,
  createEach,
  Draft,
  deleteEach,
  type ListedPage,
  type Names,
  page,
  revised,
  updateEach,
} from '../../configuration/drafts.rules'
import { boardEntries } from '../../leaderboards/leaderboards.admin.service'
import { configureWithUpkeep } from '../../leaderboards/updates'
import { MOST_RESOURCES } from '../../lib/limits'
import { newId } from '../../lib/new-id'
import type { Scope } from '../../platform/context'
import { triggerEntries } from '../points/points.audit.presenter'
import { retitledTriggers } from '../points/triggers.service'
import { storeSettings } from '../streaks/settings'
import { storeMetrics } from './metrics.repository'

const WHAT = 'a metric'

function metricResponse({ id, name, key, unitType, units }: Metric): z.infer<typeof CreatedMetric> {
  return { id, name, key, unitType, units }
}

/** The entries of the audit log about the changes of a draft (Z1). */
const audited = ({ changes }: Draft<Metric>) => entriesOf('metric', changes, metricResponse)

/** A page of the tenant's metrics, oldest first (G7). */
export async function listMetrics(scope: Scope, query: ListedPage) {
  const { metrics } = await configurationOf(scope)
  return page(metrics, query).map(metricResponse)
}

/** A metric, by its id or key (O1). Throws 404 if there is none. */
export async function findMetric(scope: Scope, idOrKey: string) {
  const { metrics } = await configurationOf(scope)
  return metricResponse(byIdOrKey(metrics, idOrKey, 'This metric'))
}

/** Creates metrics. The response has an issue if another metric has the key (G5, G7). */
export function createMetrics(scope: Scope, items: readonly z.output<typeof CreateMetricRequestItem>[]) {
  const { now } = scope
  return configure(scope, (config) => {
    const draft = new Draft(config.metrics)
    const { created, issues } = createEach(draft, items, ({ name, key, unitType, units = '' }) => {
      if (draft.list.some((other) => other.key === key)) {
        return `The key "${key}" is taken by another metric. Choose another key.`
      }
      if (draft.list.length >= MOST_RESOURCES) {
        return `Limit of ${MOST_RESOURCES} metrics reached. Delete one first.`
      }
      return { id: newId(now), created: now, updated: now, key, name, unitType, units }
    })
    return {
      statements: storeMetrics(scope, draft),
      audit: audited(draft),
      result: { created: created.map(metricResponse), issues },
    }
  })
}

/** Changes metrics. The triggers of a renamed metric show its new name from then on (P10). */
export function updateMetrics(scope: Scope, items: readonly z.output<typeof UpdateMetricRequestItem>[]) {
  return configure(scope, (config) => {
    const draft = new Draft(config.metrics)
    const { updated, issues } = updateEach(
      draft,
      items,
      WHAT,
      (before, change) => revised(before, changed(before, change), scope.now),
      { fixed: ['key'] },
    )
    const renamed = draft.changed.filter(
      ({ id, name }) => !config.metrics.some((metric) => metric.id === id && metric.name === name),
    )
    const statements = [
      ...storeMetrics(scope, draft),
      ...renamed.flatMap((metric) => retitledTriggers(scope, config, metric)),
    ]
    return { statements, audit: audited(draft), result: { updated: updated.map(metricResponse), issues } }
  })
}

function changed(
  metric: Metric,
  { name, unitType, units }: Omit<z.output<typeof UpdateMetricRequestItem>, 'id' | 'key'>,
): Metric {
  return {
    ...metric,
    name: name ?? metric.name,
    unitType: unitType ?? metric.unitType,
    units: units ?? metric.units,
  }
}

/** Deletes metrics, with their triggers and leaderboards (G9). Streaks may have another goal then (S2). */
export function deleteMetrics(scope: Scope, names: Names) {
  return configureWithUpkeep(scope, (config) => {
    const draft = new Draft(config.metrics)
    const result = deleteEach(draft, names, WHAT)
    const isOfRemoved = ({ metricId }: { metricId: string | null }) =>
      metricId !== null && draft.removed.includes(metricId)
    const boards = config.leaderboards.filter(isOfRemoved)
    const triggers = config.systems.flatMap((system) => system.triggers.filter(isOfRemoved))
    const audit = [
      ...audited(draft),
      ...triggerEntries(removals(triggers)),
      ...boardEntries(removals(boards), scope.now),
    ]
    const streaks = { ...config.streaks, goalSince: scope.now }
    const walks = draft.removed.length === 0 ? [] : storeSettings(scope, streaks)
    const statements = storeMetrics(scope, draft)
    return { statements, boards: boards.map(({ id }) => id), walks, audit, result }
  })
}
