/**
 * Fills the local database of a project through the D1 binding, as a Worker would. Wrangler provides the
 * binding, over the state of the project's Worker. The Worker must not run at the same time.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { EVENTS, PASSES, USERS } from './rows.mjs'

/** Users of one statement. */
const CHUNK = 20_000
const STATE = '.wrangler/state/v3'

/**
 * The ids of the configuration that rows refer to. @typedef {Record<'tenant' | 'metric' | 'system' |
 * 'trigger' | 'attribute', string>} Ids
 */

/**
 * The parts of a D1 database that are used here. @typedef {{ prepare: (sql: string) => any; batch:
 * (statements: any[]) => Promise<any[]> }} Binding
 */

/** Functions that close the open bindings. */
const open = /** @type {Set<() => Promise<void>>} */ (new Set())

/** Closes all open bindings. */
export const closeAll = () => Promise.all([...open].map((close) => close()))

/**
 * Works on the first database of a project through its binding.
 *
 * @template T
 * @param {string} folder of the project
 * @param {(database: Binding) => Promise<T>} work
 * @returns {Promise<T>}
 */
export const throughBinding = (folder, work) =>
  throughBindings(folder, 1, ({ DB }) => work(/** @type {Binding} */ (DB)))

/**
 * Works on the databases of a project through their bindings.
 *
 * @template T
 * @param {string} folder of the project
 * @param {number} count of the databases
 * @param {(databases: Record<string, Binding>) => Promise<T>} work gets them by name: DB, DB_2 and so on
 * @returns {Promise<T>}
 */
export async function throughBindings(folder, count, work) {
  const { getPlatformProxy } = await quietWrangler(folder)
  const { env, dispose } = await getPlatformProxy({
    configPath: await bindingsOnly(folder, count),
    persist: { path: join(folder, STATE) },
    remoteBindings: false,
  })
  const close = async () => {
    if (open.delete(close)) await dispose()
  }
  open.add(close)
  try {
    return await work(/** @type {Record<string, Binding>} */ (env))
  } finally {
    await close()
  }
}

/** Wrangler as a library, with the settings that the scripts use: no network, no files elsewhere. */
function quietWrangler(/** @type {string} */ folder) {
  Object.assign(process.env, {
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_SEND_ERROR_REPORTS: 'false',
    WRANGLER_WRITE_LOGS: 'false',
    CLOUDFLARE_CF_FETCH_ENABLED: 'false',
    WRANGLER_REGISTRY_PATH: join(folder, '.wrangler', 'registry'),
  })
  return import('wrangler')
}

/** A configuration with only the databases: the same ones, without the objects, which only the Worker has. */
async function bindingsOnly(/** @type {string} */ folder, /** @type {number} */ count) {
  const whole = readFileSync(join(folder, 'wrangler.toml'), 'utf8')
  const database = /\[\[d1_databases\]\]\n(?:[^[\n].*\n)+/.exec(whole)?.[0]
  if (database === undefined) throw new Error('wrangler.toml names no database')
  const date = /^compatibility_date = .*$/m.exec(whole)?.[0] ?? ''
  mkdirSync(join(folder, 'filler'), { recursive: true })
  const file = join(folder, 'filler', 'wrangler.toml')
  writeFileSync(
    file,
    `name = "filler"\n${date}\n\n${count === 1 ? database : await blocksOf(folder, whole, count)}`,
  )
  return file
}

/** The sections of several local databases, as the scripts of the project name them. */
async function blocksOf(
  /** @type {string} */ folder,
  /** @type {string} */ toml,
  /** @type {number} */ count,
) {
  const { localBlocks } = await import(pathToFileURL(join(folder, 'scripts/lib/wrangler-toml.mjs')).href)
  return String(localBlocks(toml, count))
}

/**
 * Adds users by number, each with events, awards and idempotency keys. All users get their first event before
 * any gets the second one. So rows are inserted between others, and pages of the database are as full as in
 * real use.
 *
 * @param {Binding} database
 * @param {{ users: number; day: number; ids: Ids; progress: (done: number, all: number) => void; bucketed?:
 *   readonly [number, number | null][] }} what all events are before `day`. `bucketed` are the users of this
 *   database by number, with their buckets, if there are several databases
 * @returns {Promise<{ size: number }>} in bytes
 */
export async function fill(database, { users, day, ids, progress, bucketed }) {
  const own = bucketed ?? Array.from({ length: users }, (_, number) => [number, null])
  const all = own.length * (EVENTS + 1)
  let done = 0
  let size = 0
  const run = async (/** @type {readonly string[]} */ statements, /** @type {number} */ nth) => {
    for (let first = 0; first < own.length; first += CHUNK) {
      const chunk = own.slice(first, first + CHUNK)
      const { tenant, metric, system, trigger, attribute } = ids
      const given = JSON.stringify({ nth, day, tenant, metric, system, trigger, attribute })
      const list = JSON.stringify(chunk)
      const results = await database.batch(statements.map((sql) => database.prepare(sql).bind(given, list)))
      size = results.at(-1)?.meta.size_after ?? size
      done += chunk.length
      progress(done, all)
    }
  }
  await run(USERS, 0)
  for (let nth = 1; nth <= EVENTS; nth += 1) await run(PASSES, nth)
  const count = `INSERT INTO tenant_counters (tenant_id, name, count) VALUES (?1, 'users', ?2)
    ON CONFLICT DO UPDATE SET count = count + excluded.count`
  await database.batch([database.prepare(count).bind(ids.tenant, own.length)])
  return { size }
}
