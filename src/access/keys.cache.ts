import { BoundedMap } from '../lib/bounded'
import { perInstance } from '../runtime/instance'
import type { KeyRecord } from './keys.rules'

/**
 * Key records by prefix, at most 10,000. Safe to keep: a record never changes, and D1 says whether it still
 * exists.
 */
class KeyCache extends BoundedMap<string, KeyRecord> {
  constructor() {
    super(10_000)
  }
}

export const keyCacheOf = perInstance(() => new KeyCache())
