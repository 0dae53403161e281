import { isConflict } from '../db/guard'
import { type Instant, instant } from '../lib/clock'
import { MINUTE, SECOND } from '../lib/units'
import type { TenantContext } from '../runtime/context'
import type { DueKind } from './due-kinds.types'
import { type DueWork, nextWorkOf, rescheduled, workOf } from './due-work.repository'
import type { Job, Jobs } from './job.types'

/** How long work is left alone after it has failed, and after live events were faster, in milliseconds. */
const PAUSE = MINUTE
const SOON = SECOND

/** How long after their time, in milliseconds, what others rely on is done (`first`), and runs are made final, so that what was on its way has arrived. */
export type Grace = { first: number; finals: number }

/** The jobs of a Timekeeper by kind. */
const jobOf = ({ list }: Jobs, work: DueWork): Job => {
  const job = list.find(({ kind }) => kind === work.kind)
  if (job === undefined) throw new Error(`no job does work of the kind ${work.kind}`)
  return job
}

/** A tenant's work that is due first, of the kinds that there are jobs for. */
export const nextWork = ({ db }: TenantContext, { list }: Jobs): Promise<DueWork[]> => nextWorkOf(db, list)

/**
 * Does what of a tenant's work is due by a moment, in order of due time, at most so many steps of it. Every step is idempotent:
 * what it has done is in D1 before the next one begins. If something fails on which nothing else relies, such as the work of one leaderboard, it
 * throws if all must be done; else that waits, and holds up nothing. While the
 * clock is moved, `from` is where it stood: what is to be told is told on the way. While a clock is set (`isSet`), couriers are waited for, so that
 * whoever moves it finds their work done or still to be done, never under way (C1).
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
    // While time is made to pass, what was told before is told before anything else happens.
    if (now !== null) await jobs.beforeStep(context, now)
    const work = await nextWork(context, jobs)
    const [first, ...others] = work.filter((one) => wantedAt(jobs, one, grace) <= to)
    if (first === undefined) {
      if (now === null || now === to) return
      // What is told in the end may make a courier's work due.
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
      // Live events were faster each time, which is no fault: the others have their turn before it is tried again.
      if (isConflict(error)) {
        if (!mustAll) await context.db.batch([rescheduled(context.db, first, instant(to + SOON))])
        continue
      }
      if (mustAll) throw error
      console.error(JSON.stringify({ level: 'error', tenantId, work: kind, subject, error: String(error) }))
      await context.db.batch([rescheduled(context.db, first, instant(to + PAUSE))])
    }
  }
}

/** When a piece of work is to be done. */
export const wantedAt = (jobs: Jobs, work: DueWork, grace: Grace): Instant =>
  instant(work.dueAt + (jobOf(jobs, work).isFirst ? grace.first : 0))

/** Does all work of a kind that is due by a moment, of a kind that a tenant has but once. */
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
