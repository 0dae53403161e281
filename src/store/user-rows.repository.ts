import type { TenantDatabase } from '../db/database'
import { bytesOf } from '../db/short-ids'

/** Most rows of a table that go at once. */
const ROWS = 5_000

/** Takes some rows of users out of a table by its primary key; `iid` is the SQL of our own id of one of them, as the table has it. */
const rowsOf = (table: string, key: readonly string[], iid = 'asked.value') => `
  DELETE FROM ${table} WHERE (${key.join(', ')}) IN (
    SELECT ${key.map((column) => `t.${column}`).join(', ')}
    FROM json_each(?1) asked CROSS JOIN ${table} t ON t.user_iid = ${iid} LIMIT ${ROWS})`

/** What takes rows out of each table that is keyed by users, by the table's name. */
export const ROWS_OF_USERS = {
  events: rowsOf('events', ['user_iid', 'metric_no', 'at', 'seq'], bytesOf('asked.value')),
  awards: rowsOf('awards', ['user_iid', 'system_no', 'at', 'seq', 'position'], bytesOf('asked.value')),
  idempotency_keys: rowsOf('idempotency_keys', ['user_iid', 'metric_no', 'key'], bytesOf('asked.value')),
  day_sums: rowsOf('day_sums', ['user_iid', 'log', 'no'], bytesOf('asked.value')),
  streak_runs: rowsOf('streak_runs', ['user_iid', 'first']),
  streak_pauses: rowsOf('streak_pauses', ['id']),
  points_boosts: rowsOf('points_boosts', ['no']),
  points_told: rowsOf('points_told', ['user_iid', 'system_id']),
} as const

/** Takes the next rows that are keyed by users, by our own ids, out of all tables; tells whether these were the last ones. */
export async function removeRows(db: TenantDatabase, iids: readonly string[]): Promise<boolean> {
  const asked = JSON.stringify(iids)
  const results = await db.batch(Object.values(ROWS_OF_USERS).map((sql) => db.statement(sql, asked)))
  return results.every(({ meta }) => meta.changes < ROWS)
}
