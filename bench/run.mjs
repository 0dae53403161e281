/**
 * `npm run bench`: measures Laurel against its budget, and against a bare Worker in the same run. See bench/README.md.
 *
 * Exits with 0 also where a figure misses what it must be: the table says so.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { newAdminKey } from '../scripts/lib/dev-vars.mjs'
import { Complaint, inProject, report } from '../scripts/lib/project.mjs'
import { measureBatch } from './lib/batch.mjs'
import { burst, costOfEvents } from './lib/cost.mjs'
import { measureMidnight } from './lib/midnight.mjs'
import { copyBaseline, copyOurs } from './lib/project.mjs'
import { rowsOf, tableOf } from './lib/report.mjs'
import { addBoards, BOARDS, configure, FEW, fill, MANY, userAtPlace, userId } from './lib/scene.mjs'
import { stopAll } from './lib/server.mjs'
import { workerSize } from './lib/size.mjs'
import { compareEvents, comparePages } from './lib/speed.mjs'
import { measureTicks } from './lib/ticks.mjs'
import { measureWebhooks } from './lib/webhooks.mjs'

/** The whole run may take so long, in milliseconds. */
const DEADLINE = 10 * 60_000
const OLDEST_NODE = 24

const USERS_FEW = 1000
const USERS_IN_ROUNDS = 2000
const USERS_MANY = 100_000
const BURSTS = 3
const BURST = 200

const folder = mkdtempSync(join(tmpdir(), 'laurel-bench-'))
let isEnding = false

/** Says what is being done. */
const tell = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)

/** Ends everything that was started, then this process. A second call changes nothing. */
async function end(/** @type {number} */ code) {
  if (isEnding) return
  isEnding = true
  await stopAll().catch(report)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.exit(code)
}

/** Says what has come of it. */
const told = (/** @type {string} */ text) => tell(`  ${text}`)

/** @typedef {import('./lib/server.mjs').Server} Server */

/**
 * All figures; those of events and leaderboards in the order in which the users of the database become more.
 *
 * @returns {Promise<import('./lib/report.mjs').Found>}
 */
async function measure() {
  const adminKey = newAdminKey()
  tell('Copying and building…')
  const variables = { ADMIN_API_KEY: adminKey, TEST_CLOCK: 'on', DEMO: 'off', RATE_LIMITS: 'off' }
  const ours = await copyOurs(join(folder, 'ours'), variables)
  const apart = await copyOurs(join(folder, 'ticks'), variables)
  const night = await copyOurs(join(folder, 'night'), variables)
  const baseline = await copyBaseline(join(folder, 'baseline'))
  const size = await workerSize(ours.folder)
  await ours.start()
  const scene = await configure(ours, adminKey)
  await ours.stop()
  const { key } = scene

  tell(`Costs of an event among ${USERS_FEW} users…`)
  await fill(ours, scene, { from: 0, to: USERS_FEW })
  await ours.start()
  const usersFew = await costOfEvents(ours, key, [0, 1, 499, 998, 999].map(userId))
  const eventsFew = await costOfEvents(ours, key, [FEW.id])
  const eventsMany = await costOfEvents(ours, key, [MANY.id])
  await ours.stop()

  await fill(ours, scene, { from: USERS_FEW, to: USERS_IN_ROUNDS })
  const { ranked, speed, pages, bursts, batch, webhooks } = await measureBoards(ours, baseline, scene)

  tell(`Costs of an event among ${USERS_MANY} users…`)
  await fill(ours, scene, { from: USERS_IN_ROUNDS, to: USERS_MANY })
  await ours.start()
  // Others, whom the rounds have given no events.
  const usersMany = await costOfEvents(ours, key, [50_000, 50_001, 74_999, 99_998, 99_999].map(userId))
  await ours.stop()

  tell('Ticks of an hourly time trigger…')
  const ticks = await measureTicks(apart, adminKey, told)

  tell('A midnight of many streaks…')
  const midnight = await measureMidnight(night, adminKey, told)
  return {
    cost: { usersFew, usersMany, eventsFew, eventsMany },
    ranked,
    bursts,
    batch,
    webhooks,
    speed,
    pages,
    ticks,
    midnight,
    size,
  }
}

/** What is measured with leaderboards: costs and speed of events, pages, events of one user at once, and in batches. */
async function measureBoards(
  /** @type {Server} */ ours,
  /** @type {Server} */ baseline,
  /** @type {import('./lib/scene.mjs').Scene} */ scene,
) {
  const { key } = scene
  tell(`Leaderboards of ${USERS_IN_ROUNDS} users, and costs of an event with them…`)
  await Promise.all([ours.start(), baseline.start()])
  await addBoards(ours, scene)
  const ranked = []
  for (const boards of BOARDS) {
    if (boards === 0) continue
    const cost = await costOfEvents(ours, key, [0, 1, 999, 1998, 1999].map(userId), boards)
    ranked.push({ boards, cost })
  }

  tell('Events a second…')
  const speed = await compareEvents({ ours, baseline, key, users: USERS_IN_ROUNDS, told })

  tell('Pages a second…')
  const middle = await userAtPlace(ours, key, 500)
  const pages = await comparePages({ ours, baseline, key, middle, told })
  await baseline.stop()

  tell(`${BURST} events of one user at once…`)
  const bursts = []
  for (let i = 0; i < BURSTS; i += 1) bursts.push(await burst(ours, key, FEW.id, BURST))

  tell('Events in batches…')
  const batch = await measureBatch(ours, key, told)

  tell('Events that webhooks are told of…')
  const webhooks = await measureWebhooks(ours, key, told)
  await ours.stop()
  return { ranked, speed, pages, bursts, batch, webhooks }
}

/** Writes the figures as JSON, and answers where. */
function save(/** @type {import('./lib/report.mjs').Row[]} */ rows, /** @type {number} */ seconds) {
  const at = new Date().toISOString()
  const machine = { cpu: cpus()[0]?.model ?? '', cores: availableParallelism(), node: process.version }
  const results = inProject('bench', 'results')
  const file = join(results, `${at.replaceAll(':', '-')}.json`)
  mkdirSync(results, { recursive: true })
  writeFileSync(file, `${JSON.stringify({ at, seconds, machine, rows }, null, 2)}\n`)
  return file
}

async function run() {
  if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
    throw new Complaint('Run it by `npm run bench`, which uses the Node of node_modules.')
  }
  const began = performance.now()
  const rows = rowsOf(await measure())
  const seconds = Math.round((performance.now() - began) / 1000)
  process.stdout.write(`\n${tableOf(rows)}\n`)
  tell(`It took ${seconds} s. The figures are in ${save(rows, seconds)}`)
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => end(130))
}
setTimeout(() => {
  tell(`It has not ended after ${DEADLINE / 60_000} minutes, so it is ended.`)
  end(1)
}, DEADLINE).unref()
const parent = process.ppid
// Under npm, the end of npm is the end of this too.
setInterval(() => process.ppid === parent || end(130), 500).unref()

run().then(
  () => end(0),
  (error) => {
    // What fails because the end has begun is no news.
    if (!isEnding) report(error)
    return end(1)
  },
)
