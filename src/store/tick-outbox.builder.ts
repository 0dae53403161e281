import type { Configuration } from '../configuration/configuration.types'
import { type Instant, instant } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import type { TenantDatabase } from '../platform/database'
import type { Statement } from '../platform/statement'
import type { TickChange } from '../rules/points/ticks.rules'
import { levelEntriesOf, levelsMoved } from '../webhooks/outbox/change-messages.builder'
import { insertOutboxEntries } from '../webhooks/outbox/outbox.repository'
import { notePoints } from '../webhooks/outbox/points-notifications.repository'
import { userOf, usersStatement } from './users.repository'
import { asRead } from './writer.service'

/**
 * The statements that write messages about ticks to the outbox. They come before the statements that store
 * the users, in the same batch (W2, W6). There are none without an active webhook.
 */
export async function outboxInsertsOfTicks(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly TickChange[],
): Promise<Statement[]> {
  if (!config.webhooks.some(({ status }) => status === 'active')) return []
  const among = asRead(db, config, changes)
  const dated = changes.map((change) => ({ ...change, after: { ...change.after, changed: lastOf(change) } }))
  const moved = dated.filter((change) => levelsMoved(config, change).length > 0)
  const users = new Map((await usersOf(db, moved)).map((user) => [user.iid, user]))
  const outboxEntries = moved.flatMap(({ before, after, awards }) => {
    const user = users.get(before.iid)
    // The batch also skips users who have changed since the read.
    if (user === undefined || user.seq !== before.seq) return []
    const { seq, changed, points } = after
    const change = { before, after: { ...user, seq, changed, points }, awards }
    return levelEntriesOf(config, change)
  })
  return [...insertOutboxEntries(db, outboxEntries, among), ...notePoints(db, config, dated, among)]
}

/** When the last of a user's ticks was due, but not before the user's last change. */
function lastOf({ before, awards }: TickChange): Instant {
  return instant(Math.max(before.changed, ...awards.map(({ at }) => at)))
}

async function usersOf(db: TenantDatabase, changes: readonly TickChange[]) {
  if (changes.length === 0) return []
  const ids = changes.map(({ before }) => before.id)
  const result = await db.run(usersStatement(db, { ids }, systemNow()))
  return result.results.map(userOf)
}
