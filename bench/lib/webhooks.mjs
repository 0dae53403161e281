/** Measures the cost of events with webhooks, in rows and operations of the queue, from the Worker's own log. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { sumOf } from './bench.mjs'
import { create, eventPath } from './scene.mjs'

const USERS = 50
/** The webhooks, and the messages to each of them for a user's first event. */
const WEBHOOKS = 2
const TYPES = ['streak.started', 'streak.extended', 'points.changed']
const MESSAGES = 2
/** Writing, reading and deleting a message of the queue are one operation each. */
const OPERATIONS_A_MESSAGE = 3
/** The most time for deliveries, in milliseconds. */
const PATIENCE = 60_000
/**
 * The time after which all consequences of an event are done and logged, in milliseconds. The queue holds a
 * message for a second.
 */
const SETTLING = 3_000

/** @typedef {import('./server.mjs').Server} Server */

/**
 * The first events of new users, their next ones within 15 minutes, and those after that: without a webhook
 * and with two. The events have no leaderboard.
 */
export async function measureWebhooks(/** @type {Server} */ server) {
  const without = await measure(server, 'untold', 0)
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end())
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  try {
    const webhook = { url: `http://127.0.0.1:${Object(receiver.address()).port}/`, events: TYPES }
    const made = await create(server, '/webhooks', ...Array(WEBHOOKS).fill(webhook))
    const withTwo = await measure(server, 'told', WEBHOOKS)
    const ids = made.map((/** @type {any} */ { id }) => id)
    await server.ask('DELETE', `/admin/v1/webhooks?ids=${ids.join(',')}`)
    return { without, withTwo }
  } finally {
    receiver.closeAllConnections()
    receiver.close()
  }
}

async function measure(
  /** @type {Server} */ server,
  /** @type {string} */ name,
  /** @type {number} */ webhooks,
) {
  // This event makes the Worker read the configuration, so that it does not count.
  await server.ask('POST', eventPath(0), { body: { user: { id: `${name}-before` }, value: 1 } })
  await sleep(SETTLING)
  const first = await costs(server, name, USERS * MESSAGES * webhooks)
  const next = await costs(server, name, 0)
  return { first, next, later: await costs(server, name, 0) }
}

/** The cost of an event of each user: `withEvent` are the rows of D1 that are written with it. */
async function costs(
  /** @type {Server} */ server,
  /** @type {string} */ name,
  /** @type {number} */ deliveries,
) {
  const { lines, steps } = await server.logged(async (found) => {
    const answers = []
    for (let user = 0; user < USERS; user += 1)
      answers.push(
        await server.ask('POST', eventPath(0), { body: { user: { id: `${name}-${user}` }, value: 1 } }),
      )
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
