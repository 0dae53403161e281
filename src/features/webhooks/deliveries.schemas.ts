import * as z from 'zod'
import { EVENT_TYPES } from '../../config/webhook-events.types'
import { Timestamp, UuidResponse, withIssues } from '../../http/fields'

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

/** The delivery of a sample. */
export const TestDelivery = withIssues('TestDelivery', WebhookDelivery)

export const ListWebhookDeliveriesResponse = z
  .array(WebhookDelivery)
  .meta({ id: 'ListWebhookDeliveriesResponse' })

/** The event type of the sample. */
export const TestWebhookRequest = z.object({ type: z.enum(EVENT_TYPES) }).meta({ id: 'TestWebhookRequest' })
