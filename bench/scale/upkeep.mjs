/**
 * Measures background work at one size: the hourly comparison of a leaderboard, a midnight at which streaks
 * are lost, a run that is made final, ticks of a time trigger; and reads of all users. The test clock moves
 * to the moment before, and then, measured, to the moment.
 */
import { fixed, median, numbersTo, sumOf, tellMore, timeOf } from '../lib/bench.mjs'
import { create, METRIC, moveClock, SYSTEM, sendBatches, stepsUntil, userId } from '../lib/scene.mjs'
import { DAY, EVENTS, HOUR, livingOf, PLAN, withPlan } from './scene.mjs'

/** Timeout of a read of all users, in milliseconds. */
const PATIENCE = 5 * 60_000
/** The most users who have events on a day of the analytics, and how often they are read. */
const MOST_CHANGED = 100_000
const READS = 20

/** @typedef {import('../lib/server.mjs').Server} Server */
/** @typedef {import('./scene.mjs').Scene} Scene */

/** Returns rows of the table. */
export async function measureUpkeep(/** @type {Scene} */ scene) {
  const { server, day, users } = scene
  const summary = await readTimeOf(server, `/v1/points/${SYSTEM}/summary`)
  const streaks = await readTimeOf(server, '/v1/streaks/rankings?type=longest')
  // The first pass of the analytics visits all users.
  await moveClock(server, scene.now + 1000)
  const sweep = await moveClock(server, day * DAY + 11 * HOUR)
  const midnight = (day + 1) * DAY
  await moveClock(server, midnight - 1000)
  const night = await measureSteps(server, midnight, 'streaks', livingOf(users))
  const final = midnight + 12 * HOUR
  await moveClock(server, final - 1000)
  const finalisation = await moveClock(server, final)
  const analytics = await measureAnalytics(scene, final)
  const filter = [{ attributeId: scene.attribute, attributeValue: PLAN }]
  const trigger = { type: 'time', status: 'active', timeUnit: 'hours', timeInterval: 1, points: 5 }
  const triggers = [{ ...trigger, userAttributes: filter }]
  await create(server, '/points', { key: 'scale-ticks', name: 'Ticks', triggers })
  await moveClock(server, final + 2 * HOUR - 1000)
  const ticks = await measureSteps(server, final + 2 * HOUR, 'ticks', withPlan(users))
  return [
    ...rowsOf('a midnight', 'streaks lost', night),
    ...rowsOf('a tick', 'users who are granted points', ticks),
    ['filling a new leaderboard: s', fixed(scene.filling, 1)],
    ['an hour with its comparison: s', fixed(sweep, 2)],
    ['making a run final: s', fixed(finalisation, 2)],
    ['the same for 1,000 users: s', fixed(finalisation / (users / 1000), 3)],
    ['a summary of points, not kept: ms', fixed(summary)],
    ['the longest streaks ever, not kept: ms', fixed(streaks)],
    ...rowsOf('the analytics', 'users who have changed', analytics.pass),
    ['reading 400 days: overview, a metric, points, ms', analytics.reads.map((one) => fixed(one)).join(', ')],
  ]
}

/** A pass of the analytics over a day with five events of each of many users, and reading 400 days. */
async function measureAnalytics(/** @type {Scene} */ { server, users }, /** @type {number} */ now) {
  const changed = Math.min(users, MOST_CHANGED)
  await sendBatches(server, EVENTS * changed, (number) => ({ user: { id: userId(number % changed) } }))
  const pass = await measureSteps(server, now + HOUR, 'analytics', changed)
  const date = (/** @type {number} */ ago) => new Date(now - ago * DAY).toISOString().slice(0, 10)
  const reads = []
  for (const of of ['analytics/overview', `metrics/${METRIC}/analytics`, `points/${SYSTEM}/analytics`]) {
    const times = []
    for (const _ of numbersTo(READS))
      times.push(await readTimeOf(server, `/admin/v1/${of}?from=${date(399)}&to=${date(0)}`))
    reads.push(median(times))
  }
  return { pass, reads }
}

/** Milliseconds of a read of all users. */
const readTimeOf = (/** @type {Server} */ server, /** @type {string} */ path) =>
  timeOf(() => server.ask('GET', path, { patience: PATIENCE }))

/**
 * Moves the clock to a moment, and sums the steps of one kind. They must change `wanted` users.
 *
 * @param {Server} server
 * @param {number} to
 * @param {string} kind
 * @param {number} wanted
 */
async function measureSteps(server, to, kind, wanted) {
  const { seconds, steps } = await stepsUntil(server, to, kind)
  const users = sumOf(steps, (step) => step.users)
  if (users !== wanted) throw new Error(`${kind} changed ${users} users, not ${wanted}`)
  tellMore(`${kind} of ${users} users in ${seconds.toFixed(1)} s`)
  const read = sumOf(steps, ({ d1 }) => d1.rowsRead) / users
  const written = sumOf(steps, ({ d1, objectRows = 0 }) => d1.rowsWritten + objectRows) / users
  const longest = Math.max(...steps.map(({ milliseconds }) => milliseconds))
  return { users, read, written, longest, secondsOfThousand: seconds / (users / 1000) }
}

/**
 * The rows of one kind of work. `changed` names what it changes, such as "streaks lost".
 *
 * @type {(work: string, changed: string, found: Awaited<ReturnType<typeof measureSteps>>) => string[][]}
 */
const rowsOf = (work, changed, { users, secondsOfThousand, read, written, longest }) => [
  [`${work}: ${changed}`, fixed(users)],
  [`${work}: s for 1,000 of them`, fixed(secondsOfThousand, 3)],
  [`${work}: rows read, written for each`, `${fixed(read, 2)}, ${fixed(written, 2)}`],
  [`${work}: the longest step, ms`, fixed(longest)],
]
