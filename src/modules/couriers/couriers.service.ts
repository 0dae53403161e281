import type { Context } from '../../context'
import type { Instant } from '../../shared/clock'
import { type Destination, type Letter, nameOf } from './courier.messages'
import type { Courier } from './courier.object'

/** The object that carries to a destination. */
export function courierOf(
  { env }: Pick<Context, 'env'>,
  destination: Destination,
): DurableObjectStub<Courier> {
  return env.COURIER.getByName(nameOf(destination))
}

/** Hands letters over to be carried; nothing happens to those that were handed over before. Throws where the courier can't be reached. */
export async function carry(
  context: Pick<Context, 'env'>,
  destination: Destination,
  letters: readonly Letter[],
  now: Instant,
): Promise<void> {
  if (letters.length > 0)
    await courierOf(context, destination).accept({ destination, letters: [...letters], now })
}
