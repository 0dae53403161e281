import { isConflict } from '../db/guard'
import { type Instant, instant } from '../lib/clock'
import { MINUTE, SECOND } from '../lib/units'
import type { TenantContext } from '../runtime/context'
import { logProblem } from '../runtime/log'
import type { DueKind } from './due-kinds.types'
import { type DueWork, nextWorkOf, rescheduled, workOf } from './due-work.repository'
import type { Job, Jobs } from './job.types'

/** How long work waits after a failure, and after a conflict with live events, in milliseconds. */
const PAUSE = MINUTE
const SOON = SECOND

/**
 * Delays in milliseconds, so that late events have arrived: of jobs that others rely on (`first`), and before
 * runs become final (`finals`).
 */
export type Grace = { first: number; finals: number }

/** The job for a piece of work. Throws if there is none. */
const jobOf = ({ list }: Jobs, work: DueWork): Job => {
  const job = list.find(({ kind }) => kind === work.kind)
  if (job === undefined) throw new Error(`no job does work of the kind ${work.kind}`)
  return job
}

/** The tenant's work that is due first, of the kinds that have a job. */
export const nextWork = ({ db }: TenantContext, { list }: Jobs): Promise<DueWork[]> => nextWorkOf(db, list)

/**
 * Does a tenant's work that is due by a moment, in order of due time, in at most `steps` steps. Every step is
 * idempotent: its results are in D1 before the next one begins. If a job fails that no other job relies on,
 * such as the work of one leaderboard, it throws if `mustAll`. Otherwise this work waits, and other work
 * continues. During a move of the clock, `from` is the earlier time, and messages are sent on the way. While
 * a clock is set (`isSet`), the run waits for delivery queues. So the caller that moves the clock finds their
 * work either done or still due, never under way (C1).
 */
export async function workOff(
  jobs: Jobs,
  context: TenantContext,
  {
    to,
    steps,
    mustAll,
    grace,
    from = null,
    isSet = mustAll,
  }: {
    to: Instant
    steps: number
    mustAll: boolean
    grace: Grace
    from?: Instant | null
    isSet?: boolean
  },
): Promise<void> {
  let now = from
  for (let step = 0; step < steps; step += 1) {
    // During a move of the clock, messages that were stored earlier are sent before the next step.
    if (now !== null) await jobs.beforeStep(context, now)
    const work = await nextWork(context, jobs)
    const [first, ...others] = work.filter((one) => wantedAt(jobs, one, grace) <= to)
    if (first === undefined) {
      if (now === null || now === to) return
      // The messages that are sent at the end may make work of a delivery queue due.
      now = to
      continue
    }
    if (now !== null) now = instant(Math.max(now, Math.min(first.dueAt, to)))
    const job = jobOf(jobs, first)
    const next = others[0]?.dueAt ?? null
    const by = instant(Math.max(first.dueAt, Math.min(to - grace.first, next ?? to)))
    const when = { until: to, by, next, grace: grace.finals, mustAll, isSet }
    if (job.isFirst) {
      await job.run(context, first, when)
      continue
    }
    try {
      await job.run(context, first, when)
    } catch (error) {
      const { kind, subject } = first
      const { tenantId } = context.db
      // Live events came first each time. This is not an error: other work runs before the next attempt.
      if (isConflict(error)) {
        if (!mustAll) await context.db.batch([rescheduled(context.db, first, instant(to + SOON))])
        continue
      }
      if (mustAll) throw error
      logProblem('error', {
        tenant: tenantId,
        work: kind,
        subject,
        error: `due work failed: ${String(error)}`,
      })
      await context.db.batch([rescheduled(context.db, first, instant(to + PAUSE))])
    }
  }
}

/** When a piece of work is done: later than its due time if other jobs rely on it. */
export const wantedAt = (jobs: Jobs, work: DueWork, grace: Grace): Instant =>
  instant(work.dueAt + (jobOf(jobs, work).isFirst ? grace.first : 0))

/** Does all work of a kind that is due by a moment. The tenant must have this kind only once. */
export async function workOffKind(
  jobs: Jobs,
  context: TenantContext,
  kind: DueKind,
  to: Instant,
): Promise<void> {
  for (;;) {
    const work = await workOf(context.db, kind)
    if (work === undefined || work.dueAt > to) return
    const when = { until: to, by: to, next: null, grace: 0, mustAll: true, isSet: true }
    await jobOf(jobs, work).run(context, work, when)
  }
}
