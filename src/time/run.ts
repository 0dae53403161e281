import { type Instant, instant, MINUTE, SECOND } from '../lib/clock'
import { isConflict } from '../platform/guard'
import { logProblem } from '../platform/log'
import { Work, workOf } from './due-work.sql.ts'
import type { Job, Jobs, Workplace } from './job'
import type { DueKind } from './kinds'
import { firstDue, isGone, nextWork, placesWithMessages, wantedAt } from './workplaces'

/** How long work waits after a failure, and after a conflict with live events, in milliseconds. */
const PAUSE = MINUTE
const SOON = SECOND

/**
 * Delays in milliseconds, so that late events have arrived: of jobs that others rely on (`first`), and before
 * runs become final (`finals`).
 */
export type Grace = { first: number; finals: number }

/**
 * Does a tenant's work that is due by a moment, in order of due time, in at most `steps` steps; unless
 * `mustAll`, in as many as D1 accepts. Every step is idempotent: its results are in D1 before the next one
 * begins. If a job fails that no other job relies on, such as the work of one leaderboard, it throws if
 * `mustAll`. Otherwise this work waits, and other work continues. During a move of the clock, `from` is the
 * earlier time, and messages are sent on the way. While a clock is set (`isSet`), the run waits for delivery
 * queues. So the caller that moves the clock finds their work either done or still due, never under way (C1).
 */
export async function workOff(
  jobs: Jobs,
  places: readonly Workplace[],
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
  const hasRoom = () => mustAll || places.every(({ context }) => context.databases.hasRoom())
  for (let step = 0; step < steps && (step === 0 || hasRoom()); step += 1) {
    // During a move of the clock, messages that were stored earlier are sent before the next step.
    if (now !== null) {
      for (const { context } of placesWithMessages(places)) {
        await jobs.beforeStep(context, now).catch((error: unknown) => {
          if (places.length === 1 || !isGone(error)) throw error
        })
      }
    }
    const { found } = await nextWork(places, jobs, mustAll)
    const [first, ...others] = found.filter((one) => wantedAt(one, grace) <= to)
    if (first === undefined) {
      if (now === null || now === to) return
      // The messages that are sent at the end may make work of a delivery queue due.
      now = to
      continue
    }
    if (now !== null) now = instant(Math.max(now, Math.min(first.work.dueAt, to)))
    const { job, work, place } = first
    const { context } = place
    // Work on the users of one database does not wait for that on the users of another one.
    const next = firstDue(others.filter((one) => one.place === place || !areApart(job, one.job)))
    const by = instant(Math.max(work.dueAt, Math.min(to - grace.first, next ?? to)))
    const when = { until: to, by, next, grace: grace.finals, mustAll, isSet }
    if (job.isFirst) {
      await job.run(context, work, when)
      continue
    }
    try {
      await job.run(context, work, when)
    } catch (error) {
      const { kind, subject } = work
      const later = (delay: number) => new Work(context.db, work, null).goOnAt(instant(to + delay))
      const { tenantId } = context.db
      // Live events came first each time. This is not an error: other work runs before the next attempt.
      if (isConflict(error)) {
        if (!mustAll) await context.db.batch([later(SOON)])
        continue
      }
      if (mustAll) throw error
      logProblem('error', {
        tenant: tenantId,
        work: kind,
        subject,
        error: `due work failed: ${String(error)}`,
      })
      await context.db.batch([later(PAUSE)])
    }
  }
}

/** Whether two jobs have different users if they run in different databases. */
const areApart = (one: Job, other: Job): boolean => one.of === 'users' && other.of === 'users'

/** Does all work of a kind that is due by a moment. Each database must have this kind only once. */
export async function workOffKind(places: readonly Workplace[], kind: DueKind, to: Instant): Promise<void> {
  for (const { context, list } of places) {
    const job = list.find((one) => one.kind === kind)
    if (job === undefined) continue
    for (;;) {
      const work = await workOf(context.db, kind)
      if (work === undefined || work.dueAt > to) break
      const when = { until: to, by: to, next: null, grace: 0, mustAll: true, isSet: true }
      await job.run(context, work, when)
    }
  }
}
