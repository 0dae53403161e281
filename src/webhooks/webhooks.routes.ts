import * as z from 'zod'
import { tenantActive } from '../access/tenants.sql.ts'
import { accepted, type Endpoint, endpointsOf, ok } from '../api/endpoint'
import { IdOrKey, Timestamp, Uuid, UuidResponse, withIssues } from '../api/fields'
import { booleanQuery, type LongPage, longListQuery, longPage, NEXT_LINK } from '../api/queries'
import { byIdOrKey } from '../api/resources/drafts.rules'
import { type AuditAction, madeFields } from '../configuration/audit.rules'
import { auditEntries } from '../configuration/audit.sql.ts'
import { configurationOf } from '../configuration/configuration'
import { EVENT_TYPES, type EventType } from '../configuration/enumerations'
import { iso, isoOrNull } from '../lib/clock'
import { errors, type FieldError, throwIfInvalid } from '../lib/errors'
import { newId } from '../lib/new-id'
import type { Scope } from '../platform/context'
import { isConflict } from '../platform/guard'
import type { Delivery } from './delivery/messages'
import { deliveryQueueOf, enqueueMessages } from './delivery/queue'
import { sampleOf } from './events'
import { rotateSecret, type WebhookResource } from './webhook.resource'

/** A delivery to a webhook, pending or done (W4). */
export const WebhookDelivery = z
  .object({
    id: UuidResponse,
    event: z.enum(EVENT_TYPES),
    status: z.enum(['pending', 'delivered', 'dead']),
    attempts: z.int(),
    lastStatus: z.int().nullable(),
    lastError: z.string().nullable(),
    created: Timestamp,
    nextAttempt: Timestamp.nullable(),
  })
  .meta({ id: 'WebhookDelivery' })

/** A delivery with the body that it sends. */
export const WholeWebhookDelivery = WebhookDelivery.extend({
  body: z.record(z.string(), z.unknown()),
}).meta({ id: 'WholeWebhookDelivery' })

/** The delivery of a sample. */
export const TestDelivery = withIssues('TestDelivery', WebhookDelivery)

const ListWebhookDeliveriesResponse = z.array(WebhookDelivery).meta({ id: 'ListWebhookDeliveriesResponse' })

/** The place of a delivery in the log: moment, number and id. */
const DeliveryPlace = z.tuple([z.number(), z.number(), z.string()])

/** The page of deliveries. The cursor is the place of the last delivery of the page before (O3). */
const DeliveryListQuery = longListQuery(DeliveryPlace, {})

/** The event type of the sample. */
export const TestWebhookRequest = z.object({ type: z.enum(EVENT_TYPES) }).meta({ id: 'TestWebhookRequest' })

type Answer = z.infer<typeof WebhookDelivery>

const Known = WebhookDelivery.pick({ event: true, status: true })

function deliveryResponse({ created, nextAttempt, event, status, ...rest }: Delivery): Answer {
  return {
    ...rest,
    ...Known.parse({ event, status }),
    created: iso(created),
    nextAttempt: isoOrNull(nextAttempt),
  }
}

const deliveryQueue = (scope: Scope, webhookId: string) =>
  deliveryQueueOf(scope, { kind: 'webhook', tenantId: scope.tenant.id, webhookId })

/** A page of a webhook's deliveries, newest first (W4, O3). */
export async function listDeliveries(
  scope: Scope,
  webhookId: string,
  { limit, skip, after }: z.output<typeof DeliveryListQuery>,
): Promise<LongPage<Answer[], z.input<typeof DeliveryPlace>>> {
  const before = after === undefined ? null : { at: after[0], seq: after[1], id: after[2] }
  // One more, to see if there is a next page.
  const request = { limit: limit + 1, skip, before }
  const found = await deliveryQueue(scope, webhookId).list(request)
  const deliveries = found.slice(0, limit)
  const last = found.length > limit ? deliveries.at(-1)?.place : undefined
  return {
    items: deliveries.map(({ place: _place, ...delivery }) => deliveryResponse(delivery)),
    next: last === undefined ? null : [last.at, last.seq, last.id],
  }
}

