/**
 * One size of the scale: a copy of the project with its own state, filled through the batch interface. Each
 * user has five events on five days in a row. One user in ten had them on the days before the present one, so
 * that a streak of five days is alive; another one in ten has an attribute.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fixed, sumOf, tellMore } from '../lib/bench.mjs'
import { BOARDS, DATABASES, laurel } from '../lib/laurel.mjs'
import { BOARD, configure, create, moveClock, sendBatches, userId } from '../lib/scene.mjs'

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

/** @typedef {import('../lib/server.mjs').Server} Server */
/** @typedef {Awaited<ReturnType<typeof openScene>>} Scene */

/** How many users have a streak that is alive. These are the first of each ten. */
export const livingOf = (/** @type {number} */ users) => Math.ceil(users / ONE_OF)
/** The number of a user without one, by its place among these. */
export const otherUser = (/** @type {number} */ nth) => nth + Math.floor(nth / (ONE_OF - 1)) + 1
/** How many of the first `users` users have the attribute `plan`. */
export const withPlan = (/** @type {number} */ users) => Math.floor((users + ONE_OF - 2) / ONE_OF)

/**
 * Opens a scene whose Worker runs. `day` is the present day in days since 1970-01-01, and `now` the present
 * moment in milliseconds. `filling` are the seconds of filling the leaderboard.
 *
 * @param {{ users: number; databases?: number }} size
 */
export async function openScene({ users, databases = 1 }) {
  const { server, metricIds } = await begin(`${users}-${databases}`, { databases })
  const [{ id: attribute }] = await create(server, '/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  const day = Math.floor(Date.now() / DAY) + 2 * EVENTS + 1
  const began = performance.now()
  const living = livingOf(users)
  for (let passed = 2 * EVENTS; passed > 0; passed -= 1) {
    await moveClock(server, (day - passed) * DAY + 9 * HOUR)
    // First the users whose streak is over, then the others.
    const isPast = passed > EVENTS
    await sendBatches(server, isPast ? users - living : living, (nth) => {
      const number = isPast ? otherUser(nth) : nth * ONE_OF
      const attributes = number % ONE_OF === 1 ? { attributes: { plan: PLAN } } : {}
      return { user: { id: userId(number), ...attributes }, value: 1 + ((number * 31 + passed * 17) % 97) }
    })
  }
  tellMore(`filled in ${((performance.now() - began) / 1000).toFixed(0)} s`)
  const now = day * DAY + 10 * HOUR
  await moveClock(server, now - 1000)
  await server.stop()
  const { bytes, tables } = await sizesOf(join(server.folder, DATABASES))

  await server.start()
  const started = performance.now()
  // One of both responses waits until all users are counted.
  await create(server, '/leaderboards', {
    ...{ key: BOARD, name: 'Scale', status: 'active', rankBy: 'metric', metricId: metricIds[1] },
    start: new Date((day - RUN + 1) * DAY).toISOString().slice(0, 10),
    ...{ runUnit: 'day', runInterval: RUN, maxParticipants: PLACES },
  })
  await moveClock(server, now)
  const filling = (performance.now() - started) / 1000
  tellMore(`their leaderboard in ${filling.toFixed(0)} s`)
  /** Stops the Worker, and deletes its folder. Returns rows of the table. */
  const close = async () => {
    await server.stop()
    const boards = await sizesOf(join(server.folder, BOARDS))
    rmSync(server.folder, { recursive: true, force: true, maxRetries: 5 })
    const bytesOf = (/** @type {RegExp} */ names) =>
      sumOf(Object.entries(tables), ([name, size]) => (names.test(name) ? size : 0)) / users
    return [
      ['all databases, MB', fixed(sumOf(bytes) / 1e6, 1)],
      ['the largest database, MB', fixed(Math.max(...bytes) / 1e6, 1)],
      ['database: bytes a user', fixed(bytesOf(/^users|^streak_runs/))],
      [
        'database: bytes an event, award and key included',
        fixed(bytesOf(/^(events|awards|idempotency_keys)$/) / EVENTS),
      ],
      ["leaderboard's object: bytes a user", fixed(sumOf(boards.bytes) / users)],
    ]
  }
  return { server, users, day, now, attribute, filling, close }
}

/** Starts and configures a Laurel. Its buckets are spread evenly over all databases. */
export async function begin(
  /** @type {string} */ name,
  /** @type {{ databases?: number; module?: string }} */ { databases = 1, module },
) {
  const server = await laurel(name, { databases, module })
  await server.start()
  const metricIds = await configure(server)
  if (databases > 1) await server.ask('POST', '/admin/v1/databases/rebalance', { body: {} })
  for (let isSpread = false; !isSpread; await sleep(200)) {
    const { body } = await server.ask('GET', '/admin/v1/databases')
    isSpread = body.every((/** @type {any} */ { buckets }) => buckets > 0)
  }
  return { server, metricIds }
}

/** Bytes of each file of a class of objects, and of all their tables by name. No Worker may run. */
async function sizesOf(/** @type {string} */ folder) {
  // Imported here, because an old Node has no `node:sqlite`. The bench then runs again in a newer one.
  const { DatabaseSync } = await import('node:sqlite')
  const tables = /** @type {Record<string, number>} */ ({})
  const files = readdirSync(folder).filter((name) => /^\w{64}\.sqlite$/.test(name))
  const bytes = files.map((name) => {
    const database = new DatabaseSync(join(folder, name))
    const rows = database.prepare('SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY 1').all()
    database.close()
    for (const row of rows) tables[String(row.name)] = (tables[String(row.name)] ?? 0) + Number(row.bytes)
    return sumOf(rows, (row) => Number(row.bytes))
  })
  return { bytes, tables }
}
