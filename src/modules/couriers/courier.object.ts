import { DurableObject } from 'cloudflare:workers'
import type { Bindings } from '../../env'
import type { Destination, Letter } from './courier.messages'

/** One object a destination, which carries letters there and keeps the log of it. */
export class Courier extends DurableObject<Bindings> {
  /** Takes letters over, each once, to be carried; `now` is the moment by the service's clock. */
  async accept(_request: {
    destination: Destination
    letters: readonly Letter[]
    now: number
  }): Promise<void> {
    throw new Error('not yet')
  }
}
