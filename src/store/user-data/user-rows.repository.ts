import type { TenantDatabase } from '../../db/database'
import { bytesOf } from '../../db/short-ids'
import { tablesOfUsers } from './user-data.register'

/** Most rows of a table that go at once. */
const ROWS = 5_000

/** What takes some rows of users out of each table that is keyed by them, by its primary key. */
const REMOVE = tablesOfUsers().map(
  ({ name, key, by }) => `
  DELETE FROM ${name} WHERE (${key.join(', ')}) IN (
    SELECT ${key.map((column) => `t.${column}`).join(', ')} FROM json_each(?1) asked
    CROSS JOIN ${name} t ON t.user_iid = ${by === 'bytes' ? bytesOf('asked.value') : 'asked.value'} LIMIT ${ROWS})`,
)

/** Takes the next rows that are keyed by users, by our own ids, out of all tables; tells whether these were the last ones. */
export async function removeRows(db: TenantDatabase, iids: readonly string[]): Promise<boolean> {
  const asked = JSON.stringify(iids)
  const results = await db.batch(REMOVE.map((sql) => db.statement(sql, asked)))
  return results.every(({ meta }) => meta.changes < ROWS)
}
