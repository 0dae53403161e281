import type { Instant } from '../lib/clock'
import { ApiError } from '../lib/errors'
import type { Context } from '../platform/context'
import { FIRST } from '../platform/databases/directory'
import { logProblem } from '../platform/log'
import type { DueWork } from './due-work.sql.ts'
import type { Job, Jobs, Workplace } from './job'
import { nextWorkOf } from './timekeeper.sql.ts'

type PlacedWork = { work: DueWork; place: Workplace; job: Job }

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
    { context: home, list: ofHome, isSilent: hasUsers },
    ...holders.map(({ db }) => ({ context: { ...context, db }, list: ofUsers })),
  ]
}

/** The places with messages to send: each database once. */
export const placesWithMessages = (places: readonly Workplace[]): Workplace[] =>
  places.filter(({ isSilent }) => isSilent !== true)

/**
 * The work of all places, up to three pieces of each, in order of due time, and at the same moment in the
 * order of the jobs. With `mustAll` it throws if a database can't be reached; otherwise its work waits, and
 * `isWhole` is false.
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
  const priority = (job: Job) => list.indexOf(job)
  found.sort((a, b) => a.work.dueAt - b.work.dueAt || priority(a.job) - priority(b.job))
  return { found, isWhole: results.every((one) => one.status === 'fulfilled' || isGone(one.reason)) }
}

/** Whether a tenant has no copy in a database any more, because it was erased. */
export const isGone = (error: unknown): boolean => error instanceof ApiError && error.status === 404

function jobOf(list: readonly Job[], work: DueWork): Job {
  const job = list.find(({ kind }) => kind === work.kind)
  if (job === undefined) throw new Error(`no job does work of the kind ${work.kind}`)
  return job
}

/** When a piece of work is done, in milliseconds: later than its due time if other jobs rely on it. */
export const wantedAt = ({ work, job }: PlacedWork, grace: { first: number }): number =>
  work.dueAt + (job.isFirst ? grace.first : 0)

/** The moment of the work that is due first; null if there is none. */
export const firstDue = ([first]: readonly PlacedWork[]): Instant | null => first?.work.dueAt ?? null
