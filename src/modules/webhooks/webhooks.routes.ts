import { z } from 'zod'
import type { App } from '../../http/app'
import { Uuid } from '../../http/fields'
import { mount } from '../../http/mount'
import { createdSome, ok, operation } from '../../http/operation'
import { operationsOf, resourceOperations } from '../../http/resource'
import * as schemas from './webhooks.schemas'
import {
  createWebhooks,
  deleteWebhooks,
  findWebhook,
  listWebhooks,
  rotateSecret,
  targetFaults,
  updateWebhooks,
} from './webhooks.service'

const operations = resourceOperations({
  id: 'admin_webhooks',
  path: '/webhooks',
  one: 'a webhook',
  many: 'webhooks',
  parents: z.object({}),
  item: schemas.AdminWebhook,
  list: schemas.ListWebhooksResponse,
  create: schemas.CreateWebhooksRequest,
  created: schemas.CreateWebhooksResponse,
  update: schemas.UpdateWebhooksRequest,
  updated: schemas.UpdateWebhooksResponse,
  deleted: schemas.DeleteWebhooksResponse,
})

const rotate = operation({
  id: 'admin_webhooks_rotate_secret',
  surface: 'admin',
  method: 'post',
  path: '/webhooks/{id}/rotate-secret',
  summary:
    'Replace the secret of a webhook by a new one, which is shown only here; the old one is void at once',
  params: z.object({ id: Uuid }),
  answers: { 200: { description: 'The webhook as it is now.', body: schemas.CreatedWebhook } },
  refuses: [403, 404, 422],
})

/** The operations of this module, in the order of the document. */
export const webhookOperations = [...operationsOf(operations), rotate]

/** Serves the management of webhooks (W1). */
export function webhookRoutes(app: App): void {
  mount(app, operations.list, {}, async (scope, { query }) => ok(await listWebhooks(scope, query)))
  mount(app, operations.create, { check: targetFaults }, async (scope, { body }) =>
    createdSome(await createWebhooks(scope, body)),
  )
  mount(app, operations.update, { check: targetFaults }, async (scope, { body }) =>
    ok(await updateWebhooks(scope, body)),
  )
  mount(app, operations.delete, {}, async (scope, { query }) => ok(await deleteWebhooks(scope, query.ids)))
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
    async (scope, _input, { id }) => ok(await rotateSecret(scope, id)),
  )
}
