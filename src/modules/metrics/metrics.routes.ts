import { z } from 'zod'
import type { App } from '../../http/app'
import { IdsQuery, ListQuery, Uuid } from '../../http/fields'
import { mount } from '../../http/mount'
import { createdSome, ok, operation } from '../../http/operation'
import {
  CreatedMetric,
  CreateMetricsRequest,
  CreateMetricsResponse,
  DeleteMetricsResponse,
  ListMetricsResponse,
  UpdateMetricsRequest,
  UpdateMetricsResponse,
} from './metrics.schemas'
import { createMetrics, deleteMetrics, findMetric, listMetrics, updateMetrics } from './metrics.service'

export const adminMetricsList = operation({
  id: 'admin_metrics_list',
  surface: 'admin',
  method: 'get',
  path: '/metrics',
  summary: 'List the metrics, oldest first',
  query: ListQuery,
  answers: { 200: { description: 'The page of metrics.', body: ListMetricsResponse } },
  refuses: [403, 422],
})

export const adminMetricsCreate = operation({
  id: 'admin_metrics_create',
  surface: 'admin',
  method: 'post',
  path: '/metrics',
  summary: 'Create metrics',
  body: CreateMetricsRequest,
  answers: {
    200: { description: 'None was created; the issues say why.', body: CreateMetricsResponse },
    201: { description: 'At least one was created.', body: CreateMetricsResponse },
  },
  refuses: [400, 403, 413, 422],
})

export const adminMetricsUpdate = operation({
  id: 'admin_metrics_update',
  surface: 'admin',
  method: 'patch',
  path: '/metrics',
  summary: 'Update metrics',
  body: UpdateMetricsRequest,
  answers: { 200: { description: 'What came of each.', body: UpdateMetricsResponse } },
  refuses: [400, 403, 413, 422],
})

export const adminMetricsDelete = operation({
  id: 'admin_metrics_delete',
  surface: 'admin',
  method: 'delete',
  path: '/metrics',
  summary: 'Delete metrics, with their triggers',
  query: z.object({ ids: IdsQuery }),
  answers: { 200: { description: 'What came of each.', body: DeleteMetricsResponse } },
  refuses: [403, 422],
})

export const adminMetricsGet = operation({
  id: 'admin_metrics_get',
  surface: 'admin',
  method: 'get',
  path: '/metrics/{id}',
  summary: 'Get a metric',
  params: z.object({ id: Uuid }),
  answers: { 200: { description: 'The metric.', body: CreatedMetric } },
  refuses: [403, 404, 422],
})

/** Serves the management of metrics. */
export function metricRoutes(app: App): void {
  mount(app, adminMetricsList, {}, async (scope, { query }) => ok(await listMetrics(scope, query)))
  mount(app, adminMetricsCreate, {}, async (scope, { body }) => createdSome(await createMetrics(scope, body)))
  mount(app, adminMetricsUpdate, {}, async (scope, { body }) => ok(await updateMetrics(scope, body)))
  mount(app, adminMetricsDelete, {}, async (scope, { query }) => ok(await deleteMetrics(scope, query.ids)))
  mount(
    app,
    adminMetricsGet,
    { find: (scope, param) => findMetric(scope, param('id')) },
    async (_scope, _input, metric) => ok(metric),
  )
}
