import { readTestClock } from '../../access/clock.repository'
import { notingDeletedKeys, refuseKeys } from '../../access/deleted/deleted-keys.service'
import { type Deletion, DeletionPlace } from '../../access/deleted/deletions.messages'
import { nextDeletions } from '../../access/deleted/deletions.service'
import { forgetKeys, removeKeysByPrefix } from '../../access/keys.repository'
import { advanceRedo, readRestored } from '../../access/restores/restores.repository'
import { systemNow } from '../../lib/system-clock'
import type { Context } from '../../platform/context'
import type { Cost } from '../../platform/database'
import { eraseAgain } from '../users/erasure/erasure.service'
import { purgeAgain } from './purge.service'

/** Deletions that one step does again. */
const PAGE = 100
/** After this many round trips, the next call does the rest. D1 accepts a thousand in one invocation. */
const MOST_ROUND_TRIPS = 600

type Of<K extends Deletion['kind']> = Extract<Deletion, { kind: K }>
const ofKind = <K extends Deletion['kind']>(deletions: readonly Deletion[], kind: K): Of<K>[] =>
  deletions.filter((one): one is Of<K> => one.kind === kind)

/**
 * Does the deletions of the list again, if the database was brought back to an earlier moment since this was
 * last done (M3). The cron trigger calls it every five minutes. It does a bounded part and stores its
 * progress. A deletion of something that D1 does not have costs a read.
 */
export async function redoDeletions(context: Context): Promise<void> {
  const { db, cost } = context
  const { epoch, redone, progress } = await readRestored(db)
  if (redone >= epoch) return
  const now = (await readTestClock(db)) ?? systemNow()
  const before = { ...cost }
  let after = progress === null ? null : DeletionPlace.parse(JSON.parse(progress))
  while (cost.roundTrips - before.roundTrips < MOST_ROUND_TRIPS) {
    const { deletions, last } = await nextDeletions(context, after, PAGE)
    if (last === null) {
      await db.batch([advanceRedo(db, epoch, null)])
      console.log(redoLine(epoch, cost, before))
      return
    }
    const prefixes = ofKind(deletions, 'key').map(({ prefix }) => prefix)
    const removed = await removeKeysByPrefix(db, prefixes, notingDeletedKeys({ prefixes }))
    forgetKeys(context, removed)
    await refuseKeys(context, removed)
    await eraseAgain(context, ofKind(deletions, 'user'), now)
    for (const { tenantId } of ofKind(deletions, 'tenant')) await purgeAgain(context, tenantId, now)
    await db.batch([advanceRedo(db, epoch, JSON.stringify(last))])
    after = last
  }
}

/** The log line of the call that has done the last deletion again, as JSON. The cost is that of the call. */
function redoLine(epoch: number, cost: Cost, before: Cost): string {
  return JSON.stringify({
    level: 'info',
    work: 'redo',
    tenant: null,
    epoch,
    d1: {
      roundTrips: cost.roundTrips - before.roundTrips,
      rowsRead: cost.rowsRead - before.rowsRead,
      rowsWritten: cost.rowsWritten - before.rowsWritten,
    },
  })
}
