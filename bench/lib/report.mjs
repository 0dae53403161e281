/** The budget table: each figure with its required and its desired value. */

/**
 * `must` and `aim` are null if the budget has no value for the figure.
 *
 * @typedef {{ what: string; figure: string; must: string | null; aim: string | null; meetsMust: boolean;
 *   meetsAim: boolean; values: unknown }} Row
 */

/** @typedef {import('./cost.mjs').Cost} Cost */
/** @typedef {import('./cost.mjs').Span} Span */
/** @typedef {import('./speed.mjs').Speed} Speed */

/**
 * All results of a run, collected by run.mjs. `ranked` has the costs with leaderboards, by their number.
 *
 * @typedef {{
 *   cost: Record<'usersFew' | 'usersMany' | 'eventsFew' | 'eventsMany', Cost>
 *   ranked: { boards: number; cost: Cost }[]
 *   speed: Record<'plain' | 'keyed' | 'some' | 'many' | 'none', Speed>
 *   pages: Record<'first' | 'fromUser' | 'fromOffset', Speed>
 *   batch: import('./batch.mjs').Batch
 *   webhooks: Awaited<ReturnType<typeof import('./webhooks.mjs').measureWebhooks>>
 *   bursts: { writeBatches: number; faults: string[] }[]
 *   ticks: {
 *     jump: import('./ticks.mjs').Jump
 *     alone: import('./ticks.mjs').Tick
 *     ranked: import('./ticks.mjs').Tick
 *   }
 *   midnight: import('./midnight.mjs').Midnight scans: Awaited<ReturnType<typeof
 *   import('./scans.mjs').measureScans>> size: { bytes: number; gzip: number } }} Found
 */

/** A span as one number, or as two if they differ. */
const said = (/** @type {Span} */ { least, most }) => (least === most ? `${most}` : `${least}–${most}`)

/** The span that contains several spans. */
const around = (/** @type {Span[]} */ spans) => ({
  least: Math.min(...spans.map(({ least }) => least)),
  most: Math.max(...spans.map(({ most }) => most)),
})

/**
 * All figures of a run as rows of the table.
 *
 * @param {Found} found
 * @returns {Row[]}
 */
export function rowsOf(found) {
  const { speed } = found
  return [
    ...costRows(found),
    speedRow('events/s ÷ baseline events/s, 1 leaderboard', speed.plain, BUDGET),
    speedRow('the same, with an idempotency key', speed.keyed, BUDGET),
    speedRow('the same, 5 leaderboards', speed.some),
    speedRow('the same, 20 leaderboards', speed.many),
    speedRow('no leaderboard ÷ baseline without its object', speed.none, BUDGET),
    ...pageRows(found),
    burstRow(found),
    ...batchRows(found),
    ...webhookRows(found),
    ...tickRows(found),
    ...midnightRows(found),
    ...scanRows(found),
    sizeRow(found),
  ]
}

/** @returns {Row[]} */
function costRows(/** @type {Found} */ { cost, ranked }) {
  const { usersFew, usersMany, eventsFew, eventsMany } = cost
  const all = [...Object.values(cost), ...ranked.map((one) => one.cost)]
  const roundTrips = around(all.map((one) => one.roundTrips))
  const waves = around(ranked.map((one) => one.cost.waves))
  const one = ranked.find(({ boards }) => boards === 1)?.cost ?? usersFew
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
      what: `waves of object calls per event, ${ranked.map(({ boards }) => boards).join(', ')} leaderboards`,
      figure: said(waves),
      must: '1',
      aim: '1',
      meetsMust: waves.most <= 1,
      meetsAim: waves.most <= 1,
      values: ranked.map(({ boards, cost: { calls, waves: its } }) => ({ boards, waves: its, calls })),
    },
    {
      what: 'rows written per event (1 metric, 1 award, 1 leaderboard, idempotency key)',
      figure: `${said(one.allRows)} (${said(one.rowsWritten)} in D1, ${said(one.objectRows)} in the object)`,
      must: '≤ 8',
      aim: '≤ 6',
      meetsMust: one.allRows.most <= 8,
      meetsAim: one.allRows.most <= 6,
      values: all.map(({ rowsWritten, objectRows, allRows }) => ({ rowsWritten, objectRows, allRows })),
    },
    sameRow('rows read per event, with 1,000 and 100,000 users', usersFew.rowsRead, usersMany.rowsRead),
    sameRow('rows read per event, after 10 and 10,000 events', eventsFew.rowsRead, eventsMany.rowsRead),
  ]
}

