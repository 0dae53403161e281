import * as z from 'zod'
import { type Endpoint, endpointsOf } from '../api/endpoint'
import { IdOrKey, Uuid } from '../api/fields'
import { accepted, ok } from '../api/operation'
import { booleanQuery, longPage, NEXT_LINK } from '../api/queries'
import type { Scope } from '../platform/context'
import {
  DeliveryListQuery,
  findDelivery,
  ListWebhookDeliveriesResponse,
  listDeliveries,
  redeliver,
  sampleErrors,
  sendSample,
  TestDelivery,
  TestWebhookRequest,
  WebhookDelivery,
  WholeWebhookDelivery,
  wholeDelivery,
} from './deliveries'
import { rotateSecret, type WebhookResource } from './webhook.resource'

const endpoint = endpointsOf('admin')

/** The endpoints that manage webhooks, in the order of the OpenAPI document (W1). */
export function webhookEndpoints(webhook: WebhookResource): Endpoint[] {
  const find = (scope: Scope, param: (name: string) => string) => webhook.find(scope, param('id'))
  return [
    ...webhook.endpoints,
    endpoint(
      'POST /webhooks/{id}/rotate-secret',
      {
        id: 'admin_webhooks_rotate_secret',
        summary: 'Replace the secret of a webhook. Only this response shows the new one',
        params: z.object({ id: IdOrKey }),
        query: z.object({ endPrevious: booleanQuery(false) }),
        secret: true,
        responses: { 200: { description: 'The webhook after the change.', body: webhook.Created } },
      },
      { find },
      async (scope, { query }, { id }) => ok(await rotateSecret(webhook, scope, id, query.endPrevious)),
    ),
    endpoint(
      'GET /webhooks/{id}/deliveries',
      {
        id: 'admin_webhooks_deliveries_list',
        summary: 'List the deliveries of a webhook, newest first. Finished ones are stored for 30 days',
        params: z.object({ id: IdOrKey }),
        query: DeliveryListQuery,
        responses: {
          200: {
            description: 'The page, newest first.',
            body: ListWebhookDeliveriesResponse,
            optionalHeaders: { Link: NEXT_LINK },
          },
        },
      },
      { find },
      async (scope, { query }, { id }) => longPage(scope, query, await listDeliveries(scope, id, query)),
    ),
    endpoint(
      'GET /webhooks/{id}/deliveries/{deliveryId}',
      {
        id: 'admin_webhooks_deliveries_get',
        summary: 'Get a delivery of a webhook, with the body that it sends',
        params: z.object({ id: IdOrKey, deliveryId: Uuid }),
        responses: { 200: { description: 'The delivery.', body: WholeWebhookDelivery } },
      },
      { find: (scope, param) => wholeDelivery(scope, param('id'), param('deliveryId')) },
      async (_scope, _input, found) => ok(found),
    ),
    endpoint(
      'POST /webhooks/{id}/deliveries/{deliveryId}/redeliver',
      {
        id: 'admin_webhooks_deliveries_redeliver',
        summary: 'Make a delivery pending again, under the same id and with all its retries',
        params: z.object({ id: IdOrKey, deliveryId: Uuid }),
        responses: { 200: { description: 'The delivery after the change.', body: WebhookDelivery } },
      },
      { find: (scope, param) => findDelivery(scope, param('id'), param('deliveryId')) },
      async (scope, _input, found) => ok(await redeliver(scope, found)),
    ),
    endpoint(
      'POST /webhooks/{id}/test',
      {
        id: 'admin_webhooks_test',
        summary: 'Send a webhook a sample event of any type, even of a type that it does not listen to',
        params: z.object({ id: IdOrKey }),
        body: TestWebhookRequest,
        responses: { 202: { description: 'The delivery of the sample.', body: TestDelivery } },
      },
      { find, check: (_scope, _given, found) => sampleErrors(found) },
      async (scope, { body }, { id }) => accepted(await sendSample(scope, id, body.type), {}),
    ),
  ]
}
