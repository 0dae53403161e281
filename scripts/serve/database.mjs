/**
 * The binding of D1 for `npm run serve`: the part of it that Laurel uses, which is batches of prepared
 * statements. A batch is one call of the object `Database` in the same isolate. D1's own binding sends each
 * batch through two HTTP requests.
 */

/**
 * The result of a statement; `read` and `written` are numbers of rows.
 *
 * @typedef {{ columns: string[]; rows: unknown[][]; changes: number; read: number; written: number }} Found
 */

/** A value as JSON can hold it: bytes become a list of numbers. */
function parameter(/** @type {unknown} */ value) {
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)]
  if (ArrayBuffer.isView(value)) return [...new Uint8Array(value.buffer, value.byteOffset, value.byteLength)]
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value === null || typeof value === 'string' || Number.isFinite(value)) return value
  throw new Error(`D1_TYPE_ERROR: a value of the type ${typeof value} can't be bound.`)
}

/**
 * A statement with its parameters. It does not change.
 *
 * @typedef {{ sql: string; parameters: unknown[]; bind: (...values: unknown[]) => Statement }} Statement
 * @type {(sql: string, parameters: unknown[]) => Statement}
 */
const statement = (sql, parameters) => ({
  sql,
  parameters,
  bind: (...values) => statement(sql, values.map(parameter)),
})

const failure = (/** @type {string} */ message) =>
  new Error(`D1_ERROR: ${message}`, { cause: new Error(message) })

/** The binding. */
export default (/** @type {{ objects: DurableObjectNamespace; name: string }} */ { objects, name }) => ({
  prepare: (/** @type {string} */ sql) => statement(sql, []),

  /** Runs statements in one transaction. Errors have D1's form. */
  async batch(/** @type {Statement[]} */ statements) {
    const asked = JSON.stringify(statements.map(({ sql, parameters }) => [sql, parameters]))
    /** @returns {Promise<{ results: Found[]; size: number; error?: string }>} */
    const run = async () => JSON.parse(await objects.getByName(name).run(asked))
    const { results, size, error } = await run().catch((thrown) => {
      throw failure(thrown instanceof Error ? thrown.message : String(thrown))
    })
    if (error !== undefined) throw failure(error)
    return results.map(({ columns, rows, changes, read, written }) => ({
      success: true,
      results: rows.map((row) => {
        const record = /** @type {Record<string, unknown>} */ ({})
        for (const [index, column] of columns.entries()) record[column] = row[index]
        return record
      }),
      meta: { changes, rows_read: read, rows_written: written, size_after: size },
    }))
  },
})
