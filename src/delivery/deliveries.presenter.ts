import { instant } from '../lib/clock'
import type { Delivery } from './queue.messages'
import type { Row } from './queue.store'

/** A letter as the log tells of it. */
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

/** The same with what was carried, and where it stands. */
export function heldOf(row: Row & { body: string }) {
  const { at, seq, id, body } = row
  return { ...deliveryOf(row), place: { at, seq, id }, body }
}
