/**
 * The bindings of Cloudflare for `npm run serve`: the parts of them that Laurel uses. A batch of statements and a
 * message are one call of an object in the same isolate (`platform.mjs`, `queue.mjs`). workerd's own bindings of D1 and of queues
 * send HTTP requests.
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

/** @typedef {{ objects: DurableObjectNamespace; name: string }} Named an object by its name */

/** Of D1: batches of prepared statements. */
export const database = (/** @type {Named} */ { objects, name }) => ({
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

/** Of a queue. */
export const queue = (/** @type {Named} */ { objects, name }) => ({
  send: (/** @type {unknown} */ message, { delaySeconds = 0 } = {}) =>
    objects.getByName(name).send(name, JSON.stringify(message), delaySeconds),
})

/**
 * A KV namespace that keeps nothing. Laurel has it only to spare isolates a question to the database. A server runs
 * one isolate, which remembers the keys itself.
 */
export const keyValues = () => ({
  get: async () => null,
  put: async () => {},
  delete: async () => {},
  list: async () => ({ keys: [], list_complete: true }),
})

/** How many keys a window counts at most. After that the one that came first is forgotten. */
const MOST_KEYS = 100_000

/** A rate limit: it counts in windows by the clock, and in memory, since a server runs one isolate. */
export const rateLimit = (
  /** @type {{ simple: { limit: number; period: number } }} */ { simple: { limit, period } },
) => {
  let last = 0
  /** @type {Map<string, number>} requests by key, in the last window */
  const counts = new Map()
  return {
    async limit(/** @type {{ key: string }} */ { key }) {
      const window = Math.floor(Date.now() / (period * 1000))
      if (window !== last) counts.clear()
      last = window
      const count = counts.get(key) ?? 0
      if (count >= limit) return { success: false }
      if (count === 0 && counts.size >= MOST_KEYS) counts.delete(counts.keys().next().value)
      counts.set(key, count + 1)
      return { success: true }
    },
  }
}
