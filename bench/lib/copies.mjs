/** Users who are copies of one that the interface has made. So hundreds of thousands are there in seconds. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Makes copies of the only user, `user-0`, in the file of the database. No Worker may run.
 *
 * @param {string} folder with the files of D1
 * @param {number} users how many there are then
 * @param {Record<string, string>} columns those in which they differ, as SQL. `n` is the number of the user
 */
export async function copyUser(folder, users, columns) {
  // Imported here, because an old Node has no `node:sqlite`. The bench then runs again in a newer one.
  const { DatabaseSync } = await import('node:sqlite')
  const files = readdirSync(folder).filter((name) => /^\w{64}\.sqlite$/.test(name))
  const database = new DatabaseSync(join(folder, String(files[0])))
  const iid = "printf('%s%012x', substr(iid, 1, 24), n)"
  const differing = /** @type {Record<string, string>} */ ({ id: "'user-' || n", iid, ...columns })
  const names = database.prepare("SELECT name FROM pragma_table_info('users')").all()
  const values = names.map(({ name }) => differing[String(name)] ?? name)
  const copies = database.prepare(`
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ? - 1)
    INSERT OR REPLACE INTO users SELECT ${values} FROM numbers, users`)
  copies.run(users)
  database.close()
}
