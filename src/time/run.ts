import { type Instant, instant, MINUTE, SECOND } from '../lib/clock'
import { ApiError } from '../lib/errors'
import { systemNow, wait } from '../lib/system-clock'
import type { Context } from '../platform/context'
import type { TenantDatabase } from '../platform/database'
import { FIRST } from '../platform/databases/directory'
import { isConflict } from '../platform/guard'
import { logProblem } from '../platform/log'
import { type DueKind, type DueWork, workOf } from './due-work.sql.ts'
import type { DueJob, Jobs, Workplace } from './job'
import { nextWorkOf } from './timekeeper.sql.ts'

/** Work left alone for some time; without `kind`, all work on users in the database; with `holdsAll`, all work. */
type Pause = Record<'name' | 'kind' | 'subject', string | null> & { until: Instant; holdsAll: boolean }

/**
 * Work that has failed, and until when it is left alone, in real time. It stays due at its own time in D1, since jobs
 * work as of that time. A Timekeeper keeps this in memory: without it, the work is only tried earlier. An entry is
 * deleted once its time has come.
 */
export class Paused {
  readonly #pauses = new Map<string, Pause>()

  /** Leaves a piece of work alone; without one, all work on users in the database. */
  add({ name }: TenantDatabase, work: DueWork | null, ms: number, holdsAll: boolean): void {
    const [kind, subject] = [work?.kind ?? null, work?.subject ?? null]
    const pause = { name, kind, subject, until: instant(systemNow() + ms), holdsAll }
    this.#pauses.set(JSON.stringify([name, kind, subject]), pause)
  }

  /** All that is left alone at a moment. */
  at(now: Instant): Pause[] {
    for (const [key, { until }] of this.#pauses) if (until <= now) this.#pauses.delete(key)
    return [...this.#pauses.values()]
  }
}

type PlacedWork = { work: DueWork; place: Workplace; job: DueJob }

/** Whether a job must come after work of other kinds. */
export const comesAfter = ({ after }: DueJob): boolean => after.length > 0

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
    { context: home, list: ofHome.filter((job) => !comesAfter(job)), isSilent: hasUsers },
    // Read apart, so that work that waits takes no room of other work.
    { context: home, list: ofHome.filter(comesAfter), isSilent: true },
    ...holders.map(({ db }) => ({ context: { ...context, db }, list: ofUsers })),
  ]
}

/** The places with messages to send: each database once. */
export const placesWithMessages = (places: readonly Workplace[]): Workplace[] =>
  places.filter(({ isSilent }) => isSilent !== true)

/**
 * The work of all places, up to three pieces of each, in order of due time, and at the same moment in the
 * order of the jobs. With `mustAll` it throws if a database can't be reached; otherwise its work waits, and so do
 * jobs that come after other work, and `isWhole` is false. It leaves out what is paused, and jobs that come after that.
 */
export async function nextWork(
  places: readonly Workplace[],
  { list }: Jobs,
  mustAll: boolean,
  pauses: readonly Pause[] = [],
): Promise<{ found: PlacedWork[]; isWhole: boolean }> {
  if (pauses.some(({ holdsAll }) => holdsAll)) return { found: [], isWhole: false }
  // A place has no jobs while its users wait for a move. Then it is not asked for work.
  const asked = places.filter((place) => place.list.length > 0)
  const stopped = new Set(pauses.flatMap(({ name, kind }) => (kind === null ? [name] : [])))
  const isStopped = ({ name }: TenantDatabase, { of }: DueJob) => of === 'users' && stopped.has(name)
  const isHeld = ({ after }: DueJob) => pauses.some(({ kind }) => after.some((one) => one === kind))
  const results = await Promise.allSettled(
    asked.map(async (place) => {
      const { db } = place.context
      const open = place.list.filter((job) => !isHeld(job) && !isStopped(db, job))
      const own = pauses.filter(({ name }) => name === db.name)
      const pieces = open.length === 0 ? [] : await nextWorkOf(db, open, own)
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
  const isWhole =
    results.every((one) => one.status === 'fulfilled' || isGone(one.reason)) &&
    !asked.some((place) => place.list.some((job) => isStopped(place.context.db, job)))
  const priority = (job: DueJob) => list.indexOf(job)
  found.sort((a, b) => a.work.dueAt - b.work.dueAt || priority(a.job) - priority(b.job))
  return { found: found.filter(({ job }) => isWhole || !comesAfter(job)), isWhole }
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
 * begins. With `mustAll`, a failure is thrown. Otherwise the failed work is paused, and other work continues; if
 * other jobs rely on it, all work on users in its database is paused, or with one database it throws. During a
 * move of the clock, `from` is the earlier time, and messages are sent on the way. While a clock is set
 * (`isClockSet`), the run waits for delivery queues. So the caller that moves the clock finds their work either
 * done or still due, never under way (C1).
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
    paused?: Paused
  },
): Promise<void> {
  const { to, steps, mustAll, grace, from = null, isClockSet = mustAll, paused = new Paused() } = run
  let now = from
  // A pause lasts for the whole run, so that slow failures leave time for other work.
  const began = systemNow()
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
    const { found } = await nextWork(places, jobs, mustAll, mustAll ? [] : paused.at(began))
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
    const when = { until: to, by, next, grace: grace.finals, mustAll, isClockSet }
    try {
      await job.run(context, work, when)
    } catch (error) {
      if (job.isFirst && (mustAll || places.length === 1)) throw error
      const left = job.isFirst ? null : work
      // Events of a batch count as of when they were sent (E9), if the clock is set.
      const holdsAll = isClockSet && jobs.list.some(({ after }) => after.some((kind) => kind === work.kind))
      // Live events came first each time. This is not an error: other work runs before the next attempt.
      if (isConflict(error)) {
        if (!mustAll) paused.add(context.db, left, SOON, holdsAll)
        continue
      }
      if (mustAll) throw error
      const problem = { tenant: context.db.tenantId, work: work.kind, subject: work.subject }
      logProblem('error', { ...problem, error: `due work failed: ${String(error)}` })
      paused.add(context.db, left, PAUSE, holdsAll)
    }
  }
}

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
