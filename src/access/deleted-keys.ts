import * as z from 'zod'
import { DAY, SECOND } from '../lib/clock'
import { jsonRow, packed } from '../lib/packed'
import { within } from '../lib/system-clock'
import type { Context } from '../platform/context'
import { type AccountDatabase, DATABASE_NOW, type Statement, statement } from '../platform/database'
import type { Databases } from '../platform/databases/databases'
import { logProblem } from '../platform/log'
import { dropKeyRecord } from './keys.sql.ts'

/** A deletion to repeat after a restore (M3): of a user (internal id), an API key (prefix) or a tenant. */
export const Deletion = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('user'), tenantId: z.string(), iid: z.string() }),
  z.object({ kind: z.literal('key'), prefix: z.string() }),
  z.object({ kind: z.literal('tenant'), tenantId: z.string() }),
])
export type Deletion = z.infer<typeof Deletion>

/**
 * The place of a deletion in the list: its moment in milliseconds, and its name. After the last one come the records
 * of keys in KV: then it has the cursor of the next page of these.
 */
export const DeletionPlace = z.object({ at: z.number(), name: z.string(), cursor: z.string().optional() })
export type DeletionPlace = z.infer<typeof DeletionPlace>

/** Deletions, and the place of the last one; null if there is none. */
export type Deletions = { deletions: Deletion[]; last: DeletionPlace | null }

/** How long a call of the list may take, in milliseconds, and how often it is tried. */
const NOTE_PATIENCE = 2_000
const TRIES = 3

const NAME = 'account'

/**
 * Adds deletions to the list that survives a restore (M3). Do this before the deletion itself, which may be
 * interrupted: doing it again for something that still exists is what the caller wanted anyway. Throws if the
 * list cannot be reached.
 */
export async function noteDeletions(
  { env }: Pick<Context, 'env'>,
  deletions: readonly Deletion[],
): Promise<void> {
  if (deletions.length === 0) return
  for (let tries = 1; ; tries += 1) {
    try {
      await within(NOTE_PATIENCE, env.DELETIONS.getByName(NAME).note({ deletions: [...deletions] }))
      return
    } catch (error) {
      if (tries === TRIES) throw error
    }
  }
}

/** The same, but never throws, since a deletion must not depend on the list. A failure is logged. */
export async function tryToNoteDeletions(
  context: Pick<Context, 'env'>,
  deletions: readonly Deletion[],
): Promise<void> {
  try {
    await noteDeletions(context, deletions)
  } catch (error) {
    logProblem('error', { error: `deletions not noted for a restore: ${error}` })
  }
}

/** The next deletions after a place, oldest first (M3). */
export async function nextDeletions(
  { env }: Pick<Context, 'env'>,
  after: DeletionPlace | null,
  limit: number,
): Promise<Deletions> {
  return await env.DELETIONS.getByName(NAME).page({ after, limit })
}

/** How long the deletion of a key waits for the other databases, in milliseconds. */
const PATIENCE = 1_000

/*
 * Keys are in the first database only. Each other one has the prefixes of deleted keys, and refuses these
 * (K2). The first database has them too, so that the others can get them later. So they are also noted while
 * there is one database: another one may be added while the caches still have their records.
 */

/** A restore may have brought the key back. */
const AGAIN = 'ON CONFLICT DO UPDATE SET at = excluded.at, dropped = NULL'
const noteBy = (column: 'id' | 'prefix') => `
  INSERT INTO deleted_keys (prefix, at)
  SELECT k.prefix, ${DATABASE_NOW} FROM json_each(?1) asked
  CROSS JOIN api_keys k ON k.${column} = asked.value WHERE true
  ${AGAIN}`
const NOTE_BY_ID = noteBy('id')
const NOTE_BY_PREFIX = noteBy('prefix')
const NOTE_OF_USER = `
  INSERT INTO deleted_keys (prefix, at)
  SELECT prefix, ${DATABASE_NOW} FROM api_keys WHERE tenant_id = ?1 AND user_id = ?2
  ${AGAIN}`

type DeletedKeys =
  | { ids: readonly string[] }
  | { prefixes: readonly string[] }
  | { tenantId: string; userId: string }

/** Statements that note keys as deleted (K2). They precede the deletion in a batch of the first database. */
export function notingDeletedKeys(keys: DeletedKeys): Statement[] {
  if ('userId' in keys) return [statement(NOTE_OF_USER, keys.tenantId, keys.userId)]
  if ('ids' in keys) return [statement(NOTE_BY_ID, JSON.stringify(keys.ids))]
  return [statement(NOTE_BY_PREFIX, JSON.stringify(keys.prefixes))]
}

const REFUSE = `
  INSERT INTO deleted_keys (prefix, at) SELECT value, ${DATABASE_NOW} FROM json_each(?1) WHERE true
  ${AGAIN}`

/** The statements that make a database refuse deleted keys, as part of a batch. Any number of keys fits. */
export const refusingKeys = (prefixes: readonly string[]): Statement[] =>
  packed(prefixes.map((prefix) => JSON.stringify(prefix))).map((list) => statement(REFUSE, list))

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
      const work = db.batch(refusingKeys(prefixes)).then(() => undefined, noteProblem)
      waitUntil(work)
      await within(PATIENCE, work).catch(noteProblem)
    }),
  )
}

const noteProblem = (error: unknown) =>
  logProblem('warn', { error: `a database learns of deleted keys later: ${String(error)}` })

