import { BoundedMap } from '../../../../lib/bounded'
import { type Instant, instant } from '../../../../lib/clock'
import { systemNow } from '../../../../lib/system-clock'
import { SECOND } from '../../../../lib/units'
import { perInstance } from '../../../../runtime/instance'

/** What a provider lets us in by, and until when it is good. */
export type AccessToken = { token: string; until: Instant }

/**
 * Passes by provider and account, at most 20. What is being made is not remembered, only what was: a Worker can't wait in one request for
 * what another one does.
 */
export class AccessTokenCache extends BoundedMap<string, AccessToken> {
  constructor() {
    super(20)
  }

  /** The pass of this name, made by `make` where there is none that is good, or only the one that was refused. Throws what `make` throws. */
  async passOf(name: string, make: () => Promise<AccessToken>, refused?: string): Promise<string> {
    const known = this.get(name)
    if (known !== undefined && known.until > systemNow() && known.token !== refused) return known.token
    const made = await make()
    this.set(name, made)
    return made.token
  }
}

/** Gets a pass, and another one where it is refused, for several messages at once: each is made once, since providers count them. */
export function tokenFor(accessTokens: AccessTokenCache, name: string, make: () => Promise<AccessToken>) {
  let first: Promise<string> | undefined
  let second: Promise<string> | undefined
  return {
    sweep: () => {
      first ??= accessTokens.passOf(name, make)
      return first
    },
    another: (refused: string) => {
      second ??= accessTokens.passOf(name, make, refused)
      return second
    },
  }
}

/** Real time in seconds, as tokens have it, and so many seconds later. */
export const seconds = (later = 0): number => Math.floor(systemNow() / SECOND) + later

/** The moment so many seconds from now. */
export const inSeconds = (count: number): Instant => instant(systemNow() + Math.floor(count) * SECOND)

export const accessTokensOf = perInstance(() => new AccessTokenCache())
