/**
 * `npm run bench`: measures Laurel against its budget, and compares it with a bare Worker in the same run.
 * See bench/README.md.
 *
 * `-- --against main` only compares the events a second with those of another commit, in turns. `-- --turns 2`
 * takes fewer turns. Exits with 0 even if a figure misses its required value: the table shows the miss.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { BUILD, buildWorker } from '../scripts/lib/wrangler.mjs'
import { measureBatch, sendBatches } from './lib/batch.mjs'
import { fixed, folder, median, numbersTo, runBench, save, spanOf, sumOf, tell } from './lib/bench.mjs'
import { baseline, laurel, laurelAt } from './lib/laurel.mjs'
import { takeTurns } from './lib/load.mjs'
import {
  anyUserOf,
  BOARDS,
  BURST,
  costOfEvents,
  eventPath,
  sendBurst,
  startWithBoards,
  userId,
} from './lib/scene.mjs'
import { measureWebhooks } from './lib/webhooks.mjs'

const USERS = 2000
/** Milliseconds of a turn. */
const TURN = 4000
const BURSTS = 3
/** Events of a user with a long history. */
const HISTORY = 10_000

/** @typedef {import('./lib/server.mjs').Server} Server */
/** The requirement of a figure. @typedef {[text: string, isMet: boolean]} Limit */

const rows = /** @type {{ what: string; figure: string; must: Limit | null; aim: Limit | null }[]} */ ([])

/**
 * Adds a row to the table. The second limit is what is desired.
 *
 * @type {(what: string, figure: string, must?: Limit | null, aim?: Limit | null) => void}
 */
const note = (what, figure, must = null, aim = must) => rows.push({ what, figure, must, aim })

async function noteCosts(/** @type {Server} */ server) {
  const few = await costOfEvents(server, numbersTo(5).map(userId))
  await sendBatches(server, HISTORY, () => ({ user: { id: 'many' } }))
  const many = await costOfEvents(server, ['many'])
  const five = await costOfEvents(server, ['few'], 5)
  const twenty = await costOfEvents(server, ['few'], 20)
  const roundTrips = [few, many, five, twenty].flatMap((cost) => cost.roundTrips)
  note('D1 round trips of an event, warm (test clock on)', spanOf(roundTrips), ['2', isAtMost(roundTrips, 2)])
  const waves = [few, five, twenty].flatMap((cost) => cost.waves)
  note('waves of object calls, with 1, 5, 20 leaderboards', spanOf(waves), ['1', isAtMost(waves, 1)])
  const written = few.rowsWritten.map((count, index) => count + (few.objectRows[index] ?? 0))
  note(
    'rows written, 1 award, 1 leaderboard, idempotency key',
    `${spanOf(written)} (${spanOf(few.rowsWritten)} in D1, ${spanOf(few.objectRows)} in the object)`,
    ['≤ 8', isAtMost(written, 8)],
    ['≤ 6', isAtMost(written, 6)],
  )
  const [short, long] = [spanOf(few.rowsRead), spanOf(many.rowsRead)]
  note('rows read, after few and 10,000 events', `${short} and ${long}`, ['the same', short === long])
}

const isAtMost = (/** @type {number[]} */ figures, /** @type {number} */ most) => Math.max(...figures) <= most

/** Events a second beside a bare Worker. Returns those of Laurel with one leaderboard. */
async function noteSpeed(/** @type {Server} */ ours, /** @type {number} */ turns) {
  const bare = await baseline()
  await bare.start()
  const user = () => anyUserOf(USERS)
  /** @type {(server: Server, path: string) => import('./lib/load.mjs').To} */
  const to = ({ port, key }, path) => ({ port, key, path, user })
  const [none, one, some, many] = BOARDS.map(eventPath)
  const kinds = {
    none: to(ours, none),
    'bare, no object': to(bare, none),
    one: to(ours, one),
    bare: to(bare, `/ranked${one}`),
    five: to(ours, some),
    twenty: to(ours, many),
  }
  const rounds = await takeTurns(kinds, { turns, milliseconds: TURN })
  await bare.stop()
  const budget = (/** @type {number} */ ratio) =>
    /** @type {[Limit, Limit]} */ ([
      ['≥ 0.6', ratio >= 0.6],
      ['≥ 0.9', ratio >= 0.9],
    ])
  const compare = (/** @type {string} */ what, /** @type {string} */ a, b = 'bare', hasBudget = true) => {
    const { ratio, text } = ratioOf(rounds[a] ?? [], rounds[b] ?? [])
    note(what, text, ...(hasBudget ? budget(ratio) : []))
  }
  compare('events/s ÷ those of the bare Worker, 1 leaderboard', 'one')
  compare('the same, 5 leaderboards', 'five', 'bare', false)
  compare('the same, 20 leaderboards', 'twenty', 'bare', false)
  compare('no leaderboard ÷ the bare Worker without its object', 'none', 'bare, no object')
  return median((rounds.one ?? []).map(({ perSecond }) => perSecond))
}

/** @typedef {readonly import('./lib/load.mjs').Round[]} Rounds */

/** The ratio of the medians; as text with that of each turn, and the medians. */
function ratioOf(/** @type {Rounds} */ ours, /** @type {Rounds} */ others) {
  const [a, b] = [ours, others].map((all) => median(all.map(({ perSecond }) => perSecond)))
  const ratio = (a ?? 0) / (b ?? 0)
  const each = ours.map(({ perSecond }, turn) => fixed(perSecond / (others[turn]?.perSecond ?? 0), 2))
  return { ratio, text: `${fixed(ratio, 2)} (${each.join(', ')}; ${fixed(a ?? 0)} ÷ ${fixed(b ?? 0)})` }
}

