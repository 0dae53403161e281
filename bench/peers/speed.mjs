/** Events per second of each side, and the time of an event, in rounds that take turns. */
import { randomUUID } from 'node:crypto'
import { eventRequest, round } from '../lib/load.mjs'
import { userId } from '../lib/scene.mjs'
import { EVENTS } from './side.mjs'

const CLIENTS = 32
const TURNS = 5
/** In milliseconds. */
const ROUND = 2500
const WARM_UP = 2500

/** @typedef {import('./side.mjs').Side} Side */

/**
 * The results of one side: events per second of all rounds, with their median, lowest and highest; and
 * percentiles of the waiting times of all rounds together, in milliseconds.
 *
 * @typedef {{ median: number; least: number; most: number; rounds: number[]; p50: number; p99: number }} Pace
 */

/**
 * Runs the sides in turns. All send the same requests: each client sends an event of a random user with an
 * idempotency key as soon as its last one is answered.
 *
 * @param {Side[]} sides
 * @param {{ users: number; tellMore: (text: string) => void }} options
 * @returns {Promise<Pace[]>} in the order of the sides
 */
export async function measureSpeed(sides, { users, tellMore }) {
  const run = async (/** @type {Side} */ { name, port, key }, /** @type {number} */ milliseconds) => {
    const request = () => {
      const user = userId(Math.floor(Math.random() * users))
      return eventRequest({ port, path: EVENTS, key, user, idempotencyKey: randomUUID() })
    }
    const found = await round({ port, status: 201, clients: CLIENTS, milliseconds, request })
    if (found.failed > 0)
      throw new Error(`${found.failed} responses of a round (${name}) had the wrong status`)
    return found
  }
  // The warm-up also creates the users.
  for (const side of sides) await run(side, WARM_UP)
  const rounds = sides.map(() => /** @type {import('../lib/load.mjs').Round[]} */ ([]))
  for (let turn = 1; turn <= TURNS; turn += 1) {
    for (const [index, side] of sides.entries()) rounds[index]?.push(await run(side, ROUND))
    const said = sides.map(({ name }, index) => `${name} ${rounds[index]?.at(-1)?.perSecond.toFixed(0)}`)
    tellMore(`round ${turn} of ${TURNS}, each second: ${said.join('; ')}`)
  }
  return rounds.map((of) => {
    const perSecond = of.map((one) => one.perSecond).toSorted((a, b) => a - b)
    const waits = of.flatMap((one) => one.waits).toSorted((a, b) => a - b)
    return {
      median: atShare(perSecond, 0.5),
      least: atShare(perSecond, 0),
      most: atShare(perSecond, 1),
      rounds: of.map((one) => one.perSecond),
      p50: atShare(waits, 0.5),
      p99: atShare(waits, 0.99),
    }
  })
}

/** The percentile of figures in ascending order, with `share` from 0 to 1. */
const atShare = (/** @type {number[]} */ figures, /** @type {number} */ share) =>
  figures[Math.min(figures.length - 1, Math.floor(figures.length * share))] ?? Number.NaN
