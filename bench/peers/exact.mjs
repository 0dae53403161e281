/** Checks totals: of parallel events, repeated ones, and with negative values and fractions. */
import { AssertionError } from 'node:assert'
import { deepEqual } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { numbersTo } from '../lib/bench.mjs'
import { AWARD, BURST, sendBurst, sendEvent, standing } from '../lib/scene.mjs'

/** Parallel copies of one event, and repetitions. */
const COPIES = 50
const TIMES = 3

/** @typedef {import('../lib/server.mjs').Server} Server */

/** The checks, by their names in the table. */
const CHECKS = /** @type {Record<string, (side: Server) => Promise<void>>} */ ({
  [`${BURST * TIMES} parallel events of ${TIMES} users`]: checkParallel,
  [`${COPIES * TIMES} parallel events with ${TIMES} idempotency keys`]: checkCopies,
  'events with negative values': checkNegative,
  '0.1 ten times, 999.95 a hundred times': checkFractions,
})

/** Makes all checks. Returns what was wrong in each, empty if nothing was. */
export async function checkExact(/** @type {Server} */ side) {
  const faults = /** @type {Record<string, string>} */ ({})
  for (const [what, check] of Object.entries(CHECKS))
    faults[what] = await check(side).then(
      () => '',
      (error) => {
        if (error instanceof AssertionError) return `${side.name}, ${what}: ${error.message}`
        throw error
      },
    )
  return faults
}

/** Many events of one user at once. */
async function checkParallel(/** @type {Server} */ side) {
  for (const time of numbersTo(TIMES)) await sendBurst(side, `parallel-${time}`)
}

/** The same event with the same idempotency key, many times at once. One counts, and all responses name it. */
async function checkCopies(/** @type {Server} */ side) {
  for (const user of numbersTo(TIMES).map((time) => `copies-${time}`)) {
    const key = randomUUID()
    const answers = await Promise.all(numbersTo(COPIES).map(() => sendEvent(side, user, { key })))
    deepEqual(answers.filter(({ status }) => status === 201).length, 1)
    deepEqual(new Set(answers.map(({ body }) => body.eventId)).size, 1)
    deepEqual(await standing(side, user), [1, AWARD, 1])
  }
}

/**
 * One user, event by event: value, total, points and score afterwards. Points follow the highest total so far.
 * If the total goes down and up again, it earns nothing twice and loses nothing.
 */
const STORY = /** @type {const} */ ([
  [5, 5, 50, 5],
  [-3, 2, 50, 2],
  [2.5, 4.5, 50, 4],
  [3, 7.5, 70, 7],
  [-10, -2.5, 70, null],
  [0, -2.5, 70, null],
  [4, 1.5, 70, 1],
])

/** Events with negative values. */
async function checkNegative(/** @type {Server} */ side) {
  for (const [value, ...after] of STORY) {
    await sendEvent(side, 'negative', { value })
    deepEqual(await standing(side, 'negative'), after)
  }
}

/** Sums of binary fractions would drift. */
async function checkFractions(/** @type {Server} */ side) {
  for (const _ of numbersTo(10)) await sendEvent(side, 'tenths', { value: 0.1 })
  for (const _ of numbersTo(100)) await sendEvent(side, 'prices', { value: 999.95 })
  deepEqual(await standing(side, 'tenths'), [1, AWARD, 1])
  deepEqual(await standing(side, 'prices'), [99_995, 99_995 * AWARD, 99_995])
}
