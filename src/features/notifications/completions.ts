import { readTestClock } from '../../access/clock.sql.ts'
import { loadConfiguration, recentConfiguration } from '../../configuration/configuration.sql.ts'
import type { Configuration } from '../../configuration/model'
import { type Instant, instant } from '../../lib/clock'
import { MOST_AT_ONCE } from '../../lib/packed'
import { systemNow } from '../../lib/system-clock'
import type { TenantContext } from '../../platform/context'
import { configurationUnchanged, isConflict } from '../../platform/guard'
import type { UserState } from '../../rules/state'
import { defineJob } from '../../time/job'
import type { AddressedEntry } from '../../webhooks/outbox/outbox'
import { bytesOfEntries, insertEntriesOnce } from '../../webhooks/outbox/outbox.sql.ts'
import {
  deletePendingNotifications,
  duePendingNotifications,
  type PendingNotification,
  pendingNotificationsPresent,
  SKIPS,
} from '../../webhooks/outbox/pending.sql.ts'
import { addressedEntry, messagesOf, scheduledEntries } from './reasons'
import { slotsSkipped, timetableOf } from './schedule.rules'
import { readUsers } from './schedule.sql.ts'
import { type MessageBuilder, messageBuilderOf } from './templates/render'

/** The most notifications in one step. Long messages lower it. */
const CHUNK = 200
/** The most changes of zone in one step: each one takes some reads of its own. */
const MOST_SKIPS = 10

/**
 * Does one step of notifying users about completed achievements, and after changes of zone (N2). One guarded
 * batch writes the messages of the pending notifications that are due, and deletes those notifications.
 * Nothing happens if another isolate has done the step or the configuration has changed. `until` is the
 * moment up to which work is done.
 */
export async function completionStep(
  context: TenantContext,
  work: { dueAt: Instant },
  until: Instant,
): Promise<void> {
  const { db } = context
  const config = await recentConfiguration(context)
  // Under a test clock, other work that falls due in between has its turn. In real time, everything that is
  // due is sent at once.
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

/** The messages for the first of these notifications: as many as fit in one batch. */
async function messagesOfDue(
  context: TenantContext,
  config: Configuration,
  sending: readonly PendingNotification[],
): Promise<{ pending: PendingNotification[]; outboxEntries: AddressedEntry[] }> {
  const ids = [...new Set(sending.map(({ userId }) => userId))]
  const found = await readUsers(context.db, ids)
  const unread = new Set(ids.slice(found.covered))
  const users = new Map(found.users.map((user) => [user.iid, user]))
  const build = messageBuilderOf(context, config)
  const pending: PendingNotification[] = []
  const outboxEntries: AddressedEntry[] = []
  let bytes = 0
  for (const one of sending) {
    const skips = pending.filter(({ achievementId }) => achievementId === SKIPS)
    if (unread.has(one.userId) || bytes > MOST_AT_ONCE || skips.length === MOST_SKIPS) break
    const user = users.get(one.userIid)
    const own = await (one.achievementId === SKIPS
      ? skippedEntries(context, config, one.dueAt, user)
      : completionEntries(build, config, one, user))
    pending.push(one)
    outboxEntries.push(...own)
    bytes += bytesOfEntries(own)
  }
  return { pending, outboxEntries }
}

/** The messages with an hour that a change of zone skipped (N2). */
async function skippedEntries(
  context: TenantContext,
  config: Configuration,
  at: Instant,
  user: UserState | undefined,
): Promise<AddressedEntry[]> {
  if (user === undefined) return []
  const placed = slotsSkipped(timetableOf(config), user, at).map((slot) => ({ user, slot, at }))
  return (await scheduledEntries(context, config, placed)).outboxEntries
}

async function completionEntries(
  build: MessageBuilder,
  config: Configuration,
  { dueAt: at, id: name, achievementId }: PendingNotification,
  user: UserState | undefined,
): Promise<AddressedEntry[]> {
  const achievement = config.achievements.find(({ id }) => id === achievementId)
  const completion = user?.achievements.get(achievementId)
  if (user === undefined || achievement === undefined || completion?.id !== name) return []
  const about = { type: 'achievement_completed' as const, achievementId, achievedAt: completion.at }
  const reason = { about, achievement }
  const messages = await messagesOf(build, config, user, { reason, at, name, named: completion.at })
  return addressedEntry(user, at, name, messages)
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    completions: true
  }
}

/** Notifies users about completed achievements, and after changes of zone (N2). */
export const completionsJob = defineJob({
  kind: 'completions',
  of: 'users',
  step: (context, work, { until }) => completionStep(context, work, until),
})
