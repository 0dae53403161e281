import { errors, RETRY_AFTER } from '../../lib/errors'
import type { TenantDatabase } from '../database'
import { isDatabaseAway } from '../guard'
import { type Databases, Misplaced } from './databases-databases'

/** Something about a user, and its place in the request. */
export type Placed<I> = { index: number; item: I }

/** How often items are grouped again because buckets were moved meanwhile. */
const TRIES = 20

/** The groups of items, by the database that holds their users now. There is always at least one group. */
async function grouped<I>(
  databases: Databases,
  tenantId: string,
  items: readonly Placed<I>[],
  userIdOf: (item: I) => string,
): Promise<{ db: TenantDatabase; items: Placed<I>[] }[]> {
  if (!databases.isSeveral || items.length === 0) return [{ db: databases.home(tenantId), items: [...items] }]
  const groups = new Map<string, { db: TenantDatabase; items: Placed<I>[] }>()
  for (const one of items) {
    const { name, db } = await databases.withUser(tenantId, userIdOf(one.item))
    const group = groups.get(name) ?? { db, items: [] }
    group.items.push(one)
    groups.set(name, group)
  }
  return [...groups.values()]
}

const SELECT_ONE = { sql: 'SELECT 1', params: [] }

/**
 * Does work on the users of several databases, once for the items of each database, side by side. `work` must
 * store all of it in one batch, or know which part it has stored already. If a bucket was moved meanwhile,
 * the items that were not done are grouped again. If a database can't be reached, nothing is done and this
 * throws, unless it was lost after others had stored their part. Then `missed` has its items, so that a
 * client does not send the others again.
 */
export async function inEachDatabase<I, T>(
  databases: Databases,
  tenantId: string,
  items: readonly I[],
  userIdOf: (item: I) => string,
  work: (db: TenantDatabase, items: readonly Placed<I>[]) => Promise<T>,
): Promise<{ done: T[]; missed: Placed<I>[] }> {
  const done: T[] = []
  let open = items.map((item, index): Placed<I> => ({ index, item }))
  for (let tries = 0; tries < TRIES; tries += 1) {
    const groups = await grouped(databases, tenantId, open, userIdOf)
    // A database that is away is found here, before the others store anything.
    const [missing] = groups.length === 1 ? [] : await problemsOf(groups.map(({ db }) => db.run(SELECT_ONE)))
    if (missing instanceof Misplaced) continue
    if (missing !== undefined) {
      if (done.length > 0) return { done, missed: open }
      throw missing
    }
    const results = await Promise.allSettled(groups.map((group) => work(group.db, group.items)))
    const problems = new Map<unknown, Placed<I>[]>()
    open = []
    for (const [nth, result] of results.entries()) {
      const own = groups[nth]?.items ?? []
      if (result.status === 'fulfilled') done.push(result.value)
      else if (result.reason instanceof Misplaced) open.push(...own)
      else problems.set(result.reason, own)
    }
    const [problem] = problems.keys()
    const isLost = done.length > 0 && [...problems.keys()].every(isDatabaseAway)
    if (problem !== undefined && !isLost) throw problem
    if (problem !== undefined || open.length === 0)
      return { done, missed: [...[...problems.values()].flat(), ...open] }
  }
  throw errors.unavailable(RETRY_AFTER.databaseAway)
}

async function problemsOf(works: readonly Promise<unknown>[]): Promise<unknown[]> {
  const results = await Promise.allSettled(works)
  const problems = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  // A database that is away counts more than a bucket that was moved.
  return problems.sort((a, b) => Number(a instanceof Misplaced) - Number(b instanceof Misplaced))
}
