/** The table of the scale: a line for each figure, a column for each size. */

/**
 * The results at one size.
 *
 * @typedef {{ users: number; databases: number; scene: { seconds: { fill: number; board: number }; size:
 *   import('./scene.mjs').Size }; cost: import('../cost.mjs').Cost; times: Awaited<ReturnType<typeof
 *   import('./events.mjs').compare>>; load: Awaited<ReturnType<typeof import('./events.mjs').load>>; upkeep:
 *   Awaited<ReturnType<typeof import('./upkeep.mjs').measureUpkeep>> }} Found
 */

/** Events of each user before anything is measured. */
const EVENTS = 5
const LOG = ['events', 'awards', 'idempotency_keys']

const fixed = (/** @type {number} */ digits) => (/** @type {number} */ figure) =>
  figure.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
const span = (/** @type {import('../cost.mjs').Span} */ { least, most }) =>
  least === most ? `${most}` : `${least}–${most}`
const thousands = (/** @type {import('./upkeep.mjs').Steps} */ { users }) => Math.max(users, 1) / 1000

/** Each figure: its label, whether it must not grow with the users, and the function that reads it. */
const FIGURES = /** @type {[string, boolean, (found: Found) => string][]} */ ([
  ['an event: D1 round trips', true, ({ cost }) => span(cost.roundTrips)],
  ['an event: rows read in D1', true, ({ cost }) => span(cost.rowsRead)],
  ['an event: rows written in D1', true, ({ cost }) => span(cost.rowsWritten)],
  ["an event: rows written in the leaderboard's object", true, ({ cost }) => span(cost.objectRows)],
  ['an event: milliseconds, one after another (median)', false, ({ times }) => fixed(1)(times.event.own)],
  [
    'the same ÷ that of the smallest size, in turns',
    true,
    ({ times }) => fixed(2)(times.event.own / times.event.smallest),
  ],
  ['events a second from 32 clients', false, ({ load }) => fixed(0)(load.perSecond)],
  [
    'the same: processor time an event, ms',
    false,
    ({ load }) => (load.cpu === null ? '–' : fixed(2)(load.cpu)),
  ],
  ['all databases, MB', false, ({ scene }) => fixed(1)(scene.size.full / 1e6)],
  ['the largest database, MB', false, ({ scene }) => fixed(1)(scene.size.largest / 1e6)],
  ['database: bytes a user', true, (found) => fixed(0)(perUser(found))],
  ['database: bytes an event, award and key included', true, (found) => fixed(0)(perEvent(found))],
  ["leaderboard's object: bytes a user", true, ({ scene, users }) => fixed(0)(scene.size.board / users)],
  ['all 1,000 places: ms (median)', false, ({ times }) => fixed(1)(times.page.own)],
  [
    'the same ÷ that of the smallest size, in turns',
    true,
    ({ times }) => fixed(2)(times.page.own / times.page.smallest),
  ],
  ['a midnight: streaks lost', false, ({ upkeep }) => fixed(0)(upkeep.night.users)],
  [
    'a midnight: s for 1,000 of them',
    true,
    ({ upkeep: { night } }) => fixed(3)(night.seconds / thousands(night)),
  ],
  ['a midnight: rows read, written for each', true, ({ upkeep: { night } }) => rows(night)],
  ['a tick: users who are granted points', false, ({ upkeep }) => fixed(0)(upkeep.ticks.users)],
  [
    'a tick: s for 1,000 of them',
    true,
    ({ upkeep: { ticks } }) => fixed(3)(ticks.seconds / thousands(ticks)),
  ],
  ['a tick: rows read, written for each', true, ({ upkeep: { ticks } }) => rows(ticks)],
  ['filling a new leaderboard: s', false, ({ scene }) => fixed(1)(scene.seconds.board)],
  ['an hour with its comparison: s', false, ({ upkeep }) => fixed(2)(upkeep.sweep)],
  ['making a run final: s', false, ({ upkeep }) => fixed(2)(upkeep.finalisation)],
  [
    'the same for 1,000 users: s',
    true,
    ({ upkeep, users }) => fixed(3)(upkeep.finalisation / (users / 1000)),
  ],
  ['a summary of points, not kept: ms', false, ({ upkeep }) => fixed(0)(upkeep.summary.milliseconds)],
  ['the longest streaks ever, not kept: ms', false, ({ upkeep }) => fixed(0)(upkeep.streaks.milliseconds)],
  ['the longest statement of all: ms', false, ({ scene }) => fixed(0)(scene.size.longest.milliseconds)],
])

const rows = (/** @type {import('./upkeep.mjs').Steps} */ { users, read, written }) =>
  `${fixed(2)(read / Math.max(users, 1))}, ${fixed(2)(written / Math.max(users, 1))}`

/** Bytes of the log, the ledger and the idempotency keys for each event. */
export const perEvent = (/** @type {Found} */ { scene, users }) =>
  LOG.reduce((sum, name) => sum + (scene.size.tables[name] ?? 0), 0) / (users * EVENTS)

/** Bytes of all other tables of users, for each user. */
export const perUser = (/** @type {Found} */ { scene, users }) =>
  Object.entries(scene.size.tables).reduce(
    (sum, [name, bytes]) => sum + (/^users|^streak_runs/.test(name) ? bytes : 0),
    0,
  ) / users

/**
 * @returns {{ what: string; isFlat: boolean; figures: string[] }[]} `isFlat`: whether the figure must be the
 *   same at all sizes
 */
export const rowsOf = (/** @type {Found[]} */ sizes) =>
  FIGURES.map(([what, isFlat, figure]) => ({ what, isFlat, figures: sizes.map(figure) }))

const columnOf = (/** @type {Found} */ { users, databases }) =>
  `${fixed(0)(users)} users${databases === 1 ? '' : `, ${databases} databases`}`

/** @returns {string} the table as Markdown, which is readable in a terminal too */
export function tableOf(/** @type {Found[]} */ sizes) {
  const cells = [
    ['figure', ...sizes.map(columnOf)],
    ...rowsOf(sizes).map(({ what, figures }) => [what, ...figures]),
  ]
  const widths =
    cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? []
  const line = (/** @type {string[]} */ texts) =>
    `| ${texts.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [head = [], ...rest] = cells
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rest.map(line)].join(
    '\n',
  )
}
