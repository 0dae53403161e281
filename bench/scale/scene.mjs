/**
 * One size of the scale: a copy of the project with its own state, filled through the batch interface. Each
 * user has five events on five days in a row. One user in ten had them on the days before the present one, so
 * that a streak of five days is alive; another one in ten has an attribute.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sendBatches } from '../lib/batch.mjs'
import { sumOf, tellMore } from '../lib/bench.mjs'
import { STATE } from '../lib/dev.mjs'
import { laurel } from '../lib/laurel.mjs'
import { BOARD, configure, create, moveClock, userId } from '../lib/scene.mjs'

export const DAY = 86_400_000
export const HOUR = 3_600_000
/** Events of each user, one a day. */
export const EVENTS = 5
/** One user in ten has a streak that is alive, and another one in ten has the attribute. */
const ONE_OF = 10
/** The attribute's value, for users who have it. */
export const PLAN = 'pro'
/** Days of a run of the leaderboard. The present run ends with the present day. */
export const RUN = 30
/** The places of the leaderboard. */
export const PLACES = 1000
const OBJECTS = join(STATE, 'v3', 'do')
/** The folder with the files of D1. */
export const DATABASES = join(STATE, 'v3', 'd1', 'miniflare-D1DatabaseObject')

/** @typedef {import('../lib/server.mjs').Server} Server */
/** @typedef {Awaited<ReturnType<typeof openScene>>} Scene */

/** True if user `number` has a streak that is alive. */
export const isLive = (/** @type {number} */ number) => number % ONE_OF === 0
export const livingOf = (/** @type {number} */ users) => Math.ceil(users / ONE_OF)
/** How many of the first `users` users have the attribute `plan`. */
export const withPlan = (/** @type {number} */ users) => Math.floor((users + ONE_OF - 2) / ONE_OF)

/**
 * Opens a scene whose Worker runs. `day` is the present day in days since 1970-01-01, and `now` the present
 * moment in milliseconds. `seconds` are the times for filling the database and the leaderboard. `close`
 * stops the Worker, deletes its folder and returns its sizes in bytes.
 *
 * @param {{ users: number; databases?: number }} size
 */
export async function openScene({ users, databases = 1 }) {
  const { server, metricId } = await begin(`${users}-${databases}`, databases)
  const [{ id: attribute }] = await create(server, '/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  if (databases > 1) await spread(server)
  const day = Math.floor(Date.now() / DAY) + 2 * EVENTS + 1
  const filling = performance.now()
  const living = livingOf(users)
  for (let passed = 2 * EVENTS; passed > 0; passed -= 1) {
    await moveClock(server, (day - passed) * DAY + 9 * HOUR)
    // First the users whose streak is over, then the others.
    const isPast = passed > EVENTS
    await sendBatches(server, isPast ? users - living : living, (nth) => {
      const number = isPast ? nth + Math.floor(nth / (ONE_OF - 1)) + 1 : nth * ONE_OF
      const attributes = number % ONE_OF === 1 ? { attributes: { plan: PLAN } } : {}
      return { user: { id: userId(number), ...attributes }, value: 1 + ((number * 31 + passed * 17) % 97) }
    })
  }
  const seconds = { fill: (performance.now() - filling) / 1000, board: 0 }
  tellMore(`${users} users in ${databases} databases in ${seconds.fill.toFixed(0)} s`)
  const now = day * DAY + 10 * HOUR
  await moveClock(server, now - 1000)
  await server.stop()
  const { full, largest, tables } = await sizesOf(server)

  await server.start()
  const started = performance.now()
  // One of both responses waits until all users are counted.
  await create(server, '/leaderboards', {
    ...{ key: BOARD, name: 'Scale', status: 'active', rankBy: 'metric', metricId },
    start: new Date((day - RUN + 1) * DAY).toISOString().slice(0, 10),
    ...{ runUnit: 'day', runInterval: RUN, maxParticipants: PLACES },
  })
  await moveClock(server, now)
  seconds.board = (performance.now() - started) / 1000
  tellMore(`their leaderboard in ${seconds.board.toFixed(0)} s`)
  return {
    ...{ server, users, databases, day, now, attribute, seconds },
    async close() {
      const { body: longest } = await server.ask('GET', '/bench/longest')
      await server.stop()
      const { board } = await sizesOf(server)
      rmSync(server.folder, { recursive: true, force: true, maxRetries: 5 })
      return { full, largest, tables, board, longest: /** @type {{ ms: number; sql: string }} */ (longest) }
    },
  }
}

/** Starts and configures a Laurel that also notes what its statements do. */
export async function begin(/** @type {string} */ name, databases = 1) {
  const toml = (/** @type {string} */ text) => text.replace(/^main = .*$/m, 'main = "bench/scale/worker.ts"')
  const server = await laurel(name, { databases, more: ['bench/scale/worker.ts'], toml })
  await server.start()
  return { server, ...(await configure(server)) }
}

/** Spreads the buckets evenly over all databases. */
async function spread(/** @type {Server} */ server) {
  await server.ask('POST', '/admin/v1/databases/rebalance', { body: {} })
  for (;;) {
    const { body } = await server.ask('GET', '/admin/v1/databases')
    if (body.every((/** @type {any} */ { buckets }) => buckets > 0)) return
    await sleep(500)
  }
}

/** Bytes of all databases, the largest, each table, and the boards' objects. No Worker may run. */
async function sizesOf(/** @type {Server} */ { folder }) {
  // Imported here, because an old Node has no `node:sqlite`. The bench then runs again in a newer one.
  const { DatabaseSync } = await import('node:sqlite')
  const tables = /** @type {Record<string, number>} */ ({})
  const measure = (/** @type {string} */ path, /** @type {boolean} */ isDatabase) =>
    readdirSync(path)
      .filter((name) => name.endsWith('.sqlite') && !name.startsWith('metadata'))
      .map((name) => {
        const database = new DatabaseSync(join(path, name))
        const rows = database.prepare('SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY 1').all()
        database.close()
        if (isDatabase)
          for (const row of rows)
            tables[String(row.name)] = (tables[String(row.name)] ?? 0) + Number(row.bytes)
        return sumOf(rows, (row) => Number(row.bytes))
      })
  const databases = measure(join(folder, DATABASES), true)
  const objects = readdirSync(join(folder, OBJECTS)).find((name) => name.includes('LeaderboardObject'))
  const boards = objects === undefined ? [] : measure(join(folder, OBJECTS, objects), false)
  return { full: sumOf(databases), largest: Math.max(...databases), tables, board: sumOf(boards) }
}
