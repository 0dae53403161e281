import * as z from 'zod'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { createdSome, ok } from '../../api/operation'
import { BY_KEY, operationsOf, resourceOperations } from '../../api/resource'
import * as schemas from '../../api/shapes/metric.schemas'
import { createMetrics, deleteMetrics, findMetric, listMetrics, updateMetrics } from './metrics.service'

const operations = resourceOperations({
  id: 'admin_metrics',
  path: '/metrics',
  one: 'a metric',
  many: 'metrics',
  names: BY_KEY,
  parents: z.object({}),
  item: schemas.CreatedMetric,
  list: schemas.ListMetricsResponse,
  create: schemas.CreateMetricsRequest,
  created: schemas.CreateMetricsResponse,
  update: schemas.UpdateMetricsRequest,
  updated: schemas.UpdateMetricsResponse,
  deleted: schemas.DeleteMetricsResponse,
})

/** The operations that manage metrics, in the order of the OpenAPI document. */
export const metricOperations = operationsOf(operations)

/** Serves the operations that manage metrics. */
export function metricRoutes(app: App): void {
  mount(app, operations.list, {}, async (scope, { query }) => ok(await listMetrics(scope, query)))
  mount(app, operations.create, {}, async (scope, { body }) => createdSome(await createMetrics(scope, body)))
  mount(app, operations.update, {}, async (scope, { body }) => ok(await updateMetrics(scope, body)))
  mount(app, operations.delete, {}, async (scope, { query }) => ok(await deleteMetrics(scope, query)))
  mount(
    app,
    operations.get,
    { find: (scope, param) => findMetric(scope, param('id')) },
    async (_scope, _input, found) => ok(found),
  )
}
