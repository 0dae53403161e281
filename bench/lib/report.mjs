/**
 * The budget table: each figure with what it must be and what it should be.
 */

/**
 * @typedef {{ what: string; figure: string; must: string; aim: string; meetsMust: boolean; meetsAim: boolean;
 *   values: unknown }} Row
 */

/** A span as one number, or as both where they differ. */
const said = (/** @type {import('./cost.mjs').Span} */ { least, most }) =>
  least === most ? `${most}` : `${least}–${most}`

/**
 * All figures of a run as rows of the table.
 *
 * @param {any} found as run.mjs gathers it
 * @returns {Row[]}
 */
export function rowsOf({ cost, bursts, speed, size }) {
  const { usersFew, usersMany, eventsFew, eventsMany } = cost
  const all = Object.values(cost)
  const most = (/** @type {'roundTrips' | 'rowsWritten'} */ of) => Math.max(...all.map((one) => one[of].most))
  const roundTrips = { least: Math.min(...all.map((one) => one.roundTrips.least)), most: most('roundTrips') }
  const written = { least: Math.min(...all.map((one) => one.rowsWritten.least)), most: most('rowsWritten') }
  const writeBatches = Math.max(...bursts.map((/** @type {any} */ one) => one.writeBatches))
  const faults = [...new Set(bursts.flatMap((/** @type {any} */ one) => one.faults))]
  return [
    {
      what: 'D1 round trips per event, warm (test clock on)',
      figure: said(roundTrips),
      must: '2',
      aim: '2',
      meetsMust: roundTrips.most <= 2,
      meetsAim: roundTrips.most <= 2,
      values: roundTrips,
    },
    {
      what: 'rows written per event (1 metric, 1 award, idempotency key; D1)',
      figure: said(written),
      must: '≤ 8',
      aim: '≤ 6',
      meetsMust: written.most <= 8,
      meetsAim: written.most <= 6,
      values: written,
    },
    sameRow('rows read per event, with 1,000 and 100,000 users', usersFew.rowsRead, usersMany.rowsRead),
    sameRow('rows read per event, after 10 and 10,000 events', eventsFew.rowsRead, eventsMany.rowsRead),
    speedRow('events/s ÷ baseline events/s', speed.plain),
    speedRow('the same, with an idempotency key', speed.keyed),
    {
      what: '200 parallel events of one user: D1 write batches (worst of 3 times)',
      figure: `${writeBatches}, ${faults.length === 0 ? 'all exact' : faults.join(', ')}`,
      must: 'all exact',
      aim: '≤ 20',
      meetsMust: faults.length === 0,
      meetsAim: faults.length === 0 && writeBatches <= 20,
      values: bursts,
    },
    {
      what: 'Worker size, gzip',
      figure: `${(size.gzip / 1024).toFixed(0)} KB`,
      must: '≤ 1 MB',
      aim: '≤ 400 KB',
      meetsMust: size.gzip <= 1024 * 1024,
      meetsAim: size.gzip <= 400 * 1024,
      values: size,
    },
  ]
}

/** @returns {Row} a row whose two figures must not differ */
function sameRow(
  /** @type {string} */ what,
  /** @type {import('./cost.mjs').Span} */ a,
  /** @type {import('./cost.mjs').Span} */ b,
) {
  const isSame = said(a) === said(b)
  return {
    what,
    figure: `${said(a)} and ${said(b)}`,
    must: 'the same',
    aim: 'the same',
    meetsMust: isSame,
    meetsAim: isSame,
    values: [a, b],
  }
}

/** @returns {Row} */
function speedRow(/** @type {string} */ what, /** @type {import('./speed.mjs').Speed} */ speed) {
  const { ours, baseline, ratio, least, most } = speed
  return {
    what,
    figure: `${ratio.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)}; ${ours.toFixed(0)} ÷ ${baseline.toFixed(0)})`,
    must: '≥ 0.6',
    aim: '≥ 0.9',
    meetsMust: ratio >= 0.6,
    meetsAim: ratio >= 0.9,
    values: speed,
  }
}

/** @returns {string} the table, for a terminal */
export function tableOf(/** @type {Row[]} */ rows) {
  const mark = (/** @type {boolean} */ isMet) => (isMet ? 'met' : 'MISSED')
  const cells = [
    ['what', 'figure', 'must', '', 'aim', ''],
    ...rows.map((row) => [row.what, row.figure, row.must, mark(row.meetsMust), row.aim, mark(row.meetsAim)]),
  ]
  const widths = [0, 1, 2, 3, 4, 5].map((column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  )
  const lines = cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  const missed = rows.filter(({ meetsMust }) => !meetsMust)
  const verdict =
    missed.length === 0
      ? 'Every "must" is met.'
      : `A "must" is MISSED: ${missed.map(({ what }) => what).join('; ')}.`
  return `${lines.join('\n')}\n\n${verdict}\n`
}
