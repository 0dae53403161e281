/**
 * `npm run bench`: measures Laurel against its budget, and compares it with a bare Worker in the same run.
 * See bench/README.md.
 *
 * `-- --against main` only compares the events a second with those of another commit, in turns. `-- --turns 2`
 * takes fewer turns. Exits with 0 even if a figure misses its required value: the table shows the miss.
 */
import { join } from 'node:path'
import { buildWorker } from '../scripts/lib/wrangler.mjs'
import { fixed, folder, median, numbersTo, runBench, save, spanOf, sumOf, tell } from './lib/bench.mjs'
import { laurel } from './lib/laurel.mjs'
import { roundsOf } from './lib/load.mjs'
import {
  anyUserOf,
  BOARDS,
  BURST,
  costOfEvents,
  eventPath,
  sendBatches,
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
/** The events of a batch, and their users. */
const BATCH = 1000
const BATCH_USERS = 100

/** @typedef {import('./lib/server.mjs').Server} Server */
/** @typedef {Record<string, import('./lib/load.mjs').Round[]>} Rounds */

/** The table: of each row what was measured, the figure, what it must be, and what is desired. */
const rows = [['what', 'measured', 'must', 'aim']]
const note = (/** @type {string} */ what, /** @type {string} */ figure, must = '–', aim = must) =>
  rows.push([what, figure, must, aim])

const limit = (/** @type {string} */ text, /** @type {boolean} */ isMet) =>
  `${text}, ${isMet ? 'met' : 'MISSED'}`
const atMost = (/** @type {number[]} */ figures, /** @type {number} */ most, unit = '') =>
  limit(`≤ ${most}${unit}`, Math.max(...figures) <= most)
const atLeast = (/** @type {number} */ ratio, /** @type {number} */ least) =>
  limit(`≥ ${least}`, ratio >= least)

async function noteCosts(/** @type {Server} */ server) {
  const few = await costOfEvents(server, numbersTo(5).map(userId))
  await sendBatches(server, HISTORY, () => ({ user: { id: 'many' } }))
  const many = await costOfEvents(server, ['many'])
  const five = await costOfEvents(server, ['few'], 5)
  const twenty = await costOfEvents(server, ['few'], 20)
  const roundTrips = [few, many, five, twenty].flatMap((cost) => cost.roundTrips)
  note('D1 round trips of an event, warm (test clock on)', spanOf(roundTrips), atMost(roundTrips, 2))
  const waves = [few, five, twenty].flatMap((cost) => cost.waves)
  note('waves of object calls, with 1, 5, 20 leaderboards', spanOf(waves), atMost(waves, 1))
  const written = few.rowsWritten.map((count, index) => count + (few.objectRows[index] ?? 0))
  note(
    'rows written, 1 award, 1 leaderboard, idempotency key',
    `${spanOf(written)} (${spanOf(few.rowsWritten)} in D1, ${spanOf(few.objectRows)} in the object)`,
    atMost(written, 8),
    atMost(written, 6),
  )
  const [short, long] = [spanOf(few.rowsRead), spanOf(many.rowsRead)]
  note('rows read, after few and 10,000 events', `${short} and ${long}`, limit('the same', short === long))
}

/** The events of many clients: their server, their path, and any of the users. */
const to = (/** @type {Server} */ server, /** @type {string} */ path) => ({
  ...{ server, path },
  user: () => anyUserOf(USERS),
})

const medianOf = (/** @type {Rounds} */ rounds, /** @type {string} */ name) =>
  median((rounds[name] ?? []).map(({ perSecond }) => perSecond))

/** The ratio of the medians of two kinds; as text with that of each turn, and the medians. */
function ratioOf(/** @type {Rounds} */ rounds, /** @type {string} */ ours, /** @type {string} */ others) {
  const [a, b] = [medianOf(rounds, ours), medianOf(rounds, others)]
  const each = (rounds[ours] ?? []).map(({ perSecond }, turn) =>
    fixed(perSecond / (rounds[others]?.[turn]?.perSecond ?? 0), 2),
  )
  return { ratio: a / b, text: `${fixed(a / b, 2)} (${each.join(', ')}; ${fixed(a)} ÷ ${fixed(b)})` }
}

/** Events a second beside a bare Worker. Returns those of Laurel with one leaderboard. */
async function noteSpeed(/** @type {Server} */ ours, /** @type {number} */ turns) {
  const bare = await laurel('baseline', { over: 'baseline' })
  await bare.start()
  const [none, one, five, twenty] = BOARDS.map(eventPath)
  const kinds = {
    none: to(ours, none),
    'bare, no object': to(bare, none),
    one: to(ours, one),
    bare: to(bare, `/ranked${one}`),
    five: to(ours, five),
    twenty: to(ours, twenty),
  }
  const rounds = await roundsOf(kinds, turns, TURN)
  await bare.stop()
  const compare = (/** @type {string} */ what, /** @type {string} */ a, b = 'bare', hasBudget = true) => {
    const { ratio, text } = ratioOf(rounds, a, b)
    note(what, text, ...(hasBudget ? [atLeast(ratio, 0.6), atLeast(ratio, 0.9)] : []))
  }
  compare('events/s ÷ those of the bare Worker, 1 leaderboard', 'one')
  compare('the same, 5 leaderboards', 'five', 'bare', false)
  compare('the same, 20 leaderboards', 'twenty', 'bare', false)
  compare('no leaderboard ÷ the bare Worker without its object', 'none', 'bare, no object')
  return medianOf(rounds, 'one')
}

/**
 * Sends 200 events of one user at once. The bench fails if a response or a total afterwards is not right. A group of
 * events costs one read batch and one write batch, and a conflict another pair.
 */
async function noteBurst(/** @type {Server} */ server) {
  const batches = []
  for (const burst of numbersTo(BURSTS)) {
    const lines = await server.linesOf(await sendBurst(server, `burst-${burst}`, null))
    batches.push(Math.ceil(sumOf(lines, ({ d1 }) => d1.roundTrips) / 2))
  }
  note(
    `${BURST} parallel events of one user: D1 write batches, of ${BURSTS} times`,
    `${spanOf(batches)}, all exact`,
    limit('all exact', true),
    atMost(batches, 20),
  )
}

/** An event of a batch with an award, a leaderboard and an idempotency key; and events/s of five such batches. */
async function noteBatch(/** @type {Server} */ server, /** @type {number} */ oneByOne) {
  const send = (/** @type {number} */ count) =>
    sendBatches(server, count, (number) => ({ user: { id: userId(number % BATCH_USERS) } }))
  await send(BATCH)
  const { lines, steps } = await send(BATCH)
  const all = [...lines, ...steps]
  const d1Rows = sumOf(all, ({ d1 }) => d1.rowsWritten) / BATCH
  const objectRows = sumOf(all, (line) => line.objectRows ?? 0) / BATCH
  const roundTrips = sumOf(all, ({ d1 }) => d1.roundTrips) / BATCH
  note(
    'rows written and round trips of an event of a batch of 1,000 of 100 users',
    `${fixed(d1Rows + objectRows, 2)} (${fixed(d1Rows, 2)} in D1, ${fixed(objectRows, 2)} in the object), ${fixed(roundTrips, 3)}`,
  )
  const { seconds } = await send(5 * BATCH)
  note('events/s in batches ÷ events/s one by one', fixed((5 * BATCH) / seconds / oneByOne, 1))
}

async function noteWebhooks(/** @type {Server} */ server) {
  const costs = await measureWebhooks(server)
  for (const { what, withEvent, afterwards, inObjects, operations } of costs) {
    const parts = `${fixed(withEvent, 2)} with the event, ${fixed(afterwards, 2)} later in D1, ${fixed(inObjects, 2)} in objects`
    note(what, `${fixed(withEvent + afterwards + inObjects, 2)} (${parts}), ${fixed(operations, 2)}`)
  }
  const roundTrips = costs.flatMap((cost) => cost.roundTrips)
  note('D1 round trips of these events', spanOf(roundTrips), atMost(roundTrips, 2))
}

/** The size of the Worker as `npm run deploy` builds it, by wrangler's own words. */
async function noteSize() {
  const said = await buildWorker(join(folder, 'worker'))
  const kilobytes = Number(/gzip: ([\d.]+) KiB/.exec(said)?.[1])
  note(
    'Worker, gzip',
    `${fixed(kilobytes)} KB`,
    atMost([kilobytes], 1024, ' KB'),
    atMost([kilobytes], 400, ' KB'),
  )
}

/** Events a second beside those of another commit. */
async function noteAgainst(/** @type {string} */ commit, /** @type {number} */ turns) {
  const sides = { now: await laurel('now'), before: await laurel('before', { commit }) }
  const kinds = /** @type {Record<string, import('./lib/load.mjs').To>} */ ({})
  for (const [name, server] of Object.entries(sides)) {
    await startWithBoards(server)
    kinds[name] = to(server, eventPath(1))
    const cost = await costOfEvents(server, numbersTo(5).map(userId))
    note(
      `round trips, rows read, written in D1 and in the object: ${name}`,
      [cost.roundTrips, cost.rowsRead, cost.rowsWritten, cost.objectRows].map(spanOf).join(', '),
    )
  }
  const { ratio, text } = ratioOf(await roundsOf(kinds, turns, TURN), 'now', 'before')
  note(`events/s ÷ those of ${commit}, 1 leaderboard`, text, atLeast(ratio, 0.95))
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
}

runBench({
  script: 'bench',
  options: { against: '', turns: 5 },
  async run({ against, turns }) {
    await (against === '' ? measureBudget(turns) : noteAgainst(against, turns))
    save('bench', rows, { rows })
  },
})
