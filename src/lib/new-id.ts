import { v7 } from 'uuid'
import type { Instant } from './clock'

/** A UUID v7 whose time is `at` (G4). Ids of the same millisecond have no particular order. */
export function newId(at: Instant): string {
  return v7({ msecs: at })
}
