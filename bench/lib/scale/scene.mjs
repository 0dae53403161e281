/**
 * One size of the scale: a copy of the project with its own state, configured, filled, checked, and with a
 * full leaderboard.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { copyOurs } from '../project.mjs'
import { BOARD, configure, create } from '../scene.mjs'
import { checkBoard, checkUsers, PLACES } from './check.mjs'
import { fill, throughBinding } from './filler.mjs'
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
const OBJECTS = '.wrangler/state/v3/do'
const DATABASES = '.wrangler/state/v3/d1/miniflare-D1DatabaseObject'

/** @typedef {import('../server.mjs').Server} Server */

/**
 * Bytes: of the database before and after it was filled, of each table and index, and of all leaderboards'
 * objects at the end.
 *
 * @typedef {{ empty: number; full: number; tables: Record<string, number>; board: number }} Size
 */

/**
 * `day` is the present day in days since 1970-01-01, `now` the present moment in milliseconds, `attribute`
 * the id of the attribute that some users have. `seconds` are the times for filling the database and the
 * leaderboard. `close` stops the Worker and deletes its folder.
 *
 * @typedef {{ server: Server; key: string; users: number; day: number; now: number; attribute: string;
 *   seconds: { fill: number; board: number }; close: () => Promise<Size> }} Scene
 */

/**
 * @param {{ folder: string; users: number; adminKey: string; variables: Record<string, string>; tellMore:
 *   (text: string) => void; progress: (done: number, all: number) => void }} how
 * @returns {Promise<Scene>} with its Worker running
 */
export async function openScene({ folder, users, adminKey, variables, tellMore, progress }) {
  const server = await copyOurs(folder, variables)
  await server.start()
  const day = Math.floor(Date.now() / DAY) + AHEAD
  const now = day * DAY + 10 * HOUR
  const { key, metricId, systemId, triggerId } = await configure(server, adminKey)
  const attribute = await create(server, key, '/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  await play(server, key, { day, now })
  await server.stop()

  const filling = performance.now()
  const size = await throughBinding(folder, async (database) => {
    const tenant = await database.prepare('SELECT id FROM tenants').first()
    const { meta } = await database.prepare('SELECT 1').run()
    const ids = {
      tenant: tenant.id,
      metric: metricId,
      system: systemId,
      trigger: triggerId,
      attribute: attribute.id,
    }
    const filled = await fill(database, { users, day, ids, progress })
    await requireSameRows(database)
    return { empty: meta.size_after, full: filled.size }
  })
  const seconds = { fill: (performance.now() - filling) / 1000, board: 0 }
  tellMore(`${users} users in ${seconds.fill.toFixed(0)} s`)
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
    day,
    now: now + 1000,
    attribute: attribute.id,
    seconds,
    async close() {
      await server.stop()
      const objects = await sizeOfObjects(folder)
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
      return { ...size, tables, board: objects }
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

/** The bytes of each table and index. The database must not be in use. */
async function sizesOfTables(/** @type {string} */ folder) {
  const sql = 'SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name'
  for (const rows of await inEach(join(folder, DATABASES), sql)) {
    if (!rows.some(({ name }) => name === 'users')) continue
    return Object.fromEntries(rows.map(({ name, bytes }) => [String(name), Number(bytes)]))
  }
  throw new Error('no local database')
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
