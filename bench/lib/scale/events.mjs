/**
 * Measures the cost of events at one size, and their time compared with the smallest size. The two sizes take
 * turns, so that a busy machine affects both.
 */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { costOfEvents } from '../cost.mjs'
import { eventRequest, round } from '../load.mjs'
import { BOARD, eventPath, userId } from '../scene.mjs'
import { PLACES } from './check.mjs'
import { isLive } from './rows.mjs'

/** Users with counted events. */
const SAMPLE = 10
/**
 * Events of each of two sizes in turn, events before that are not counted, and how often the leaderboard is
 * read.
 */
const EVENTS = 200
const WARMING = 6
const READ_EACH = 5
const LOAD = { clients: 32, milliseconds: 5000 }
/** Ticks of the clock in a second, for `stat`. Linux always reports 100. */
const TICKS = 100

/** @typedef {import('./scene.mjs').Scene} Scene */

/**
 * Times in milliseconds, of this size and of the smallest size. @typedef {{ own: number; smallest: number }}
 * Pair
 */

/** A random user without a living streak. The others are for the midnight. */
function anyUser(/** @type {number} */ users) {
  for (;;) {
    const number = Math.floor(Math.random() * users)
    if (!isLive(number)) return userId(number)
  }
}

/**
 * Such users in random order, each only once, because a user with an event today is cheaper.
 *
 * @returns {() => string}
 */
export function freshUsers(/** @type {number} */ users) {
  const taken = /** @type {Set<string>} */ (new Set())
  return () => {
    if (taken.size > users * 0.89) throw new Error('there are no more users')
    for (;;) {
      const id = anyUser(users)
      if (taken.has(id)) continue
      taken.add(id)
      return id
    }
  }
}

/** Rows and round trips of events, from the log lines. */
export const costs = (/** @type {Scene} */ { server, key }, /** @type {() => string} */ fresh) =>
  costOfEvents(server, key, Array.from({ length: SAMPLE }, fresh))

/**
 * Events one after another of users without an event today, and reads of the whole leaderboard; in turns with
 * the smallest size.
 *
 * @param {{ scene: Scene; fresh: () => string }} own
 * @param {{ scene: Scene; fresh: () => string }} smallest
 * @returns {Promise<{ event: Pair; page: Pair }>} medians
 */
export async function compare(own, smallest) {
  const times = { own: take(), smallest: take() }
  const sides = /** @type {const} */ ([
    ['own', own],
    ['smallest', smallest],
  ])
  for (let turn = -WARMING; turn < EVENTS; turn += 1) {
    // The order changes each turn, because the second side waits for work that the first one has left.
    for (const [name, side] of turn % 2 === 0 ? sides : sides.toReversed()) {
      const event = await sendEvent(side)
      const page = turn % READ_EACH === 0 ? await readBoard(side.scene) : null
      if (turn < 0) continue
      times[name].events.push(event)
      if (page !== null) times[name].pages.push(page)
    }
  }
  const pair = (/** @type {'events' | 'pages'} */ what) => ({
    own: median(times.own[what]),
    smallest: median(times.smallest[what]),
  })
  return { event: pair('events'), page: pair('pages') }
}

const take = () => ({ events: /** @type {number[]} */ ([]), pages: /** @type {number[]} */ ([]) })

/** @returns {Promise<number>} milliseconds */
async function sendEvent(
  /** @type {{ scene: Scene; fresh: () => string }} */ { scene: { server, key }, fresh },
) {
  const headers = { 'idempotency-key': randomUUID() }
  const body = { user: { id: fresh() }, value: 1 }
  const began = performance.now()
  const { status } = await server.ask('POST', eventPath(1), { key, headers, body })
  if (status !== 201) throw new Error(`an event was answered ${status}`)
  return performance.now() - began
}

/** @returns {Promise<number>} milliseconds */
async function readBoard(/** @type {Scene} */ { server, key }) {
  const began = performance.now()
  const { body } = await server.ask('GET', `/v1/leaderboards/${BOARD}?limit=${PLACES}`, { key })
  if (body.rankings.length !== PLACES) throw new Error(`the leaderboard has ${body.rankings.length} places`)
  return performance.now() - began
}

/**
 * Events of random users from many clients at once: events per second, and processor time of each in the
 * Worker's process. The time includes D1 and the objects, which Cloudflare does not bill as the Worker's.
 * Null if the system does not report it.
 *
 * @param {Scene} scene
 * @returns {Promise<{ perSecond: number; cpu: number | null }>} `cpu` in milliseconds
 */
export async function load({ server, key, users }) {
  const { port } = server
  const request = () =>
    eventRequest({
      port,
      path: eventPath(1),
      key,
      user: anyUser(users),
      idempotencyKey: randomUUID(),
    })
  await round({ ...LOAD, milliseconds: LOAD.milliseconds / 5, port, status: 201, request })
  const before = processorTime(server.folder)
  const { done, failed, perSecond } = await round({ ...LOAD, port, status: 201, request })
  const after = processorTime(server.folder)
  if (failed > 0) throw new Error(`${failed} events failed`)
  return { perSecond, cpu: before === null || after === null ? null : (after - before) / done }
}

/**
 * Processor time of the runtime that works in a folder, user and system, in milliseconds; null if the system
 * does not report it.
 */
function processorTime(/** @type {string} */ folder) {
  if (process.platform !== 'linux') return null
  let ticks = 0
  for (const id of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${id}/stat`, 'latin1')
      if (!stat.includes('(workerd)') || readlinkSync(`/proc/${id}/cwd`) !== folder) continue
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      ticks += Number(fields[11]) + Number(fields[12])
    } catch {
      // It has ended, or belongs to another user.
    }
  }
  return ticks === 0 ? null : (ticks * 1000) / TICKS
}

/** The median of some figures. */
export const median = (/** @type {number[]} */ figures) =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN
