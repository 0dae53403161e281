import * as z from 'zod'
import { type Endpoint, endpointsOf, ok } from '../../api/endpoint'
import { IdOrKey } from '../../api/fields'
import { longPage, NEXT_LINK } from '../../api/queries'
import { listed } from '../../api/streams'
import type { Scope } from '../../platform/context'
import { configuredProviders } from './channel'
import { LogQuery, NotificationLogResponse, readLog } from './log'
import { template } from './template.resource'
import {
  PreviewDraftRequest,
  PreviewTemplateRequest,
  PreviewTemplateResponse,
  previewDraft,
  previewTemplate,
  sendTest,
  TestTemplateRequest,
  TestTemplateResponse,
} from './templates/preview'

/** The providers that send email and push messages, by their names. Without any, a channel sends nothing. */
export const NotificationChannelsResponse = z
  .object({
    email: z.array(z.enum(['resend', 'cloudflare'])),
    push: z.array(z.enum(['expo', 'apns', 'fcm'])),
  })
  .meta({ id: 'NotificationChannelsResponse' })

const endpoint = endpointsOf('admin')
const find = (scope: Scope, param: (name: string) => string) => template.find(scope, param('id'))
const PREVIEW = 'The notification that the user would get.'

/** The endpoints that manage notifications, in the order of the OpenAPI document (N3, N4). */
export const notificationEndpoints: readonly Endpoint[] = [
  ...template.endpoints,
  endpoint(
    'POST /notifications/templates/{id}/preview',
    {
      id: 'admin_notification_templates_preview',
      summary: 'Render a notification template for a user, without sending anything',
      params: z.object({ id: IdOrKey }),
      body: PreviewTemplateRequest,
      secret: true,
      responses: { 200: { description: PREVIEW, body: PreviewTemplateResponse } },
    },
    { find },
    async (scope, { body }, found) => ok(await previewTemplate(scope, found, body)),
  ),
  endpoint(
    'POST /notifications/templates/preview',
    {
      id: 'admin_notification_templates_preview_draft',
      summary: 'Render a template that is not stored for a user, without sending anything',
      body: PreviewDraftRequest,
      secret: true,
      responses: { 200: { description: PREVIEW, body: PreviewTemplateResponse } },
    },
    async (scope, { body }) => ok(await previewDraft(scope, body)),
  ),
  endpoint(
    'POST /notifications/templates/{id}/test',
    {
      id: 'admin_notification_templates_test',
      summary: 'Send a notification template to a user now, once, as a test',
      params: z.object({ id: IdOrKey }),
      body: TestTemplateRequest,
      responses: {
        200: {
          description: 'Whether the provider took the message, and if not, why.',
          body: TestTemplateResponse,
        },
      },
    },
    { find },
    async (scope, { body }, found) => ok(await sendTest(scope, found, body.userId)),
  ),
  endpoint(
    'GET /notifications/log',
    {
      id: 'admin_notifications_log',
      summary: 'List emails and push messages to users, newest first',
      query: LogQuery,
      secret: true,
      responses: {
        200: {
          description: 'The page, newest first.',
          body: NotificationLogResponse,
          optionalHeaders: { Link: NEXT_LINK },
        },
      },
    },
    async (scope, { query }) => {
      const { items, next } = await readLog(scope, query)
      return longPage(scope, query, { items: await listed(items), next })
    },
  ),
  endpoint(
    'GET /notifications/channels',
    {
      id: 'admin_notifications_channels',
      summary: 'Get the providers that are configured for email and push messages',
      responses: { 200: { description: 'The channels.', body: NotificationChannelsResponse } },
    },
    async (scope) => ok(configuredProviders(scope)),
  ),
]