const findWebhook = async (scope: Scope, idOrKey: string) =>
  byIdOrKey((await configurationOf(scope)).webhooks, idOrKey, 'This webhook')

/** A delivery with its body. The request names the webhook by id or key. Throws 404 if there is none (W4). */
async function wholeDelivery(
  scope: Scope,
  webhookId: string,
  id: string,
): Promise<z.infer<typeof WholeWebhookDelivery>> {
  const webhook = await findWebhook(scope, webhookId)
  const found = await deliveryQueue(scope, webhook.id).whole(id.toLowerCase())
  if (found === null) throw errors.notFound('This delivery')
  const { body, ...delivery } = found
  return { ...deliveryResponse(delivery), body: WholeWebhookDelivery.shape.body.parse(JSON.parse(body)) }
}

type Destination = { id: string; key: string }

/** A delivery of a webhook, which a request names by id or key. Throws 404 if there is none. */
async function findDelivery(
  scope: Scope,
  webhookId: string,
  id: string,
): Promise<{ webhook: Destination; id: string }> {
  const webhook = await findWebhook(scope, webhookId)
  return {
    webhook,
    id: existing(await deliveryQueue(scope, webhook.id).find(id.toLowerCase())).id,
  }
}

/** Makes a delivery pending again with all its retries and the same id. Throws 404 if it is gone (W4). */
export async function redeliver(
  scope: Scope,
  { webhook, id }: { webhook: Destination; id: string },
): Promise<Answer> {
  await logDelivery(scope, webhook, 'redeliver', { deliveryId: id })
  return deliveryResponse(existing(await deliveryQueue(scope, webhook.id).redeliver({ id, now: scope.now })))
}

/**
 * Stores an entry of the audit log about a delivery before the delivery queue is called, since the queue is
 * not in D1 (Z1). Throws 404 if the tenant is not active any more.
 */
async function logDelivery(
  scope: Scope,
  { id: resourceId, key }: Destination,
  action: AuditAction,
  fields: { deliveryId: string; type?: EventType },
): Promise<void> {
  const entry = { action, kind: 'webhook', resourceId, key, user: null } as const
  const entries = auditEntries(scope, [{ ...entry, fields: madeFields(fields) }])
  try {
    await scope.db.batch([tenantActive(scope.db), ...entries])
  } catch (error) {
    throw isConflict(error) ? errors.tenantUnknown() : error
  }
}

function existing(delivery: Delivery | null): Delivery {
  if (delivery === null) throw errors.notFound('This delivery')
  return delivery
}

/** Why a webhook can't get a sample. */
const sampleErrors = ({ status }: { status: string }): FieldError[] =>
  status === 'active'
    ? []
    : [{ path: '', message: 'The webhook is inactive, so nothing is sent to it. Activate it first' }]

/** Sends a webhook a sample, even of a type that it does not listen to. Throws 422 if it is inactive. */
export async function sendSample(scope: Scope, webhookId: string, type: EventType): Promise<Answer> {
  const { db, now } = scope
  const { epoch } = await configurationOf(scope)
  const webhook = await findWebhook(scope, webhookId)
  throwIfInvalid(sampleErrors(webhook))
  const id = newId(now)
  const body = JSON.stringify(sampleOf(type, now))
  const destination = { kind: 'webhook', tenantId: db.tenantId, webhookId } as const
  await logDelivery(scope, webhook, 'send_sample', { deliveryId: id, type })
  const message = { id, at: now, seq: 0, subject: null, event: type, body }
  await enqueueMessages(scope, destination, [message], { now, epoch })
  return deliveryResponse({
    id,
    event: type,
    status: 'pending',
    attempts: 0,
    lastStatus: null,
    lastError: null,
    created: now,
    nextAttempt: now,
  })
}

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
