/**
 * One size of the scale: a copy of the project with its own state, configured, filled, checked, and with a
 * full leaderboard.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { copyOurs } from '../project.mjs'
import { BOARD, configure, create, userId } from '../scene.mjs'
import { checkBoard, checkUsers, PLACES } from './check.mjs'
import { fill, throughBindings } from './filler.mjs'
import { askForLong, moveClock } from './patient.mjs'
import { play, playedUsers, requireSameRows } from './played.mjs'

const DAY = 86_400_000
const HOUR = 3_600_000
/**
 * How far the scene is in the future, in days. Its events are played under the test clock, which moves only
 * forward.
 */
const AHEAD = 40
/** Days of a run of the leaderboard. The present run ends with the present day. */
const RUN = 30
/** The buckets of a tenant, as src/lib/ids.ts has them. */
const BUCKETS = 4096
const OBJECTS = '.wrangler/state/v3/do'
const DATABASES = '.wrangler/state/v3/d1/miniflare-D1DatabaseObject'

/** @typedef {import('../server.mjs').Server} Server */

/**
 * Bytes: of all databases before and after they were filled, of the largest one, of each table and index, and
 * of all leaderboards' objects at the end. `longest` is the statement that held a database longest.
 *
 * @typedef {{ empty: number; full: number; largest: number; tables: Record<string, number>; board: number;
 *   longest: { milliseconds: number; sql: string } }} Size
 */

/**
 * `day` is the present day in days since 1970-01-01, `now` the present moment in milliseconds, `attribute`
 * the id of the attribute that some users have. `seconds` are the times for filling the database and the
 * leaderboard. `close` stops the Worker and deletes its folder.
 *
 * @typedef {{ server: Server; key: string; users: number; databases: number; day: number; now: number;
 *   attribute: string; seconds: { fill: number; board: number }; close: () => Promise<Size> }} Scene
 */

/**
 * @param {{ folder: string; users: number; databases: number; adminKey: string; variables: Record<string,
 *   string>; tellMore: (text: string) => void; progress: (done: number, all: number) => void }} how
 * @returns {Promise<Scene>} with its Worker running
 */
