import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { flushPoints } from '../../../src/features/points/points-changed'
import { hasTables } from '../../../src/platform/objects'
import { drain } from '../../../src/webhooks/delivery/drain'
import { contextOf } from './contexts'
import { pick, type TestTenant } from './harness'
import { Hook } from './receiver'

/** A message in a delivery queue, with the fields that tests look at. */
export type HeldMessage = { id: string; at: number; subject: string | null; event: string; body: unknown }

/** All messages in a webhook's delivery queue, in its order: by time, and for one user by `seq`. */
export async function messagesOf(webhookId: string): Promise<HeldMessage[]> {
  const deliveryQueue = env.DELIVERY_QUEUE.getByName(`webhook:${webhookId}`)
  return runInDurableObject(deliveryQueue, (_, { storage }) => {
    if (!hasTables(storage.sql)) return []
    return storage.sql
      .exec<{ id: string; at: number; subject: string | null; event: string; body: string }>(
        'SELECT id, at, subject, event, body FROM messages ORDER BY at, seq, id',
      )
      .toArray()
      .map((row) => ({ ...row, body: JSON.parse(row.body) }))
  })
}

/** Creates a webhook at a receiver that accepts everything. Returns its id. */
export function subscribe(tenant: TestTenant, ...events: string[]): Promise<string> {
  return tenant.create('/webhooks', { url: new Hook().url, events })
}

/** The types of the events that a webhook's log of deliveries has, the newest first. */
export const loggedEvents = async (tenant: TestTenant, webhookId: string): Promise<unknown[]> =>
  pick((await tenant.admin('GET', `/webhooks/${webhookId}/deliveries?limit=100`)).body, 'event')

/** Drains the outbox of a tenant in each database. */
export async function drainEverywhere({ id }: TestTenant): Promise<void> {
  const context = contextOf(id)
  for (const db of await context.databases.ofAllMessages(id)) await drain({ ...context, db }, flushPoints)
}