/** @returns {Row} a row whose two figures must not differ */
function sameRow(/** @type {string} */ what, /** @type {Span} */ a, /** @type {Span} */ b) {
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

/** The required and the desired ratio of events. */
const BUDGET = { must: 0.6, aim: 0.9 }

/** @returns {Row} */
function speedRow(
  /** @type {string} */ what,
  /** @type {Speed} */ speed,
  /** @type {typeof BUDGET | null} */ budget = null,
) {
  const { ours, baseline, ratio, least, most } = speed
  return {
    what,
    figure: `${ratio.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)}; ${ours.toFixed(0)} ÷ ${baseline.toFixed(0)})`,
    must: budget && `≥ ${budget.must}`,
    aim: budget && `≥ ${budget.aim}`,
    meetsMust: budget === null || ratio >= budget.must,
    meetsAim: budget === null || ratio >= budget.aim,
    values: speed,
  }
}

/** @returns {Row[]} */
const pageRows = (/** @type {Found} */ { pages }) => [
  speedRow('pages/s ÷ KV reads/s: page one of a leaderboard of 1,000', pages.first),
  speedRow('the same, from the user at place 500', pages.fromUser),
  speedRow('the same, from place 500 by offset', pages.fromOffset),
]

/** @returns {Row} */
function burstRow(/** @type {Found} */ { bursts }) {
  const writeBatches = Math.max(...bursts.map((one) => one.writeBatches))
  const faults = [...new Set(bursts.flatMap((one) => one.faults))]
  return {
    what: '200 parallel events of one user: D1 write batches (worst of 3 times)',
    figure: `${writeBatches}, ${faults.length === 0 ? 'all exact' : faults.join(', ')}`,
    must: 'all exact',
    aim: '≤ 20',
    meetsMust: faults.length === 0,
    meetsAim: faults.length === 0 && writeBatches <= 20,
    values: bursts,
  }
}

/** @returns {Row[]} */
function tickRows(/** @type {Found} */ { ticks: { jump, alone, ranked } }) {
  const isWhole = jump.awards === jump.expected
  return [
    tickRow('an hourly tick for 100,000 users: rows written per user', alone),
    tickRow('the same, with a leaderboard by points', ranked),
    {
      what: '30 days at once of an hourly trigger, 1,000 users',
      figure: `${jump.seconds.toFixed(1)} s, ${jump.awards.toLocaleString('en')} awards`,
      must: '< 60 s, 720,000',
      aim: '≤ 10 s',
      meetsMust: isWhole && jump.seconds < 60,
      meetsAim: isWhole && jump.seconds <= 10,
      values: jump,
    },
  ]
}

/** @returns {Row} */
function tickRow(/** @type {string} */ what, /** @type {import('./ticks.mjs').Tick} */ tick) {
  const { d1Rows, objectRows, seconds, chunks } = tick
  const rows =
    objectRows === 0
      ? d1Rows.toFixed(2)
      : `${(d1Rows + objectRows).toFixed(2)} (${d1Rows.toFixed(2)} in D1, ${objectRows.toFixed(2)} in the object)`
  return {
    what,
    figure: `${rows}; ${seconds.toFixed(1)} s in ${chunks} chunks`,
    must: null,
    aim: null,
    meetsMust: true,
    meetsAim: true,
    values: tick,
  }
}

/** @returns {Row[]} */
function batchRows(/** @type {Found} */ { batch, speed }) {
  const { rowsWritten, d1Rows, objectRows, roundTrips, eventsASecond } = batch
  const ratio = eventsASecond / speed.keyed.ours
  return [
    {
      what: 'rows written per event of a batch of 1,000 of 100 users, as above',
      figure: `${rowsWritten.toFixed(2)} (${d1Rows.toFixed(2)} in D1, ${objectRows.toFixed(2)} in the object), ${roundTrips.toFixed(3)} round trips`,
      must: null,
      aim: null,
      meetsMust: true,
      meetsAim: true,
      values: batch,
    },
    {
      what: 'events/s in batches ÷ events/s one by one, with a key',
      figure: ratio.toFixed(1),
      must: null,
      aim: null,
      meetsMust: true,
      meetsAim: true,
      values: { eventsASecond, ratio },
    },
  ]
}

/** @returns {Row[]} */
function webhookRows(/** @type {Found} */ { webhooks }) {
  const { endpoints, messages } = webhooks
  const figure = (
    /** @type {import('./webhooks.mjs').Telling} */ { d1Rows, eventRows, objectRows, operations },
  ) =>
    `${(d1Rows + objectRows).toFixed(2)} (${eventRows.toFixed(2)} with the event, ${(d1Rows - eventRows).toFixed(2)} later in D1, ${objectRows.toFixed(2)} in objects), ${operations.toFixed(2)} operations`
  const row = (/** @type {string} */ what, /** @type {import('./webhooks.mjs').Telling} */ telling) => ({
    what,
    figure: figure(telling),
    must: null,
    aim: null,
    meetsMust: true,
    meetsAim: true,
    values: telling,
  })
  const all = [...Object.values(webhooks.without), ...Object.values(webhooks.with)]
  const roundTrips = Math.max(...all.map((telling) => telling.roundTrips))
  return [
    row("rows written and queue operations for a user's first event, 0 webhooks", webhooks.without.first),
    row(`the same, ${endpoints} webhooks, ${messages} messages to each`, webhooks.with.first),
    row("for the user's next event within 15 minutes, 0 webhooks", webhooks.without.next),
    row(`the same, ${endpoints} webhooks`, webhooks.with.next),
    row(`for later events, ${endpoints} webhooks`, webhooks.with.later),
    {
      what: 'D1 round trips of these events',
      figure: `${roundTrips}`,
      must: '2',
      aim: '2',
      meetsMust: roundTrips <= 2,
      meetsAim: roundTrips <= 2,
      values: all.map((telling) => telling.roundTrips),
    },
  ]
}

/** @returns {Row[]} */
function midnightRows(/** @type {Found} */ { midnight }) {
  const { read, written, untouched, seconds, chunks } = midnight
  const isNothing = untouched.read < 0.001 && untouched.written < 0.001
  return [
    {
      what: 'a midnight at which 100,000 streaks are lost: rows for each',
      figure: `${written.toFixed(2)} written, ${read.toFixed(2)} read; ${seconds.toFixed(1)} s in ${chunks} chunks`,
      must: null,
      aim: null,
      meetsMust: true,
      meetsAim: true,
      values: midnight,
    },
    {
      what: 'the same, for each user who loses no streak',
      figure: `${untouched.written.toFixed(3)} written, ${untouched.read.toFixed(3)} read`,
      must: '0',
      aim: '0',
      meetsMust: isNothing,
      meetsAim: isNothing,
      values: untouched,
    },
  ]
}

/** @returns {Row[]} */
function scanRows(/** @type {Found} */ { scans: { crowd, summary } }) {
  const { users, requests, quiet, during, worst, answered, refused } = crowd
  const ratio = during / quiet
  const { events, first, second } = summary
  const said = (/** @type {import('./scans.mjs').Call} */ { rowsRead, rowsWritten, milliseconds }) =>
    `${rowsRead} rows read, ${rowsWritten} written, ${milliseconds.toFixed(0)} ms`
  return [
    {
      what: `an event during ${requests} scans of another tenant's ${users / 1000},000 users ÷ its time without scans`,
      figure: `${ratio.toFixed(1)} (worst ${(worst / quiet).toFixed(1)}; ${answered} answered, ${refused} refused)`,
      must: '< 10',
      aim: '< 5',
      meetsMust: ratio < 10,
      meetsAim: ratio < 5,
      values: crowd,
    },
    {
      what: `an event summary of ${events / 1000},000 events, the first and the second time`,
      figure: `${said(first)}; ${said(second)}`,
      must: 'the second < 5,000 read',
      aim: null,
      meetsMust: second.rowsRead < 5_000,
      meetsAim: true,
      values: summary,
    },
  ]
}

/** @returns {Row} */
const sizeRow = (/** @type {Found} */ { size }) => ({
  what: 'Worker size, gzip',
  figure: `${(size.gzip / 1024).toFixed(0)} KB`,
  must: '≤ 1 MB',
  aim: '≤ 400 KB',
  meetsMust: size.gzip <= 1024 * 1024,
  meetsAim: size.gzip <= 400 * 1024,
  values: size,
})

/** @returns {string} the table, for a terminal */
export function tableOf(/** @type {Row[]} */ rows) {
  const mark = (/** @type {boolean} */ isMet) => (isMet ? 'met' : 'MISSED')
  const cells = [
    ['what', 'figure', 'must', '', 'aim', ''],
    ...rows.map(({ what, figure, must, meetsMust, aim, meetsAim }) => [
      what,
      figure,
      ...(must === null ? ['–', ''] : [must, mark(meetsMust)]),
      ...(aim === null ? ['–', ''] : [aim, mark(meetsAim)]),
    ]),
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
