/** The table of the model: a line for each kind of commit and number of isolates, a column for databases. */

/** A kind of commit. @typedef {'bare' | 'alone' | 'group'} Kind */

/**
 * The result of a run: its wish, and the Worker's figures.
 *
 * @typedef {{ kind: Kind; isolates: number; databases: number; clients: number; perSecond: number; events:
 *   number; wait: { median: number; p95: number }; noted: { alone: number; conflicts: number; problems:
 *   number }; used: { reads: number; writes: number; busy: number }[] }} Found
 */

const NAMES = {
  bare: 'bare Worker',
  alone: 'Laurel, each event alone',
  group: 'Laurel, with group commit',
}

const sum = (/** @type {number[]} */ figures) => figures.reduce((all, one) => all + one, 0)

/** Events of one write batch. */
export const eventsOfABatch = (/** @type {Found} */ { events, used }) =>
  events / Math.max(1, sum(used.map(({ writes }) => writes)))

/** How busy the databases were, as a mean. */
export const busy = (/** @type {Found} */ { used }) => sum(used.map((one) => one.busy)) / used.length

/** The rate divided by that of the same case with one database. */
export function factor(/** @type {readonly Found[]} */ all, /** @type {Found} */ found) {
  const one = all.find(
    ({ kind, isolates, databases }) => kind === found.kind && isolates === found.isolates && databases === 1,
  )
  return one === undefined ? Number.NaN : found.perSecond / one.perSecond
}

/** The table, as Markdown. */
export function tableOf(/** @type {readonly Found[]} */ all) {
  const bare = all.find(({ kind }) => kind === 'bare')
  const head = [
    'commits',
    'isolates',
    'databases',
    'clients',
    'events/s',
    '÷ bare Worker',
    '÷ one database',
    'events a write batch',
    'databases busy',
    'an event waits, ms (median)',
  ]
  const rows = all.map((found) => [
    NAMES[found.kind],
    String(found.isolates),
    String(found.databases),
    String(found.clients),
    found.perSecond.toFixed(0),
    bare === undefined ? '–' : (found.perSecond / bare.perSecond).toFixed(1),
    factor(all, found).toFixed(2),
    eventsOfABatch(found).toFixed(1),
    `${(busy(found) * 100).toFixed(0)} %`,
    found.wait.median.toFixed(0),
  ])
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (/** @type {readonly string[]} */ texts) =>
    `| ${texts.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join(
    '\n',
  )
}

/** The least rate with N databases, as a share of N times the rate with one. */
const SPREAD = 0.85
/** The least rate of group commit, as a multiple of the bare Worker's rate. */
const GROUPED = 5
/** The requirements that are not met, as sentences. */
export function missesOf(/** @type {readonly Found[]} */ all) {
  const misses = all.flatMap((found) => {
    const { kind, isolates, databases, noted } = found
    const name = `${NAMES[kind]}, ${isolates} isolates, ${databases} databases`
    const grown = factor(all, found)
    return [
      ...(grown < SPREAD * databases
        ? [`${name}: ${grown.toFixed(2)} times one database, not ${(SPREAD * databases).toFixed(2)}`]
        : []),
      ...(noted.conflicts + noted.problems > 0
        ? [`${name}: ${noted.conflicts} conflicts and ${noted.problems} problems were logged`]
        : []),
    ]
  })
  const bare = all.find(({ kind }) => kind === 'bare')
  const grouped = all.filter(({ kind, databases }) => kind === 'group' && databases === 1)
  for (const one of bare === undefined ? [] : grouped) {
    const { isolates } = one
    const times = bare === undefined ? Number.NaN : one.perSecond / bare.perSecond
    if (times < GROUPED)
      misses.push(`group commit of ${isolates} isolates: ${times.toFixed(1)} times the bare Worker`)
  }
  return misses
}
