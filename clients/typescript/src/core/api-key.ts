import { LaurelError } from './laurel-error.js'
import type { ApiKey, Token } from './options.js'

/** A token is replaced this long before it ends, or when a tenth of its time is left, if that is sooner. */
const MARGIN = 60_000

/** The key of a client. All calls of the client share it. */
export class KeySource {
  readonly #source: ApiKey
  readonly #now: () => number
  #current: Promise<{ key: string; replaceAt: number }> | null = null

  constructor(source: ApiKey, now: () => number) {
    this.#source = source
    this.#now = now
  }

  /** True if a key that was refused can be replaced. */
  get isReplaceable(): boolean {
    return typeof this.#source === 'function'
  }

  /** The key. Calls at the same time wait for the same one. */
  async get(): Promise<string> {
    if (typeof this.#source === 'string') return this.#source
    const current = this.#current
    if (current !== null) {
      const { key, replaceAt } = await current
      if (this.#now() < replaceAt) return key
      // Another call may have replaced it meanwhile.
      if (this.#current === current) this.#current = null
    }
    this.#current ??= this.#fetch(this.#source)
    return (await this.#current).key
  }

  /** Forgets a key that was refused, unless another call has replaced it already. */
  async forget(refused: string): Promise<void> {
    const current = this.#current
    if (current === null) return
    const { key } = await current
    if (key === refused && this.#current === current) this.#current = null
  }

  async #fetch(source: Exclude<ApiKey, string>): Promise<{ key: string; replaceAt: number }> {
    try {
      const given = await source()
      const token = typeof given === 'string' ? { token: given } : given
      if (typeof token.token !== 'string' || token.token === '') throw new TypeError('It answered no key.')
      const now = this.#now()
      const lifetime = lifetimeOf(token, now)
      return { key: token.token, replaceAt: now + lifetime - Math.min(MARGIN, lifetime / 10) }
    } catch (cause) {
      // The next call asks again.
      this.#current = null
      throw new LaurelError('The function "apiKey" could not get a key.', { status: 0, cause })
    }
  }
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

/** The claims of a JWT, unchecked. None if the text is not a JWT. */
function claimsOf(token: string): { iat?: unknown; exp?: unknown } {
  const parts = token.split('.')
  if (parts.length !== 3) return {}
  try {
    const claims: unknown = JSON.parse(atob((parts[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')))
    return typeof claims === 'object' && claims !== null ? claims : {}
  } catch {
    return {}
  }
}
