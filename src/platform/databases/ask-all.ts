import { errors, RETRY_AFTER } from '../../lib/errors'
import type { TenantDatabase } from '../database'
import { type Databases, Misplaced } from './databases-databases'

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
