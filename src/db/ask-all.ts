import { errors, RETRY_AFTER } from '../lib/errors'
import type { TenantDatabase } from './database'
import { type Databases, Misplaced } from './databases'

/** How often a question is asked again because buckets were moved meanwhile. */
const TRIES = 20

/**
 * Asks all databases that hold users of a tenant, side by side. Returns their answers in the order of the
 * databases. If a bucket was moved meanwhile, all are asked again, so that the answers have each user exactly
 * once (B3, B5). `ask` must only read. Throws 503 if a database can't be reached.
 */
export async function askAll<T>(
  databases: Databases,
  tenantId: string,
  ask: (db: TenantDatabase, name: string) => Promise<T>,
): Promise<T[]> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const all = await databases.ofAllUsers(tenantId)
    const answers = await Promise.allSettled(all.map(({ db, name }) => ask(db, name)))
    const failed = answers.find((answer) => answer.status === 'rejected')
    if (failed === undefined)
      return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    if (!(failed.reason instanceof Misplaced)) throw failed.reason
  }
  throw errors.unavailable(RETRY_AFTER.databaseAway)
}
