/**
 * `npm run bench:scale`: measures how figures change with the number of users. See bench/README.md.
 *
 * `-- --users 100000` ends at fewer users than a million, and `-- --databases 1` leaves out the runs with 2
 * and 4 databases, which have the most users. `-- --only anniversaries` measures these alone, in minutes.
 */
import { wholeOf } from '../scripts/lib/command.mjs'
import {
  fixed,
  median,
  numbersTo,
  runBench,
  save,
  spanOf,
  sumOf,
  tell,
  tellMore,
  timeOf,
} from './lib/bench.mjs'
import { round } from './lib/load.mjs'
import { BOARD, costOfEvents, eventPath, sendEvent, userId } from './lib/scene.mjs'
import { measureAnniversaries } from './scale/anniversaries.mjs'
import { EVENTS, isLive, openScene, PLACES } from './scale/scene.mjs'
import { measureUpkeep } from './scale/upkeep.mjs'

/** With fewer users, the smallest size would run out of users without an event today. */
const SIZES = [2000, 100_000, 1_000_000]
/** The numbers of databases at the last size. The other sizes have one. */
const DATABASES = [1, 2, 4]
/** How long a statement may hold a database, in milliseconds. */
const LONGEST = 250
/** Users with counted events. */
const SAMPLE = 10
/** Events of each of two sizes in turn, those before that are not counted, and how often the board is read. */
const TURNS = 200
const WARMING = 6
const READ_EACH = 5
/** How long many clients send events, in milliseconds. */
const LOAD = 5000

/** @typedef {import('./scale/scene.mjs').Scene} Scene */
/** @typedef {Awaited<ReturnType<typeof open>>} Opened */
/** @typedef {Awaited<ReturnType<typeof finish>>} Found */

/** The results so far, by size. They are printed even if the run ends early. */
const found = /** @type {Found[]} */ ([])

/** A random user without a living streak. The others are for the midnight. */
function anyUser(/** @type {number} */ users) {
  for (;;) {
    const number = Math.floor(Math.random() * users)
    if (!isLive(number)) return userId(number)
  }
}

