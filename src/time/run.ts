import { type Instant, instant, MINUTE, SECOND } from '../lib/clock'
import { ApiError } from '../lib/errors'
import { wait } from '../lib/system-clock'
import type { Context } from '../platform/context'
import { FIRST } from '../platform/databases/directory'
import { isConflict } from '../platform/guard'
import { logProblem } from '../platform/log'
import { type DueKind, type DueWork, Work, workOf } from './due-work.sql.ts'
import type { DueJob, Jobs, Workplace } from './job'
import { nextWorkOf } from './timekeeper.sql.ts'

type PlacedWork = { work: DueWork; place: Workplace; job: DueJob }

/**
 * The databases in which a tenant has due work. The first one has everything that is not about users; each
 * database that holds users has the work on them. While all users are in the first one, it is the only place.
 */
export async function workplacesOf(context: Context, tenantId: string, { list }: Jobs): Promise<Workplace[]> {
  const { databases } = context
  const home = { ...context, db: databases.home(tenantId) }
  const holders = await databases.usersOf(tenantId).holders()
  if (holders.every(({ name }) => name === FIRST)) return [{ context: home, list }]
  const ofUsers = list.filter(({ of }) => of === 'users')
  const hasUsers = holders.some(({ name }) => name === FIRST)
  // A change of the configuration begins its work on users in the first database, too. Without users, it
  // ends at once.
  const ofHome = hasUsers ? list.filter(({ of }) => of === 'tenant') : list
  return [
    { context: home, list: ofHome.filter(({ waitsForAll }) => !waitsForAll), isSilent: hasUsers },
    // Read apart, so that work that waits takes no room of other work.
    { context: home, list: ofHome.filter(({ waitsForAll }) => waitsForAll), isSilent: true },
    ...holders.map(({ db }) => ({ context: { ...context, db }, list: ofUsers })),
  ]
}

/** The places with messages to send: each database once. */
export const placesWithMessages = (places: readonly Workplace[]): Workplace[] =>
  places.filter(({ isSilent }) => isSilent !== true)

/**
 * The work of all places, up to three pieces of each, in order of due time, and at the same moment in the
 * order of the jobs. With `mustAll` it throws if a database can't be reached; otherwise its work waits, with
 * jobs that wait for all, and `isWhole` is false.
 */
export async function nextWork(
  places: readonly Workplace[],
  { list }: Jobs,
  mustAll: boolean,
): Promise<{ found: PlacedWork[]; isWhole: boolean }> {
  // A place has no jobs while its users wait for a move. Then it is not asked for work.
  const asked = places.filter((place) => place.list.length > 0)
  const results = await Promise.allSettled(
    asked.map(async (place) => {
      const pieces = await nextWorkOf(place.context.db, place.list)
      return pieces.map((work): PlacedWork => ({ work, place, job: jobOf(place.list, work) }))
    }),
  )
  const found: PlacedWork[] = []
  for (const result of results) {
    if (result.status === 'fulfilled') found.push(...result.value)
    else if (isGone(result.reason)) continue
    else if (mustAll || places.length === 1) throw result.reason
    else logProblem('warn', { error: `a database's due work waits: ${String(result.reason)}` })
  }
  const isWhole = results.every((one) => one.status === 'fulfilled' || isGone(one.reason))
  const priority = (job: DueJob) => list.indexOf(job)
  found.sort((a, b) => a.work.dueAt - b.work.dueAt || priority(a.job) - priority(b.job))
  return { found: found.filter(({ job }) => isWhole || !job.waitsForAll), isWhole }
}

/** Whether a tenant has no copy in a database any more, because it was erased. */
export const isGone = (error: unknown): boolean => error instanceof ApiError && error.status === 404

function jobOf(list: readonly DueJob[], work: DueWork): DueJob {
  const job = list.find(({ kind }) => kind === work.kind)
  if (job === undefined) throw new Error(`no job does work of the kind ${work.kind}`)
  return job
}

/** When a piece of work is done, in milliseconds: later than its due time if other jobs rely on it. */
export const wantedAt = ({ work, job }: PlacedWork, grace: { first: number }): number =>
  work.dueAt + (job.isFirst ? grace.first : 0)

