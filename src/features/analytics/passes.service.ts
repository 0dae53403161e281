import type { AccountDatabase, TenantDatabase } from '../../db/database'
import { makeAllDue, patchAllProgress } from '../../jobs/due-work.repository'
import type { Instant } from '../../lib/clock'
import * as repository from './figures.repository'
import { RESTART } from './pass.codec'

/**
 * A statement that makes one pass of each tenant due when the test clock has reached a moment, however many
 * full hours it passes on the way (C1).
 */
export const requestPasses = (db: AccountDatabase, at: Instant): D1PreparedStatement =>
  makeAllDue(db, 'analytics', at)

/**
 * A statement for when the clock goes back (C1): the next pass of each tenant also finds rows that are
 * earlier than the last pass.
 */
export const restartPasses = (db: AccountDatabase): D1PreparedStatement =>
  patchAllProgress(db, 'analytics', RESTART)

/**
 * A statement for a user who is erased: the figures stay as they are; from the next day on, the user has no
 * streak and no level any more (I1). Part of the batch that deletes the user, before the user's rows.
 */
export const leaveFigures = (db: TenantDatabase, userId: string, now: Instant): D1PreparedStatement =>
  repository.leaveFigures(db, userId, now)
