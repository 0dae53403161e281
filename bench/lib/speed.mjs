/** Laurel's requests per second compared with the baseline's, in rounds that take turns. */
import { randomUUID } from 'node:crypto'
import { eventRequest, readRequest, round } from './load.mjs'
import { BOARDS, eventPath, PAGE, userId } from './scene.mjs'

const CLIENTS = 32
const EVENTS = { turns: 5, milliseconds: 4000, warmUp: 2500 }
const PAGES = { turns: 3, milliseconds: 2500, warmUp: 1500 }

/**
 * Requests per second of two kinds, and their ratio: of the medians, and the lowest and the highest of one
 * turn.
 * @typedef {{ ours: number; baseline: number; ratio: number; least: number; most: number; rounds: number[] }}
 *   Speed
 */

/** One kind of request. @typedef {{ port: number; status: number; request: () => Buffer }} Kind */
/** @typedef {import('./server.mjs').Server} Server */

/**
 * Runs the rounds of events: Laurel on metrics with different numbers of leaderboards, and the baseline with
 * and without its object. All requests are the same except the path.
 *
 * @param {{ ours: Server; baseline: Server; key: string; users: number; tellMore: (text: string) => void }}
 *   options `tellMore` gets a line for each turn
 */
export async function compareEvents({ ours, baseline, key, users, tellMore }) {
  /** @returns {Kind} */
  const events = (/** @type {Server} */ { port }, /** @type {string} */ path, isKeyed = false) => ({
    port,
    status: 201,
    request: () => {
      const user = userId(Math.floor(Math.random() * users))
      return eventRequest({ port, path, key, user, idempotencyKey: isKeyed ? randomUUID() : undefined })
    },
  })
  const [none, one, some, many] = BOARDS
  const perSecond = await takeTurns(
    {
      'without boards': events(ours, eventPath(none)),
      'bare without object': events(baseline, eventPath(none)),
      '1 board': events(ours, eventPath(one)),
      bare: events(baseline, `/ranked${eventPath(one)}`),
      '1 board, keyed': events(ours, eventPath(one), true),
      '5 boards': events(ours, eventPath(some)),
      '20 boards': events(ours, eventPath(many)),
    },
    EVENTS,
    tellMore,
  )
  return {
    plain: speed(perSecond['1 board'], perSecond.bare),
    keyed: speed(perSecond['1 board, keyed'], perSecond.bare),
    some: speed(perSecond['5 boards'], perSecond.bare),
    many: speed(perSecond['20 boards'], perSecond.bare),
    none: speed(perSecond['without boards'], perSecond['bare without object']),
  }
}

/**
 * Runs the rounds of pages: Laurel's pages of a full leaderboard, and the baseline's page, which is ready in
 * KV.
 *
 * @param {{ ours: Server; baseline: Server; key: string; middle: string; tellMore: (text: string) => void }}
 *   options `middle` is the user at place 500
 */
export async function comparePages({ ours, baseline, key, middle, tellMore }) {
  const { body } = await ours.ask('GET', PAGE, { key })
  await baseline.ask('PUT', '/page', { body })
  /** @returns {Kind} */
  const pages = (/** @type {Server} */ { port }, /** @type {string} */ path) => {
    const request = readRequest({ port, path, key })
    return { port, status: 200, request: () => request }
  }
  const perSecond = await takeTurns(
    {
      'page one': pages(ours, PAGE),
      'page from a user': pages(ours, `${PAGE}&userId=${middle}`),
      'page from an offset': pages(ours, `${PAGE}&offset=499`),
      'page in KV': pages(baseline, '/page'),
    },
    PAGES,
    tellMore,
  )
  const ready = perSecond['page in KV']
  return {
    first: speed(perSecond['page one'], ready),
    fromUser: speed(perSecond['page from a user'], ready),
    fromOffset: speed(perSecond['page from an offset'], ready),
  }
}

/**
 * Runs the kinds of requests in turns, after a round of each that doesn't count.
 *
 * @template {string} Name
 * @param {Record<Name, Kind>} kinds
 * @param {{ turns: number; milliseconds: number; warmUp: number }} how
 * @param {(text: string) => void} tellMore prints a line of progress
 * @returns {Promise<Record<Name, number[]>>} requests per second of each turn
 */
async function takeTurns(kinds, { turns, milliseconds, warmUp }, tellMore) {
  const names = /** @type {Name[]} */ (Object.keys(kinds))
  const run = async (/** @type {Name} */ name, /** @type {number} */ span) => {
    const { failed, perSecond } = await round({ ...kinds[name], clients: CLIENTS, milliseconds: span })
    if (failed > 0) throw new Error(`${failed} responses of a round (${name}) had the wrong status`)
    return perSecond
  }
  tellMore('warming up')
  for (const name of names) await run(name, warmUp)
  const found = /** @type {Record<Name, number[]>} */ ({})
  for (const name of names) found[name] = []
  for (let turn = 1; turn <= turns; turn += 1) {
    for (const name of names) found[name].push(await run(name, milliseconds))
    const said = names.map((name) => `${name} ${found[name].at(-1)?.toFixed(0)}`)
    tellMore(`round ${turn} of ${turns}, each second: ${said.join('; ')}`)
  }
  return found
}

/** @returns {Speed} */
function speed(/** @type {number[]} */ ours, /** @type {number[]} */ baseline) {
  const ratios = ours.map((perSecond, index) => perSecond / (baseline[index] ?? Number.NaN))
  return {
    ours: median(ours),
    baseline: median(baseline),
    ratio: median(ours) / median(baseline),
    least: Math.min(...ratios),
    most: Math.max(...ratios),
    rounds: ratios,
  }
}

/** The median of an odd number of figures. */
const median = (/** @type {number[]} */ figures) =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN
