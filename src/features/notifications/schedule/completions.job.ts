import { readTestClock } from '../../../access/clock.repository'
import { loadConfiguration, recentConfiguration } from '../../../config/configuration.repository'
import type { Configuration } from '../../../config/configuration.types'
import { configurationUnchanged, isConflict } from '../../../db/guard'
import type { UserState } from '../../../engine/state.types'
import type { DueWork } from '../../../jobs/due-work.repository'
import type { Job } from '../../../jobs/job.types'
import { type Instant, instant } from '../../../lib/clock'
import { MOST_AT_ONCE } from '../../../lib/packed'
import { systemNow } from '../../../lib/system-clock'
import type { AddressedEntry } from '../../../outbox/outbox.messages'
import { bytesOfEntries, insertEntriesOnce } from '../../../outbox/outbox.repository'
import {
  deletePendingNotifications,
  duePendingNotifications,
  type PendingNotification,
  pendingNotificationsPresent,
} from '../../../outbox/pending-notifications.repository'
import type { TenantContext } from '../../../runtime/context'
import { type MessageBuilder, messageBuilderOf } from '../templates/message-builder.service'
import { addressedEntry, messagesOf } from './reasons.service'
import { readUsers } from './schedule.repository'

/** Notices of which a step tells, unless what it tells is long. */
const CHUNK = 200

/**
 * Does one step of telling users of completed achievements (N2): so many whose time has come, in one guarded batch that forgets them. Where
 * somebody else did the step, or the configuration moved, nothing happens. `until` is up to when work is done.
 */
export async function completionStep(context: TenantContext, work: DueWork, until: Instant): Promise<void> {
  const { db } = context
  const config = await recentConfiguration(context)
  // Under a set clock what falls due in between has its turn; in real time, whatever has come is told at once.
  const isSet = (await readTestClock(db)) !== null
  const by = isSet ? work.dueAt : instant(Math.max(work.dueAt, Math.min(until, systemNow())))
  const { pending, outboxEntries } = await messagesOfDue(
    context,
    config,
    await duePendingNotifications(db, by, CHUNK),
  )
  try {
    await db.batch([
      configurationUnchanged(db, config.version),
      pendingNotificationsPresent(db, pending),
      ...insertEntriesOnce(db, outboxEntries),
      ...deletePendingNotifications(db, pending),
    ])
  } catch (error) {
    if (!isConflict(error)) throw error
    await loadConfiguration(context)
  }
}

/** What there is to tell of the first of these notices, of as many as one batch has room for. */
async function messagesOfDue(
  context: TenantContext,
  config: Configuration,
  sending: readonly PendingNotification[],
): Promise<{ pending: PendingNotification[]; outboxEntries: AddressedEntry[] }> {
  const ids = [...new Set(sending.map(({ userId }) => userId))]
  const found = await readUsers(context.db, ids)
  const unread = new Set(ids.slice(found.covered))
  const users = new Map(found.users.map((user) => [user.iid, user]))
  const queued = messageBuilderOf(context, config)
  const pending: PendingNotification[] = []
  const outboxEntries: AddressedEntry[] = []
  let bytes = 0
  for (const one of sending) {
    if (unread.has(one.userId) || bytes > MOST_AT_ONCE) break
    const own = await completionEntries(queued, config, one, users.get(one.userIid))
    pending.push(one)
    outboxEntries.push(...own)
    bytes += bytesOfEntries(own)
  }
  return { pending, outboxEntries }
}

async function completionEntries(
  queued: MessageBuilder,
  config: Configuration,
  { dueAt: at, id: name, achievementId }: PendingNotification,
  user: UserState | undefined,
): Promise<AddressedEntry[]> {
  const achievement = config.achievements.find(({ id }) => id === achievementId)
  const completion = user?.achievements.get(achievementId)
  if (user === undefined || achievement === undefined || completion?.id !== name) return []
  const about = { type: 'achievement_completed' as const, achievementId, achievedAt: completion.at }
  const reason = { about, achievement }
  const messages = await messagesOf(queued, config, user, { reason, at, name, named: completion.at })
  return addressedEntry(user, at, name, messages)
}

declare module '../../../jobs/due-kinds.types' {
  interface DueKinds {
    completions: true
  }
}

/** Completed achievements that users are told of (N2). */
export const completionsJob: Job = {
  kind: 'completions',
  run: (context, work, { until }) => completionStep(context, work, until),
}
