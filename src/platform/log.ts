/**
 * The fields of a log line about a problem, besides `level`. None of them is a secret, or an id that a tenant
 * has given a user.
 */
export type Problem = {
  /** The problem, as text. */
  error: string
  /** The `X-Request-Id` of the request. */
  requestId?: string
  tenant?: string
  leaderboard?: string
  /** The name of a delivery queue. */
  queue?: string
  /** The id of a message to a webhook or to a user. */
  message?: string
  /** A kind of due work, and the subject of that work; or `redo`, the deletions after a restore (M3). */
  work?: string
  subject?: string
  /** Of which queue a message was given up after its last retry. */
  deadLetter?: 'outbox' | 'repairs' | 'unknown'
}

/**
 * Writes a log line about a problem, as JSON. `warn`: Laurel repairs it by itself. `error`: something failed
 * that should not fail.
 */
export function logProblem(level: 'warn' | 'error', problem: Problem): void {
  console[level](JSON.stringify({ level, ...problem }))
}
