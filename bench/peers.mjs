/**
 * `npm run bench:peers`: compares Laurel with the service that a team would write instead, in the same run.
 * See bench/README.md. Exits with 0, whichever side is ahead: the table shows it.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { inProject } from '../scripts/lib/project.mjs'
import { fetchedTool } from '../scripts/lib/tools.mjs'
import { fixed, folder, median, quantile, runBench, save, tell } from './lib/bench.mjs'
import { laurel } from './lib/laurel.mjs'
import { roundsOf } from './lib/load.mjs'
import { anyUserOf, eventPath, startWithBoards } from './lib/scene.mjs'
import { freePort, Server } from './lib/server.mjs'
import { checkDays, DAYS } from './peers/days.mjs'
import { checkExact } from './peers/exact.mjs'

const USERS = 2000
/** Milliseconds of a turn. */
const TURN = 2500

/** The table: of each row the columns of Laurel and of the peer, and who is ahead. */
const rows = /** @type {string[][]} */ ([])

/** Adds a row to the table. The side with the smaller figure is ahead. If there are no figures, the row has no winner. */
function note(/** @type {string} */ what, /** @type {string[]} */ texts, [ours = 0, theirs = 0] = [0, 0]) {
  rows.push([what, ...texts, ours === theirs ? '–' : ours < theirs ? 'Laurel' : 'peer'])
}

/** One peer, not started yet. Redis syncs its writes each second (`everysec`, its default) or always. */
async function redisPeer(/** @type {'everysec' | 'always'} */ sync) {
  const name = `Redis, ${sync}`
  const at = join(folder, name)
  mkdirSync(at)
  const [port, redisPort, key] = [await freePort(), await freePort(), 'a-key']
  const variables = {
    PORT: `${port}`,
    REDIS_PORT: `${redisPort}`,
    SYNC: sync,
    API_KEY: key,
    TEST_CLOCK: 'on',
  }
  const env = { ...process.env, ...variables, PACKAGES: fetchedTool('peers'), NODE_ENV: 'production' }
  const script = [inProject('bench', 'peers', 'redis', 'server.mjs')]
  const server = new Server({ name, folder: at, port, script, env })
  server.key = key
  return server
}

async function run(/** @type {{ turns: number }} */ { turns }) {
  tell('Copying and starting…')
  const ours = await laurel('laurel')
  await startWithBoards(ours)
  const peers = [await redisPeer('everysec'), await redisPeer('always')]
  for (const peer of peers) await peer.start()
  const { version } = (await peers[0]?.ask('GET', '/health'))?.body ?? {}
  rows.push(['', 'Laurel, `npm run serve`', `Node, Fastify, Redis ${version}`, 'ahead'])
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

  const paces = rounds.map((all) => all.map(({ perSecond }) => perSecond))
  const [own = [], everysec = [], always = []] = paces
  const noteSpeed = (/** @type {string} */ what, /** @type {number[][]} */ both) =>
    note(
      what,
      both.map((all) => `${fixed(median(all))} (${fixed(Math.min(...all))}–${fixed(Math.max(...all))})`),
      both.map((all) => -median(all)),
    )
  noteSpeed('events/s, 32 clients', [own, everysec])
  noteSpeed('the same, against a Redis with `appendfsync always`', [own, always])
  const waits = rounds.slice(0, 2).map((all) => all.flatMap((one) => one.waits))
  note(
    'an event takes, median and 99 in 100',
    waits.map((all) => `${fixed(median(all), 1)} and ${fixed(quantile(all, 0.99), 1)} ms`),
    waits.map(median),
  )
  const mebibytes = memory.map((one) => `${fixed(one)} MiB`)
  note('memory of all processes after that', mebibytes, memory)
  for (const what of Object.keys(exact[0] ?? {})) {
    const isWrong = exact.map((faults) => faults[what] !== '')
    note(
      what,
      isWrong.map((one) => (one ? 'not exact' : 'exact')),
      isWrong.map(Number),
    )
  }
  for (const what of days[0]?.keys() ?? []) {
    const found = days.map((all) => all.get(what) ?? { length: 0, right: 0 })
    note(
      what,
      found.map(({ length, right }) => `${length} (${right} of ${DAYS} answers right)`),
      found.map(({ right }) => -right),
    )
  }
  save('peers', rows, { rows, exact, paces })
  for (const fault of exact.flatMap(Object.values).filter(Boolean)) tell(fault)
}

runBench({ script: 'bench:peers', options: { turns: 5 }, run })