/**
 * Sends 200 events of one user at once, and checks every response and the totals afterwards. A group of events
 * costs one read batch and one write batch, and a conflict another pair.
 */
async function noteBurst(/** @type {Server} */ server) {
  const batches = []
  let isExact = true
  for (let burst = 0; burst < BURSTS; burst += 1) {
    const { lines } = await server.logged(async () => {
      const { answers, found } = await sendBurst(server, `burst-${burst}`, null)
      if (found.some(([is, wanted]) => JSON.stringify(is) !== JSON.stringify(wanted))) isExact = false
      return answers
    })
    batches.push(Math.ceil(sumOf(lines, ({ d1 }) => d1.roundTrips) / 2))
  }
  note(
    `${BURST} parallel events of one user: D1 write batches, of ${BURSTS} times`,
    `${spanOf(batches)}, ${isExact ? 'all exact' : 'NOT exact'}`,
    ['all exact', isExact],
    ['≤ 20', isAtMost(batches, 20)],
  )
}

async function noteBatch(/** @type {Server} */ server, /** @type {number} */ oneByOne) {
  const { d1Rows, objectRows, roundTrips, perSecond } = await measureBatch(server)
  note(
    'rows written and round trips of an event of a batch of 1,000 of 100 users',
    `${fixed(d1Rows + objectRows, 2)} (${fixed(d1Rows, 2)} in D1, ${fixed(objectRows, 2)} in the object), ${fixed(roundTrips, 3)}`,
  )
  note('events/s in batches ÷ events/s one by one', fixed(perSecond / oneByOne, 1))
}

async function noteWebhooks(/** @type {Server} */ server) {
  const { without, withTwo } = await measureWebhooks(server)
  const line = (/** @type {string} */ what, /** @type {typeof without.first} */ cost) => {
    const { withEvent, afterwards, inObjects, operations } = cost
    note(
      what,
      `${fixed(withEvent + afterwards + inObjects, 2)} (${fixed(withEvent, 2)} with the event, ${fixed(afterwards, 2)} later in D1, ${fixed(inObjects, 2)} in objects), ${fixed(operations, 2)}`,
    )
  }
  line("rows written and queue operations of a user's first event, 0 webhooks", without.first)
  line('the same, 2 webhooks with 2 messages each', withTwo.first)
  line("of the user's next event within 15 minutes, 0 webhooks", without.next)
  line('the same, 2 webhooks', withTwo.next)
  line('of later events, 2 webhooks', withTwo.later)
  const roundTrips = [without, withTwo].flatMap((one) => Object.values(one).map((cost) => cost.roundTrips))
  note('D1 round trips of these events', spanOf(roundTrips), ['2', isAtMost(roundTrips, 2)])
}

/** The size of the Worker as `npm run deploy` builds it. */
async function noteSize() {
  const built = join(folder, 'worker')
  await buildWorker(built, BUILD)
  const modules = readdirSync(built).filter((name) => !/\.map$|^README/.test(name))
  const bytes = sumOf(modules, (name) => gzipSync(readFileSync(join(built, name))).length)
  note(
    'Worker, gzip',
    `${fixed(bytes / 1024)} KB`,
    ['≤ 1 MB', bytes <= 1 << 20],
    ['≤ 400 KB', bytes <= 400 << 10],
  )
}

/** Events a second beside those of another commit. */
async function noteAgainst(/** @type {string} */ commit, /** @type {number} */ turns) {
  const sides = { now: await laurel('now'), before: await laurelAt(commit) }
  const kinds = /** @type {Record<string, import('./lib/load.mjs').To>} */ ({})
  for (const [name, server] of Object.entries(sides)) {
    await startWithBoards(server)
    kinds[name] = { port: server.port, key: server.key, path: eventPath(1), user: () => anyUserOf(USERS) }
    const cost = await costOfEvents(server, numbersTo(5).map(userId))
    note(
      `round trips, rows read, written in D1 and in the object: ${name}`,
      [cost.roundTrips, cost.rowsRead, cost.rowsWritten, cost.objectRows].map(spanOf).join(', '),
    )
  }
  const rounds = await takeTurns(kinds, { turns, milliseconds: TURN })
  const { ratio, text } = ratioOf(rounds.now ?? [], rounds.before ?? [])
  note(`events/s ÷ those of ${commit}, 1 leaderboard`, text, ['≥ 0.95', ratio >= 0.95])
}

async function measureBudget(/** @type {number} */ turns) {
  tell('Copying and building…')
  const ours = await laurel('laurel')
  await noteSize()
  await startWithBoards(ours)
  tell('Costs of an event…')
  await noteCosts(ours)
  tell('Events a second…')
  const perSecond = await noteSpeed(ours, turns)
  tell(`${BURST} events of one user at once…`)
  await noteBurst(ours)
  tell('Events in batches…')
  await noteBatch(ours, perSecond)
  tell('Events with webhooks…')
  await noteWebhooks(ours)
  await ours.stop()
}

runBench({
  script: 'bench',
  minutes: 10,
  options: { against: '', turns: 5 },
  async run({ against, turns }) {
    await (against === '' ? measureBudget(turns) : noteAgainst(against, turns))
    const cell = (/** @type {Limit | null} */ limit) =>
      limit === null ? '–' : `${limit[0]}, ${limit[1] ? 'met' : 'MISSED'}`
    const lines = rows.map(({ what, figure, must, aim }) => [what, figure, cell(must), cell(aim)])
    save('bench', [['what', 'measured', 'must', 'aim'], ...lines], { rows })
  },
})
