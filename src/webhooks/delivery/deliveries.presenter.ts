import { instant } from '../../lib/clock'
import type { Delivery } from './queue.messages'
import type { Row } from './queue.store'

/** A message as an entry of the log. */
export function deliveryOf({
  id,
  event,
  status,
  attempts,
  lastStatus,
  lastError,
  created,
  nextAt,
}: Row): Delivery {
  const nextAttempt = nextAt === null ? null : instant(Math.max(nextAt, created))
  return { id, event, status, attempts, lastStatus, lastError, created: instant(created), nextAttempt }
}

/** A log entry with the place of the message. */
export function placedOf(row: Row) {
  const { at, seq, id } = row
  return { ...deliveryOf(row), place: { at, seq, id } }
}

/** A log entry with the body of the message and its place. */
export function heldOf(row: Row & { body: string }) {
  return { ...placedOf(row), body: row.body }
}
