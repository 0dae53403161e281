import { unreachable } from '../../../lib/unreachable'
import type { Job, Outcome } from '../../../store/commit/commit.types'
import type { InboxRow, Progress } from './inbox.types'

/**
 * A waiting event: its place, and its job. The job is null if the user was erased, and a text with the reason
 * if the event cannot be read.
 */
export type Item = {
  row: InboxRow
  /** Its place in the batch, from 0. */
  position: number
  job: Job | string | null
}

/**
 * An event of the inbox that has to be parked, because the database rejects it even alone: its row, its place
 * in the batch (from 0) and the reason (E9).
 */
export type ParkedEvent = { no: number; position: number; reason: string }

/** Whether an event is the one that has to be parked. */
export const isAt = (
  parked: ParkedEvent | null,
  { row, position }: Pick<Item, 'row' | 'position'>,
): boolean => parked !== null && parked.no === row.no && parked.position === position

/**
 * The next events of the inbox in the order sent, at most `most`. `read` makes the job of an event from its
 * JSON.
 */
export function itemsOf(
  rows: readonly InboxRow[],
  most: number,
  read: (event: unknown, place: Pick<Item, 'row' | 'position'>) => Item['job'],
): Item[] {
  const places = rows.flatMap((row) =>
    Array.from({ length: row.count - row.done }, (_, nth) => ({ row, index: row.done + nth })),
  )
  return places.slice(0, most).map(({ row, index }) => {
    const place = { row, position: row.offset + index }
    return { ...place, job: read(row.events[index], place) }
  })
}

/** An event's user and job. */
export type UserJob = { userId: string; job: Job; item: Item }

/** The jobs of the items by user. Each user's jobs are in the order sent (E9). */
export function byUser(items: readonly Item[]): ReadonlyMap<string, UserJob[]> {
  const users = new Map<string, UserJob[]>()
  for (const item of items) {
    const { job } = item
    if (job === null || typeof job === 'string' || job.command.kind !== 'event') continue
    const { userId } = job.command
    const own = users.get(userId) ?? []
    own.push({ userId, job, item })
    users.set(userId, own)
  }
  return users
}

/**
 * How an event of the inbox ended: recorded, left out or parked. `reason` is for the log; null if there is
 * nothing to log.
 */
export type End = { kind: 'processed' } | { kind: 'dropped' | 'parked'; reason: string | null }

/** How an item ends, by the outcome of its job. */
export function endOf({ job }: Item, outcome: Outcome | undefined): End {
  if (job === null) return { kind: 'dropped', reason: null }
  if (typeof job === 'string') return { kind: 'parked', reason: job }
  const decision = outcome?.decision
  switch (decision?.kind) {
    case 'changed':
      return { kind: 'processed' }
    // An earlier step has recorded it in another database, and broke off before it noted that (B6).
    case 'lost':
      return { kind: 'processed' }
    // A repeated idempotency key (E9).
    case 'replayed':
      return { kind: 'dropped', reason: null }
    case 'refused':
      return { kind: 'dropped', reason: decision.apiError.message }
    case 'failed':
      return { kind: 'parked', reason: String(decision.error) }
    // No event has such an outcome.
    case 'completed':
    case 'unchanged':
    case undefined:
      return { kind: 'parked', reason: 'It is not an event.' }
    default:
      return unreachable(decision)
  }
}

/**
 * The progress to store once these items have ended: rows that are done, the row that is done in part, the
 * counts of each batch, and the parked events with their reasons (E9).
 */
export function progressOf(ends: ReadonlyMap<Item, End>): Progress {
  const done = new Map<InboxRow, number>()
  const counts = new Map<string, { processed: number; dropped: number; parked: number }>()
  const parked: Progress['parked'][number][] = []
  for (const [item, end] of ends) {
    const { row, position } = item
    done.set(row, (done.get(row) ?? row.done) + 1)
    const count = counts.get(row.batchId) ?? { processed: 0, dropped: 0, parked: 0 }
    count[end.kind] += 1
    counts.set(row.batchId, count)
    if (end.kind === 'parked') {
      const event = JSON.stringify(row.events[position - row.offset] ?? null)
      parked.push({ batchId: row.batchId, position, event, reason: end.reason ?? '' })
    }
  }
  const rows = [...done].map(([{ no, count }, reached]) => ({ no, count, done: reached }))
  const open = rows.find((row) => row.done < row.count)
  return {
    finished: rows.filter((row) => row.done === row.count).map(({ no }) => no),
    advanced: open === undefined ? null : { no: open.no, done: open.done },
    counts,
    parked,
  }
}
