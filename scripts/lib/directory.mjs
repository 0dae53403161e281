/**
 * The table `directory` of the first database: which databases hold the users of a tenant. `npm run serve`
 * reads it inside the Worker, so this file imports nothing.
 */

/** How many buckets of users a tenant has. */
const BUCKETS = 4096

/** Ask the first database whether it has the table, and for the places of all tenants. */
export const DIRECTORY_EXISTS = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'directory'"
export const DIRECTORY_PLACES = 'SELECT DISTINCT places FROM directory WHERE places IS NOT NULL'

/**
 * The databases that hold buckets of users.
 *
 * @param {readonly string[]} places of all tenants: lists of runs `[firstBucket, database]` as JSON
 * @returns {string[]} their bindings
 */
export function usedDatabases(places) {
  const used = new Set()
  for (const text of places) {
    const runs = /** @type {[number, string][]} */ (JSON.parse(text))
    for (const [index, [first, name]] of runs.entries()) {
      const end = runs[index + 1]?.[0] ?? BUCKETS
      if (end > first) used.add(name)
    }
  }
  return [...used].sort()
}
