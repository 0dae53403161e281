import type { Instant } from '../../lib/clock'
import type { AccountDatabase, TenantDatabase } from '../../platform/database'
import type { Statement } from '../../platform/statement'
import { beginAllAgain, makeAllDue, makeBegunDue } from '../../time/due-work.repository'
import * as figures from './figures.repository'
import * as passes from './passes.repository'

/**
 * A statement that makes the next pass of each tenant due at a moment, if there is one, however many full
 * hours the test clock passes on the way (C1).
 */
export const requestPasses = (db: AccountDatabase, at: Instant): Statement => makeAllDue(db, 'analytics', at)

/**
 * A statement that does the same for tenants that had no next pass before the work of the move has changed
 * their users. `meta.changes` is the number of these tenants.
 */
export const requestNewPasses = (db: AccountDatabase, at: Instant): Statement =>
  makeBegunDue(db, 'analytics', at)

/**
 * The statements for when the clock goes back to `now` (C1): the next pass of each tenant also finds rows
 * that are earlier than the last pass, and a pass in progress begins again.
 */
export const restartPasses = (db: AccountDatabase, now: Instant): Statement[] => [
  beginAllAgain(db, 'analytics'),
  passes.forgetSince(db, now),
]

/**
 * A statement for a user who is erased: the figures stay as they are; from the next day on, the user has no
 * streak and no level any more (I1). Part of the batch that deletes the user, before the user's rows.
 */
export const leaveFigures = (db: TenantDatabase, userId: string, now: Instant): Statement =>
  figures.leaveFigures(db, userId, now)
