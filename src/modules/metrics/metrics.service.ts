import type { z } from 'zod'
import type { Scope } from '../../context'
import { newId } from '../../shared/ids'
import { type Metric, MOST_RESOURCES } from '../configuration/configuration'
import { configurationOf, configure } from '../configuration/configuration.service'
import { byId, Draft, Issues, page, revised } from '../configuration/items'
import { retitledTriggers } from '../points/triggers.service'
import { storeMetrics } from './metrics.repository'
import type { CreatedMetric, CreateMetricRequestItem, UpdateMetricRequestItem } from './metrics.schemas'

/** A metric as the admin interface serves it. */
function metricAnswer({ id, name, key, unitType, units }: Metric): z.infer<typeof CreatedMetric> {
  return { id, name, key, unitType, units }
}

/** A page of the tenant's metrics, oldest first (G7). */
export async function listMetrics(scope: Scope, query: { limit: number; skip: number }) {
  const { metrics } = await configurationOf(scope)
  return page(metrics, query).map(metricAnswer)
}

/** A metric. Throws 404 where there is none of this id. */
export async function findMetric(scope: Scope, id: string) {
  const { metrics } = await configurationOf(scope)
  return metricAnswer(byId(metrics, id, 'This metric'))
}

/** Creates metrics; a key that another has already is an issue (G5, G7). Without units, they are empty (G10). */
export function createMetrics(scope: Scope, items: readonly z.output<typeof CreateMetricRequestItem>[]) {
  const { now } = scope
  return configure(scope, (config) => {
    const draft = new Draft(config.metrics)
    const issues = new Issues()
    for (const [index, { name, key, unitType, units = '' }] of items.entries()) {
      const { list } = draft
      if (list.some((other) => other.key === key)) {
        issues.error({ index }, `The key "${key}" is taken by another metric. Choose another key.`)
      } else if (list.length >= MOST_RESOURCES) {
        issues.error({ index }, `There are ${MOST_RESOURCES} metrics, which is the most. Delete one first.`)
      } else draft.put({ id: newId(now), created: now, updated: now, key, name, unitType, units })
    }
    const result = { created: draft.added.map(metricAnswer), issues: issues.list }
    return { statements: storeMetrics(scope, draft), result }
  })
}

/** Changes metrics. The triggers of a renamed one are shown by its new name from then on (P10). */
export function updateMetrics(scope: Scope, items: readonly z.output<typeof UpdateMetricRequestItem>[]) {
  return configure(scope, (config) => {
    const draft = new Draft(config.metrics)
    const issues = new Issues()
    const updated: z.infer<typeof CreatedMetric>[] = []
    for (const { id, ...change } of items) {
      const before = draft.find(id)
      if (before === undefined) issues.unknown(id, 'a metric')
      else {
        const after = revised(before, changed(before, change), scope.now)
        draft.put(after)
        updated.push(metricAnswer(after))
      }
    }
    const renamed = draft.changed.filter(
      ({ id, name }) => !config.metrics.some((metric) => metric.id === id && metric.name === name),
    )
    const statements = [
      ...storeMetrics(scope, draft),
      ...renamed.flatMap((metric) => retitledTriggers(scope, config, metric)),
    ]
    return { statements, result: { updated, issues: issues.list } }
  })
}

function changed(
  metric: Metric,
  { name, unitType, units }: Omit<z.output<typeof UpdateMetricRequestItem>, 'id'>,
): Metric {
  return {
    ...metric,
    name: name ?? metric.name,
    unitType: unitType ?? metric.unitType,
    units: units ?? metric.units,
  }
}

/** Deletes metrics, with their triggers (G9). */
export function deleteMetrics(scope: Scope, ids: readonly string[]) {
  return configure(scope, (config) => {
    const draft = new Draft(config.metrics)
    const issues = new Issues()
    const deleted: { id: string }[] = []
    for (const id of ids) {
      if (draft.find(id) === undefined) issues.unknown(id, 'a metric')
      else {
        draft.remove(id)
        deleted.push({ id })
      }
    }
    return { statements: storeMetrics(scope, draft), result: { deleted, issues: issues.list } }
  })
}
