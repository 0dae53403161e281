import type { Configuration } from '../config/configuration.types'
import type { TenantDatabase } from '../db/database'
import type { UnchangedUsers } from '../db/guard'
import type { Statement } from '../db/statement'
import type { Change } from '../engine/change.rules'
import { MOST_AT_ONCE } from '../lib/packed'
import { outboxEntriesOfChange } from './change-messages.builder'
import { insertOutboxEntries } from './outbox.repository'
import { notePoints } from './points-notifications.repository'

/** The bytes that one batch writes to the outbox at most, unless a single change has more. */
const MOST_IN_A_BATCH = 2 * MOST_AT_ONCE

/**
 * The statements that write the messages of changes, of one user or of many, to the outbox. They are part of
 * the batch that stores the changes (W2). There are none without an active webhook.
 * `isMuch` is true if these are too many bytes for one batch. The caller then stores fewer changes at once.
 */
export function outboxInserts(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly Change[],
  among: UnchangedUsers,
): { statements: Statement[]; isMuch: boolean } {
  if (!config.webhooks.some(({ status }) => status === 'active')) return { statements: [], isMuch: false }
  const outboxEntries = changes.flatMap((change) => outboxEntriesOfChange(config, change))
  const { statements, bytes } = insertOutboxEntries(db, outboxEntries, among)
  return {
    statements: [...statements, ...notePoints(db, config, changes, among)],
    isMuch: bytes > MOST_IN_A_BATCH,
  }
}