/** Such users, each only once, because a user with an event today is cheaper. */
function freshUsers(/** @type {number} */ users) {
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

/** Opens a scene, and measures the cost of its events before other work. */
async function open(/** @type {number} */ users, databases = 1) {
  tell(`${fixed(users)} users${databases === 1 ? '' : ` in ${databases} databases`}…`)
  const scene = await openScene({ users, databases })
  const fresh = freshUsers(users)
  return { scene, fresh, cost: await costOfEvents(scene.server, numbersTo(SAMPLE).map(fresh)) }
}

/**
 * Events one after another of users without an event today, and reads of the whole leaderboard; in turns with
 * the smallest size, so that a busy machine affects both. Returns medians of milliseconds.
 */
async function compare(/** @type {Opened} */ own, /** @type {Opened} */ smallest) {
  const sides = [own, smallest].map((side) => ({ ...side, events: [0].slice(1), pages: [0].slice(1) }))
  for (let turn = -WARMING; turn < TURNS; turn += 1) {
    // The order changes each turn, because the second side waits for work that the first one has left.
    for (const { scene, fresh, events, pages } of turn % 2 === 0 ? sides : sides.toReversed()) {
      const user = fresh()
      const event = await timeOf(() => sendEvent(scene.server, user))
      if (turn >= 0) events.push(event)
      if (turn < 0 || turn % READ_EACH > 0) continue
      const path = `/v1/leaderboards/${BOARD}?limit=${PLACES}`
      pages.push(await timeOf(() => scene.server.ask('GET', path)))
    }
  }
  const [event, least] = sides.map(({ events }) => median(events))
  const [page, leastPage] = sides.map(({ pages }) => median(pages))
  return { event, eventRatio: event / least, page, pageRatio: page / leastPage }
}

/**
 * Measures the rest of a scene, and closes it.
 *
 * @param {Opened} opened
 * @param {Awaited<ReturnType<typeof compare>>} times
 */
async function finish({ scene, cost }, times) {
  const { server, users, databases, seconds } = scene
  const to = { port: server.port, key: server.key, path: eventPath(1), user: () => anyUser(users) }
  await round(to, LOAD / 5)
  const before = server.processorTime()
  const { perSecond, waits } = await round(to, LOAD)
  const load = { perSecond, cpu: (server.processorTime() - before) / waits.length }
  const upkeep = await measureUpkeep(scene)
  return { users, databases, seconds, cost, times, load, upkeep, size: await scene.close() }
}

async function run(/** @type {{ users: string; databases: number; only: string }} */ asked) {
  const [least = 0] = SIZES
  const most = wholeOf('users', asked.users, least + 1)
  if (asked.only === 'anniversaries') return measureAnniversaries(most)
  const counts = [...DATABASES.filter((one) => one < asked.databases), asked.databases]
  // The smallest size runs until the end for comparison, at the same time of its day.
  const smallest = await open(least)
  const others = SIZES.filter((size) => size > least && size < most).map((users) => [users, 1])
  for (const [users = 0, databases] of [...others, ...counts.map((databases) => [most, databases])]) {
    const own = await open(users, databases)
    const times = await compare(own, smallest)
    tellMore(`an event takes ${fixed(times.eventRatio, 2)} times as long as with ${least} users`)
    found.push(await finish(own, times))
  }
  found.unshift(await finish(smallest, await compare(smallest, smallest)))
  print()
}

/** Each figure, and the function that reads it. */
const FIGURES = /** @type {[string, (found: Found) => string][]} */ ([
  ['an event: D1 round trips', ({ cost }) => spanOf(cost.roundTrips)],
  ['an event: rows read in D1', ({ cost }) => spanOf(cost.rowsRead)],
  ['an event: rows written in D1', ({ cost }) => spanOf(cost.rowsWritten)],
  ["an event: rows written in the leaderboard's object", ({ cost }) => spanOf(cost.objectRows)],
  ['an event: milliseconds, one after another (median)', ({ times }) => fixed(times.event, 1)],
  ['the same ÷ that of the smallest size, in turns', ({ times }) => fixed(times.eventRatio, 2)],
  ['events a second from 32 clients', ({ load }) => fixed(load.perSecond)],
  ['the same: processor time an event, ms', ({ load }) => fixed(load.cpu, 2)],
  ['all databases, MB', ({ size }) => fixed(size.full / 1e6, 1)],
  ['the largest database, MB', ({ size }) => fixed(size.largest / 1e6, 1)],
  ['database: bytes a user', (found) => fixed(bytesOf(found, /^users|^streak_runs/))],
  [
    'database: bytes an event, award and key included',
    (found) => fixed(bytesOf(found, /^(events|awards|idempotency_keys)$/) / EVENTS),
  ],
  ["leaderboard's object: bytes a user", ({ size, users }) => fixed(size.board / users)],
  ['all 1,000 places: ms (median)', ({ times }) => fixed(times.page, 1)],
  ['the same ÷ that of the smallest size, in turns', ({ times }) => fixed(times.pageRatio, 2)],
  ['a midnight: streaks lost', ({ upkeep }) => fixed(upkeep.night.users)],
  ['a midnight: s for 1,000 of them', ({ upkeep }) => fixed(upkeep.night.secondsOfThousand, 3)],
  ['a midnight: rows read, written for each', ({ upkeep: { night } }) => rowsOf(night)],
  ['a tick: users who are granted points', ({ upkeep }) => fixed(upkeep.ticks.users)],
  ['a tick: s for 1,000 of them', ({ upkeep }) => fixed(upkeep.ticks.secondsOfThousand, 3)],
  ['a tick: rows read, written for each', ({ upkeep: { ticks } }) => rowsOf(ticks)],
  ['filling a new leaderboard: s', ({ seconds }) => fixed(seconds.board, 1)],
  ['an hour with its comparison: s', ({ upkeep }) => fixed(upkeep.sweep, 2)],
  ['making a run final: s', ({ upkeep }) => fixed(upkeep.finalisation, 2)],
  ['the same for 1,000 users: s', ({ upkeep, users }) => fixed(upkeep.finalisation / (users / 1000), 3)],
  ['a summary of points, not kept: ms', ({ upkeep }) => fixed(upkeep.summary)],
  ['the longest streaks ever, not kept: ms', ({ upkeep }) => fixed(upkeep.streaks)],
  ['the analytics: users who have changed', ({ upkeep }) => fixed(upkeep.analytics.users)],
  ['the analytics: s for 1,000 of them', ({ upkeep }) => fixed(upkeep.analytics.secondsOfThousand, 3)],
  ['the analytics: rows read, written for each', ({ upkeep: { analytics } }) => rowsOf(analytics)],
  ['the analytics: the longest step, ms', ({ upkeep }) => fixed(upkeep.analytics.longest)],
  [
    'reading 400 days: overview, a metric, points, ms',
    ({ upkeep }) => upkeep.analytics.reads.map((one) => fixed(one)).join(', '),
  ],
  ['the longest statement of all: ms', ({ size }) => fixed(size.longest.ms)],
])

const rowsOf = (/** @type {{ read: number; written: number }} */ { read, written }) =>
  `${fixed(read, 2)}, ${fixed(written, 2)}`

/** Bytes of some tables for each user. */
const bytesOf = (/** @type {Found} */ { size, users }, /** @type {RegExp} */ tables) =>
  sumOf(Object.entries(size.tables), ([name, bytes]) => (tables.test(name) ? bytes : 0)) / users

function print() {
  const head = found.map(
    ({ users, databases }) => `${fixed(users)} users${databases === 1 ? '' : `, ${databases} databases`}`,
  )
  save('scale', [['figure', ...head], ...FIGURES.map(([what, read]) => [what, ...found.map(read)])], {
    found,
  })
  for (const { users, databases, size } of found)
    if (size.longest.ms > LONGEST)
      tell(
        `A statement held a database for ${size.longest.ms} ms, with ${users} users in ${databases} databases: ${size.longest.sql}`,
      )
}

runBench({
  script: 'bench:scale',
  minutes: 60,
  options: { users: '1000000', databases: 4, only: '' },
  run,
  beforeFailing: () => found.length > 0 && print(),
})
