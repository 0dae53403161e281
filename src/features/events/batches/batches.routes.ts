import * as z from 'zod'
import { endpointsOf } from '../../../api/endpoint'
import { Uuid } from '../../../api/fields'
import type { RawRequest } from '../../../api/mount'
import { accepted, ok } from '../../../api/operation'
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

const endpoint = endpointsOf('admin')

const find = (scope: Scope, _param: unknown, json: unknown) => requireMetrics(scope, json)
const check = (scope: Scope, { json }: RawRequest) => furtherBatchErrors(scope, json)

/** The endpoints of batches of events (E9). */
export const inboxEndpoints = [
  endpoint(
    'POST /metrics/events',
    {
      id: 'admin_metrics_batch_events',
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
    },
    { find, check },
    async (scope, { body }) => {
      const { id, accepted: count } = await acceptBatch(scope, body)
      return accepted({ accepted: count }, { 'X-Batch-Id': id })
    },
  ),
  endpoint(
    'GET /metrics/events/batches/{id}',
    {
      id: 'admin_metrics_batch_get',
      summary: 'Get the progress of a batch of events',
      params: z.object({ id: Uuid }),
      responses: { 200: { description: 'The batch.', body: EventBatch } },
    },
    { find: (scope, param) => readBatch(scope, param('id')) },
    async (_scope, _input, found) => ok(found),
  ),
]
