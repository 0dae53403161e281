/**
 * `npm run bench:scale`: measures how figures change with the number of users. See bench/README.md.
 *
 * `-- --users 100000` ends at fewer users than a million, and `-- --databases 1` leaves out the runs with 2
 * and 4 databases, which have the most users.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { newAdminKey } from '../scripts/lib/dev-vars.mjs'
import { Complaint } from '../scripts/lib/project.mjs'
import { folder, runBench, save, tell, tellMore } from './lib/bench.mjs'
import { compare, costs, freshUsers, load } from './lib/scale/events.mjs'
import { closeAll } from './lib/scale/filler.mjs'
import { rowsOf, tableOf } from './lib/scale/report.mjs'
import { openScene } from './lib/scale/scene.mjs'
import { measureUpkeep } from './lib/scale/upkeep.mjs'
import { lastWords, stopAll } from './lib/server.mjs'

/** The time limit of the whole run, in minutes. */
const MINUTES = 60
/** With fewer users, the smallest size would run out of users without an event today. */
const SIZES = [2000, 100_000, 1_000_000]
/** The numbers of databases at the last size. The other sizes have one. */
const DATABASES = [1, 2, 4]
/** How long a statement may hold a database, in milliseconds. */
const LONGEST = 250
/** How often the filling prints its progress without a terminal, in milliseconds. */
const OFTEN = 10_000

/** The results so far, by size. They are printed even if the run ends early. */
const found = /** @type {import('./lib/scale/report.mjs').Found[]} */ ([])
const began = performance.now()

/** Prints the progress of the filling. On a terminal it overwrites the same line. */
function progressLine() {
  let last = performance.now()
  const isTerminal = process.stderr.isTTY
  return (/** @type {number} */ done, /** @type {number} */ all) => {
    const text = `  ${Math.floor((done / all) * 100)} % of the rows`
    if (isTerminal) process.stderr.write(`\r${text}${done === all ? '\n' : ''}`)
    else if (performance.now() - last > OFTEN) {
      last = performance.now()
      tell(text)
    }
  }
}

/** The sizes up to the requested one, which is the last. */
function sizesUpTo(/** @type {string | undefined} */ asked) {
  if (asked === undefined) return SIZES
  const most = Number(asked)
  const [least = 0] = SIZES
  if (!Number.isInteger(most) || most <= least)
    throw new Complaint(`--users takes a whole number above ${least}.`)
  return [...SIZES.filter((size) => size < most), most]
}

/** The numbers of databases up to the requested one, which is the last. */
function databasesUpTo(/** @type {string | undefined} */ asked) {
  if (asked === undefined) return DATABASES
  const most = Number(asked)
  if (!Number.isInteger(most) || most < 1) throw new Complaint('--databases takes a whole number above 0.')
  return [...DATABASES.filter((count) => count < most), most]
}

/** Measures all figures. The smallest size is finished last. */
async function measure(/** @type {number[]} */ sizes, /** @type {number[]} */ counts) {
  const adminKey = newAdminKey()
  const variables = { ADMIN_API_KEY: adminKey, TEST_CLOCK: 'on', DEMO: 'off', RATE_LIMITS: 'off' }
  const openAt = (/** @type {number} */ users, databases = 1) => {
    tell(`${users.toLocaleString('en')} users${databases === 1 ? '' : ` in ${databases} databases`}…`)
    const at = join(folder, `${users}-${databases}`)
    const progress = progressLine()
    return openScene({ folder: at, users, databases, adminKey, variables, tellMore, progress })
  }
  const [least = 0, ...more] = sizes
  // The smallest size runs until the end for comparison, at the same time of its day.
  const smallest = await measureEvents(await openAt(least))
  const most = more.at(-1)
  const cases = more.flatMap((users) =>
    (users === most ? counts : [1]).map((databases) => ({ users, databases })),
  )
  for (const { users, databases } of cases) {
    const own = await measureEvents(await openAt(users, databases))
    const times = await compare(own, smallest)
    tellMore(
      `an event in ${times.event.own.toFixed(1)} ms, of the smallest size in ${times.event.smallest.toFixed(1)} ms`,
    )
    found.push(await finish(own, times))
  }
  tell(`${least.toLocaleString('en')} users again…`)
  const alone = await compare(smallest, smallest)
  found.unshift(await finish(smallest, alone))
}

/** Measures the cost of events of a scene, before other work. */
async function measureEvents(/** @type {import('./lib/scale/scene.mjs').Scene} */ scene) {
  const fresh = freshUsers(scene.users)
  return { scene, fresh, cost: await costs(scene, fresh) }
}

/** Measures the rest of a scene, and closes it. */
async function finish(
  /** @type {Awaited<ReturnType<typeof measureEvents>>} */ { scene, cost },
  /** @type {Awaited<ReturnType<typeof compare>>} */ times,
) {
  const loaded = await load(scene)
  const upkeep = await measureUpkeep(scene, tellMore)
  const size = await scene.close()
  tellMore(`the longest statement: ${size.longest.milliseconds} ms, ${size.longest.sql.slice(0, 80)}…`)
  const { users, databases, seconds } = scene
  return { users, databases, scene: { seconds, size }, cost, times, load: loaded, upkeep }
}

/** Prints the table, and writes the figures as JSON. */
function tellFigures() {
  process.stdout.write(`\n${tableOf(found)}\n\n`)
  for (const { users, databases, scene } of found) {
    const { milliseconds, sql } = scene.size.longest
    if (milliseconds > LONGEST)
      tell(
        `A statement held a database for ${milliseconds} ms, with ${users} users in ${databases} databases: ${sql}`,
      )
  }
  save('scale-', began, { rows: rowsOf(found), sizes: found })
}

async function run() {
  const { values } = parseArgs({ options: { users: { type: 'string' }, databases: { type: 'string' } } })
  await measure(sizesUpTo(values.users), databasesUpTo(values.databases))
  tellFigures()
}

runBench(run, {
  script: 'bench:scale',
  minutes: MINUTES,
  stop: () => Promise.all([stopAll(), closeAll()]),
  beforeFailing() {
    if (found.length > 0) tellFigures()
    for (const said of lastWords()) tell(said)
  },
})
