import { readTestClock } from '../../access/clock.repository'
import { type Instant, instant } from '../../lib/clock'
import { AUDIT_LOG_DAYS } from '../../lib/limits'
import { systemNow } from '../../lib/system-clock'
import { DAY } from '../../lib/units'
import type { Context } from '../../platform/context'
import { deleteEntriesBefore } from './audit.repository'

/** The moment before which entries are no longer shown, and are deleted (Z1). */
export const oldestKept = (now: Instant): Instant => instant(Math.max(0, now - AUDIT_LOG_DAYS * DAY))

/**
 * Deletes entries of audit logs that are older than a year (Z1). Each call does a part, and the cron trigger
 * calls it.
 */
export async function deleteOutdatedEntries(context: Context): Promise<void> {
  const now = (await readTestClock(context.db)) ?? systemNow()
  const { databases } = context
  const results = await Promise.allSettled(
    databases.names.map((name) => deleteEntriesBefore(databases.named(name), oldestKept(now))),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
