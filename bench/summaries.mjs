/**
 * `npm run bench:summaries`: measures the events of a tenant while another one with 200,000 users asks for 30
 * different summaries at once. See bench/README.md.
 */
import { until } from '../scripts/lib/until.mjs'
import {
  adminKey,
  fixed,
  inTurns,
  median,
  numbersTo,
  quantile,
  runBench,
  save,
  sumOf,
  tell,
  timeOf,
} from './lib/bench.mjs'
import { laurel } from './lib/laurel.mjs'
import { anyUserOf, configure, create, SYSTEM, sendBatches, sendEvent, userId } from './lib/scene.mjs'

/** Summaries at once. Each has a filter of its own, so that no two of them share a count. */
const SUMMARIES = 30
/** Users of the tenant with the events. */
const USERS = 200
/** Events of a turn without summaries. */
const EVENTS = 200
/** When no work is due any more, and how long that may take, in milliseconds. */
const QUIET = 5000
const SETTLING = 10 * 60_000
/** The points of users differ. */
const TOTALS = 5000
/** How many times as long an event may take. */
const MOST = 10

/** @typedef {import('./lib/server.mjs').Server} Server */

/** Makes and configures a tenant. The server's requests are in its name from then on. */
async function openTenant(/** @type {Server} */ server, /** @type {string} */ customerId) {
  server.key = adminKey
  server.headers = {}
  await create(server, '/tenants', { customerId, name: customerId })
  server.headers = { 'tenant-id': customerId }
  await configure(server)
}

/** Sends events one after another until `isOver`. Returns the time of each in milliseconds. */
async function timesOfEvents(/** @type {Server} */ server, /** @type {(sent: number) => boolean} */ isOver) {
  const times = /** @type {number[]} */ ([])
  while (!isOver(times.length))
    times.push(await timeOf(() => sendEvent(server, anyUserOf(USERS), { key: null })))
  return times
}

runBench({
  script: 'bench:summaries',
  options: { users: 200_000, turns: 3 },
  async run({ users, turns }) {
    tell('Copying, starting and filling…')
    const server = await laurel('summaries', { variables: { TEST_CLOCK: 'off', MULTI_TENANCY: 'on' } })
    await server.start()
    await openTenant(server, 'large')
    const large = { key: server.key, headers: server.headers, patience: 60_000 }
    await create(server, '/attributes', { key: 'plan', name: 'Plan', type: 'user' })
    const filters = SUMMARIES * (turns + 1)
    await sendBatches(server, users, (number) => ({
      user: { id: userId(number), attributes: { plan: `p${number % filters}` } },
      value: 1 + (number % TOTALS),
    }))
    // The analytics count these users, which would disturb the events.
    let seen = 0
    const isQuiet = () => {
      const before = seen
      seen = server.steps.length
      return seen === before
    }
    await until(isQuiet, { patience: SETTLING, pause: QUIET })
    await openTenant(server, 'small')

    let asked = 0
    const ask = async () => {
      const path = `/v1/points/${SYSTEM}/summary?userAttributes=plan:p${asked++}`
      return (await server.send('GET', path, large)).status
    }
    const alone = async () => ({
      times: await timesOfEvents(server, (sent) => sent === EVENTS),
      answered: 0,
    })
    /** Asks for all summaries at once. Returns the events' times meanwhile, and how many summaries were answered. */
    const beside = async () => {
      let isOver = false
      const summaries = Promise.all(numbersTo(SUMMARIES).map(ask)).finally(() => {
        isOver = true
      })
      const times = await timesOfEvents(server, () => isOver)
      return { times, answered: (await summaries).filter((status) => status === 200).length }
    }
    tell(`Events without and with ${SUMMARIES} summaries of ${fixed(users)} users…`)
    const works = { without: alone, 'with summaries': beside }
    const found = await inTurns(turns, works, ({ times }) => `median ${fixed(median(times), 1)} ms`)
    const [without, withThem] = Object.values(found).map((all) => all.flatMap(({ times }) => times))
    const answered = sumOf(found['with summaries'] ?? [], (one) => one.answered)
    const lines = [0.5, 0.95].map((part) => {
      const [before, then] = [quantile(without ?? [], part), quantile(withThem ?? [], part)]
      return { part, before, then, ratio: then / before }
    })
    const head = ['an event of another tenant', 'without summaries', `with ${SUMMARIES} at once`]
    const table = [
      [...head, 'ratio', `must: at most ${MOST}`],
      ...lines.map(({ part, before, then, ratio }) => [
        part === 0.5 ? 'median, ms' : 'p95, ms',
        ...[before, then, ratio].map((figure) => fixed(figure, 1)),
        ratio <= MOST ? 'met' : 'missed',
      ]),
      ['summaries answered, the others are 429', '–', `${answered} of ${SUMMARIES * turns}`, '–', '–'],
    ]
    save('summaries', table, { users, turns, lines, answered })
  },
})
