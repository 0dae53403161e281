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

/** A statement with its parameters. It does not change. */
class Statement {
  constructor(/** @type {string} */ sql, /** @type {unknown[]} */ parameters) {
    this.sql = sql
    this.parameters = parameters
  }

  bind(/** @type {unknown[]} */ ...values) {
    return new Statement(this.sql, values.map(parameter))
  }
}

class D1 {
  #objects
  #name
  constructor(/** @type {DurableObjectNamespace} */ objects, /** @type {string} */ name) {
    this.#objects = objects
    this.#name = name
  }

  prepare(/** @type {string} */ sql) {
    return new Statement(sql, [])
  }

  /**
   * Runs statements in one transaction. Errors have D1's form.
   *
   * @param {Statement[]} statements
   */
  async batch(statements) {
    const asked = JSON.stringify(statements.map(({ sql, parameters }) => [sql, parameters]))
    const { results, size, error } = await this.#run(asked)
    if (error !== undefined) throw failure(error)
    return results.map(({ columns, rows, changes, read, written }) => ({
      success: true,
      results: rows.map((row) => {
        const record = /** @type {Record<string, unknown>} */ ({})
        for (const [index, name] of columns.entries()) record[name] = row[index]
        return record
      }),
      meta: { changes, rows_read: read, rows_written: written, size_after: size },
    }))
  }

  /** @returns {Promise<{ results: Found[]; size: number; error?: string }>} */
  async #run(/** @type {string} */ asked) {
    try {
      const database = /** @type {any} */ (this.#objects.getByName(this.#name))
      return JSON.parse(await database.run(asked))
    } catch (error) {
      throw failure(error instanceof Error ? error.message : String(error))
    }
  }
}

const failure = (/** @type {string} */ message) =>
  new Error(`D1_ERROR: ${message}`, { cause: new Error(message) })

/** The binding. */
export default (/** @type {{ objects: DurableObjectNamespace; name: string }} */ { objects, name }) =>
  new D1(objects, name)
