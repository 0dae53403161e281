/**
 * `npm run bench:peers`: Laurel beside what a team would write instead, in the same run. See bench/README.md.
 *
 * Exits with 0 whoever is ahead: the table says so.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { newAdminKey } from '../scripts/lib/dev-vars.mjs'
import { Complaint, inProject, report } from '../scripts/lib/project.mjs'
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

/** The whole run may take so long, in milliseconds. */
const DEADLINE = 5 * 60_000
const OLDEST_NODE = 24

const USERS = 2000

const folder = mkdtempSync(join(tmpdir(), 'laurel-bench-'))
let isEnding = false

/** Says what is being done. */
const tell = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)

/** Says what has come of it. */
const told = (/** @type {string} */ text) => tell(`  ${text}`)

/** Ends everything that was started, then this process. A second call changes nothing. */
async function end(/** @type {number} */ code) {
  if (isEnding) return
  isEnding = true
  await Promise.all([stopAll(), stopPeers()]).catch(report)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.exit(code)
}

/** Laurel as the other benches run it, with their scene, started. */
async function startLaurel() {
  const adminKey = newAdminKey()
  const variables = { ADMIN_API_KEY: adminKey, TEST_CLOCK: 'on', DEMO: 'off', RATE_LIMITS: 'off' }
  const server = await copyOurs(join(folder, 'ours'), variables)
  await server.start()
  const scene = await configure(server, adminKey)
  await addBoards(server, scene)
  return new Side({ name: 'Laurel', runs: server, key: scene.key, setClock: 'by-call' })
}

/** A peer, started, with the same key as ours: the same requests are sent to both. */
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
  /** Does the same with one side and then with the other. */
  const both = async (/** @type {(side: Side) => Promise<any>} */ work) => [
    await work(laurel),
    await work(peer),
  ]

  tell('The check that both must pass…')
  await both(demandWorking)

  tell('Parallel events, negative values, fractions…')
  const exact = await both(async (side) => ({
    parallel: await checkParallel(side),
    copies: await checkCopies(side),
    negative: await checkNegative(side),
    fractions: await checkFractions(side),
  }))

  tell('kill -9 in the middle…')
  const kills = await both((side) => killAndCount(side, told))

  tell('Events a second…')
  const always = await startPeer(laurel.key, 'always')
  await demandWorking(always)
  const paces = await measureSpeed([laurel, peer, always], { users: USERS, told })
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

/** Writes the figures as JSON, and answers where. */
function save(
  /** @type {{ seconds: number; redis: string; rows: import('./peers/table.mjs').Row[] }} */ {
    seconds,
    redis,
    rows,
  },
) {
  const at = new Date().toISOString()
  const machine = { cpu: cpus()[0]?.model ?? '', cores: availableParallelism(), node: process.version, redis }
  const results = inProject('bench', 'results')
  const file = join(results, `peers-${at.replaceAll(':', '-')}.json`)
  mkdirSync(results, { recursive: true })
  writeFileSync(file, `${JSON.stringify({ at, seconds, machine, rows }, null, 2)}\n`)
  return file
}

async function run() {
  if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
    throw new Complaint('Run it by `npm run bench:peers`, which uses the Node of node_modules.')
  }
  const redis = redisVersion()
  const began = performance.now()
  const rows = await measure()
  const seconds = Math.round((performance.now() - began) / 1000)
  process.stdout.write(`\n${tableOf(rows, `Node, Fastify, Redis ${redis}`)}\n\n`)
  const faults = rows.flatMap(({ what, values }) =>
    Object.entries(/** @type {Record<string, any>} */ (values)).flatMap(([side, value]) =>
      (value?.faults ?? []).map((/** @type {string} */ fault) => `${what}, ${side}: ${fault}`),
    ),
  )
  for (const fault of faults) tell(fault)
  tell(`It took ${seconds} s. The figures are in ${save({ seconds, redis, rows })}`)
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
