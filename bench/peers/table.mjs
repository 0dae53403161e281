/** The results of the comparison as a table in Markdown. docs/performance.md shows it as it is printed. */

/** The better side, if there is one. @typedef {'Laurel' | 'peer' | '–'} Ahead */
/**
 * A row: Laurel under `npm start` and under `npm run serve`, and the peer. `ahead` has one entry for each
 * column of Laurel, which is compared with the peer.
 *
 * @typedef {{ what: string; laurel: string; serve: string; peer: string; ahead: Ahead[]; values: unknown }}
 *   Row
 */

/**
 * The results of one side. `memory` is in MiB.
 *
 * @typedef {{
 *   parallel: import('./exact.mjs').Verdict & { events: number }
 *   copies: import('./exact.mjs').Verdict & { copies: number }
 *   negative: import('./exact.mjs').Verdict
 *   fractions: import('./exact.mjs').Verdict
 *   kills: import('./kills.mjs').Outcome
 *   pace: import('./speed.mjs').Pace
 *   memory: number | null
 *   days: import('./days.mjs').Streak[]
 * }} Found
 */

/** Whole numbers with separators for thousands. */
const whole = (/** @type {number} */ figure) => Math.round(figure).toLocaleString('en')

/**
 * A row of three figures of the same kind.
 *
 * @template T
 * @param {{ what: string; of: [T, T, T]; figure: (found: T) => string; rank: (found: T) => number }} row
 *   `rank` is smaller for the better one
 * @returns {Row}
 */
function compared({ what, of: [laurel, serve, peer], figure, rank }) {
  /** @returns {Ahead} */
  const better = (/** @type {T} */ ours) => {
    const difference = rank(ours) - rank(peer)
    return difference === 0 ? '–' : difference < 0 ? 'Laurel' : 'peer'
  }
  return {
    what,
    laurel: figure(laurel),
    serve: figure(serve),
    peer: figure(peer),
    ahead: [better(laurel), better(serve)],
    values: { laurel, serve, peer },
  }
}

/** A verdict as text. */
const exact = (/** @type {import('./exact.mjs').Verdict} */ { checks, faults }) =>
  faults.length === 0 ? 'exact' : `${faults.length} of ${checks} checks failed`

/**
 * @param {[Found, Found]} ours Laurel under `npm start`, and under `npm run serve`
 * @param {Found} peer
 * @param {import('./speed.mjs').Pace} always the peer's pace if Redis syncs every write to disk
 * @returns {Row[]}
 */
export function rowsOf([laurel, serve], peer, always) {
  /** @returns {Row} */
  const verdict = (
    /** @type {string} */ what,
    /** @type {'parallel' | 'copies' | 'negative' | 'fractions'} */ name,
  ) =>
    compared({
      what,
      of: [laurel[name], serve[name], peer[name]],
      figure: exact,
      rank: ({ faults }) => faults.length,
    })
  const pace = ({ median, least, most } = laurel.pace) => `${whole(median)} (${whole(least)}–${whole(most)})`
  return [
    compared({
      what: 'events/s, 32 clients',
      of: [laurel.pace, serve.pace, peer.pace],
      figure: pace,
      rank: ({ median }) => -median,
    }),
    compared({
      what: 'the same, against a Redis with `appendfsync always`',
      of: [laurel.pace, serve.pace, always],
      figure: pace,
      rank: ({ median }) => -median,
    }),
    compared({
      what: 'an event takes, median and 99 in 100',
      of: [laurel.pace, serve.pace, peer.pace],
      figure: ({ p50, p99 }) => `${p50.toFixed(1)} and ${p99.toFixed(1)} ms`,
      rank: ({ p50 }) => p50,
    }),
    compared({
      what: 'memory of all processes after that',
      of: [laurel, serve, peer],
      figure: ({ memory }) => (memory === null ? '–' : `${whole(memory)} MiB`),
      rank: ({ memory }) => memory ?? 0,
    }),
    verdict(`${laurel.parallel.events} parallel events of 3 users`, 'parallel'),
    verdict(`${laurel.copies.copies} parallel events with 3 idempotency keys`, 'copies'),
    verdict('events with negative values', 'negative'),
    verdict('0.1 ten times, 999.95 a hundred times', 'fractions'),
    ...killRows([laurel.kills, serve.kills, peer.kills]),
    ...laurel.days.map((streak, index) =>
      dayRow([streak, serve.days[index] ?? streak, peer.days[index] ?? streak]),
    ),
  ]
}

/** @typedef {import('./kills.mjs').Outcome} Outcome */

/** @returns {Row[]} */
function killRows(/** @type {[Outcome, Outcome, Outcome]} */ of) {
  return [
    compared({
      what: `${of[0].kills} times kill −9: answered events that are lost`,
      of,
      figure: ({ lost, answered }) => `${lost} of ${whole(answered)}`,
      rank: ({ lost }) => lost,
    }),
    compared({
      what: 'unanswered events that count (both outcomes are right)',
      of,
      figure: ({ unanswered, unansweredThere }) => `${unansweredThere} of ${unanswered}`,
      rank: () => 0,
    }),
    compared({
      what: 'users with half an event; with a wrong total after all is sent again',
      of,
      figure: ({ users, torn, wrong }) => `${torn}; ${wrong} of ${users}`,
      rank: ({ torn, wrong }) => torn + wrong,
    }),
    compared({
      what: 'users with an old leaderboard score after the restart; and after their next event',
      of,
      figure: ({ users, behind, stillBehind }) => `${behind}; ${stillBehind} of ${users}`,
      rank: ({ behind, stillBehind }) => behind + stillBehind,
    }),
  ]
}

/** @typedef {import('./days.mjs').Streak} Streak */

/** @returns {Row} */
const dayRow = (/** @type {[Streak, Streak, Streak]} */ of) =>
  compared({
    what: `${of[0].who}, over ${of[0].change}: a streak of ${of[0].right} days`,
    of,
    figure: ({ answered, rightAnswers, days }) => `${answered} (${rightAnswers} of ${days} answers right)`,
    rank: ({ rightAnswers }) => -rightAnswers,
  })

/** @returns {string} the table */
export function tableOf(/** @type {Row[]} */ rows, /** @type {string} */ peer) {
  const cells = [
    ['', 'Laurel, `npm start`', 'Laurel, `npm run serve`', peer, 'ahead'],
    ...rows.map((row) => [row.what, row.laurel, row.serve, row.peer, aheadOf(row)]),
  ]
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)))
  const lines = cells.map(
    (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  )
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`
  return [lines[0], rule, ...lines.slice(1)].join('\n')
}

/** The better side as text: two if it is not the same for both columns of Laurel. */
const aheadOf = (/** @type {Row} */ { ahead }) => [...new Set(ahead)].join(', ')
