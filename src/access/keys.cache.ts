import { BoundedMap } from '../lib/bounded'
import type { Instant } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import { DAY } from '../lib/units'
import { perInstance } from '../platform/instance'
import type { KeyScope } from '../platform/key-scopes.types'
import type { Surface } from './surface.types'

/** A key's record: the data to check the key and to find its holder. It never changes (K2). */
export type KeyRecord = {
  id: string
  kind: Surface
  /** Null for an admin key. */
  tenantId: string | null
  userId: string | null
  /** SHA-256 of the body, in hexadecimal (K1). */
  hash: string
  /** The things that an application key may do (K5). */
  scope: KeyScope
  /** The name of an admin key. Records that an earlier version has put into KV lack it. */
  name?: string | null | undefined
  /** When an application key ends; null for never (K5). */
  expires: Instant | null
}

/** How long an isolate remembers a record, in milliseconds: deleted keys are forgotten some time (K2). */
const KEPT = DAY

/**
 * Key records by prefix, at most 10,000, each for a day. This is safe: a record never changes, and D1 refuses
 * keys that were deleted.
 */
class KeyCache {
  readonly #records = new BoundedMap<string, { record: KeyRecord; until: number }>(10_000)

  get(prefix: string): KeyRecord | undefined {
    const found = this.#records.get(prefix)
    return found === undefined || systemNow() > found.until ? undefined : found.record
  }

  set(prefix: string, record: KeyRecord): void {
    this.#records.set(prefix, { record, until: systemNow() + KEPT })
  }

  delete(prefix: string): void {
    this.#records.delete(prefix)
  }
}

export const keyCacheOf = perInstance(() => new KeyCache())
