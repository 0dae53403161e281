/**
 * `npm run bench:scale`: measures how figures change with the number of users. See bench/README.md.
 *
 * `-- --users 100000` ends at fewer users than a million, and `-- --databases 1` leaves out the runs with 2
 * and 4 databases, which have the most users. `-- --only databases` measures how events a second grow with databases
 * that are slow.
 */
import { wholeOf } from '../scripts/lib/command.mjs'
import {
  fixed,
  inTurns,
  median,
  numbersTo,
  runBench,
  save,
  spanOf,
  tell,
  tellMore,
  timeOf,
} from './lib/bench.mjs'
import { round } from './lib/load.mjs'
import { BOARD, costOfEvents, eventPath, sendEvent, userId } from './lib/scene.mjs'
import { measureDatabases } from './scale/databases.mjs'
import { livingOf, openScene, otherUser, PLACES } from './scale/scene.mjs'
import { measureUpkeep } from './scale/upkeep.mjs'

/** With fewer users, the smallest size would run out of users without an event today. */
const SIZES = [2000, 100_000, 1_000_000]
/** The numbers of databases at the last size. The other sizes have one. */
const DATABASES = [1, 2, 4]
/** Users with counted events. */
const SAMPLE = 10
/** Turns of each of two sizes, and the events of a turn. After these, the board is read. */
const TURNS = 40
const READ_EACH = 5
/** From user to user. No size has this prime as a factor. */
const STRIDE = 7919
/** How long many clients send events, in milliseconds. */
const LOAD = 5000

/** @typedef {Awaited<ReturnType<typeof open>>} Opened */
/** A row of the table: what was measured, and the figure. @typedef {[what: string, figure: string]} Row */

/** The columns so far, by size. They are printed even if the run ends early. */
const columns = /** @type {{ size: string; rows: Row[] }[]} */ ([])

/** Users without a living streak, from all over the ids. The others are for the midnight. */
function usersOf(/** @type {number} */ users) {
  const others = users - livingOf(users)
  let next = 0
  return {
    any: () => userId(otherUser(Math.floor(Math.random() * others))),
    /** Each only once, because a user with an event today is cheaper. */
    fresh() {
      if (next === others) throw new Error('there are no more users')
      next += 1
      return userId(otherUser((next * STRIDE) % others))
    },
  }
}

/** Opens a scene, and measures the cost of its events before other work. */
async function open(/** @type {number} */ users, databases = 1) {
  const size = `${fixed(users)} users${databases === 1 ? '' : `, ${databases} databases`}`
  tell(`${size}…`)
  const scene = await openScene({ users, databases })
  const { any, fresh } = usersOf(users)
  const cost = await costOfEvents(scene.server, numbersTo(SAMPLE).map(fresh))
  return { size, scene, any, fresh, cost }
}

/**
 * Events one after another of users without an event today, and reads of the whole leaderboard; in turns with
 * the smallest size, so that a busy machine affects both. Returns medians of milliseconds, and their ratios.
 */
async function compare(/** @type {Opened} */ own, /** @type {Opened} */ smallest) {
  const timesOf =
    (/** @type {Opened} */ { scene: { server }, fresh }) =>
    async () => {
      const events = []
      for (const _ of numbersTo(READ_EACH)) events.push(await timeOf(() => sendEvent(server, fresh())))
      const path = `/v1/leaderboards/${BOARD}?limit=${PLACES}`
      return { events, page: await timeOf(() => server.ask('GET', path)) }
    }
  const found = await inTurns(TURNS, { own: timesOf(own), smallest: timesOf(smallest) })
  const [event = 0, least = 0] = Object.values(found).map((all) =>
    median(all.flatMap(({ events }) => events)),
  )
  const [page = 0, leastPage = 0] = Object.values(found).map((all) => median(all.map(({ page }) => page)))
  return { event, eventRatio: event / least, page, pageRatio: page / leastPage }
}

/**
 * Measures the rest of a scene, and closes it. Returns its column.
 *
 * @param {Opened} opened
 * @param {Awaited<ReturnType<typeof compare>>} times
 */
async function finish({ size, scene, any, cost }, times) {
  const { server } = scene
  const to = { server, path: eventPath(1), user: any }
  await round(to, LOAD / 5)
  const before = server.processorTime()
  const { perSecond, waits } = await round(to, LOAD)
  const cpu = (server.processorTime() - before) / waits.length
  const upkeep = await measureUpkeep(scene)
  const rows = /** @type {Row[]} */ ([
    ['an event: D1 round trips', spanOf(cost.roundTrips)],
    ['an event: rows read in D1', spanOf(cost.rowsRead)],
    ['an event: rows written in D1', spanOf(cost.rowsWritten)],
    ["an event: rows written in the leaderboard's object", spanOf(cost.objectRows)],
    ['an event: milliseconds, one after another (median)', fixed(times.event, 1)],
    ['the same ÷ that of the smallest size, in turns', fixed(times.eventRatio, 2)],
    ['events a second from 32 clients', fixed(perSecond)],
    ['the same: processor time an event, ms', fixed(cpu, 2)],
    ...(await scene.close()),
    ['all 1,000 places: ms (median)', fixed(times.page, 1)],
    ['the same ÷ that of the smallest size, in turns', fixed(times.pageRatio, 2)],
    ...upkeep,
  ])
  return { size, rows }
}

async function measureScale(/** @type {number} */ most, /** @type {number} */ databases) {
  const [least = 0] = SIZES
  const counts = [...DATABASES.filter((one) => one < databases), databases]
  // The smallest size runs until the end for comparison, at the same time of its day.
  const smallest = await open(least)
  const others = SIZES.filter((size) => size > least && size < most).map((users) => [users, 1])
  for (const [users = 0, count] of [...others, ...counts.map((one) => [most, one])]) {
    const own = await open(users, count)
    const times = await compare(own, smallest)
    tellMore(`an event takes ${fixed(times.eventRatio, 2)} times as long as with ${least} users`)
    columns.push(await finish(own, times))
  }
  columns.unshift(await finish(smallest, await compare(smallest, smallest)))
}

function print() {
  const [first] = columns
  const lines = (first?.rows ?? []).map(([what], row) => [
    what,
    ...columns.map(({ rows }) => rows[row]?.[1] ?? ''),
  ])
  save('scale', [['figure', ...columns.map(({ size }) => size)], ...lines], { columns })
}

runBench({
  script: 'bench:scale',
  options: { users: '1000000', databases: 4, only: '' },
  async run({ users, databases, only }) {
    if (only === 'databases') return measureDatabases(databases)
    try {
      await measureScale(wholeOf('users', users, (SIZES[0] ?? 0) + 1), databases)
    } finally {
      if (columns.length > 0) print()
    }
  },
})
