import type { Configuration } from '../../configuration/configuration.types'
import type { TenantDatabase } from '../../platform/database'
import type { UnchangedUsers } from '../../platform/guard'
import type { Statement } from '../../platform/statement'
import type { Change } from '../../rules/change.rules'
import { outboxEntriesOfChange } from './change-messages.builder'
import { insertOutboxEntries } from './outbox.repository'
import { notePoints } from './points-notifications.repository'

/**
 * The statements that write the messages of changes, of one user or of many, to the outbox. They are part of
 * the batch that stores the changes (W2). There are none without an active webhook.
 */
export function outboxInserts(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly Change[],
  among: UnchangedUsers,
): Statement[] {
  if (!config.webhooks.some(({ status }) => status === 'active')) return []
  const outboxEntries = changes.flatMap((change) => outboxEntriesOfChange(config, change))
  return [...insertOutboxEntries(db, outboxEntries, among), ...notePoints(db, config, changes, among)]
}
