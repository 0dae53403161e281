import type { Instant } from '../lib/clock'
import type { TenantContext } from '../runtime/context'
import type { WorkKind } from './due-kinds.types'
import type { DueWork } from './due-work.repository'

/** When a step of due work is done, by the service's clock. */
export type When = {
  /** Up to when work is done. */
  until: Instant
  /** Up to when a job may go on by itself: to where other work is due, at most. */
  by: Instant
  /** When other work is due next; null if none is known. */
  next: Instant | null
  /** Milliseconds after which nothing is on its way any more that counts for a moment. */
  grace: number
  /** Whether all must be done, as when a test clock is moved: what fails is thrown. */
  mustAll: boolean
  /** Whether a test clock is set. */
  isSet: boolean
}

/** One kind of due work: what does a step of it. */
export type Job = WorkKind & {
  /**
   * Whether others rely on it: it waits until nothing is on its way that belongs before it, and nothing else is done if it fails. Else it
   * waits a minute after a failure, and holds up nothing.
   */
  isFirst?: boolean
  /** Does a step in guarded batches, and stores when the next one is due. A step that is repeated does nothing. */
  run(context: TenantContext, work: DueWork, when: When): Promise<void>
}

/** What a Timekeeper does. */
export type Jobs = {
  /** In order of priority among what is due at the same moment. */
  list: readonly Job[]
  /** Called before each step while a test clock is moved: sends what was stored before. */
  beforeStep(context: TenantContext, by: Instant): Promise<void>
  /** Called once the steps are done. */
  afterwards(context: TenantContext, now: Instant): Promise<void>
}
