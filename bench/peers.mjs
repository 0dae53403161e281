/**
 * `npm run bench:peers`: compares Laurel with the service that a team would write instead, in the same run.
 * See bench/README.md.
 *
 * Exits with 0, whichever side is ahead. The table shows it.
 */
import { join } from 'node:path'
import { newAdminKey } from '../scripts/lib/dev-vars.mjs'
import { folder, runBench, save, tell, tellMore } from './lib/bench.mjs'
import { copyOurs } from './lib/project.mjs'
import { addBoards, configure } from './lib/scene.mjs'
import { stopAll } from './lib/server.mjs'
import { demandWorking } from './peers/check.mjs'
import { checkDays } from './peers/days.mjs'
import { checkCopies, checkFractions, checkNegative, checkParallel } from './peers/exact.mjs'
import { killAndCount } from './peers/kills.mjs'
import { Redis, redisVersion } from './peers/redis.mjs'
import { stopRuns } from './peers/runs.mjs'
import { Serve } from './peers/serve.mjs'
import { Side } from './peers/side.mjs'
import { measureSpeed } from './peers/speed.mjs'
import { rowsOf, tableOf } from './peers/table.mjs'

/** The time limit of the whole run, in minutes. */
const MINUTES = 8

const USERS = 2000

const adminKey = newAdminKey()
const VARIABLES = { ADMIN_API_KEY: adminKey, TEST_CLOCK: 'on', DEMO: 'off', RATE_LIMITS: 'off' }

/** Starts Laurel as the other benches do, with their setup. */
async function startLaurel() {
  return configured('Laurel', await copyOurs(join(folder, 'ours'), VARIABLES))
}

/** Starts Laurel as on one's own machine, with the same setup. */
async function startServe() {
  return configured('Laurel, serve', await Serve.create(join(folder, 'serve'), VARIABLES))
}

async function configured(
  /** @type {string} */ name,
  /** @type {import('./lib/server.mjs').Server | Serve} */ runs,
) {
  await runs.start()
  const scene = await configure(runs, adminKey)
  await addBoards(runs, scene)
  return new Side({ name, runs, key: scene.key, setClock: 'by-call' })
}

/** Starts a peer with the same key as Laurel, so that both get the same requests. */
async function startPeer(/** @type {string} */ key, /** @type {import('./peers/redis.mjs').Sync} */ sync) {
  const peer = await Redis.create(join(folder, `redis-${sync}`), { key, sync })
  await peer.start()
  return new Side({ name: `Redis, ${sync}`, runs: peer, key, setClock: 'by-header' })
}

/** @returns {Promise<import('./peers/table.mjs').Row[]>} */
async function measure() {
  tell('Copying and starting…')
  const laurel = await startLaurel()
  const serve = await startServe()
  const peer = await startPeer(laurel.key, 'everysec')
  const sides = [laurel, serve, peer]
  /** Does the same work with one side after another. */
  const each = async (/** @type {(side: Side) => Promise<any>} */ work) => {
    const found = []
    for (const side of sides) found.push(await work(side))
    return found
  }

  tell('Checking all sides…')
  await each(demandWorking)

  tell('Parallel events, negative values, fractions…')
  const exact = await each(async (side) => ({
    parallel: await checkParallel(side),
    copies: await checkCopies(side),
    negative: await checkNegative(side),
    fractions: await checkFractions(side),
  }))

  tell('kill -9 in the middle…')
  const kills = await each((side) => killAndCount(side, tellMore))

  tell('Events a second…')
  const always = await startPeer(laurel.key, 'always')
  await demandWorking(always)
  const paces = await measureSpeed([...sides, always], { users: USERS, tellMore })
  await always.runs.stop()
  const memory = sides.map((side) => side.memory())

  tell('Streaks over a change of clocks…')
  const days = await each(checkDays)
  for (const side of [...sides, always]) side.close()

  const [ours, served, theirs] = sides.map((_, index) => ({
    ...exact[index],
    kills: kills[index],
    pace: paces[index],
    memory: memory[index],
    days: days[index],
  }))
  return rowsOf([ours, served], theirs, paces[3] ?? theirs.pace)
}

async function run() {
  const redis = redisVersion()
  const began = performance.now()
  const rows = await measure()
  process.stdout.write(`\n${tableOf(rows, `Node, Fastify, Redis ${redis}`)}\n\n`)
  const faults = rows.flatMap(({ what, values }) =>
    Object.entries(/** @type {Record<string, any>} */ (values)).flatMap(([side, value]) =>
      (value?.faults ?? []).map((/** @type {string} */ fault) => `${what}, ${side}: ${fault}`),
    ),
  )
  for (const fault of faults) tell(fault)
  save('peers-', began, { rows }, { redis })
}

runBench(run, {
  script: 'bench:peers',
  minutes: MINUTES,
  stop: () => Promise.all([stopAll(), stopRuns()]),
})
