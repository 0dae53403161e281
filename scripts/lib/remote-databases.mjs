/** Asks the databases of the deployment, by their names in Cloudflare. */
import { DIRECTORY_EXISTS, DIRECTORY_ROWS, databasesInUse } from './directory.mjs'
import { Complaint } from './project.mjs'
import { outputOfWrangler } from './wrangler.mjs'

/**
 * The arguments of wrangler that run SQL in a database.
 *
 * @param {string} name
 * @param {string} sql
 * @returns {string[]}
 */
export const executionOf = (name, sql) => ['d1', 'execute', name, '--remote', '--yes', '--command', sql]

/** The arguments of wrangler that ask a database for rows. */
export const questionOf = (/** @type {string} */ name, /** @type {string} */ sql) => [
  ...executionOf(name, sql),
  '--json',
]

/**
 * Asks a database for rows.
 *
 * @param {string} name
 * @param {string} sql one statement
 * @param {string} failure the message if it fails
 * @returns {Promise<Record<string, unknown>[]>}
 */
export async function askDatabase(name, sql, failure) {
  const output = await outputOfWrangler(questionOf(name, sql), failure)
  try {
    return JSON.parse(output)[0].results
  } catch {
    throw new Complaint(`${output}\n${failure}`)
  }
}

/** The questions of `askInUse` to the first database. */
export const IN_USE_QUESTIONS = [DIRECTORY_EXISTS, DIRECTORY_ROWS]

/**
 * Asks the first database which databases are in use. Before its first migrations, none is.
 *
 * @param {string} first its name
 * @param {string} failure the message if it fails
 * @returns {Promise<import('./directory.mjs').InUse>}
 */
export async function askInUse(first, failure) {
  if ((await askDatabase(first, DIRECTORY_EXISTS, failure)).length === 0) return { used: [], left: [] }
  return databasesInUse(await askDatabase(first, DIRECTORY_ROWS, failure))
}
