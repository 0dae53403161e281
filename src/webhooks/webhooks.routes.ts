import * as z from 'zod'
import { IdOrKey, Uuid } from '../api/fields'
import type { App } from '../api/hono'
import { mount, type RawRequest } from '../api/mount'
import { accepted, createdSome, ok, operation } from '../api/operation'
import { booleanQuery, longPage, NEXT_LINK } from '../api/queries'
import { BY_KEY, operationsOf, resourceOperations } from '../api/resource'
import type { Scope } from '../platform/context'
import * as deliveries from './deliveries'
import {
  findDelivery,
  listDeliveries,
  redeliver,
  sampleErrors,
  sendSample,
  wholeDelivery,
} from './deliveries'
import * as schemas from './webhooks.schemas'
import {
  createWebhooks,
  deleteWebhooks,
  findWebhook,
  type ListenerStatements,
  listWebhooks,
  rotateSecret,
  targetErrors,
  updateWebhooks,
} from './webhooks.service'

const operations = resourceOperations({
  id: 'admin_webhooks',
  path: '/webhooks',
  one: 'a webhook',
  many: 'webhooks',
  names: BY_KEY,
  parents: z.object({}),
  item: schemas.AdminWebhook,
  list: schemas.ListWebhooksResponse,
  create: schemas.CreateWebhooksRequest,
  created: schemas.CreateWebhooksResponse,
  update: schemas.UpdateWebhooksRequest,
  updated: schemas.UpdateWebhooksResponse,
  deleted: schemas.DeleteWebhooksResponse,
  secret: true,
})

const rotate = operation({
  id: 'admin_webhooks_rotate_secret',
  surface: 'admin',
  method: 'post',
  path: '/webhooks/{id}/rotate-secret',
  summary: 'Replace the secret of a webhook. Only this response shows the new one',
  params: z.object({ id: IdOrKey }),
  query: z.object({ endPrevious: booleanQuery(false) }),
  secret: true,
  responses: { 200: { description: 'The webhook after the change.', body: schemas.CreatedWebhook } },
})

const deliveriesList = operation({
  id: 'admin_webhooks_deliveries_list',
  surface: 'admin',
  method: 'get',
  path: '/webhooks/{id}/deliveries',
  summary: 'List the deliveries of a webhook, newest first. Finished ones are stored for 30 days',
  params: z.object({ id: IdOrKey }),
  query: deliveries.DeliveryListQuery,
  responses: {
    200: {
      description: 'The page, newest first.',
      body: deliveries.ListWebhookDeliveriesResponse,
      optionalHeaders: { Link: NEXT_LINK },
    },
  },
})

const deliveriesGet = operation({
  id: 'admin_webhooks_deliveries_get',
  surface: 'admin',
  method: 'get',
  path: '/webhooks/{id}/deliveries/{deliveryId}',
  summary: 'Get a delivery of a webhook, with the body that it sends',
  params: z.object({ id: IdOrKey, deliveryId: Uuid }),
  responses: { 200: { description: 'The delivery.', body: deliveries.WholeWebhookDelivery } },
})

const deliveriesRedeliver = operation({
  id: 'admin_webhooks_deliveries_redeliver',
  surface: 'admin',
  method: 'post',
  path: '/webhooks/{id}/deliveries/{deliveryId}/redeliver',
  summary: 'Make a delivery pending again, under the same id and with all its retries',
  params: z.object({ id: IdOrKey, deliveryId: Uuid }),
  responses: { 200: { description: 'The delivery after the change.', body: deliveries.WebhookDelivery } },
})

const test = operation({
  id: 'admin_webhooks_test',
  surface: 'admin',
  method: 'post',
  path: '/webhooks/{id}/test',
  summary: 'Send a webhook a sample event of any type, even of a type that it does not listen to',
  params: z.object({ id: IdOrKey }),
  body: deliveries.TestWebhookRequest,
  responses: {
    202: { description: 'The delivery of the sample.', body: deliveries.TestDelivery },
  },
})

/** The operations of this module, in the order of the OpenAPI document. */
export const webhookOperations = [
  ...operationsOf(operations),
  rotate,
  deliveriesList,
  deliveriesGet,
  deliveriesRedeliver,
  test,
]

/** Serves the management of webhooks (W1). */
export const webhookRoutes =
  (listeners: ListenerStatements) =>
  (app: App): void => {
    mount(app, operations.list, {}, async (scope, { query }) => ok(await listWebhooks(scope, query)))
    const check = (scope: Scope, { json }: RawRequest) => targetErrors(scope, json)
    mount(app, operations.create, { check }, async (scope, { body }) =>
      createdSome(await createWebhooks(scope, listeners, body)),
    )
    mount(app, operations.update, { check }, async (scope, { body }) =>
      ok(await updateWebhooks(scope, listeners, body)),
    )
    mount(app, operations.delete, {}, async (scope, { query }) => ok(await deleteWebhooks(scope, query)))
    mount(
      app,
      operations.get,
      { find: (scope, param) => findWebhook(scope, param('id')) },
      async (_scope, _input, found) => ok(found),
    )
    mount(
      app,
      rotate,
      { find: (scope, param) => findWebhook(scope, param('id')) },
      async (scope, { query }, { id }) => ok(await rotateSecret(scope, id, query.endPrevious)),
    )
    mount(
      app,
      deliveriesList,
      { find: (scope, param) => findWebhook(scope, param('id')) },
      async (scope, { query }, { id }) => longPage(scope, query, await listDeliveries(scope, id, query)),
    )
    mount(
      app,
      deliveriesGet,
      { find: (scope, param) => wholeDelivery(scope, param('id'), param('deliveryId')) },
      async (_scope, _input, found) => ok(found),
    )
    mount(
      app,
      deliveriesRedeliver,
      { find: (scope, param) => findDelivery(scope, param('id'), param('deliveryId')) },
      async (scope, _input, found) => ok(await redeliver(scope, found)),
    )
    mount(
      app,
      test,
      {
        find: (scope, param) => findWebhook(scope, param('id')),
        check: (_scope, _given, webhook) => sampleErrors(webhook),
      },
      async (scope, { body }, { id }) => accepted(await sendSample(scope, id, body.type), {}),
    )
  }
