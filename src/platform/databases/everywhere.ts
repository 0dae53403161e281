import { errors, RETRY_AFTER } from '../../lib/errors'
import type { Statement, TenantDatabase } from '../database'
import { isDatabaseAway } from '../guard'
import { type Databases, Misplaced } from './databases'

/** How often a question is asked again because buckets were moved meanwhile. */
const TRIES = 20

type Place = { name: string; db: TenantDatabase }

/**
 * Asks all of these places side by side, and waits for all answers. If a bucket was moved meanwhile, it finds
 * the places again and asks again. Throws the first other error, and 503 if buckets are moved all the time.
 */
async function answersOf<P extends Place, T>(
  places: () => Promise<readonly P[]>,
  ask: (place: P) => Promise<T>,
): Promise<T[]> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answers = await Promise.allSettled((await places()).map(ask))
    const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
    if (failures.length === 0)
      return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    const other = failures.find((reason) => !(reason instanceof Misplaced))
    if (other !== undefined) throw other
  }
  throw errors.unavailable(RETRY_AFTER.databaseAway)
}

/**
 * Asks all databases that hold users of a tenant, side by side. Returns their answers in the order of the
 * databases. If a bucket was moved meanwhile, all are asked again, so that the answers have each user exactly
 * once (B3, B5). `ask` must only read. Throws 503 if a database can't be reached.
 */
export function askAll<T>(
  databases: Databases,
  tenantId: string,
  ask: (db: TenantDatabase, name: string) => Promise<T>,
): Promise<T[]> {
  return answersOf(
    () => databases.ofAllUsers(tenantId),
    ({ db, name }) => ask(db, name),
  )
}

/**
 * Asks the databases that hold these users, side by side, each one about its own users, in the given order.
 * Repeats and throws like `askAll`. Without users it asks nothing.
 */
export async function askHolders<T>(
  databases: Databases,
  tenantId: string,
  userIds: readonly string[],
  ask: (db: TenantDatabase, userIds: readonly string[]) => Promise<T>,
): Promise<T[]> {
  if (userIds.length === 0) return []
  return answersOf(
    () => databases.groupsOf(tenantId, userIds),
    ({ db, userIds: own }) => ask(db, own),
  )
}

/** Something about a user, and its place in the request. */
export type Placed<I> = { index: number; item: I }

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

/*
 * The first database has all boosts of users, too: it decides about their keys and their order, and serves
 * admins. Each other database has those of its own users, for their events. Statements about them do nothing
 * in the first database, which has its rows already.
 */
const IN_COPY = '(SELECT is_copy FROM tenants WHERE id = ?1) = 1'
const IS_HERE = (id: string, iid: string) =>
  `EXISTS (SELECT 1 FROM users u WHERE u.tenant_id = ?1 AND u.id = ${id} AND u.iid = ${iid})`

/**
 * Statements about users. If a change of the configuration has some of them, or of those that begin work on
 * users (`WORK_EVERYWHERE`), each database of the tenant does them for its own users (B4). The first database
 * notes them by their names. The tenant is ?1.
 */
export const EVERYWHERE = {
  /** Writes messages once, of users who are in this database (outbox.repository.ts). */
  keepMessages: `
  INSERT INTO outbox (tenant_id, at, seq, id, user_iid, messages)
  SELECT ?1, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?2)
  WHERE ${IS_HERE('value ->> 0', 'value ->> 4')} ON CONFLICT DO NOTHING`,
  /** A user's own boost is a part of the user's state, so every change to it raises `seq`. */
  raiseSeq: 'UPDATE users SET seq = seq + 1 WHERE tenant_id = ?1 AND id = ?2 AND iid = ?3',
  noteBoosts: `
  UPDATE points_boosts SET notified = asked.value ->> 1 FROM json_each(?2) asked
  WHERE points_boosts.id = asked.value ->> 0 AND points_boosts.tenant_id = ?1`,
  /** Own boosts get temporary keys, since one may get the key that another had. */
  freeOwnBoosts: `
  UPDATE points_boosts SET key = '~' || id WHERE tenant_id = ?1 AND id IN (SELECT value FROM json_each(?2))
    AND user_iid IS NOT NULL AND ${IN_COPY}`,
  keepOwnBoosts: `
  INSERT INTO points_boosts (tenant_id, id, created, updated, system_id, user_id, user_iid, key, name, start,
    "end", multiplier, rounding, user_attributes)
  SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
    value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12 FROM json_each(?2)
  WHERE ${IN_COPY} AND ${IS_HERE('value ->> 4', 'value ->> 5')}
  ON CONFLICT (id) DO UPDATE SET updated = excluded.updated, key = excluded.key, name = excluded.name,
    start = excluded.start, "end" = excluded."end", multiplier = excluded.multiplier,
    rounding = excluded.rounding, user_attributes = excluded.user_attributes`,
  deleteOwnBoosts: `
  UPDATE points_boosts SET deleted = ?3 WHERE tenant_id = ?1 AND id IN (SELECT value FROM json_each(?2))
    AND user_iid IS NOT NULL AND deleted IS NULL AND ${IN_COPY}`,
  deleteOwnBoostsOfSystem: `
  UPDATE points_boosts SET deleted = ?3 WHERE tenant_id = ?1 AND system_id = ?2 AND user_iid IS NOT NULL
    AND deleted IS NULL AND ${IN_COPY}`,
} as const

/** Such a statement with its parameters. */
export const everywhere = (name: keyof typeof EVERYWHERE, ...params: unknown[]): Statement => ({
  sql: EVERYWHERE[name],
  params,
  everywhere: name,
})
