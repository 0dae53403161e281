/** What of an object's storage its tables need. */
export type TableStorage = Pick<DurableObjectStorage, 'sql' | 'transactionSync'>

/**
 * The numbered steps that make an object's tables: step n, a list of statements, brings them from version n - 1 to version n. A step that was
 * deployed is never changed. To add a column, add a step.
 *
 * One of the tables is `notes` (name, value), in which the version is kept as `version`. The first version is not noted, and neither were those
 * of before there were versions. So the first step makes only what is not there yet.
 */
export type Steps = readonly (readonly string[])[]

const READ = "SELECT value FROM notes WHERE name = 'version'"
const WRITE = `INSERT INTO notes (name, value) VALUES ('version', ?1) ON CONFLICT DO UPDATE SET value = ?1`

/** Whether an object's SQLite has any of our tables: all objects have `notes`. It reads no row. */
export const hasTables = (sql: SqlStorage): boolean =>
  sql.exec("PRAGMA table_info('notes')").toArray().length > 0

/** The version that is noted; null if none is. */
function noted(sql: SqlStorage): number | null {
  const [row] = hasTables(sql) ? sql.exec<{ value: string }>(READ).toArray() : []
  return row === undefined ? null : Number(row.value)
}

/**
 * Brings an object's tables to the latest version, all or nothing, and answers how many rows that wrote. If they are of the latest version, it
 * writes none, and reads one at most. Throws if a later version of Laurel has written them, and then changes nothing.
 */
export function migrate(storage: TableStorage, steps: Steps): number {
  const { sql } = storage
  const version = noted(sql)
  const latest = steps.length
  if (version === latest) return 0
  if (version !== null && !(version < latest)) {
    throw new Error(
      `the tables of this object have version ${version}, and this Laurel knows version ${latest} at most: deploy the later version again`,
    )
  }
  return storage.transactionSync(() => {
    const written = steps.slice(version ?? 0).flatMap((step) =>
      step.map((statement) => {
        const cursor = sql.exec(statement)
        cursor.toArray()
        return cursor.rowsWritten
      }),
    )
    if (latest > 1) written.push(sql.exec(WRITE, String(latest)).rowsWritten)
    return written.reduce((sum, rows) => sum + rows, 0)
  })
}