const others = (databases: Databases): AccountDatabase[] =>
  databases.others.map((name) => databases.named(name))

/** How long deleted keys are remembered, in milliseconds. */
const KEPT = 31 * DAY

/** How far back deleted keys are copied again, in ms: the first database's clock may go back a little. */
const MARGIN = 60_000

// The row without a prefix says up to which moment a database has all deleted keys. No key has an empty
// prefix.
const KNOWN = "SELECT at FROM deleted_keys WHERE prefix = ''"
// In two parts, so that each finds its rows by the index `deleted_keys_by_time`. The second part has old keys
// that are about to be forgotten. They are read only for a database that lacks keys of that age.
const SINCE = `
  SELECT prefix, at FROM deleted_keys WHERE dropped IS NULL AND at >= ?1 AND prefix <> ''
  UNION ALL SELECT prefix, at FROM deleted_keys WHERE dropped > 0 AND at >= ?1
    AND ?1 < ${DATABASE_NOW} - ${KEPT}`
const NOW = `SELECT ${DATABASE_NOW} AS now`
const KEEP = `
  INSERT INTO deleted_keys (prefix, at) SELECT value ->> 0, value ->> 1 FROM json_each(?1) WHERE true
  ON CONFLICT DO UPDATE SET at = excluded.at WHERE excluded.at > deleted_keys.at`
const KNOW = `
  INSERT INTO deleted_keys (prefix, at) VALUES ('', ?1) ON CONFLICT DO UPDATE SET at = excluded.at`

const Known = z.object({ at: z.number() })
const Keys = z.array(z.object({ prefix: z.string(), at: z.number() }))
const Now = z.tuple([z.object({ now: z.number() })])

/**
 * Gives another database the deleted keys of the first one that it lacks, so that it knows all of them. A
 * database gets them before it gets its first users of a tenant, and by the cron trigger (K2, B4). Costs two
 * reads and a write.
 */
export async function fillDeletedKeys(first: AccountDatabase, other: AccountDatabase): Promise<void> {
  const known = await other.find(Known, KNOWN)
  const { keys, now } = await first.batchOf({
    keys: first.statement(SINCE, (known?.at ?? 0) - MARGIN),
    now: first.statement(NOW),
  })
  const [{ now: at }] = Now.parse(now.results)
  const rows = Keys.parse(keys.results).map((key) => jsonRow([key.prefix, key.at]))
  await other.batch([...packed(rows).map((list) => other.statement(KEEP, list)), other.statement(KNOW, at)])
}

/**
 * How long they are remembered after their record was deleted in KV, in milliseconds. An edge may still have
 * the record for a day, and give it to an isolate, which keeps it for another day.
 */
const CACHED = 3 * DAY
const DROPPED_AT_ONCE = 200
const FORGOTTEN_AT_ONCE = 1_000
const KV_PATIENCE = 10 * SECOND

const OLD = `
  SELECT prefix FROM deleted_keys
  WHERE prefix <> '' AND dropped IS NULL AND at < ${DATABASE_NOW} - ?1 LIMIT ?2`
const DROP = `
  UPDATE deleted_keys SET dropped = ${DATABASE_NOW}
  WHERE prefix IN (SELECT value FROM json_each(?1)) AND at < ${DATABASE_NOW} - ?2`
const DROPPED = `SELECT prefix FROM deleted_keys WHERE dropped < ${DATABASE_NOW} - ?1 LIMIT ?2`
const FORGET = `
  DELETE FROM deleted_keys WHERE prefix IN (SELECT value FROM json_each(?1)) AND at < ${DATABASE_NOW} - ?2`

const Prefix = z.object({ prefix: z.string() }).transform(({ prefix }) => prefix)

/** Gives other databases the deleted keys that they lack, and forgets old ones (K2). Never throws. */
export async function repeatDeletedKeys(context: Pick<Context, 'databases' | 'env'>): Promise<void> {
  const { databases } = context
  const fills = others(databases).map((db) => fillDeletedKeys(databases.first, db).catch(noteProblem))
  await Promise.all(fills)
  await forgetOldKeys(context).catch((error: unknown) =>
    logProblem('warn', { error: `old deleted keys are forgotten later: ${String(error)}` }),
  )
}

/**
 * Forgets keys that were deleted long ago. The record in KV may still be there: it was deleted once, and
 * that may have failed. So it is deleted again. The key is forgotten three days later, when no cache has the
 * record any more. The first database forgets a key last, so that no other one gets it again.
 */
async function forgetOldKeys({ databases, env }: Pick<Context, 'databases' | 'env'>): Promise<void> {
  const { first } = databases
  const old = await first.list(Prefix, OLD, KEPT, DROPPED_AT_ONCE)
  const drops = await Promise.allSettled(
    old.map((prefix) => within(KV_PATIENCE, dropKeyRecord({ env }, prefix))),
  )
  const dropped = old.filter((_, index) => drops[index]?.status === 'fulfilled')
  if (dropped.length > 0) await first.run(first.statement(DROP, JSON.stringify(dropped), KEPT))
  const forgotten = await first.list(Prefix, DROPPED, CACHED, FORGOTTEN_AT_ONCE)
  if (forgotten.length === 0) return
  const list = JSON.stringify(forgotten)
  await Promise.all(others(databases).map((db) => db.run(db.statement(FORGET, list, KEPT))))
  await first.run(first.statement(FORGET, list, KEPT))
}
