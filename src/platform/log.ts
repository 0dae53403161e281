import { SECOND } from '../lib/clock'
import { within } from '../lib/system-clock'
import type { Cost } from './database'

/** The fields of a log line about a problem. None is a secret, or an id that a tenant gave a user. */
export type Problem = {
  error: string
  requestId?: string
  tenant?: string
  leaderboard?: string
  queue?: string
  /** The id of a message to a webhook or to a user. */
  message?: string
  /** A kind of due work, and the subject of that work; or `redo`, the deletions after a restore (M3); or `clock` (C3). */
  work?: string
  subject?: string
  /** Of which queue a message was given up after its last retry. */
  deadLetter?: 'outbox' | 'repairs' | 'unknown'
}

/** Logs a problem as JSON. `warn`: Laurel repairs it by itself. `error`: it should not have failed. */
export function logProblem(level: 'warn' | 'error', problem: Problem): void {
  console[level](JSON.stringify({ level, ...problem }))
}

/** Logs background work as JSON: facts without users, and its cost in D1 since `before`. */
export function logWork(
  facts: { work: string; tenant: string | null; [fact: string]: string | number | null },
  cost: Cost,
  before: Cost,
): void {
  const d1: Cost = {
    roundTrips: cost.roundTrips - before.roundTrips,
    rowsRead: cost.rowsRead - before.rowsRead,
    rowsWritten: cost.rowsWritten - before.rowsWritten,
  }
  console.log(JSON.stringify({ level: 'info', ...facts, d1 }))
}

/** How long an object may take to say how it does, in milliseconds. */
const PATIENCE = 5 * SECOND

/** What objects answer, by name. Those that fail are left out and logged, and those that do not know (null) too. */
export async function answersOf<T>(
  kind: 'queue' | 'leaderboard',
  names: readonly string[],
  ask: (name: string) => Promise<T | null>,
): Promise<ReadonlyMap<string, T>> {
  const answers = new Map<string, T>()
  const askOne = async (name: string) => {
    try {
      const answer = await within(PATIENCE, ask(name))
      if (answer !== null) answers.set(name, answer)
    } catch (error) {
      const what = kind === 'queue' ? 'delivery queue' : kind
      logProblem('warn', { [kind]: name, error: `${what} not reached: ${String(error)}` })
    }
  }
  await Promise.all(names.map(askOne))
  return answers
}
