import * as z from 'zod'
import { Uuid } from '../../../api/fields'
import type { App } from '../../../api/hono'
import { mount, type RawRequest } from '../../../api/mount'
import { accepted, ok, operation } from '../../../api/operation'
import { MOST_BATCH_BYTES } from '../../../lib/limits'
import type { Scope } from '../../../platform/context'
import {
  acceptBatch,
  BatchEventsRequest,
  BatchEventsResponse,
  EventBatch,
  furtherBatchErrors,
  readBatch,
  requireMetrics,
} from './batches'

export const adminMetricsBatchEvents = operation({
  id: 'admin_metrics_batch_events',
  surface: 'admin',
  method: 'post',
  path: '/metrics/events',
  summary: 'Record up to 1,000 events in the background, each exactly once and in order',
  body: BatchEventsRequest,
  bodyLimit: MOST_BATCH_BYTES,
  responses: {
    202: {
      description: 'All events were accepted.',
      body: BatchEventsResponse,
      headers: { 'X-Batch-Id': 'The id of the batch. Read its progress with it.' },
    },
  },
})

export const adminMetricsBatchGet = operation({
  id: 'admin_metrics_batch_get',
  surface: 'admin',
  method: 'get',
  path: '/metrics/events/batches/{id}',
  summary: 'Get the progress of a batch of events',
  params: z.object({ id: Uuid }),
  responses: { 200: { description: 'The batch.', body: EventBatch } },
})

/** Serves batches of events (E9). */
export function inboxRoutes(app: App): void {
  const find = (scope: Scope, _param: unknown, json: unknown) => requireMetrics(scope, json)
  const check = (scope: Scope, { json }: RawRequest) => furtherBatchErrors(scope, json)
  mount(app, adminMetricsBatchEvents, { find, check }, async (scope, { body }) => {
    const { id, accepted: count } = await acceptBatch(scope, body)
    return accepted({ accepted: count }, { 'X-Batch-Id': id })
  })
  mount(
    app,
    adminMetricsBatchGet,
    { find: (scope, param) => readBatch(scope, param('id')) },
    async (_scope, _input, found) => ok(found),
  )
}
