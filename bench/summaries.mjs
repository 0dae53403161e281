/**
 * `npm run bench:summaries`: measures the events of a tenant while another one with 200,000 users asks for 30
 * different summaries at once. See bench/README.md.
 */
import { join } from 'node:path'
import {
  adminKey,
  fixed,
  median,
  numbersTo,
  quantile,
  runBench,
  save,
  tell,
  tellMore,
  timeOf,
} from './lib/bench.mjs'
import { copyUser } from './lib/copies.mjs'
import { laurelServed } from './lib/laurel.mjs'
import { anyUserOf, create, METRIC, SYSTEM, sendEvent, userId } from './lib/scene.mjs'

/** Summaries at once. Each has a filter of its own, so that no two of them share a count. */
const SUMMARIES = 30
/** Users of the tenant with the events. */
const USERS = 200
/** Events of a turn without summaries. */
const EVENTS = 200
/** The points of users differ. */
const TOTALS = 5000
/** How many times as long an event may take. */
const MOST = 10

/** @typedef {import('./lib/server.mjs').Server} Server */

/** Makes a tenant with a metric that earns points, and an attribute. The server's requests name it from then on. */
async function openTenant(/** @type {Server} */ server, /** @type {string} */ customerId) {
  server.headers = {}
  await create(server, '/tenants', { customerId, name: customerId })
  server.headers = { 'tenant-id': customerId }
  const [{ id: metricId }] = await create(server, '/metrics', { key: METRIC, name: 'Lessons' })
  const [attribute] = await create(server, '/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  const triggers = [{ type: 'metric', status: 'active', metricId, metricThreshold: 1, points: 10 }]
  const [system] = await create(server, '/points', { key: SYSTEM, name: 'XP', triggers })
  return { attribute, system }
}

/** Sends events one after another until `isOver`. Returns the time of each in milliseconds. */
async function timesOfEvents(/** @type {Server} */ server, /** @type {(sent: number) => boolean} */ isOver) {
  const times = /** @type {number[]} */ ([])
  while (!isOver(times.length))
    times.push(await timeOf(() => sendEvent(server, anyUserOf(USERS), { key: null })))
  return times
}

/** Asks for all summaries at once. Returns the events' times meanwhile, and how many summaries were answered. */
async function besideSummaries(/** @type {Server} */ server, /** @type {number} */ turn) {
  let isOver = false
  const headers = { 'tenant-id': 'large' }
  const asked = Promise.all(
    numbersTo(SUMMARIES).map((n) =>
      server.send('GET', `/v1/points/${SYSTEM}/summary?userAttributes=plan:p${turn * SUMMARIES + n}`, {
        headers,
        patience: 60_000,
      }),
    ),
  ).finally(() => {
    isOver = true
  })
  const times = await timesOfEvents(server, () => isOver)
  const answers = await asked
  return { times, answered: answers.filter(({ status }) => status === 200).length }
}

runBench({
  script: 'bench:summaries',
  minutes: 10,
  options: { users: 200_000, turns: 3 },
  async run({ users, turns }) {
    tell('Copying and starting…')
    const server = await laurelServed({ TEST_CLOCK: 'off', MULTI_TENANCY: 'on' })
    server.key = adminKey
    await server.start()
    const { attribute, system } = await openTenant(server, 'large')
    await sendEvent(server, userId(0))
    await server.stop()
    await copyUser(join(server.folder, 'data', 'objects', 'laurel-Database'), users, {
      attributes: `json_object('${attribute.id}', 'p' || n % ${SUMMARIES * turns})`,
      points: `json_set(points, '$."${system.id}"', n % ${TOTALS})`,
      counted: 'seq',
    })
    await server.start()
    await openTenant(server, 'small')
    await timesOfEvents(server, (sent) => sent === EVENTS)

    tell(`Events without and with ${SUMMARIES} summaries of ${fixed(users)} users…`)
    const without = /** @type {number[]} */ ([])
    const withThem = /** @type {number[]} */ ([])
    let answered = 0
    for (const turn of numbersTo(turns)) {
      const alone = await timesOfEvents(server, (sent) => sent === EVENTS)
      const beside = await besideSummaries(server, turn)
      tellMore(
        `median ${fixed(median(alone), 1)} ms without, ${fixed(median(beside.times), 1)} ms with summaries`,
      )
      without.push(...alone)
      withThem.push(...beside.times)
      answered += beside.answered
    }
    const lines = [0.5, 0.95].map((part) => {
      const [before, then] = [quantile(without, part), quantile(withThem, part)]
      const ratio = then / before
      return { part, before, then, ratio }
    })
    const table = [
      [
        'an event of another tenant',
        'without summaries',
        `with ${SUMMARIES} at once`,
        'ratio',
        `must: at most ${MOST}`,
      ],
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
