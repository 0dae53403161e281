/** The words by which guards say that they did not hold. SQLite puts them into a sentence of its own. */
// Safe to trust: all other paths in queries are constants or our own ids, and no error quotes a bound text.
export const CONFLICT_WORD = 'laurel-conflict'
export const MISPLACED_WORD = 'laurel-misplaced'

/**
 * The outcome of a batch that failed, as far as it is known.
 *
 * - `conflict`, `misplaced`: a guard did not hold. Nothing was stored.
 * - `refused`: the database refuses a statement or its data. Nothing was stored, and a retry fails too.
 * - `not stored`: nothing was stored, but a retry may succeed: the database is overloaded, full or not found.
 * - `unknown`: no answer, or one that says nothing about the batch. It may be stored, even later.
 */
export type Outcome = 'conflict' | 'misplaced' | 'refused' | 'not stored' | 'unknown'

/** How D1 says that a batch has not begun, or did not fit. */
const NOT_STORED = /overloaded|cannot resolve|maximum DB size|SQLITE_(BUSY|FULL)/i
/** The code of SQLite, or words of D1's own errors about a statement or a value. */
const REFUSED = /SQLITE_(?!IOERR)|\b(D1_TYPE_ERROR|statement|parameter|SQL variables|string or blob)/i

function outcomeOf(message: string): Outcome {
  // Then it quotes what came instead of D1's answer.
  if (message.startsWith('Failed to parse body')) return 'unknown'
  if (message.includes(CONFLICT_WORD)) return 'conflict'
  if (message.includes(MISPLACED_WORD)) return 'misplaced'
  if (NOT_STORED.test(message)) return 'not stored'
  return REFUSED.test(message) ? 'refused' : 'unknown'
}

/**
 * The only form of D1's errors. D1 begins a message with `D1_ERROR: ` if it answers, and mostly not if the
 * connection fails. The text names the outcome, because an object's caller gets only the text.
 */
export class DatabaseError extends Error {
  readonly outcome: Outcome

  constructor(cause: unknown) {
    const message = (cause instanceof Error ? cause.message : String(cause)).replace(/^D1_ERROR: /, '')
    const outcome = outcomeOf(message)
    super(`D1_ERROR (${outcome}): ${message}`, { cause })
    this.outcome = outcome
  }
}