export async function openScene({ folder, users, databases, adminKey, variables, tellMore, progress }) {
  const server = await copyOurs(folder, variables, {
    main: 'bench/scale/worker.ts',
    more: ['bench/scale'],
    databases,
  })
  if (databases > 1) await throughBindings(folder, databases, spread)
  await server.start()
  const day = Math.floor(Date.now() / DAY) + AHEAD
  const now = day * DAY + 10 * HOUR
  const { key, metricId, systemId, triggerId } = await configure(server, adminKey)
  const attribute = await create(server, key, '/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  await play(server, key, { day, now })
  await server.stop()

  const filling = performance.now()
  const size = await throughBindings(folder, databases, async (all) => {
    const sizes = { empty: 0, full: 0, largest: 0 }
    const tenant = await all.DB?.prepare('SELECT id FROM tenants').first()
    const ids = {
      tenant: String(tenant.id),
      metric: metricId,
      system: systemId,
      trigger: triggerId,
      attribute: attribute.id,
    }
    const held = await usersByDatabase({ folder, all, users, tenantId: ids.tenant })
    let done = 0
    for (const [name, bucketed] of held) {
      const database = all[name]
      if (database === undefined) throw new Error(`${name} is not bound`)
      const { meta } = await database.prepare('SELECT 1').run()
      const share = bucketed.length / users
      const before = done
      const ownProgress = (/** @type {number} */ some, /** @type {number} */ whole) =>
        progress((before + (some / whole) * share) * users, users)
      const filled = await fill(database, { users, day, ids, progress: ownProgress, bucketed })
      done += share
      sizes.empty += meta.size_after
      sizes.full += filled.size
      sizes.largest = Math.max(sizes.largest, filled.size)
    }
    await requireSameRows(Object.values(all))
    await announce(Object.values(all))
    return sizes
  })
  const seconds = { fill: (performance.now() - filling) / 1000, board: 0 }
  tellMore(`${users} users in ${databases} databases in ${seconds.fill.toFixed(0)} s`)
  const tables = await sizesOfTables(folder)

  await server.start()
  // The first pass of the analytics counts all filled users. It is not measured here.
  await moveClock(server, key, now + 500)
  const started = performance.now()
  // If D1 and the objects are in one process, the response waits until all users are counted.
  await askForLong(server, 'POST', '/admin/v1/leaderboards', { key, body: [{ ...boardOn(day), metricId }] })
  // Otherwise the response of the clock waits.
  await moveClock(server, key, now + 1000)
  seconds.board = (performance.now() - started) / 1000
  tellMore(`their leaderboard in ${seconds.board.toFixed(0)} s`)
  await checkBoard(server, key, { users, day, extra: playedUsers() })
  const checked = await checkUsers(server, key, { users, day })
  tellMore(`${checked} users and ${PLACES} places are right`)
  return {
    server,
    key,
    users,
    databases,
    day,
    now: now + 1000,
    attribute: attribute.id,
    seconds,
    async close() {
      const { body: longest } = await server.ask('GET', '/bench/longest')
      await server.stop()
      const objects = await sizeOfObjects(folder)
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
      return { ...size, tables, board: objects, longest }
    },
  }
}

/** A leaderboard whose present run contains all filled events, and ends with the present day. */
const boardOn = (/** @type {number} */ day) => ({
  key: BOARD,
  name: 'Scale',
  status: 'active',
  rankBy: 'metric',
  start: new Date((day - RUN + 1) * DAY).toISOString().slice(0, 10),
  runUnit: 'day',
  runInterval: RUN,
  maxParticipants: PLACES,
})

/** Spreads the buckets evenly over all databases, unless Laurel has done so. Nothing has started yet. */
async function spread(/** @type {Record<string, import('./filler.mjs').Binding>} */ all) {
  const names = Object.keys(all)
  const tenant = await all.DB?.prepare('SELECT id FROM tenants').first()
  const places = names.map((name, index) => [Math.floor((index * BUCKETS) / names.length), name])
  const insert =
    "INSERT OR IGNORE INTO directory (tenant_id, version, places, placements) VALUES (?1, 1, ?2, '{}')"
  await all.DB?.prepare(insert).bind(tenant.id, JSON.stringify(places)).run()
}

/**
 * Gives each database the due work that changes of its users would have made: that of the played users, who
 * are not in every database.
 */
async function announce(/** @type {import('./filler.mjs').Binding[]} */ databases) {
  const read = "SELECT * FROM due_work WHERE kind IN ('streaks', 'analytics')"
  const found = await Promise.all(databases.map((database) => database.prepare(read).all()))
  const insert = `INSERT OR IGNORE INTO due_work (tenant_id, kind, subject, due_at, asked)
    SELECT value ->> 'tenant_id', value ->> 'kind', value ->> 'subject', value ->> 'due_at', 1
    FROM json_each(?1) ORDER BY value ->> 'due_at'`
  const all = JSON.stringify(found.flatMap(({ results }) => results))
  for (const database of databases) await database.prepare(insert).bind(all).run()
}

/**
 * The users of each database by the directory, with their buckets. With one database, no bucket is noted.
 *
 * @param {{ folder: string; all: Record<string, import('./filler.mjs').Binding>; users: number; tenantId:
 *   string }} scene
 * @returns {Promise<Map<string, [number, number | null][]>>}
 */
async function usersByDatabase({ folder, all, users, tenantId }) {
  const numbers = Array.from({ length: users }, (_, number) => number)
  if (Object.keys(all).length === 1) return new Map([['DB', numbers.map((number) => [number, null])]])
  const { bucketOf, holderOf } = await placing(folder)
  const row = await all.DB?.prepare('SELECT places FROM directory WHERE tenant_id = ?1')
    .bind(tenantId)
    .first()
  const directory = { places: JSON.parse(row.places) }
  const held = /** @type {Map<string, [number, number | null][]>} */ (new Map())
  for (const number of numbers) {
    const bucket = bucketOf(tenantId, userId(number))
    const name = holderOf(directory, bucket)
    const own = held.get(name)
    if (own === undefined) held.set(name, [[number, bucket]])
    else own.push([number, bucket])
  }
  return held
}

/** Laurel's own functions that say where a user is. */
async function placing(/** @type {string} */ folder) {
  const { build } = await import('esbuild')
  const contents = `export { bucketOf } from './src/lib/ids'
    export { holderOf } from './src/platform/databases/directory'`
  const outfile = join(folder, 'filler', 'placing.mjs')
  await build({ stdin: { contents, resolveDir: folder, loader: 'ts' }, bundle: true, format: 'esm', outfile })
  return import(pathToFileURL(outfile).href)
}

/** The bytes of each table and index, in all databases together. They must not be in use. */
async function sizesOfTables(/** @type {string} */ folder) {
  const sql = 'SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name'
  const sizes = /** @type {Record<string, number>} */ ({})
  for (const rows of await inEach(join(folder, DATABASES), sql))
    for (const { name, bytes } of rows) sizes[String(name)] = (sizes[String(name)] ?? 0) + Number(bytes)
  if (sizes.users === undefined) throw new Error('no local database')
  return sizes
}

/** The bytes of all leaderboards' objects. They must not be in use. */
async function sizeOfObjects(/** @type {string} */ folder) {
  const sql = 'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size'
  const name = readdirSync(join(folder, OBJECTS)).find((one) => one.includes('LeaderboardObject')) ?? ''
  const found = await inEach(join(folder, OBJECTS, name), sql)
  return found.flat().reduce((sum, { bytes }) => sum + Number(bytes), 0)
}

/** The rows of a statement in each database file of a folder, without wrangler's own files. */
async function inEach(/** @type {string} */ folder, /** @type {string} */ sql) {
  // Imported here, because an old Node has no `node:sqlite`. The bench then prints its own error about the
  // version.
  const { DatabaseSync } = await import('node:sqlite')
  const files = readdirSync(folder).filter((name) => name.endsWith('.sqlite') && !name.startsWith('metadata'))
  return files.map((name) => {
    const database = new DatabaseSync(join(folder, name))
    try {
      return database.prepare(sql).all()
    } finally {
      database.close()
    }
  })
}
