import { MINUTE } from '../lib/units'
import { perInstance } from './instance'
import { ScanTurns, SharedScans } from './scans'

/**
 * A result that was counted over more users or scores than this is kept and served again, and for how long,
 * in milliseconds (P11).
 */
export const KEPT_ABOVE = 10_000
export const KEPT_FOR = MINUTE

/** All scans of an instance take turns. */
export const scanTurnsOf = perInstance(() => new ScanTurns())

/** Declares scans of one kind, which requests share while they are under way (P11). */
export const sharedScans = <T>() => perInstance((instance) => new SharedScans<T>(scanTurnsOf(instance)))
