import { BoundedMap } from '../../../lib/bounded'
import { type Instant, instant, SECOND } from '../../../lib/clock'
import { systemNow } from '../../../lib/system-clock'
import { perInstance } from '../../../platform/instance'

/** A provider's access token, and when it expires. */
export type AccessToken = { token: string; until: Instant }

/**
 * Access tokens by provider and account, at most 20. Only finished tokens are stored, no promises: a Worker
 * can't wait in one request for work of another request.
 */
export class AccessTokenCache extends BoundedMap<string, AccessToken> {
  constructor() {
    super(20)
  }

  /**
   * The access token of this name. Calls `make` if there is none, if it has expired, or if it is the refused
   * one. Throws the errors of `make`.
   */
  async tokenOf(name: string, make: () => Promise<AccessToken>, refused?: string): Promise<string> {
    const known = this.get(name)
    if (known !== undefined && known.until > systemNow() && known.token !== refused) return known.token
    const made = await make()
    this.set(name, made)
    return made.token
  }
}

/**
 * Gets one access token for several messages, and another one if the provider refuses it. Makes each only
 * once, because providers limit how many are made.
 */
export function tokenFor(accessTokens: AccessTokenCache, name: string, make: () => Promise<AccessToken>) {
  let first: Promise<string> | undefined
  let second: Promise<string> | undefined
  return {
    current: () => {
      first ??= accessTokens.tokenOf(name, make)
      return first
    },
    another: (refused: string) => {
      second ??= accessTokens.tokenOf(name, make, refused)
      return second
    },
  }
}

/** Real time in seconds since 1970, the unit of JWTs, plus `later` seconds. */
export const seconds = (later = 0): number => Math.floor(systemNow() / SECOND) + later

/** The moment `count` seconds from now. */
export const inSeconds = (count: number): Instant => instant(systemNow() + Math.floor(count) * SECOND)

export const accessTokensOf = perInstance(() => new AccessTokenCache())
