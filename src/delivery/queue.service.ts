import type * as z from 'zod'
import type { Instant } from '../lib/clock'
import type { Context } from '../runtime/context'
import { type Destination, type Letter, nameOf, TendReply } from './queue.messages'
import type { CourierObject } from './queue.object'

/** The object that carries to a destination. */
export function courierOf(
  { env }: Pick<Context, 'env'>,
  destination: Destination,
): DurableObjectStub<CourierObject> {
  return env.COURIER.getByName(nameOf(destination))
}

/** Hands letters over to be carried; nothing happens to those that were handed over before. Throws where the courier can't be reached. */
export async function carry(
  context: Pick<Context, 'env'>,
  destination: Destination,
  letters: readonly z.input<typeof Letter>[],
  now: Instant,
): Promise<void> {
  if (letters.length > 0)
    await courierOf(context, destination).accept({ destination, letters: [...letters], now })
}

/** Tells couriers that their destinations are configured otherwise now. Never throws: what is due of them stands in D1 besides. */
export async function refreshCouriers(
  context: Pick<Context, 'env'>,
  destinations: readonly Destination[],
): Promise<void> {
  await quietly(destinations.map(async (destination) => courierOf(context, destination).refresh()))
}

/** Has the couriers of deleted destinations forget everything. Never throws: one that was missed finds out by itself. */
export async function forgetCouriers(
  context: Pick<Context, 'env'>,
  destinations: readonly Destination[],
): Promise<void> {
  await quietly(destinations.map(async (destination) => courierOf(context, destination).forget()))
}

async function quietly(calls: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(calls)) {
    if (result.status === 'rejected')
      console.warn(JSON.stringify({ level: 'warn', error: `courier not told: ${String(result.reason)}` }))
  }
}

/** Has a courier see to what is due, by its name; answers when it wants to be called next (C2). */
export async function tendCourier(
  { env }: Pick<Context, 'env'>,
  name: string,
  request: { now: Instant; wait: boolean },
): Promise<Instant | null> {
  return TendReply.parse(await env.COURIER.getByName(name).tend(request)).dueAt
}
