/**
 * Which databases are in use, by the tables `directory` and `due_work` of the first one. `npm run serve`
 * reads them inside the Worker, so this file imports nothing.
 */

/** How many buckets of users a tenant has. */
const BUCKETS = 4096

/** Asks the first database for the places of all tenants, and for the progress of their moves. */
export const DIRECTORY_ROWS =
  "SELECT places, NULL AS progress FROM directory UNION SELECT NULL, progress FROM due_work WHERE kind = 'moves' AND progress IS NOT NULL"

/**
 * The databases that can't be left out, by their bindings. `used` hold users, or users are moving to them.
 * `left` have rows of users who have left. Laurel deletes these rows some time after the move.
 *
 * @typedef {{ used: string[]; left: string[] }} InUse
 */

/**
 * Reads the answer to `DIRECTORY_ROWS`. `places` is a list of runs `[firstBucket, database]` as JSON.
 * `progress` is what src/features/databases/databases.sql.ts stores.
 */
export function databasesInUse(/** @type {readonly Record<string, unknown>[]} */ rows) {
  const [used, left] = [new Set(), new Set()]
  for (const { places, progress } of rows) {
    if (typeof places === 'string') for (const name of holdersOf(JSON.parse(places))) used.add(name)
    if (typeof progress !== 'string') continue
    const { move, left: rest } = JSON.parse(progress)
    if (move) used.add(move.target)
    for (const { name } of rest ?? []) left.add(name)
  }
  return { used: [...used].sort(), left: [...left].sort() }
}

/** The databases with at least one bucket. */
function holdersOf(/** @type {[number, string][]} */ runs) {
  return runs.flatMap(([first, name], index) => ((runs[index + 1]?.[0] ?? BUCKETS) > first ? [name] : []))
}
