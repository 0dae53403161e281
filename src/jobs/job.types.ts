import type { Instant } from '../lib/clock'
import type { TenantContext } from '../runtime/context'
import type { WorkKind } from './due-kinds.types'
import type { DueWork } from './due-work.repository'

/** The times for a step of due work, by the service's clock. */
export type When = {
  /** Work that is due up to this moment is done. */
  until: Instant
  /** A job may continue by itself up to this moment: at most until other work is due. */
  by: Instant
  /** When other work is due next; null if none is known. */
  next: Instant | null
  /** Milliseconds after a moment, until no event can arrive that counts for it. */
  grace: number
  /** Whether all work must be done, as during a move of the test clock. If so, failures are thrown. */
  mustAll: boolean
  /** Whether a test clock is set. */
  isSet: boolean
}

/** One kind of due work, with the code that does a step of it. */
export type Job = WorkKind & {
  /**
   * Whether other jobs rely on it. If so, it waits until no event can arrive that belongs before it, and if
   * it fails, nothing else is done. Otherwise it waits a minute after a failure, and delays no other work.
   */
  isFirst?: boolean
  /**
   * Whether it is work on users. If so, each database that holds users of the tenant has its own piece of the
   * work, and the job gets that database. All other work is in the first database (B1).
   */
  isOfUsers?: boolean
  /**
   * Does a step in guarded batches, and stores when the next one is due. A step that is repeated does
   * nothing.
   */
  run(context: TenantContext, work: DueWork, when: When): Promise<void>
}

/** A database in which a tenant has due work, and the jobs that work there. */
export type Workplace = { context: TenantContext; list: readonly Job[] }

/** The jobs of a Timekeeper. */
export type Jobs = {
  /** In order of priority, for work that is due at the same moment. */
  list: readonly Job[]
  /**
   * Called before each step while a test clock is moved, for each database with users: sends the messages
   * that were stored before.
   */
  beforeStep(context: TenantContext, by: Instant): Promise<void>
  /** Called once the steps are done, for each database with users. */
  afterwards(context: TenantContext, now: Instant): Promise<void>
}
