import type * as z from 'zod'
import type { Instant } from '../../lib/clock'
import type { Context } from '../../platform/context'
import { logProblem } from '../../platform/log'
import { CountsReply, type Destination, nameOf, type QueuedMessage, RunDueReply } from './queue.messages'
import type { DeliveryQueueObject } from './queue.object'

/** The object that delivers to a destination. */
export function deliveryQueueOf(
  { env }: Pick<Context, 'env'>,
  destination: Destination,
): DurableObjectStub<DeliveryQueueObject> {
  return env.DELIVERY_QUEUE.getByName(nameOf(destination))
}

/**
 * Hands messages over for delivery. Messages that were handed over before are ignored. Throws if the delivery
 * queue cannot be reached.
 */
export async function enqueueMessages(
  context: Pick<Context, 'env'>,
  destination: Destination,
  messages: readonly z.input<typeof QueuedMessage>[],
  present: { now: Instant; epoch: number },
): Promise<void> {
  if (messages.length > 0)
    await deliveryQueueOf(context, destination).accept({ destination, messages: [...messages], ...present })
}

/**
 * Notifies delivery queues that the configuration of their destinations has changed. Never throws: their due
 * work is also in D1.
 */
export async function refreshDeliveryQueues(
  context: Pick<Context, 'env'>,
  destinations: readonly Destination[],
): Promise<void> {
  await quietly(destinations.map(async (destination) => deliveryQueueOf(context, destination).refresh()))
}

/**
 * Makes the delivery queues of deleted destinations delete everything. Never throws: a queue that was missed
 * finds out by itself.
 */
export async function clearDeliveryQueues(
  context: Pick<Context, 'env'>,
  destinations: readonly Destination[],
): Promise<void> {
  await quietly(destinations.map(async (destination) => deliveryQueueOf(context, destination).forget()))
}

async function quietly(calls: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(calls)) {
    if (result.status === 'rejected')
      logProblem('warn', { error: `delivery queue not reached: ${String(result.reason)}` })
  }
}

/**
 * Makes a delivery queue, by its name, send messages that are due. Returns when it must be called next (C2).
 */
export async function runDeliveryQueue(
  { env }: Pick<Context, 'env'>,
  name: string,
  request: { now: Instant; wait: boolean },
): Promise<Instant | null> {
  return RunDueReply.parse(await env.DELIVERY_QUEUE.getByName(name).runDue(request)).dueAt
}

/** How many messages of a delivery queue, by its name, are pending or dead. At most 10,000 of each (G12). */
export async function countMessages(
  { env }: Pick<Context, 'env'>,
  name: string,
): Promise<z.infer<typeof CountsReply>> {
  return CountsReply.parse(await env.DELIVERY_QUEUE.getByName(name).counts())
}
