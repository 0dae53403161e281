import type { AccountDatabase } from '../../db/database'
import type { Databases } from '../../db/databases/databases'
import { FIRST } from '../../db/databases/directory'
import { fillDeletedKeys } from '../../db/databases/key-copies'
import type { Statement } from '../../db/statement'
import { within } from '../../lib/timeout'
import { DAY } from '../../lib/units'
import type { Context } from '../../runtime/context'
import { logProblem } from '../../runtime/log'

/** How long the deletion of a key waits for the other databases, in milliseconds. */
const PATIENCE = 1_000

/*
 * Keys are in the first database only. Each other one has the prefixes of deleted keys, and refuses these
 * (K2). The first database has them too, so that the others can get them later.
 */

const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
const NOTE_BY_ID = `
  INSERT INTO deleted_keys (prefix, at)
  SELECT k.prefix, ${NOW} FROM json_each(?1) asked CROSS JOIN api_keys k ON k.id = asked.value WHERE true
  ON CONFLICT DO UPDATE SET at = excluded.at`
const NOTE_BY_PREFIX = `
  INSERT INTO deleted_keys (prefix, at)
  SELECT k.prefix, ${NOW} FROM json_each(?1) asked CROSS JOIN api_keys k ON k.prefix = asked.value WHERE true
  ON CONFLICT DO UPDATE SET at = excluded.at`
const NOTE_OF_USER = `
  INSERT INTO deleted_keys (prefix, at)
  SELECT prefix, ${NOW} FROM api_keys WHERE tenant_id = ?1 AND user_id = ?2
  ON CONFLICT DO UPDATE SET at = excluded.at`

/** The keys that a batch of the first database deletes. */
export type DeletedKeys =
  | { ids: readonly string[] }
  | { prefixes: readonly string[] }
  | { tenantId: string; userId: string }

/**
 * The statements that note keys as deleted. They come before the deletion, in its batch, which goes to the
 * first database. With one database there are none.
 */
export function notingDeletedKeys(databases: Databases, keys: DeletedKeys): Statement[] {
  if (!databases.isSeveral) return []
  if ('userId' in keys) return [{ sql: NOTE_OF_USER, params: [keys.tenantId, keys.userId] }]
  if ('ids' in keys) return [{ sql: NOTE_BY_ID, params: [JSON.stringify(keys.ids)] }]
  return [{ sql: NOTE_BY_PREFIX, params: [JSON.stringify(keys.prefixes)] }]
}

const REFUSE = `
  INSERT INTO deleted_keys (prefix, at) SELECT value, ${NOW} FROM json_each(?1) WHERE true
  ON CONFLICT DO NOTHING`

/** The statements that make a database refuse deleted keys, as part of a batch. */
export const refusingKeys = (prefixes: readonly string[]): Statement[] =>
  prefixes.length === 0 ? [] : [{ sql: REFUSE, params: [JSON.stringify(prefixes)] }]

/**
 * Makes all other databases refuse deleted keys, side by side. It waits a second at most: the cron trigger
 * repeats it for a database that can't be reached (B4). Never throws.
 */
export async function refuseKeys(
  { databases, waitUntil }: Pick<Context, 'databases' | 'waitUntil'>,
  prefixes: readonly string[],
): Promise<void> {
  if (prefixes.length === 0) return
  await Promise.all(
    others(databases).map(async (db) => {
      const work = db.run(db.statement(REFUSE, JSON.stringify(prefixes))).then(() => undefined, noteProblem)
      waitUntil(work)
      await within(PATIENCE, work).catch(noteProblem)
    }),
  )
}

const noteProblem = (error: unknown) =>
  logProblem('warn', { error: `a database learns of deleted keys later: ${String(error)}` })

const others = (databases: Databases): AccountDatabase[] =>
  databases.names.filter((name) => name !== FIRST).map((name) => databases.named(name))

/** How long deleted keys are remembered, in milliseconds: longer than any cache of their records. */
const KEPT = 31 * DAY
const FORGET = `
  DELETE FROM deleted_keys WHERE prefix <> '' AND at < ${NOW} - ?1`

/**
 * Gives each other database the deleted keys that it lacks, and forgets old ones. The cron trigger calls it.
 * Never throws.
 */
export async function repeatDeletedKeys({ databases }: Pick<Context, 'databases'>): Promise<void> {
  if (!databases.isSeveral) return
  await Promise.all(
    databases.names.map(async (name) => {
      try {
        const db = databases.named(name)
        if (name !== FIRST) await fillDeletedKeys(databases.first, db)
        await db.run(db.statement(FORGET, KEPT))
      } catch (error) {
        noteProblem(error)
      }
    }),
  )
}
