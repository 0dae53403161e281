import type { TenantContext } from '../../context'
import type { TenantDatabase } from '../../db/database'
import { configurationUnchanged, isConflict, type Unmoved } from '../../db/guard'
import type { Change } from '../../engine/happen'
import type { UserState } from '../../engine/state'
import { type Instant, instant, systemNow } from '../../shared/clock'
import { MOST_AT_ONCE } from '../../shared/packed'
import { readTestClock } from '../clock/clock.repository'
import type { Configuration } from '../configuration/configuration'
import { loadConfiguration } from '../configuration/configuration.repository'
import { type Addressed, bytesOfParcels, keepParcels } from '../outbox/outbox.repository'
import { type DueWork, makeDue } from '../timekeeper/timekeeper.repository'
import { dueNotices, forgetNotices, keepNotices, type Notice, noticesPresent } from './notices.repository'
import { type Letters, lettersOf } from './notify'
import { addressed, messagesOf } from './occasions'
import { readUsers } from './schedule.repository'
import { isWanted, noticeMoment, UTC } from './schedule.rules'

/** Notices of which a step tells, unless what it tells is long. */
const CHUNK = 200

/** Whether anybody wants users to be told of completed achievements (N5). */
const wantsCompletions = (config: Configuration): boolean => isWanted(config, 'achievement_completed')

/**
 * What notes that users are to be told of the achievements that changes have completed, each at its time of the user's day (N2): for the batch
 * that stores the changes. Nothing while nobody wants it. Who is told is decided when the time has come.
 */
export function noticesOf(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly Pick<Change, 'after' | 'completed'>[],
  among: Unmoved,
): D1PreparedStatement[] {
  if (changes.every(({ completed }) => completed.length === 0) || !wantsCompletions(config)) return []
  const notices = changes.flatMap(({ after, completed }) => {
    const { id: userId, iid: userIid, control, profile } = after
    if (control) return []
    return completed.flatMap((achievementId) => {
      const completion = after.achievements.get(achievementId)
      if (completion === undefined) return []
      const dueAt = noticeMoment(completion.at, profile.tz ?? UTC)
      return [{ dueAt, id: completion.id, userId, userIid, achievementId }]
    })
  })
  if (notices.length === 0) return []
  const first = instant(Math.min(...notices.map(({ dueAt }) => dueAt)))
  return [...keepNotices(db, notices, among), makeDue(db, 'notices', '', first)]
}

/**
 * Does one step of telling users of completed achievements (N2): so many whose time has come, in one guarded batch that forgets them. Where
 * somebody else did the step, or the configuration moved, nothing happens. `until` is up to when work is done.
 */
export async function noticeStep(context: TenantContext, work: DueWork, until: Instant): Promise<void> {
  const { db } = context
  const source = { db, configurations: context.instance.configurations }
  const config = source.configurations.get(db.tenantId) ?? (await loadConfiguration(source))
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
    await loadConfiguration(source)
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
