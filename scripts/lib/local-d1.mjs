/**
 * Opens local databases for another process, which sends what to run, one after another: `{ binding, sql }`.
 * Answers `{ results }` or `{ error }`. Ends after `close`. Needs the Node of wrangler. Its arguments are the
 * configuration, with nothing but databases, and the folder of the state.
 */
import { getPlatformProxy, unstable_splitSqlQuery as splitSqlQuery } from 'wrangler'

const [configPath = '', path = ''] = process.argv.slice(2)

const options = { configPath, persist: { path }, envFiles: [], remoteBindings: false }
const { env, dispose } = await getPlatformProxy(options)
const end = async () => {
  await dispose()
  process.exit(0)
}
process.on('disconnect', end)
process.on('message', async (message) => {
  if (message === 'close') return end()
  const { binding, sql } = /** @type {{ binding: string; sql: string }} */ (message)
  try {
    const database = /** @type {import('@cloudflare/workers-types').D1Database} */ (env[binding])
    const found = await database.batch(splitSqlQuery(sql).map((one) => database.prepare(one)))
    process.send?.({ results: found.map(({ results }) => results) })
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.message : String(error) })
  }
})
process.send?.('open')
