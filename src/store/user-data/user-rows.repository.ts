import type { TenantDatabase } from '../../db/database'
import { bytesOf } from '../../db/short-ids'
import { tablesOfUsers } from './user-data.register'

/** The most rows of a table that are deleted at once. */
const ROWS = 5_000

/** The statements that delete some rows of users from each table with the user in its key, by primary key. */
const REMOVE = tablesOfUsers().map(
  ({ name, key, by }) => `
  DELETE FROM ${name} WHERE (${key.join(', ')}) IN (
    SELECT ${key.map((column) => `t.${column}`).join(', ')} FROM json_each(?1) asked
    CROSS JOIN ${name} t ON t.user_iid = ${by === 'bytes' ? bytesOf('asked.value') : 'asked.value'}
      LIMIT ${ROWS})`,
)

/**
 * Deletes the next rows of users, given by internal id, from all tables. Returns whether these were the last
 * ones.
 */
export async function removeRows(db: TenantDatabase, iids: readonly string[]): Promise<boolean> {
  const asked = JSON.stringify(iids)
  const results = await db.batch(REMOVE.map((sql) => db.statement(sql, asked)))
  return results.every(({ meta }) => meta.changes < ROWS)
}
