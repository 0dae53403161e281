/**
 * `npm run bench`: measures Laurel against its budget, and compares it with a bare Worker in the same run.
 * See bench/README.md.
 *
 * Exits with 0 even if a figure misses its required value. The table shows the miss.
 */
import { join } from 'node:path'
import { newAdminKey } from '../scripts/lib/dev-vars.mjs'
import { measureBatch } from './lib/batch.mjs'
import { folder, runBench, save, tell, tellMore } from './lib/bench.mjs'
import { burst, costOfEvents } from './lib/cost.mjs'
import { measureMidnight } from './lib/midnight.mjs'
import { copyBaseline, copyOurs } from './lib/project.mjs'
import { rowsOf, tableOf } from './lib/report.mjs'
import { measureScans } from './lib/scans.mjs'
import { addBoards, BOARDS, configure, FEW, fill, MANY, userAtPlace, userId } from './lib/scene.mjs'
import { stopAll } from './lib/server.mjs'
import { workerSize } from './lib/size.mjs'
import { compareEvents, comparePages } from './lib/speed.mjs'
import { measureTicks } from './lib/ticks.mjs'
import { measureWebhooks } from './lib/webhooks.mjs'

/** The time limit of the whole run, in minutes. */
const MINUTES = 10

const USERS_FEW = 1000
const USERS_IN_ROUNDS = 2000
const USERS_MANY = 100_000
const BURSTS = 3
const BURST = 200

/** @typedef {import('./lib/server.mjs').Server} Server */

/**
 * All figures. The figures of events and leaderboards are measured while the number of users in the database
 * grows.
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
  const crowd = await copyOurs(join(folder, 'crowd'), { ...variables, MULTI_TENANCY: 'on' })
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
  // Other users, who got no events in the rounds.
  const usersMany = await costOfEvents(ours, key, [50_000, 50_001, 74_999, 99_998, 99_999].map(userId))
  await ours.stop()

  tell('Ticks of an hourly time trigger…')
  const ticks = await measureTicks(apart, adminKey, tellMore)

  tell('Scans of all users of a large tenant…')
  const scans = await measureScans(crowd, adminKey, tellMore)

  tell('A midnight of many streaks…')
  const midnight = await measureMidnight(night, adminKey, tellMore)
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
    scans,
    size,
  }
}

/**
 * Measures with leaderboards: costs and speed of events, pages, simultaneous events of one user, and batches.
 */
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
  const speed = await compareEvents({ ours, baseline, key, users: USERS_IN_ROUNDS, tellMore })

  tell('Pages a second…')
  const middle = await userAtPlace(ours, key, 500)
  const pages = await comparePages({ ours, baseline, key, middle, tellMore })
  await baseline.stop()

  tell(`${BURST} events of one user at once…`)
  const bursts = []
  for (let i = 0; i < BURSTS; i += 1) bursts.push(await burst(ours, key, FEW.id, BURST))

  tell('Events in batches…')
  const batch = await measureBatch(ours, key, tellMore)

  tell('Events with webhooks…')
  const webhooks = await measureWebhooks(ours, key, tellMore)
  await ours.stop()
  return { ranked, speed, pages, bursts, batch, webhooks }
}

async function run() {
  const began = performance.now()
  const rows = rowsOf(await measure())
  process.stdout.write(`\n${tableOf(rows)}\n`)
  save('', began, { rows })
}

runBench(run, { script: 'bench', minutes: MINUTES, stop: stopAll })
