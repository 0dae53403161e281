/** The fields of each kind of log line, as docs/operations.md lists them. */

import type { Notes } from '../../src/platform/context'
import type { Problem } from '../../src/platform/log'

const COST = ['d1.roundTrips', 'd1.rowsRead', 'd1.rowsWritten']

// Records, so that the type check fails for a field that is missing here.
const NOTES: Record<keyof Notes, true> = {
  group: true,
  alone: true,
  conflicts: true,
  lane: true,
  queued: true,
  objectWaves: true,
  objectCalls: true,
  objectRows: true,
}
const PROBLEM: Record<Exclude<keyof Problem, 'error'>, true> = {
  requestId: true,
  tenant: true,
  leaderboard: true,
  queue: true,
  message: true,
  work: true,
  subject: true,
  deadLetter: true,
}
const STEP = { always: ['work', 'tenant', ...COST, 'objectRows', 'milliseconds', 'users', 'awards'] }

/** The fields besides `level`: those that each line of the kind has, and those that it may have. */
export const KINDS = {
  Requests: {
    always: ['requestId', 'route', 'status', 'tenant', 'milliseconds', ...COST],
    may: Object.keys(NOTES),
  },
  'Background work': {
    always: ['work', 'tenant', ...COST],
    may: ['objectRows', 'milliseconds', 'users', 'awards', 'outboxEntries', 'queue', 'messages', 'epoch'],
  },
  Problems: { always: ['error'], may: Object.keys(PROBLEM) },
}

/** The fields of background work by its kind. */
export const WORK: Record<string, { always: readonly string[] }> = {
  inbox: STEP,
  ticks: STEP,
  streaks: STEP,
  recount: STEP,
  backdate: STEP,
  anniversaries: STEP,
  analytics: { always: ['work', 'tenant', ...COST, 'milliseconds', 'users'] },
  outbox: { always: ['work', 'tenant', ...COST, 'outboxEntries'] },
  redo: { always: ['work', 'tenant', ...COST, 'epoch'] },
  delivery: { always: ['work', 'tenant', ...COST, 'objectRows', 'queue', 'messages'] },
}
