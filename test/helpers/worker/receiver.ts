import { inject } from 'vitest'
import * as z from 'zod'
import type { Step } from '../receiver'
import { fromReal } from '../time'

const Told = z.object({
  seen: z.array(
    z.object({
      headers: z.record(z.string(), z.string()),
      body: z.string(),
      at: z.number().transform(fromReal),
      method: z.string(),
    }),
  ),
  mostOpen: z.number(),
})

/** A path at the receiver of `receiver.setup.ts`. Outgoing requests are real ones. */
export class Hook {
  readonly name = crypto.randomUUID()
  readonly url = `${inject('receiver')}/hooks/${this.name}`

  async #control(method: string, kind: string, rest = '', body?: unknown): Promise<unknown> {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) }
    const response = await fetch(`${inject('receiver')}/${kind}/${this.name}${rest}`, init)
    if (!response.ok) throw new Error(await response.text())
    return response.json()
  }

  /** The response to each of the next requests, one step each; 200 after the last. */
  async plan(...steps: Step[]): Promise<void> {
    await this.#control('POST', 'plan', '', steps)
  }

  /** Lets held requests be answered. */
  async release(): Promise<void> {
    await this.#control('POST', 'release')
  }

  /** The requests so far, when there are at least `count`. */
  async seen(count = 0) {
    return Told.parse(await this.#control('GET', 'seen', `?count=${count}`)).seen
  }

  /** The ids of those requests, in the order in which they came. */
  async ids(count = 0): Promise<string[]> {
    return (await this.seen(count)).map(({ headers }) => headers['webhook-id'] ?? '')
  }

  async mostOpen(): Promise<number> {
    return Told.parse(await this.#control('GET', 'seen')).mostOpen
  }
}
