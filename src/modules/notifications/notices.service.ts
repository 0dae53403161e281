import type { TenantContext } from '../../context'
import { configurationUnchanged, isConflict } from '../../db/guard'
import type { UserState } from '../../engine/state'
import { type Instant, instant, systemNow } from '../../shared/clock'
import { namedId } from '../../shared/ids'
import { readTestClock } from '../clock/clock.repository'
import type { Configuration } from '../configuration/configuration'
import { loadConfiguration } from '../configuration/configuration.repository'
import { type Addressed, keepParcels } from '../outbox/parcels.repository'
import { type DueWork, makeDue } from '../timekeeper/timekeeper.repository'
import { dueNotices, forgetNotices, keepNotices, type Notice, noticesPresent } from './notices.repository'
import { messagesOf } from './occasions'
import { readUsers } from './schedule.repository'
import { isWanted, noticeMoment } from './schedule.rules'

/** Notices of which a step tells. */
const CHUNK = 200

/** That somebody has completed an achievement: when, the caller's id of the user and ours, and an id of its own. */
export type Completed = {
  at: Instant
  userId: string
  userIid: string
  achievementId: string
  completionId: string
}

/** Whether anybody wants users to be told of completed achievements (N5). */
export const wantsCompletions = (config: Configuration): boolean => isWanted(config, 'achievement_completed')

/**
 * What notes that users are to be told of completed achievements, each at its time of the user's day (N2): for the batch that forgets why.
 * Doing it twice does no harm. Those who are gone are not among them; who is told is decided when the time has come.
 */
export async function scheduleCompletions(
  { db }: TenantContext,
  config: Configuration,
  completions: readonly Completed[],
): Promise<D1PreparedStatement[]> {
  if (completions.length === 0 || !wantsCompletions(config)) return []
  const users = await readUsers(db, [...new Set(completions.map(({ userId }) => userId))])
  const zones = new Map(users.map(({ iid, profile }) => [iid, profile.tz ?? 'UTC']))
  const notices = completions.flatMap(({ at, userId, userIid, achievementId, completionId }) => {
    const zone = zones.get(userIid)
    if (zone === undefined) return []
    return [{ dueAt: noticeMoment(at, zone), id: completionId, userId, userIid, achievementId }]
  })
  if (notices.length === 0) return []
  const first = instant(Math.min(...notices.map(({ dueAt }) => dueAt)))
  return [keepNotices(db, notices), makeDue(db, 'notices', '', first)]
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
  const notices = await dueNotices(db, by, CHUNK)
  const parcels = await parcelsOf(context, config, notices)
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

async function parcelsOf(
  context: TenantContext,
  config: Configuration,
  notices: readonly Notice[],
): Promise<Addressed[]> {
  const ids = [...new Set(notices.map(({ userId }) => userId))]
  const users = new Map((await readUsers(context.db, ids)).map((user) => [user.iid, user]))
  const parcels = await Promise.all(
    notices.map((notice) => parcelOf(context, config, notice, users.get(notice.userIid))),
  )
  return parcels.filter((parcel) => parcel !== null)
}

async function parcelOf(
  context: TenantContext,
  config: Configuration,
  { dueAt: at, id: name, achievementId }: Notice,
  user: UserState | undefined,
): Promise<Addressed | null> {
  const achievement = config.achievements.find(({ id }) => id === achievementId)
  const completion = user?.achievements.get(achievementId)
  if (user === undefined || achievement === undefined || completion?.id !== name) return null
  const occasion = { type: 'achievement_completed' as const, achievement }
  const messages = await messagesOf(context, config, user, { occasion, at, name, named: completion.at })
  if (messages.length === 0) return null
  const parcel = { at, seq: user.seq, id: namedId(at, name), userIid: user.iid, messages }
  return { parcel, userId: user.id }
}
