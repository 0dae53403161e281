import { type Instant, instant } from '../../shared/clock'
import { isId } from '../../shared/ids'
import type { Delivery } from './courier.messages'
import type { Row } from './courier.store'

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

/** The moment of which a UUID v7 was made, which is the letter's own; that of no letter where it is no UUID. */
export function timeOf(id: string): Instant {
  return instant(isId(id) ? Number.parseInt(id.replace('-', '').slice(0, 12), 16) : -1)
}
