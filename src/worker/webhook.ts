import { listenerStatements } from '../features/notifications/schedule'
import { webhookResource } from '../webhooks/webhook.resource'

/** Webhooks, with what their changes cause in features. */
export const webhook = webhookResource(listenerStatements)
