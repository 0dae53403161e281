/**
 * Checks that totals are exact: with parallel events, with parallel events of the same idempotency key, with
 * negative values, and with fractions.
 */
import { randomUUID } from 'node:crypto'
import { AWARD, BOARD, SYSTEM } from './side.mjs'

/** Parallel events of one user, parallel copies of one event, and repetitions. */
const EVENTS = 200
const COPIES = 50
const TIMES = 3

/** @typedef {import('./side.mjs').Side} Side */

/** The number of checks, and the failed ones. @typedef {{ checks: number; faults: string[] }} Verdict */

/** @returns {Verdict & { demand(what: string, found: unknown, wanted: unknown): void }} */
function verdict() {
  return {
    checks: 0,
    faults: [],
    demand(what, found, wanted) {
      const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)]
      this.checks += 1
      if (a !== b) this.faults.push(`${what}: ${a}, not ${b}`)
    },
  }
}

/** How often each value occurs, such as `{ 201: 1, 202: 49 }`. */
const tally = (/** @type {number[]} */ found) =>
  Object.fromEntries(Object.entries(Object.groupBy(found, String)).map(([kind, all]) => [kind, all?.length]))

const ascending = (/** @type {number[]} */ numbers) => numbers.toSorted((a, b) => a - b)

/** Sends many events of one user at once. Each response must show another total, and none may be missing. */
export async function checkParallel(/** @type {Side} */ side) {
  const found = verdict()
  const numbers = Array.from({ length: EVENTS }, (_, index) => index + 1)
  for (let time = 1; time <= TIMES; time += 1) {
    const user = `parallel-${time}`
    const answers = await Promise.all(numbers.map(() => side.event(user, 1)))
    const totals = answers.map(({ body }) => body.total)
    const points = answers.map(({ body }) => body.points?.[SYSTEM]?.total)
    found.demand('statuses', tally(answers.map(({ status }) => status)), { 201: EVENTS })
    found.demand('events', new Set(answers.map(({ body }) => body.eventId)).size, EVENTS)
    found.demand('totals in responses', ascending(totals), numbers)
    found.demand(
      'points in responses',
      ascending(points),
      numbers.map((n) => n * AWARD),
    )
    const { total, points: earned, streak, score } = await side.standing(user)
    found.demand('read afterwards', [total, earned, streak, score], [EVENTS, EVENTS * AWARD, 1, EVENTS])
  }
  return { events: EVENTS * TIMES, ...said(found) }
}

/**
 * Sends the same event, with the same idempotency key, many times at once. One counts, and all responses name
 * it.
 */
export async function checkCopies(/** @type {Side} */ side) {
  const found = verdict()
  for (let time = 1; time <= TIMES; time += 1) {
    const [user, key] = [`copies-${time}`, randomUUID()]
    const answers = await Promise.all(Array.from({ length: COPIES }, () => side.event(user, 1, { key })))
    found.demand('statuses', tally(answers.map(({ status }) => status)), {
      201: 1,
      202: COPIES - 1,
    })
    found.demand('events', new Set(answers.map(({ body }) => body.eventId)).size, 1)
    const { total, points, score } = await side.standing(user)
    found.demand('read afterwards', [total, points, score], [1, AWARD, 1])
  }
  return { copies: COPIES * TIMES, ...said(found) }
}

/**
 * One user, event by event: value, total and points afterwards, and whether the user is ahead of a user with
 * 4, behind, or not ranked. Points follow the highest total so far. If the total goes down and up again, it
 * earns nothing twice and loses nothing.
 */
const STORY = /** @type {const} */ ([
  [5, 5, 50, 'ahead'],
  [-3, 2, 50, 'behind'],
  [2.5, 4.5, 50, 'ahead'],
  [3, 7.5, 70, 'ahead'],
  [-0.5, 7, 70, 'ahead'],
  [-10, -3, 70, 'not ranked'],
  [0, -3, 70, 'not ranked'],
  [4, 1, 70, 'behind'],
])

/** Sends events with negative values. */
export async function checkNegative(/** @type {Side} */ side) {
  const found = verdict()
  const [user, other] = ['negative', 'negative-other']
  await side.event(other, 4)
  for (const [index, [value, total, points, place]] of STORY.entries()) {
    const { status, body } = await side.event(user, value)
    const rank = body.leaderboards?.[BOARD]?.rank ?? null
    const mine = await side.standing(user)
    const { rank: theirs } = await side.standing(other)
    const where = mine.rank === null ? 'not ranked' : mine.rank < Number(theirs) ? 'ahead' : 'behind'
    const step = `event ${index + 1} (${value})`
    found.demand(`${step}, response`, [status, body.total, body.currentStreak.length], [201, total, 1])
    // An event of 0 changes no score, so it may name no leaderboard.
    if (value !== 0) found.demand(`${step}, rank in the response`, rank, mine.rank)
    found.demand(`${step}, read afterwards`, [mine.total, mine.points, where], [total, points, place])
  }
  return said(found)
}

/** Adds 0.1 ten times, and 999.95 a hundred times. Sums of binary fractions would drift. */
export async function checkFractions(/** @type {Side} */ side) {
  const found = verdict()
  for (const [user, value, times, wanted] of /** @type {const} */ ([
    ['tenths', 0.1, 10, 1],
    ['prices', 999.95, 100, 99_995],
  ])) {
    let total = Number.NaN
    for (let time = 0; time < times; time += 1) total = (await side.event(user, value)).body.total
    found.demand(`${value} ${times} times`, total, wanted)
    const mine = await side.standing(user)
    found.demand('read afterwards', [mine.total, mine.points], [wanted, wanted * AWARD])
  }
  return said(found)
}

/** @returns {Verdict} */
const said = (/** @type {Verdict} */ { checks, faults }) => ({ checks, faults })
