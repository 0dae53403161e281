import { isOfNext, LaurelError } from './laurel-error.js'
import type { ApiKey, Token } from './options.js'

/** A token is replaced this long before it ends, or when a tenth of its time is left, if that is sooner. */
const MARGIN = 60_000

/** A key that the function of the app has given. */
interface Held {
  key: string
  replaceAt: number
}

/** The key of a client. All calls of the client share it. */
export class KeySource {
  readonly #source: ApiKey
  readonly #now: () => number
  readonly #patience: number
  #held: Held | null = null
  #asked: Promise<Held> | null = null
  #askedAt = 0

  /** @param patience milliseconds after which a function that has not answered is asked again */
  constructor(source: ApiKey, now: () => number, patience: number) {
    this.#source = source
    this.#now = now
    this.#patience = patience
  }

  /** True if a key that was refused can be replaced. */
  get isReplaceable(): boolean {
    return typeof this.#source === 'function'
  }

  /** The key. Calls at the same time wait for the same one. */
  async get(): Promise<string> {
    if (typeof this.#source !== 'function') return this.#source
    if (this.#held !== null && this.#now() < this.#held.replaceAt) return this.#held.key
    // By the clock: a request of a Worker that has ended takes its promise and its timers with it.
    if (this.#now() - this.#askedAt > this.#patience) this.#asked = null
    this.#asked ??= this.#ask(this.#source)
    return (await this.#asked).key
  }

  /** Forgets the key, and does not keep one that is on its way. */
  forget(): void {
    this.#held = null
    this.#asked = null
  }

  /** Gets a key instead of one that was refused. Calls at the same time replace it once. */
  replacing(refused: string): Promise<string> {
    if (this.#held?.key === refused) this.#held = null
    return this.get()
  }

  #ask(source: Exclude<ApiKey, string>): Promise<Held> {
    this.#askedAt = this.#now()
    // The function may throw at once, and may never answer.
    const asked = new Promise<string | Token>((resolve) => resolve(source()))
      .then((given) => heldOf(given, this.#now()))
      .catch((cause: unknown) => {
        if (isOfNext(cause)) throw cause
        throw new LaurelError('The function "apiKey" could not get a key.', { status: 0, cause })
      })
    const end = (held: Held | null) => {
      // It may have been forgotten, or asked again.
      if (this.#asked !== asked) return
      this.#asked = null
      this.#held = held
    }
    asked.then(end, () => end(null))
    return asked
  }
}

/**
 * A key as the value of a header.
 *
 * @throws TypeError if it is none. The error of `Headers` would contain the key
 */
export function keyText(key: unknown): string {
  // Programs without types may pass anything, such as a variable that is not set.
  if (typeof key !== 'string') throw new TypeError('"apiKey" must be a text, or a function that answers one.')
  const text = key.trim()
  if (text === '') throw new TypeError('The API key is empty.')
  if (!/^[!-~]+$/.test(text)) throw new TypeError('The API key has characters that no key has.')
  return text
}

function heldOf(given: string | Token, now: number): Held {
  const token = typeof given === 'string' ? { token: given } : given
  // The page of another server is no key. It would be kept for ever, since nothing could refuse it.
  const key = keyText(token.token)
  const lifetime = lifetimeOf(token, now)
  return { key, replaceAt: now + lifetime - Math.min(MARGIN, lifetime / 10) }
}

/** True if two keys may do the same: they are the same, or are tokens that differ only in their times. */
export const areAlike = (one: string, other: string): boolean => rightsOf(one) === rightsOf(other)

function rightsOf(key: string): string {
  const { iat, exp, ...rights } = claimsOf(key)
  return exp === undefined ? key : JSON.stringify(rights)
}

/**
 * The lifetime of a token in milliseconds. A JWT says when it was made and when it ends, so the clocks of the
 * service and of this machine need not agree. A key without an end is kept until it is refused.
 */
function lifetimeOf({ token, expires }: Token, now: number): number {
  const { iat, exp } = claimsOf(token)
  if (typeof iat === 'number' && typeof exp === 'number') return (exp - iat) * 1000
  if (typeof exp === 'number') return exp * 1000 - now
  return expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires) - now
}

/** The claims of a JWT, unchecked. None if the text is not a JWT, or if this runtime has no `atob`. */
function claimsOf(token: string): { iat?: unknown; exp?: unknown } {
  const parts = token.split('.')
  if (parts.length !== 3) return {}
  try {
    return Object(JSON.parse(atob((parts[1] ?? '').replace(/-/g, '+').replace(/_/g, '/'))))
  } catch {
    return {}
  }
}
