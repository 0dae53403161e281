import { instant } from '../lib/clock'
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

/** A log entry with the body of the message and its place. */
export function heldOf(row: Row & { body: string }) {
  const { at, seq, id, body } = row
  return { ...deliveryOf(row), place: { at, seq, id }, body }
}
