import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { instant } from '../../../src/lib/clock'
import { newId } from '../../../src/lib/new-id'
import type { Delivery, Destination, QueuedMessage } from '../../../src/webhooks/delivery/messages'
import { deliveryQueueOf, enqueueMessages } from '../../../src/webhooks/delivery/queue'
import { dueWork } from './due-work'
import { at, newTenant, type TestTenant } from './harness'
import { Hook } from './receiver'

/** A tenant with a webhook whose requests are recorded. */
export async function withHook(more: object = {}, made: TestTenant | null = null) {
  const tenant = made ?? (await newTenant())
  const hook = new Hook()
  const { body } = await tenant.admin('POST', '/webhooks', [{ url: hook.url, events: ['*'], ...more }])
  const webhookId = String(at(body, 'created', 0, 'id'))
  const secret = String(at(body, 'created', 0, 'secret'))
  const destination = { kind: 'webhook', tenantId: tenant.id, webhookId } as const
  return {
    tenant,
    hook,
    webhookId,
    secret,
    destination,
    deliveryQueue: deliveryQueueOf({ env }, destination),
  }
}
export type WithHook = Awaited<ReturnType<typeof withHook>>

/** A message of a moment, about a user (`subject`) or about none. */
export function message(
  ms: number,
  subject: string | null = null,
  more: Partial<QueuedMessage> = {},
): QueuedMessage {
  const time = { at: ms, id: newId(instant(ms)) }
  return {
    ...time,
    seq: 0,
    subject,
    event: 'streak.lost',
    body: JSON.stringify({ type: 'streak.lost' }),
    isNamed: false,
    ...more,
  }
}

/** Hands messages over to a delivery queue, at the moment `now`. */
export const hand = (destination: Destination, now: number, ...messages: QueuedMessage[]) =>
  enqueueMessages({ env }, destination, messages, { now: instant(now), epoch: 0 })

/** The log, newest first, without the places of its entries. */
export async function log(
  { deliveryQueue }: Pick<WithHook, 'deliveryQueue'>,
  limit = 100,
): Promise<Delivery[]> {
  const placed = z.custom<{ deliveries: (Delivery & { place: unknown })[] }>()
  const { deliveries } = placed.parse(await deliveryQueue.list({ limit, skip: 0, before: null }))
  return deliveries.map(({ place: _place, ...entry }) => entry)
}

/** The log entry of one message. */
export async function logged(
  setup: Pick<WithHook, 'deliveryQueue'>,
  { id }: QueuedMessage,
): Promise<Delivery | undefined> {
  return (await log(setup)).find((one) => one.id === id)
}

/** The due times of a tenant's delivery queues, with their names. */
export async function due({ tenant }: { tenant: TestTenant }): Promise<[string, number][]> {
  const rows = await dueWork({ tenant, kind: 'delivery' })
  return rows.map(({ subject, dueAt }) => [subject, dueAt])
}
