/**
 * Measures how events a second grow with the number of databases, if these are the bottleneck and not the processor:
 * slow.ts makes each as slow as a model says, ten times slower than D1 might be.
 */
import { fixed, median, save, tell, tellMore } from '../lib/bench.mjs'
import { round } from '../lib/load.mjs'
import { anyUserOf, eventPath, sendEvent } from '../lib/scene.mjs'
import { begin } from './scene.mjs'

const COUNTS = [1, 2, 4, 8]
/** For each database. With many users, few clients have one in common. */
const CLIENTS = 64
const USERS = 10_000
/** Milliseconds before a measurement, and of it. */
const WARM_UP = 5000
const TIME = 15_000
/** Events a second that a database commits one by one: it reads for 100 ms, and writes for 200 ms. */
const ONE_BY_ONE = 1000 / 300
/** The least rate with N databases, as a share of N times the rate with one; and as a multiple of one by one. */
const SPREAD = 0.85
const GROUPED = 5

export async function measureDatabases(/** @type {number} */ most) {
  const found = []
  for (const databases of COUNTS.filter((count) => count <= most)) {
    const { server } = await begin(`slow-${databases}`, { databases, module: 'scale/slow.ts' })
    const clients = CLIENTS * databases
    const to = { server, path: eventPath(0), user: () => anyUserOf(USERS * databases) }
    // The Worker knows the configuration, the key and the directory then.
    await sendEvent(server, 'first', { boards: 0 })
    await round(to, WARM_UP, clients)
    const { perSecond, waits } = await round(to, TIME, clients)
    await server.stop()
    tellMore(`${databases} databases: ${fixed(perSecond)} events/s`)
    const ratio = perSecond / (found[0]?.perSecond ?? perSecond)
    const grouped = perSecond / (ONE_BY_ONE * databases)
    found.push({ databases, clients, perSecond, ratio, grouped, wait: median(waits) })
  }
  const head = ['databases', 'clients', 'events/s', '÷ one database', '÷ one by one']
  const lines = found.map(({ databases, clients, perSecond, ratio, grouped, wait }) => [
    ...[`${databases}`, `${clients}`, fixed(perSecond), fixed(ratio, 2), fixed(grouped, 1)],
    fixed(wait),
  ])
  save('databases', [[...head, 'an event waits, ms (median)'], ...lines], { found })
  for (const { databases, ratio, grouped } of found)
    if (ratio < SPREAD * databases || grouped < GROUPED) tell(`Missed with ${databases} databases.`)
}
