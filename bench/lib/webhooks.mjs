/** Measures the cost of events with webhooks, in rows and operations of the queue, from the Worker's own log. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { numbersTo, sumOf } from './bench.mjs'
import { create, sendEvent } from './scene.mjs'

const USERS = 50
/** The webhooks, and the messages to each of them for a user's first event. */
const WEBHOOKS = 2
const TYPES = ['streak.started', 'streak.extended', 'points.changed']
const MESSAGES = 2
/** Writing, reading and deleting a message of the queue are one operation each. */
const OPERATIONS_A_MESSAGE = 3
/** The most time for deliveries, in milliseconds. */
const PATIENCE = 60_000
/** When all consequences are logged, in milliseconds: the queue holds a message for a second. */
const SETTLING = 3_000
/** An event without a leaderboard and an idempotency key. */
const EVENT = { boards: 0, key: null }

/** @typedef {import('./server.mjs').Server} Server */

/** The costs of first events, next ones within 15 minutes, and later ones, with no webhook and with two. */
export async function measureWebhooks(/** @type {Server} */ server) {
  const without = await measure(server, 'untold', 0)
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end())
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  receiver.unref()
  const webhook = { url: `http://127.0.0.1:${Object(receiver.address()).port}/`, events: TYPES }
  await create(server, '/webhooks', ...Array(WEBHOOKS).fill(webhook))
  return { without, withTwo: await measure(server, 'told', USERS * MESSAGES * WEBHOOKS) }
}

/** The three kinds of events of new users whose ids begin with `name`. The first ones cause `deliveries`. */
async function measure(/** @type {Server} */ server, /** @type {string} */ name, deliveries = 0) {
  // This event makes the Worker read the configuration, so that it does not count.
  await sendEvent(server, `${name}-before`, EVENT)
  await sleep(SETTLING)
  const first = await costs(server, name, deliveries)
  const next = await costs(server, name)
  return { first, next, later: await costs(server, name) }
}

/** The cost of an event of each user: `withEvent` are the rows of D1 that are written with it. */
async function costs(/** @type {Server} */ server, /** @type {string} */ name, deliveries = 0) {
  const { lines, steps } = await server.logged(async (found) => {
    const answers = []
    for (const user of numbersTo(USERS)) answers.push(await sendEvent(server, `${name}-${user}`, EVENT))
    const arrived = () => sumOf(found, ({ work, messages = 0 }) => (work === 'delivery' ? messages : 0))
    for (const deadline = performance.now() + PATIENCE; arrived() < deliveries; await sleep(20))
      if (performance.now() > deadline) throw new Error(`only ${arrived()} deliveries have arrived`)
    // A drain logs its cost at its end, and the last one finds no rows.
    await sleep(SETTLING)
    return answers
  })
  const outward = steps.filter(({ work }) => work === 'outbox' || work === 'delivery')
  return {
    withEvent: sumOf(lines, ({ d1 }) => d1.rowsWritten) / USERS,
    afterwards: sumOf(outward, ({ d1 }) => d1.rowsWritten) / USERS,
    inObjects: sumOf(outward, ({ objectRows = 0 }) => objectRows) / USERS,
    operations: (sumOf(lines, ({ queued = 0 }) => queued) * OPERATIONS_A_MESSAGE) / USERS,
    roundTrips: Math.max(...lines.map(({ d1 }) => d1.roundTrips)),
  }
}
