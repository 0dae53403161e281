import type { Configuration } from '../config/configuration.types'
import type { TenantDatabase } from '../db/database'
import type { UnchangedUsers } from '../db/guard'
import type { Change } from '../engine/change.rules'
import { MOST_AT_ONCE } from '../lib/packed'
import { outboxEntriesOfChange } from './change-messages.builder'
import { insertOutboxEntries } from './outbox.repository'
import { notePoints } from './points-notifications.repository'

/** Bytes that one batch puts into the outbox, unless a single change has more to tell. */
const MOST_IN_A_BATCH = 2 * MOST_AT_ONCE

/**
 * What puts into the outbox what changes have to tell, of one user or of many; part of the batch that stores them all or none (W2). Nothing
 * where nobody listens. `isMuch` says that it is more than one batch should hold, so that fewer changes are to be stored at once.
 */
export function outboxInserts(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly Change[],
  among: UnchangedUsers,
): { statements: D1PreparedStatement[]; isMuch: boolean } {
  if (!config.webhooks.some(({ status }) => status === 'active')) return { statements: [], isMuch: false }
  const outboxEntries = changes.flatMap((change) => outboxEntriesOfChange(config, change))
  const { statements, bytes } = insertOutboxEntries(db, outboxEntries, among)
  return {
    statements: [...statements, ...notePoints(db, config, changes, among)],
    isMuch: bytes > MOST_IN_A_BATCH,
  }
}
