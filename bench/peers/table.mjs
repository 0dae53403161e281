/** The results of the comparison as a table in Markdown. docs/performance.md shows it as it is printed. */

/** The better side, if there is one. @typedef {'Laurel' | 'peer' | 'even'} Ahead */
/** @typedef {{ what: string; laurel: string; peer: string; ahead: Ahead; values: unknown }} Row */

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
 * A row of two figures of the same kind.
 *
 * @template T
 * @param {{ what: string; of: [T, T]; figure: (found: T) => string; rank: (found: T) => number }} row `rank`
 *   is smaller for the better one
 * @returns {Row}
 */
function compared({ what, of: [laurel, peer], figure, rank }) {
  const difference = rank(laurel) - rank(peer)
  const ahead = difference === 0 ? 'even' : difference < 0 ? 'Laurel' : 'peer'
  return { what, laurel: figure(laurel), peer: figure(peer), ahead, values: { laurel, peer } }
}

/** A verdict as text. */
const exact = (/** @type {import('./exact.mjs').Verdict} */ { checks, faults }) =>
  faults.length === 0 ? 'exact' : `${faults.length} of ${checks} checks failed`

/**
 * @param {Found} laurel
 * @param {Found} peer
 * @param {import('./speed.mjs').Pace} always the peer's pace if Redis syncs every write to disk
 * @returns {Row[]}
 */
export function rowsOf(laurel, peer, always) {
  /** @returns {Row} */
  const verdict = (
    /** @type {string} */ what,
    /** @type {'parallel' | 'copies' | 'negative' | 'fractions'} */ name,
  ) => compared({ what, of: [laurel[name], peer[name]], figure: exact, rank: ({ faults }) => faults.length })
  const pace = ({ median, least, most } = laurel.pace) => `${whole(median)} (${whole(least)}–${whole(most)})`
  return [
    compared({
      what: 'events/s, 32 clients',
      of: [laurel.pace, peer.pace],
      figure: pace,
      rank: ({ median }) => -median,
    }),
    compared({
      what: 'the same, against a Redis with `appendfsync always`',
      of: [laurel.pace, always],
      figure: pace,
      rank: ({ median }) => -median,
    }),
    compared({
      what: 'an event takes, median and 99 in 100',
      of: [laurel.pace, peer.pace],
      figure: ({ p50, p99 }) => `${p50.toFixed(1)} and ${p99.toFixed(1)} ms`,
      rank: ({ p50 }) => p50,
    }),
    compared({
      what: 'memory of all processes after that',
      of: [laurel, peer],
      figure: ({ memory }) => (memory === null ? '–' : `${whole(memory)} MiB`),
      rank: ({ memory }) => memory ?? 0,
    }),
    verdict(`${laurel.parallel.events} parallel events of 3 users`, 'parallel'),
    verdict(`${laurel.copies.copies} parallel events with 3 idempotency keys`, 'copies'),
    verdict('events with negative values', 'negative'),
    verdict('0.1 ten times, 999.95 a hundred times', 'fractions'),
    ...killRows(laurel.kills, peer.kills),
    ...laurel.days.map((streak, index) => dayRow(streak, peer.days[index] ?? streak)),
  ]
}

/** @returns {Row[]} */
function killRows(
  /** @type {import('./kills.mjs').Outcome} */ laurel,
  /** @type {import('./kills.mjs').Outcome} */ peer,
) {
  const of = /** @type {[typeof laurel, typeof peer]} */ ([laurel, peer])
  return [
    compared({
      what: `${laurel.kills} times kill −9: answered events that are lost`,
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

/** @returns {Row} */
const dayRow = (
  /** @type {import('./days.mjs').Streak} */ laurel,
  /** @type {import('./days.mjs').Streak} */ peer,
) =>
  compared({
    what: `${laurel.who}, over ${laurel.change}: a streak of ${laurel.right} days`,
    of: [laurel, peer],
    figure: ({ answered, rightAnswers, days }) => `${answered} (${rightAnswers} of ${days} answers right)`,
    rank: ({ rightAnswers }) => -rightAnswers,
  })

/** @returns {string} the table */
export function tableOf(/** @type {Row[]} */ rows, /** @type {string} */ peer) {
  const cells = [
    ['', 'Laurel', peer, 'ahead'],
    ...rows.map((row) => [row.what, row.laurel, row.peer, row.ahead === 'even' ? '–' : row.ahead]),
  ]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)))
  const lines = cells.map(
    (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  )
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`
  return [lines[0], rule, ...lines.slice(1)].join('\n')
}
