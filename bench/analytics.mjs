/**
 * `npm run bench:analytics`: measures a pass of the analytics over a day of many users, and how long reading
 * them takes. See bench/README.md.
 *
 * `-- --users 10000` has fewer users than 100,000.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { newAdminKey } from '../scripts/lib/dev-vars.mjs'
import { Complaint } from '../scripts/lib/project.mjs'
import { DAYS, dayOfEvents, EACH_DAY } from './lib/analytics.mjs'
import { folder, runBench, save, tell, tellMore } from './lib/bench.mjs'
import { copyOurs } from './lib/project.mjs'
import { closeAll, fill, throughBinding } from './lib/scale/filler.mjs'
import { moveClock } from './lib/scale/patient.mjs'
import { configure, METRIC, SYSTEM } from './lib/scene.mjs'
import { lastWords, stopAll } from './lib/server.mjs'

const MINUTES = 20
const USERS = 100_000
const DAY = 86_400_000
const HOUR = 3_600_000
/** How far the scene is in the future, in days: the test clock moves only forward. */
const AHEAD = 40
/** How often each read is measured. */
const READS = 20
/** The most seconds of a pass, milliseconds of a step, and milliseconds of a read. */
const MUST = { pass: 60, step: 250, read: 50 }

/** @typedef {import('./lib/server.mjs').Server} Server */

/** Moves the clock, and sums the steps of the pass. */
async function pass(/** @type {Server} */ server, /** @type {string} */ key, /** @type {number} */ to) {
  let moved = 0
  const { steps } = await server.logged(async () => {
    moved = await moveClock(server, key, to)
    return [await server.ask('GET', '/admin/v1/test-clock', { key })]
  })
  const own = steps.filter(({ work }) => work === 'analytics')
  const sum = (/** @type {(step: typeof own[number]) => number} */ of) =>
    own.reduce((total, step) => total + of(step), 0)
  return {
    seconds: sum(({ milliseconds }) => milliseconds) / 1000,
    moved,
    steps: own.length,
    longest: Math.max(0, ...own.map(({ milliseconds }) => milliseconds)),
    users: sum(({ users }) => users),
    rowsRead: sum(({ d1 }) => d1.rowsRead),
    rowsWritten: sum(({ d1 }) => d1.rowsWritten),
  }
}

/** The median of the milliseconds of a read. */
async function reading(/** @type {Server} */ server, /** @type {string} */ key, /** @type {string} */ path) {
  const times = []
  for (let nth = 0; nth < READS; nth += 1) {
    const began = performance.now()
    await server.ask('GET', path, { key })
    times.push(performance.now() - began)
  }
  return times.toSorted((a, b) => a - b)[READS / 2] ?? 0
}

async function bench() {
  const began = performance.now()
  const { values } = parseArgs({ options: { users: { type: 'string' } } })
  const users = values.users === undefined ? USERS : Number(values.users)
  if (!Number.isInteger(users) || users < 1) throw new Complaint('--users takes a whole number above 0.')
  const adminKey = newAdminKey()
  const variables = { ADMIN_API_KEY: adminKey, TEST_CLOCK: 'on', DEMO: 'off', RATE_LIMITS: 'off' }
  const at = join(folder, 'analytics')
  const server = await copyOurs(at, variables)
  await server.start()
  const day = Math.floor(Date.now() / DAY) + AHEAD
  const { key, metricId, systemId, triggerId } = await configure(server, adminKey)
  const now = day * DAY + 12 * HOUR
  await moveClock(server, key, now)
  await server.stop()
  tell(`${users.toLocaleString('en')} users with events on ${DAYS} days…`)
  const filled = async (/** @type {(database: any, ids: any) => Promise<unknown>} */ work) =>
    throughBinding(at, async (database) => {
      const tenant = await database.prepare('SELECT id FROM tenants').first()
      const ids = { tenant: tenant.id, metric: metricId, system: systemId, trigger: triggerId, attribute: '' }
      await work(database, ids)
    })
  await filled((database, ids) => fill(database, { users, day, ids, progress: () => undefined }))
  await server.start()
  const first = await pass(server, key, now + 1000)
  tellMore(`the first pass counts ${users * DAYS} events: ${described(first)}`)
  await server.stop()
  await filled((database, ids) => dayOfEvents(database, { users, day, ids }))
  await server.start()
  const evening = day * DAY + 23.5 * HOUR
  const daily = await pass(server, key, evening)
  tellMore(`the pass of a day counts ${users * EACH_DAY} events: ${described(daily)}`)
  const idle = await pass(server, key, evening + 1000)
  tellMore(`a pass without a change: ${idle.moved.toFixed(2)} s, with the move of the clock`)
  const range = `?from=${date(day - 399)}&to=${date(day)}`
  const reads = {
    overview: await reading(server, key, `/admin/v1/analytics/overview${range}`),
    metric: await reading(server, key, `/admin/v1/metrics/${METRIC}/analytics${range}`),
    points: await reading(server, key, `/admin/v1/points/${SYSTEM}/analytics${range}`),
  }
  const { body } = await server.ask('GET', `/admin/v1/analytics/overview${range}`, { key })
  const last = body.series.at(-1)
  if (last.events !== users * EACH_DAY || last.activeUsers !== users)
    throw new Error(`the day has ${last.events} events of ${last.activeUsers} users`)
  const figures = { users, first, daily, idle, reads }
  for (const [name, milliseconds] of Object.entries(reads))
    tellMore(`400 days of ${name}: ${milliseconds.toFixed(1)} ms`)
  save('analytics', began, figures)
  const isSlow =
    daily.seconds > MUST.pass ||
    Math.max(daily.longest, first.longest) > MUST.step ||
    Math.max(...Object.values(reads)) > MUST.read
  tell(isSlow ? 'Slower than it must be.' : 'As quick as it must be.')
}

const date = (/** @type {number} */ day) => new Date(day * DAY).toISOString().slice(0, 10)

const described = (/** @type {Awaited<ReturnType<typeof pass>>} */ found) =>
  `${found.seconds.toFixed(1)} s in ${found.steps} steps of ${found.longest} ms at most, ${found.rowsRead} rows read, ${found.rowsWritten} written`

runBench(bench, {
  script: 'bench:analytics',
  minutes: MINUTES,
  stop: async () => {
    await closeAll()
    await stopAll()
  },
  beforeFailing: () => {
    for (const said of lastWords()) tell(said)
  },
})
