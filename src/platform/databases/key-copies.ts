import * as z from 'zod'
import { jsonRow, packed } from '../../lib/packed'
import { DAY } from '../../lib/units'
import type { AccountDatabase } from '../database'
import { DATABASE_NOW } from '../statement'

/** How long deleted keys are remembered, in milliseconds. */
export const KEPT = 31 * DAY

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

const Known = z.array(z.object({ at: z.number() }))
const Keys = z.array(z.object({ prefix: z.string(), at: z.number() }))
const Now = z.tuple([z.object({ now: z.number() })])

/**
 * Gives another database the deleted keys of the first one that it lacks, so that it knows all of them. A
 * database gets them before it gets its first users of a tenant, and by the cron trigger (K2, B4). Costs two
 * reads and a write.
 */
export async function fillDeletedKeys(first: AccountDatabase, other: AccountDatabase): Promise<void> {
  const [known] = Known.parse(await other.rows(other.statement(KNOWN)))
  const { keys, now } = await first.batchOf({
    keys: first.statement(SINCE, (known?.at ?? 0) - MARGIN),
    now: first.statement(NOW),
  })
  const [{ now: at }] = Now.parse(now.results)
  const rows = Keys.parse(keys.results).map((key) => jsonRow([key.prefix, key.at]))
  await other.batch([...packed(rows).map((list) => other.statement(KEEP, list)), other.statement(KNOW, at)])
}
