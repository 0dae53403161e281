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
import { Redis, redisVersion, stopPeers } from './peers/redis.mjs'
import { Side } from './peers/side.mjs'
import { measureSpeed } from './peers/speed.mjs'
import { rowsOf, tableOf } from './peers/table.mjs'

/** The time limit of the whole run, in minutes. */
const MINUTES = 5

const USERS = 2000

/** Starts Laurel as the other benches do, with their setup. */
async function startLaurel() {
  const adminKey = newAdminKey()
  const variables = { ADMIN_API_KEY: adminKey, TEST_CLOCK: 'on', DEMO: 'off', RATE_LIMITS: 'off' }
  const server = await copyOurs(join(folder, 'ours'), variables)
  await server.start()
  const scene = await configure(server, adminKey)
  await addBoards(server, scene)
  return new Side({ name: 'Laurel', runs: server, key: scene.key, setClock: 'by-call' })
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
  const peer = await startPeer(laurel.key, 'everysec')
  /** Does the same work with one side and then with the other. */
  const both = async (/** @type {(side: Side) => Promise<any>} */ work) => [
    await work(laurel),
    await work(peer),
  ]

  tell('Checking both sides…')
  await both(demandWorking)

  tell('Parallel events, negative values, fractions…')
  const exact = await both(async (side) => ({
    parallel: await checkParallel(side),
    copies: await checkCopies(side),
    negative: await checkNegative(side),
    fractions: await checkFractions(side),
  }))

  tell('kill -9 in the middle…')
  const kills = await both((side) => killAndCount(side, tellMore))

  tell('Events a second…')
  const always = await startPeer(laurel.key, 'always')
  await demandWorking(always)
  const paces = await measureSpeed([laurel, peer, always], { users: USERS, tellMore })
  await always.runs.stop()
  const memory = [laurel.memory(), peer.memory()]

  tell('Streaks over a change of clocks…')
  const days = await both(checkDays)
  for (const side of [laurel, peer, always]) side.close()

  const [ours, theirs] = [0, 1].map((index) => ({
    ...exact[index],
    kills: kills[index],
    pace: paces[index],
    memory: memory[index],
    days: days[index],
  }))
  return rowsOf(ours, theirs, paces[2] ?? theirs.pace)
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
  stop: () => Promise.all([stopAll(), stopPeers()]),
})