/** The moment of the work that is due first; null if there is none. */
export const firstDue = ([first]: readonly PlacedWork[]): Instant | null => first?.work.dueAt ?? null

/** How long work waits after a failure, and after a conflict with live events, in milliseconds. */
const PAUSE = MINUTE
const SOON = SECOND

/** How long late events may take, in ms: before jobs that others rely on, and before final runs. */
export type Grace = { first: number; finals: number }

/**
 * Does a tenant's work that is due by a moment, in order of due time, in at most `steps` steps; unless
 * `mustAll`, in as many as D1 accepts. Every step is idempotent: its results are in D1 before the next one
 * begins. If a job fails that no other job relies on, such as the work of one leaderboard, it throws if
 * `mustAll`. Otherwise this work waits, and other work continues. During a move of the clock, `from` is the
 * earlier time, and messages are sent on the way. While a clock is set (`isClockSet`), the run waits for
 * delivery queues. So the caller that moves the clock finds their work either done or still due, never under
 * way (C1). Returns whether work has failed that stays due.
 */
export async function workOff(
  jobs: Jobs,
  places: readonly Workplace[],
  run: {
    to: Instant
    steps: number
    mustAll: boolean
    grace: Grace
    from?: Instant | null
    isClockSet?: boolean
  },
): Promise<boolean> {
  const { to, steps, mustAll, grace, from = null, isClockSet = mustAll } = run
  let now = from
  // A set clock does not go on by itself. So work that has failed stays due (C1).
  const failed = new Set<string>()
  const mayRun = (one: PlacedWork) =>
    wantedAt(one, grace) <= to && !failed.has(nameOf(one)) && !(one.job.waitsForAll && failed.size > 0)
  const hasRoom = () => mustAll || places.every(({ context }) => context.databases.hasRoom())
  for (let step = 0; step < steps && (step === 0 || hasRoom()); step += 1) {
    if (now !== null) {
      // On one machine, a move can keep the process busy for minutes. It takes requests only if all work waits.
      await wait(0)
      // During a move of the clock, messages that were stored earlier are sent before the next step.
      for (const { context } of placesWithMessages(places)) {
        await jobs.beforeStep(context, now).catch((error: unknown) => {
          if (places.length === 1 || !isGone(error)) throw error
        })
      }
    }
    const { found } = await nextWork(places, jobs, mustAll)
    const [first, ...others] = found.filter(mayRun)
    if (first === undefined) {
      if (now === null || now === to) return failed.size > 0
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
    const when = { until: to, by, next, grace: grace.finals, mustAll, isClockSet }
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
      // Live events came first each time. This is not an error. In real time, other work runs before the next attempt.
      if (isConflict(error)) {
        if (!mustAll && !isClockSet) await context.db.batch([later(SOON)])
        continue
      }
      if (mustAll) throw error
      const problem = { tenant: tenantId, work: kind, subject }
      logProblem('error', { ...problem, error: `due work failed: ${String(error)}` })
      if (isClockSet) failed.add(nameOf(first))
      else await context.db.batch([later(PAUSE)])
    }
  }
  return failed.size > 0
}

const nameOf = ({ work: { kind, subject }, place }: PlacedWork): string =>
  JSON.stringify([place.context.db.name, kind, subject])

/** Whether two jobs have different users if they run in different databases. */
const areApart = (one: DueJob, other: DueJob): boolean => one.of === 'users' && other.of === 'users'

/** Does all work of a kind that is due by a moment. Each database must have this kind only once. */
export async function workOffKind(places: readonly Workplace[], kind: DueKind, to: Instant): Promise<void> {
  for (const { context, list } of places) {
    const job = list.find((one) => one.kind === kind)
    if (job === undefined) continue
    for (;;) {
      const work = await workOf(context.db, kind)
      if (work === undefined || work.dueAt > to) break
      const when = { until: to, by: to, next: null, grace: 0, mustAll: true, isClockSet: true }
      await job.run(context, work, when)
    }
  }
}
