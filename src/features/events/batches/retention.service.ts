import { readTestClock } from '../../../access/clock.repository'
import { instant } from '../../../lib/clock'
import { systemNow } from '../../../lib/system-clock'
import { DAY } from '../../../lib/units'
import type { Context } from '../../../platform/context'
import { deleteBatchesBefore } from './inbox.repository'

/**
 * Deletes batches that are done and older than BATCH_LOG_DAYS, and the events of theirs that were parked
 * (E9). Does nothing without that variable. Each call does a part, and the cron trigger calls it.
 */
export async function deleteOutdatedBatches(context: Context): Promise<void> {
  const { BATCH_LOG_DAYS: days } = context.variables
  if (days === undefined) return
  const now = (await readTestClock(context.db)) ?? systemNow()
  await deleteBatchesBefore(context.db, instant(now - days * DAY))
}
