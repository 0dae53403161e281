import type * as z from 'zod'
import type { Instant } from '../lib/clock'
import type { Context, TenantContext } from '../platform/context'
import { type DueKind, type DueWork, readProgress, Work, type WorkKind } from './due-work.sql.ts'

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
  isClockSet: boolean
}

/** One kind of due work, as the Timekeepers see it. Made by `defineJob`. */
export type DueJob = WorkKind & {
  isFirst: boolean
  after: readonly DueKind[]
  of: 'users' | 'tenant'
  run(context: TenantContext, row: DueWork, when: When): Promise<void>
}

type JobDefinition<P> = WorkKind & {
  /**
   * Whether other jobs rely on this one. Then it runs some seconds after its due time, when no event can arrive any
   * more that belongs before it. If it fails, all work on users in its database waits for a minute. With one database,
   * all work of the tenant waits. If a job fails that is not first, only this job waits, and jobs that come `after` it.
   */
  isFirst?: boolean
  /**
   * Of users: each database that holds users of the tenant has its own piece of the work, and the job gets
   * that database. All other work is in the first database (B1).
   */
  of: 'users' | 'tenant'
  /**
   * The kinds of work that belong before it. It waits while such work is paused after a failure (and under a set clock
   * all work does), while the work of a database is not known, and while users are between two databases.
   */
  after?: readonly DueKind[]
  /** The form of its progress, if it keeps any. */
  progress?: z.ZodType<P>
  /** Does a step in guarded batches, and stores when the next one is due. A repeated step does nothing. */
  step(context: TenantContext, work: Work<P>, when: When): Promise<void>
}

/** Defines a job: one kind of due work, and the code that does a step of it. */
export function defineJob<P = never>({
  isFirst = false,
  after = [],
  progress,
  step,
  ...kind
}: JobDefinition<P>): DueJob {
  const read = (text: string | null) => (progress === undefined ? null : readProgress(progress, text))
  return {
    ...kind,
    isFirst,
    after,
    run: (context, row, when) => step(context, new Work(context.db, row, read(row.progress)), when),
  }
}

/** A database in which a tenant has due work, and the jobs that work there. */
export type Workplace = {
  context: TenantContext
  list: readonly DueJob[]
  /** Is true if another workplace is the same database, and sends its messages. */
  isSilent?: boolean
}

/** The jobs of a Timekeeper. */
export type Jobs = {
  /** In order of priority, for work that is due at the same moment. */
  list: readonly DueJob[]
  /** Called for each database before a step of a moving test clock: sends the messages stored before. */
  beforeStep(context: TenantContext, by: Instant): Promise<void>
  afterwards(context: TenantContext, now: Instant): Promise<void>
  moves: Moves
}

/** The moves of users between databases (B3). They run in real time, also while a test clock is set. */
export type Moves = {
  /** The work with their progress, for the list of tenants with work. */
  work: WorkKind
  /** The tenants with users that are to move, to wake their Timekeepers. */
  tenants(context: Context): Promise<string[]>
  /** Called before all other work: finishes a move while users are between two databases. */
  finish(context: Context, tenantId: string, kinds: readonly DueKind[]): Promise<void>
  /**
   * Called after the other work: does moves for a few seconds, if it may. Returns when they continue, in real
   * time; null if there is nothing to move. `kinds` are the kinds of work on users.
   */
  step(
    context: Context,
    tenantId: string,
    kinds: readonly DueKind[],
    mayWork: boolean,
  ): Promise<Instant | null>
}
