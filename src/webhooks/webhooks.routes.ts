import * as z from 'zod'
import { accepted, type Endpoint, endpointsOf, ok } from '../api/endpoint'
import { IdOrKey, MomentField, optional, Timestamp, Uuid, UuidResponse, withIssues } from '../api/fields'
import { booleanQuery, type LongPage, longListQuery, longPage, pageResponse } from '../api/queries'
import { byIdOrKey } from '../api/resources/drafts.rules'
import { type AuditAction, madeFields } from '../configuration/audit.rules'
import { noteAhead } from '../configuration/audit.sql.ts'
import { configurationOf } from '../configuration/configuration'
import { EVENT_TYPES, type EventType } from '../configuration/enumerations'
import type { Webhook } from '../configuration/model'
import { instant, iso, isoOrNull } from '../lib/clock'
import { errors, type FieldError, throwIfInvalid } from '../lib/errors'
import { newId } from '../lib/new-id'
import type { Scope } from '../platform/context'
import { type Delivery, DeliveryStatus } from './delivery/messages'
import { deliveryQueueOf } from './delivery/queue'
import { sampleOf } from './events'
import { readConditions, rotateSecret, type WebhookResource } from './webhook.resource'

/** A delivery to a webhook, pending or done (W4). */
export const WebhookDelivery = z
  .object({
    id: UuidResponse,
    event: z.enum(EVENT_TYPES),
    status: DeliveryStatus,
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

/** The delivery of a sample, and what came back. */
export const TestDelivery = withIssues(
  'TestDelivery',
  WebhookDelivery.extend({
    response: z.object({ status: z.int(), milliseconds: z.int(), body: z.string() }).nullable(),
  }),
)

/** Which deliveries are sent again. Without a status: those whose last attempt failed. */
const RedeliverRequest = z
  .object({ since: MomentField, status: optional(DeliveryStatus) })
  .meta({ id: 'RedeliverRequest' })

const Redelivery = z
  .object({
    running: z.boolean(),
    since: Timestamp.nullable(),
    status: DeliveryStatus.nullable(),
    reached: Timestamp.nullable(),
    until: Timestamp.nullable(),
    sent: z.int(),
  })
  .meta({ id: 'Redelivery' })
const BegunRedelivery = withIssues('BegunRedelivery', Redelivery)

const ListWebhookDeliveriesResponse = z.array(WebhookDelivery).meta({ id: 'ListWebhookDeliveriesResponse' })

/** The place of a delivery in the log: moment, number and id. */
const DeliveryPlace = z.tuple([z.number(), z.number(), z.string()])

/** The page of deliveries. The cursor is the place of the last delivery of the page before (O3). */
const DeliveryListQuery = longListQuery(DeliveryPlace, {
  status: DeliveryStatus.optional(),
  event: z.enum(EVENT_TYPES).optional(),
})

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
  { after, ...page }: z.output<typeof DeliveryListQuery>,
): Promise<LongPage<Answer[], z.input<typeof DeliveryPlace>>> {
  const before = after === undefined ? null : { at: after[0], seq: after[1], id: after[2] }
  const { deliveries, next } = await deliveryQueue(scope, webhookId).list({ ...page, before })
  return {
    items: deliveries.map(({ place: _place, ...delivery }) => deliveryResponse(delivery)),
    next: next && [next.at, next.seq, next.id],
  }
}

const findWebhook = async (scope: Scope, idOrKey: string) =>
  byIdOrKey((await configurationOf(scope)).webhooks, idOrKey, 'This webhook')

/** A delivery of a webhook, which the request names by id or key. Throws 404 if there is none (W4). */
async function findDelivery(scope: Scope, webhookId: string, id: string) {
  const webhook = await findWebhook(scope, webhookId)
  return { webhook, delivery: existing(await deliveryQueue(scope, webhook.id).whole(id.toLowerCase())) }
}

function wholeDelivery({ body, ...delivery }: Delivery & { body: string }) {
  return { ...deliveryResponse(delivery), body: WholeWebhookDelivery.shape.body.parse(JSON.parse(body)) }
}

/** Makes a delivery pending again with all its retries and the same id. Throws 404 if it is gone (W4). */
async function redeliver(scope: Scope, webhook: Webhook, id: string): Promise<Answer> {
  await logCall(scope, webhook, 'redeliver', { deliveryId: id })
  return deliveryResponse(existing(await deliveryQueue(scope, webhook.id).redeliver({ id, now: scope.now })))
}

const shownAt = (at: number | undefined) => (at === undefined ? null : iso(instant(at)))

/** How far the last call is that sends many deliveries again (W4). */
async function redelivery(scope: Scope, webhookId: string): Promise<z.input<typeof Redelivery>> {
  const found = await deliveryQueue(scope, webhookId).resend()
  const { running = false, since, status = null, done, last, sent = 0 } = found ?? {}
  return {
    running,
    since: shownAt(since),
    status,
    reached: shownAt(done?.at),
    until: shownAt(last?.at),
    sent,
  }
}

const RUNNING = 'Deliveries are already being sent again. Wait until GET says that this is done, and repeat'

/** Begins to send many deliveries again. Throws 422 if the webhook is inactive, or if that is going on (W4). */
async function redeliverAll(
  scope: Scope,
  webhook: Webhook,
  { since, status }: z.output<typeof RedeliverRequest>,
): Promise<z.input<typeof Redelivery>> {
  const queue = deliveryQueue(scope, webhook.id)
  const running = [{ path: '', message: RUNNING }]
  throwIfInvalid([...activeErrors(webhook), ...((await queue.resend())?.running ? running : [])])
  await logCall(scope, webhook, 'redeliver', { since: iso(since), ...(status && { status }) })
  if (!(await queue.redeliverAll({ since, status: status ?? null }, scope.now))) throw errors.invalid(running)
  return redelivery(scope, webhook.id)
}

/** Ends a rest, and tries the next pending delivery at once. Throws 422 if the webhook is inactive (W4). */
async function tryNow(resource: WebhookResource, scope: Scope, webhook: Webhook) {
  throwIfInvalid(activeErrors(webhook))
  await logCall(scope, webhook, 'try', {})
  await deliveryQueue(scope, webhook.id).tryNow({ now: scope.now })
  return resource.show(webhook, { now: scope.now, facts: await readConditions(scope, [webhook]) })
}

/** Stores an entry of the audit log about deliveries before the delivery queue is called. */
function logCall(scope: Scope, { id: resourceId, key }: Webhook, action: AuditAction, fields: object) {
  const entry = { action, kind: 'webhook', resourceId, key, user: null } as const
  return noteAhead(scope, { ...entry, fields: madeFields(fields) })
}

function existing<D extends Delivery>(delivery: D | null): D {
  if (delivery === null) throw errors.notFound('This delivery')
  return delivery
}

/** Why nothing can be sent to a webhook now. */
const activeErrors = ({ status }: { status: string }): FieldError[] =>
  status === 'active'
    ? []
    : [{ path: '', message: 'The webhook is inactive, so nothing is sent to it. Activate it first' }]

/**
 * Sends a webhook a sample at once, even of a type that it does not listen to, and says what came back. Throws 422
 * if it is inactive.
 */
export async function sendSample(
  scope: Scope,
  webhook: Webhook,
  type: EventType,
): Promise<z.input<typeof TestDelivery>> {
  const { db, now } = scope
  throwIfInvalid(activeErrors(webhook))
  const { epoch } = await configurationOf(scope)
  const id = newId(now)
  const destination = { kind: 'webhook', tenantId: db.tenantId, webhookId: webhook.id } as const
  await logCall(scope, webhook, 'send_sample', { deliveryId: id, type })
  const body = JSON.stringify(sampleOf(type, now))
  const message = { id, at: now, seq: 0, subject: null, event: type, body }
  const sent = await deliveryQueueOf(scope, destination).sample(destination, message, epoch)
  if (sent === null) throw errors.invalid(activeErrors({ status: 'inactive' }))
  return { ...deliveryResponse(existing(sent.delivery)), response: sent.answer }
}

const endpoint = endpointsOf('admin')

/** The endpoints that manage webhooks, in the order of the OpenAPI document (W1). */
export function webhookEndpoints(webhook: WebhookResource): Endpoint[] {
  const params = z.object({ id: IdOrKey })
  const find = (scope: Scope, param: (name: string) => string) => webhook.find(scope, param('id'))
  const ofActive = { find, check: (_: Scope, _given: unknown, found: Webhook) => activeErrors(found) }
  return [
    ...webhook.endpoints,
    endpoint(
      'POST /webhooks/{id}/rotate-secret',
      {
        id: 'admin_webhooks_rotate_secret',
        summary: 'Replace the secret of a webhook. Only this response shows the new one',
        params,
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
        params,
        query: DeliveryListQuery,
        responses: { 200: pageResponse('The page, newest first.', ListWebhookDeliveriesResponse) },
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
      { find: (scope, param) => findDelivery(scope, param('id'), param('deliveryId')) },
      async (_scope, _input, { delivery }) => ok(wholeDelivery(delivery)),
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
      async (scope, _input, { webhook, delivery }) => ok(await redeliver(scope, webhook, delivery.id)),
    ),
    endpoint(
      'POST /webhooks/{id}/redeliver',
      {
        id: 'admin_webhooks_redeliver',
        summary: 'Send deliveries of a webhook again: all since a moment that failed, or that have a status',
        params,
        body: RedeliverRequest,
        responses: { 202: { description: 'It has begun.', body: BegunRedelivery } },
      },
      ofActive,
      async (scope, { body }, found) => accepted(await redeliverAll(scope, found, body), {}),
    ),
    endpoint(
      'GET /webhooks/{id}/redeliver',
      {
        id: 'admin_webhooks_redeliver_get',
        summary: 'Get how far the last call is that sends deliveries of a webhook again',
        params,
        responses: { 200: { description: 'How far it is.', body: Redelivery } },
      },
      { find },
      async (scope, _input, { id }) => ok(await redelivery(scope, id)),
    ),
    endpoint(
      'POST /webhooks/{id}/try',
      {
        id: 'admin_webhooks_try',
        summary: 'End the rest of a webhook, and try its next delivery at once',
        params,
        responses: { 200: { description: 'The webhook.', body: webhook.Item } },
      },
      { find },
      async (scope, _input, found) => ok(await tryNow(webhook, scope, found)),
    ),
    endpoint(
      'POST /webhooks/{id}/test',
      {
        id: 'admin_webhooks_test',
        summary: 'Send a webhook a sample of any event at once, and get what came back',
        params,
        body: TestWebhookRequest,
        responses: { 202: { description: 'The delivery of the sample.', body: TestDelivery } },
      },
      ofActive,
      async (scope, { body }, found) => accepted(await sendSample(scope, found, body.type), {}),
    ),
  ]
}
