import * as z from 'zod'
import { IdOrKey } from '../../api/fields'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { createdSome, ok, operation } from '../../api/operation'
import { longPage, NEXT_LINK } from '../../api/queries'
import { BY_KEY, operationsOf, resourceOperations } from '../../api/resource'
import { listed } from '../../api/streams'
import { configuredProviders } from './channel'
import { readLog } from './log'
import * as schemas from './notifications.schemas'
import { sendTest } from './templates/test-messages'
import {
  createTemplates,
  deleteTemplates,
  findTemplate,
  getTemplate,
  listTemplates,
  previewDraft,
  previewTemplate,
  updateTemplates,
} from './templates.service'

const operations = resourceOperations({
  id: 'admin_notification_templates',
  path: '/notifications/templates',
  one: 'a notification template',
  many: 'notification templates',
  names: BY_KEY,
  parents: z.object({}),
  item: schemas.AdminTemplate,
  list: schemas.ListTemplatesResponse,
  create: schemas.CreateTemplatesRequest,
  created: schemas.CreateTemplatesResponse,
  update: schemas.UpdateTemplatesRequest,
  updated: schemas.UpdateTemplatesResponse,
  deleted: schemas.DeleteTemplatesResponse,
})

const preview = operation({
  id: 'admin_notification_templates_preview',
  surface: 'admin',
  method: 'post',
  path: '/notifications/templates/{id}/preview',
  summary: 'Render a notification template for a user, without sending anything',
  params: z.object({ id: IdOrKey }),
  body: schemas.PreviewTemplateRequest,
  secret: true,
  responses: {
    200: { description: 'The notification that the user would get.', body: schemas.PreviewTemplateResponse },
  },
})

const draftPreview = operation({
  id: 'admin_notification_templates_preview_draft',
  surface: 'admin',
  method: 'post',
  path: '/notifications/templates/preview',
  summary: 'Render a template that is not stored for a user, without sending anything',
  body: schemas.PreviewDraftRequest,
  secret: true,
  responses: {
    200: { description: 'The notification that the user would get.', body: schemas.PreviewTemplateResponse },
  },
})

const test = operation({
  id: 'admin_notification_templates_test',
  surface: 'admin',
  method: 'post',
  path: '/notifications/templates/{id}/test',
  summary: 'Send a notification template to a user now, once, as a test',
  params: z.object({ id: IdOrKey }),
  body: schemas.TestTemplateRequest,
  responses: {
    200: {
      description: 'Whether the provider took the message, and if not, why.',
      body: schemas.TestTemplateResponse,
    },
  },
})

const log = operation({
  id: 'admin_notifications_log',
  surface: 'admin',
  method: 'get',
  path: '/notifications/log',
  summary: 'List emails and push messages to users, newest first',
  query: schemas.LogQuery,
  secret: true,
  responses: {
    200: {
      description: 'The page, newest first.',
      body: schemas.NotificationLogResponse,
      optionalHeaders: { Link: NEXT_LINK },
    },
  },
})

const channels = operation({
  id: 'admin_notifications_channels',
  surface: 'admin',
  method: 'get',
  path: '/notifications/channels',
  summary: 'Get the providers that are configured for email and push messages',
  responses: { 200: { description: 'The channels.', body: schemas.NotificationChannelsResponse } },
})

/** The operations of this module, in the order of the OpenAPI document. */
export const notificationOperations = [
  ...operationsOf(operations),
  preview,
  draftPreview,
  test,
  log,
  channels,
]

/** Serves the management of notifications (N3, N4). */
export function notificationRoutes(app: App): void {
  mount(app, operations.list, {}, async (scope, { query }) => ok(await listTemplates(scope, query)))
  mount(app, operations.create, {}, async (scope, { body }) =>
    createdSome(await createTemplates(scope, body)),
  )
  mount(app, operations.update, {}, async (scope, { body }) => ok(await updateTemplates(scope, body)))
  mount(app, operations.delete, {}, async (scope, { query }) => ok(await deleteTemplates(scope, query)))
  mount(
    app,
    operations.get,
    { find: (scope, param) => getTemplate(scope, param('id')) },
    async (_scope, _input, found) => ok(found),
  )
  mount(
    app,
    preview,
    { find: (scope, param) => findTemplate(scope, param('id')) },
    async (scope, { body }, found) => ok(await previewTemplate(scope, found, body)),
  )
  mount(app, draftPreview, {}, async (scope, { body }) => ok(await previewDraft(scope, body)))
  mount(
    app,
    test,
    { find: (scope, param) => findTemplate(scope, param('id')) },
    async (scope, { body }, found) => ok(await sendTest(scope, found, body.userId)),
  )
  mount(app, channels, {}, async (scope) => ok(configuredProviders(scope)))
  mount(app, log, {}, async (scope, { query }) => {
    const { items, next } = await readLog(scope, query)
    return longPage(scope, query, { items: await listed(items), next })
  })
}
