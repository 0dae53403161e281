import { v7 } from 'uuid'
import type { Instant } from './clock'
import { systemNow } from './system-clock'

/** A UUID v7 whose time is `at` (G4). Ids of the same millisecond have no particular order. */
export function newId(at: Instant): string {
  return v7({ msecs: at })
}

/** Bits in an ordered id: of real milliseconds, which repeat after 70 minutes, and of the position. */
const TIME_BITS = 22
const POSITION_BITS = 10

/**
 * A UUID v7 whose time is `at`, for lists in order of id. Ids of the same millisecond are in the order in
 * which they are made, also while a test clock does not move: first by the real time, then by the position in
 * a list, from 0.
 */
export function orderedId(at: Instant, position: number): string {
  const time = systemNow() % 2 ** TIME_BITS
  const last = 2 ** POSITION_BITS - 1
  return v7({ msecs: at, seq: time * 2 ** POSITION_BITS + Math.min(position, last) })
}
