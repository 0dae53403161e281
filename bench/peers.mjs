/**
 * `npm run bench:peers`: compares Laurel with the service that a team would write instead, in the same run.
 * See bench/README.md. Exits with 0, whichever side is ahead: the table shows it.
 */
import { fixed, median, quantile, runBench, save, tell } from './lib/bench.mjs'
import { laurel } from './lib/laurel.mjs'
import { roundsOf } from './lib/load.mjs'
import { anyUserOf, eventPath, startWithBoards } from './lib/scene.mjs'
import { checkDays, DAYS } from './peers/days.mjs'
import { checkExact } from './peers/exact.mjs'
import { redisPeer, redisVersion } from './peers/redis.mjs'

const USERS = 2000
/** Milliseconds of a turn. */
const TURN = 2500

/** @typedef {import('./lib/server.mjs').Server} Server */

/** The table: of each row the columns of Laurel and of the peer, and who is ahead. */
const rows = /** @type {string[][]} */ ([])

/**
 * Adds a row. `rank` is smaller for the better one; without it, the row has no winner.
 *
 * @template T
 * @param {string} what
 * @param {T[]} of Laurel and the peer
 * @param {(found: T) => string} figure
 * @param {(found: T) => number} rank
 */
function note(what, of, figure, rank = () => 0) {
  const [ours = 0, theirs = 0] = of.map(rank)
  rows.push([what, ...of.map(figure), ours === theirs ? '–' : ours < theirs ? 'Laurel' : 'peer'])
}

async function measure(/** @type {number} */ turns) {
  const redis = redisVersion()
  rows.push(['', 'Laurel, `npm run serve`', `Node, Fastify, Redis ${redis}`, 'ahead'])
  tell('Copying and starting…')
  const ours = await laurel('laurel')
  await startWithBoards(ours)
  const peers = [await redisPeer('everysec', 'a-key'), await redisPeer('always', 'a-key')]
  for (const peer of peers) await peer.start()
  const sides = [ours, ...peers.slice(0, 1)]
  /** Does the same work with one side after another. @template T */
  const each = async (/** @type {(side: Server) => Promise<T>} */ work) => {
    const found = []
    for (const side of sides) found.push(await work(side))
    return found
  }

  tell('Parallel events, negative values, fractions…')
  const exact = await each(checkExact)
  tell('Events a second…')
  const to = { path: eventPath(1), user: () => anyUserOf(USERS) }
  const kinds = [ours, ...peers].map((server) => [server.name, { server, ...to }])
  const rounds = Object.values(await roundsOf(Object.fromEntries(kinds), turns, TURN))
  await peers[1]?.stop()
  const memory = sides.map((side) => side.memory())
  tell('Streaks over a change of clocks…')
  const days = await each((side) => checkDays(side, side !== ours))

  const paces = rounds.map((all) => ({
    perSecond: all.map(({ perSecond }) => perSecond),
    waits: all.flatMap(({ waits }) => waits),
  }))
  const [own, everysec, always] = paces.map(({ perSecond }) => perSecond)
  const speed = (/** @type {number[]} */ all) =>
    `${fixed(median(all))} (${fixed(Math.min(...all))}–${fixed(Math.max(...all))})`
  const slowness = (/** @type {number[]} */ all) => -median(all)
  note('events/s, 32 clients', [own, everysec], speed, slowness)
  note('the same, against a Redis with `appendfsync always`', [own, always], speed, slowness)
  note(
    'an event takes, median and 99 in 100',
    paces.slice(0, 2).map(({ waits }) => waits),
    (waits) => `${fixed(median(waits), 1)} and ${fixed(quantile(waits, 0.99), 1)} ms`,
    median,
  )
  note('memory of all processes after that', memory, (mib) => `${fixed(mib)} MiB`, Number)
  const faultsOf = (/** @type {number} */ index) => exact.map((all) => all[index]?.faults.length ?? 0)
  for (const [index, { what }] of (exact[0] ?? []).entries())
    note(what, faultsOf(index), (faults) => (faults === 0 ? 'exact' : `${faults} faults`), Number)
  for (const what of days[0]?.keys() ?? [])
    note(
      what,
      days.map((all) => all.get(what) ?? { length: 0, right: 0 }),
      ({ length, right }) => `${length} (${right} of ${DAYS} answers right)`,
      ({ right }) => -right,
    )
  save('peers', rows, { rows, exact, paces: paces.map(({ perSecond }) => perSecond) })
  for (const { faults } of exact.flat()) for (const fault of faults) tell(fault)
}

runBench({
  script: 'bench:peers',
  minutes: 10,
  options: { turns: 5 },
  run: ({ turns }) => measure(turns),
})
