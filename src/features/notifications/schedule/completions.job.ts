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
import type { Addressed } from '../../../outbox/outbox.messages'
import { bytesOfParcels, keepParcels } from '../../../outbox/outbox.repository'
import {
  dueNotices,
  forgetNotices,
  type Notice,
  noticesPresent,
} from '../../../outbox/pending-notifications.repository'
import type { TenantContext } from '../../../runtime/context'
import { type Letters, lettersOf } from '../templates/letters.service'
import { addressed, messagesOf } from './occasions.service'
import { readUsers } from './schedule.repository'

/** Notices of which a step tells, unless what it tells is long. */
const CHUNK = 200

/**
 * Does one step of telling users of completed achievements (N2): so many whose time has come, in one guarded batch that forgets them. Where
 * somebody else did the step, or the configuration moved, nothing happens. `until` is up to when work is done.
 */
export async function noticeStep(context: TenantContext, work: DueWork, until: Instant): Promise<void> {
  const { db } = context
  const config = await recentConfiguration(context)
  // Under a set clock what falls due in between has its turn; in real time, whatever has come is told at once.
  const isSet = (await readTestClock(db)) !== null
  const by = isSet ? work.dueAt : instant(Math.max(work.dueAt, Math.min(until, systemNow())))
  const { notices, parcels } = await toldOf(context, config, await dueNotices(db, by, CHUNK))
  try {
    await db.batch([
      configurationUnchanged(db, config.version),
      noticesPresent(db, notices),
      ...keepParcels(db, parcels),
      ...forgetNotices(db, notices),
    ])
  } catch (error) {
    if (!isConflict(error)) throw error
    await loadConfiguration(context)
  }
}

/** What there is to tell of the first of these notices, of as many as one batch has room for. */
async function toldOf(
  context: TenantContext,
  config: Configuration,
  due: readonly Notice[],
): Promise<{ notices: Notice[]; parcels: Addressed[] }> {
  const ids = [...new Set(due.map(({ userId }) => userId))]
  const found = await readUsers(context.db, ids)
  const unread = new Set(ids.slice(found.covered))
  const users = new Map(found.users.map((user) => [user.iid, user]))
  const letters = lettersOf(context, config)
  const notices: Notice[] = []
  const parcels: Addressed[] = []
  let bytes = 0
  for (const notice of due) {
    if (unread.has(notice.userId) || bytes > MOST_AT_ONCE) break
    const own = await noticeParcels(letters, config, notice, users.get(notice.userIid))
    notices.push(notice)
    parcels.push(...own)
    bytes += bytesOfParcels(own)
  }
  return { notices, parcels }
}

async function noticeParcels(
  letters: Letters,
  config: Configuration,
  { dueAt: at, id: name, achievementId }: Notice,
  user: UserState | undefined,
): Promise<Addressed[]> {
  const achievement = config.achievements.find(({ id }) => id === achievementId)
  const completion = user?.achievements.get(achievementId)
  if (user === undefined || achievement === undefined || completion?.id !== name) return []
  const told = { type: 'achievement_completed' as const, achievementId, achievedAt: completion.at }
  const occasion = { told, achievement }
  const messages = await messagesOf(letters, config, user, { occasion, at, name, named: completion.at })
  return addressed(user, at, name, messages)
}

declare module '../../../jobs/due-kinds.types' {
  interface DueKinds {
    notices: true
  }
}

/** Completed achievements that users are told of (N2). */
export const completionsJob: Job = {
  kind: 'notices',
  run: (context, work, { until }) => noticeStep(context, work, until),
}
