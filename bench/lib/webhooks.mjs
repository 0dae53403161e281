/**
 * Measures the cost of webhook events: rows written in D1 and in objects, and operations of the queue, from
 * the Worker's own log lines.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { create, eventPath } from './scene.mjs'

const USERS = 50
const ENDPOINTS = 2
/** The messages to each endpoint for a user's first event: a streak was started, and points have changed. */
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
 * For each event: rows in D1, rows of the event itself (`eventRows`), rows in objects, operations of the
 * queue, and round trips of the event to D1.
 *
 * @typedef {{ d1Rows: number; eventRows: number; objectRows: number; operations: number; roundTrips: number
 *   }} Telling
 */

/** @typedef {Record<'first' | 'next' | 'later', Telling>} Phase */

/**
 * Measures the first events of new users, and their next two within 15 minutes, without a webhook and with
 * two. The events have no leaderboard.
 *
 * @param {Server} server
 * @param {string} key
 * @param {(text: string) => void} tellMore prints a line of progress
 * @returns {Promise<{ without: Phase; with: Phase; endpoints: number; messages: number }>}
 */
export async function measureWebhooks(server, key, tellMore) {
  const without = await phase(server, key, 'untold', 0)
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end())
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const address = receiver.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  try {
    const webhook = { url: `http://127.0.0.1:${port}/`, events: TYPES }
    const ids = []
    for (let i = 0; i < ENDPOINTS; i += 1) ids.push((await create(server, key, '/webhooks', webhook)).id)
    const some = await phase(server, key, 'told', ENDPOINTS)
    await server.ask('DELETE', `/admin/v1/webhooks?ids=${ids.join(',')}`, { key })
    tellMore(`${USERS} events were sent to ${ENDPOINTS} webhooks`)
    return { without, with: some, endpoints: ENDPOINTS, messages: MESSAGES }
  } finally {
    receiver.closeAllConnections()
    receiver.close()
  }
}

/** Each user's first event, the next one, and one after that. */
async function phase(
  /** @type {Server} */ server,
  /** @type {string} */ key,
  /** @type {string} */ name,
  /** @type {number} */ endpoints,
) {
  // This event makes the Worker read the configuration, so that it does not count.
  await server.ask('POST', eventPath(0), { key, body: { user: { id: `${name}-before` }, value: 1 } })
  await sleep(SETTLING)
  const first = await costs(server, key, name, USERS * MESSAGES * endpoints)
  const next = await costs(server, key, name, 0)
  const later = await costs(server, key, name, 0)
  return { first, next, later }
}

/** @returns {Promise<Telling>} */
async function costs(
  /** @type {Server} */ server,
  /** @type {string} */ key,
  /** @type {string} */ name,
  /** @type {number} */ deliveries,
) {
  const began = performance.now()
  const { lines, steps } = await server.logged(async (found) => {
    const answers = []
    for (let user = 0; user < USERS; user += 1) {
      const body = { user: { id: `${name}-${user}` }, value: 1 }
      answers.push(await server.ask('POST', eventPath(0), { key, body }))
    }
    const arrived = () =>
      found.filter(({ work }) => work === 'delivery').reduce((sum, { messages = 0 }) => sum + messages, 0)
    while (arrived() < deliveries) {
      if (performance.now() - began > PATIENCE) throw new Error(`only ${arrived()} deliveries have arrived`)
      await sleep(20)
    }
    // A drain logs its cost at its end, and the last one finds no rows.
    await sleep(SETTLING)
    return answers
  })
  const outward = steps.filter(({ work }) => work === 'outbox' || work === 'delivery')
  const each = (/** @type {any[]} */ some, /** @type {(line: any) => number} */ figure) =>
    some.reduce((sum, line) => sum + figure(line), 0) / USERS
  const eventRows = each(lines, ({ d1 }) => d1.rowsWritten)
  return {
    eventRows,
    d1Rows: eventRows + each(outward, ({ d1 }) => d1.rowsWritten),
    objectRows: each(outward, ({ objectRows = 0 }) => objectRows),
    operations: each(lines, ({ queued = 0 }) => queued) * OPERATIONS_A_MESSAGE,
    roundTrips: Math.max(...lines.map(({ d1 }) => d1.roundTrips)),
  }
}
