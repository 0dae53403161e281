/** Measures the cost of events with webhooks, in rows and operations of the queue, from the Worker's own log. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../scripts/lib/until.mjs'
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

/** The events: what they are, how the ids of their users begin, and the messages that they cause. */
const KINDS = /** @type {[what: string, users: string, messages: number][]} */ ([
  ["rows written and queue operations of a user's first event, 0 webhooks", 'untold', 0],
  ['of the next event within 15 minutes, 0 webhooks', 'untold', 0],
  ['of a first event, with 2 webhooks that get 2 messages each', 'told', USERS * MESSAGES * WEBHOOKS],
  ['of the next event within 15 minutes, 2 webhooks', 'told', 0],
  ['of later events, 2 webhooks', 'told', 0],
])

/** The costs of all kinds of events. */
export async function measureWebhooks(/** @type {Server} */ server) {
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end())
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  receiver.unref()
  const webhook = { url: `http://127.0.0.1:${Object(receiver.address()).port}/`, events: TYPES }
  const costs = []
  for (const [what, users, messages] of KINDS) {
    if (messages > 0) await create(server, '/webhooks', ...Array(WEBHOOKS).fill(webhook))
    // This event makes the Worker read the configuration, so that it does not count.
    await sendEvent(server, `${users}-before`, EVENT)
    await sleep(SETTLING)
    costs.push({ what, ...(await costOf(server, users, messages)) })
  }
  return costs
}

/** The cost of an event of each user: `withEvent` are the rows of D1 that are written with it. */
async function costOf(
  /** @type {Server} */ server,
  /** @type {string} */ users,
  /** @type {number} */ messages,
) {
  const from = server.steps.length
  const answers = []
  for (const user of numbersTo(USERS)) answers.push(await sendEvent(server, `${users}-${user}`, EVENT))
  const steps = (/** @type {string[]} */ ...kinds) =>
    server.steps.slice(from).filter(({ work }) => kinds.includes(work))
  const arrived = () => sumOf(steps('delivery'), (step) => step.messages ?? 0)
  if (!(await until(() => arrived() >= messages, { patience: PATIENCE, pause: 20 })))
    throw new Error(`only ${arrived()} deliveries have arrived`)
  // A drain logs its cost at its end, and the last one finds no rows.
  await sleep(SETTLING)
  const lines = await server.linesOf(answers)
  const outward = steps('outbox', 'delivery')
  return {
    withEvent: sumOf(lines, ({ d1 }) => d1.rowsWritten) / USERS,
    afterwards: sumOf(outward, ({ d1 }) => d1.rowsWritten) / USERS,
    inObjects: sumOf(outward, ({ objectRows = 0 }) => objectRows) / USERS,
    operations: (sumOf(lines, ({ queued = 0 }) => queued) * OPERATIONS_A_MESSAGE) / USERS,
    roundTrips: lines.map(({ d1 }) => d1.roundTrips),
  }
}
