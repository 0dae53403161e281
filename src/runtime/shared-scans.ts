import { ScanTurns, SharedScans } from '../db/scans'
import { perInstance } from './instance'

/** All scans of an instance take turns. */
export const scanTurnsOf = perInstance(() => new ScanTurns())

/** Declares scans of one kind, which requests share while they are under way (P11). */
export const sharedScans = <T>() => perInstance((instance) => new SharedScans<T>(scanTurnsOf(instance)))
