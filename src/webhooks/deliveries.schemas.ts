import * as z from 'zod'
import { longListQuery } from '../api/cursors'
import { Timestamp, UuidResponse, withIssues } from '../api/fields'
import { EVENT_TYPES } from '../configuration/webhook-events.types'

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

export const ListWebhookDeliveriesResponse = z
  .array(WebhookDelivery)
  .meta({ id: 'ListWebhookDeliveriesResponse' })

/** The place of a delivery in the log: moment, number and id. */
export const DeliveryPlace = z.tuple([z.number(), z.number(), z.string()])

/** The page of deliveries. The cursor is the place of the last delivery of the page before (O3). */
export const DeliveryListQuery = longListQuery(DeliveryPlace, {})

/** The event type of the sample. */
export const TestWebhookRequest = z.object({ type: z.enum(EVENT_TYPES) }).meta({ id: 'TestWebhookRequest' })
