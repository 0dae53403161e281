import { readTestClock } from '../../access/clock.sql.ts'
import { guardedStep, loadConfiguration, recentConfiguration } from '../../configuration/configuration'
import type { Configuration } from '../../configuration/model'
import { DAY, type Instant, instant } from '../../lib/clock'
import { MOST_AT_ONCE } from '../../lib/packed'
import { systemNow } from '../../lib/system-clock'
import { canonicalZone, periodStart } from '../../lib/zone'
import type { TenantContext } from '../../platform/context'
import type { Statement, TenantDatabase } from '../../platform/database'
import { configurationUnchanged, nullIfConflict } from '../../platform/guard'
import type { UserState } from '../../rules/state'
import { scheduleForUsers, type Work } from '../../time/due-work.sql.ts'
import { defineJob } from '../../time/job'
import { REACTIVATION_DAYS, UTC } from '../../webhooks/outbox/notifications.rules'
import type { AddressedEntry } from '../../webhooks/outbox/outbox'
import { bytesOfEntries, insertEntriesOnce } from '../../webhooks/outbox/outbox.sql.ts'
import {
  deletePendingNotifications,
  duePendingNotifications,
  PENDING_AT_MOST,
  type PendingNotification,
  pendingNotificationsPresent,
  SKIPS,
} from '../../webhooks/outbox/pending.sql.ts'
import { hasBoostListeners } from '../points/boost-events'
import { addressedEntry, messagesOf, scheduledEntries } from './reasons'
import {
  isEmpty,
  newlyWanted,
  nextMoment,
  recapPeriod,
  type Slot,
  slotsAt,
  slotsSkipped,
  type Timetable,
  timetableOf,
  zoneBefore,
} from './schedule.rules'
import {
  type Candidates,
  candidatesAfter,
  type Progress,
  readUsers,
  ScheduleProgress,
  withZones,
  zonesAfter,
} from './schedule.sql.ts'
import { type MessageBuilder, messageBuilderOf } from './templates/render'

/**
 * The statements to store with every change of webhooks, templates or schedule settings, so that new
 * listeners get events in time and none from before the change (N5, W6).
 */
export function listenerStatements(
  db: TenantDatabase,
  before: Configuration,
  after: Configuration,
  now: Instant,
): Statement[] {
  const [was, is] = [timetableOf(before), timetableOf(after)]
  const joining = newlyWanted(was, is)
  const since = Object.fromEntries(joining.map((type) => [type, now]))
  const again = { at: now, on: 'again' } as const
  const statements: Statement[] = []
  if (joining.length > 0) {
    const how = isEmpty(was) ? again : ({ at: now, on: 'sooner', patch: { since } } as const)
    statements.push(scheduleForUsers(db, 'schedule', how))
  }
  if (hasBoostListeners(after) && !hasBoostListeners(before)) {
    statements.push(scheduleForUsers(db, 'boosts', again))
  }
  return statements
}

/** Limits of one step: users whose zones are read, users who are looked at, and users who are notified. */
const ZONES_CHUNK = 10_000
const MOST_LOOKED_AT = 10_000
const FIRST_LOOK = 1_000
const MOST_RECIPIENTS = 500
const FEWEST_RECIPIENTS = 10
/** The most characters of templates in a step, so that its messages fit in memory several times. */
const MOST_WRITTEN = 4_000_000
/** The most moments for which a step looks for candidates at once, if there are few users. */
const MOST_MOMENTS = 32

/** No zone is known yet. The search begins with the first user. */
const LOOKING = { zones: [], aliases: [], found: '' }

/** What all parts of a step need. `most` is how many users it may notify. */
type Step = {
  context: TenantContext
  config: Configuration
  timetable: Timetable
  work: Work<Progress>
  most: number
}
type Statements = readonly Statement[]

async function step(
  context: TenantContext,
  config: Configuration,
  work: Work<Progress>,
  { until, by }: { until: Instant; by: Instant },
): Promise<Statements> {
  const timetable = timetableOf(config)
  if (isEmpty(timetable)) return [work.end()]
  const { progress } = work
  if (progress === null || progress.through > until) {
    // From now on a trigger adds each new zone, so the search misses none. If the clock went back, the search
    // begins again.
    const begun = { ...LOOKING, looked: work.dueAt, through: work.dueAt, since: {}, sweep: null }
    return [work.goOn(begun, work.dueAt)]
  }
  const all: Step = { context, config, timetable, work, most: maxRecipients(config) }
  if (progress.found !== null) return findZones(all, { ...progress, found: progress.found })
  if (progress.sweep !== null) return goOn(all, { ...progress, sweep: progress.sweep })
  const at = momentAfter(timetable, progress)
  if (at === null) return [work.end()]
  // Other work that is due before has its turn first.
  if (at > work.dueAt) return [work.goOn(progress, at)]
  return begin(all, progress, { first: at, by })
}

/** The zones in which users may be notified. Users without a zone are in UTC. */
const zonesOf = ({ zones }: Progress) => [...new Set([UTC, ...zones])]
/** All names that users have for the zones of these slots. */
const namesOf = ({ aliases }: Progress, slots: readonly Slot[]) => {
  const zones = new Set(slots.map(({ zone }) => zone))
  return [...zones, ...aliases.filter((name) => zones.has(canonicalZone(name)))]
}
const slotsOf = (timetable: Timetable, progress: Progress, at: Instant) =>
  slotsAt(timetable, zonesOf(progress), at, progress.since)
const momentAfter = (timetable: Timetable, progress: Progress) =>
  nextMoment(timetable, zonesOf(progress), progress.through)

async function findZones(
  { context, timetable, work }: Step,
  progress: Progress & { found: string },
): Promise<Statements> {
  const { zones, last } = await zonesAfter(context.db, progress.found, ZONES_CHUNK)
  const known = [...progress.zones, ...progress.aliases, ...zones]
  const next = { ...withZones(progress, known), found: last }
  const dueAt = last === null ? (momentAfter(timetable, next) ?? next.through) : next.through
  return [work.goOn(next, dueAt)]
}

/** Begins at the first due moment; if one look covers all users, at the first one with candidates. */
async function begin(
  all: Step,
  progress: Progress,
  { first, by }: { first: Instant; by: Instant },
): Promise<Statements> {
  const { context, timetable, work, most } = all
  const zones = zonesOf(progress)
  const moments = [first]
  for (let at: Instant | null = first; moments.length < MOST_MOMENTS; moments.push(at)) {
    at = nextMoment(timetable, zones, at)
    if (at === null || at > by) break
  }
  const questions = moments.map((at) => candidatesOf(timetable, progress, at))
  const looks = await candidatesAfter(context.db, '', { limit: FIRST_LOOK, most: most + 1 }, questions)
  const found = looks.findIndex(({ ids, last }) => ids.length > 0 || last !== null)
  const n = found === -1 ? moments.length - 1 : found
  const [before, due] = [moments[n - 1], moments[n]]
  if (found > 0 && before !== undefined && due !== undefined) {
    // No user is notified before `due`. This step ends here, so that other work has its turn before it.
    return [work.goOn({ ...progress, through: before }, due)]
  }
  const sweep = { at: due ?? first, after: '', size: FIRST_LOOK }
  return notifyFound(all, { ...progress, sweep }, looks[n])
}

type UnderWay = Progress & { sweep: NonNullable<Progress['sweep']> }

async function goOn(all: Step, progress: UnderWay): Promise<Statements> {
  const { context, timetable, most } = all
  const { at, after, size } = progress.sweep
  const [look] = await candidatesAfter(context.db, after, { limit: size, most: most + 1 }, [
    candidatesOf(timetable, progress, at),
  ])
  return notifyFound(all, progress, look)
}

/** `ids` are the candidates, and `last` is the last user who was looked at; null at the end. */
async function notifyFound(
  { context, config, timetable, work, most }: Step,
  progress: UnderWay,
  { ids, last }: { ids: readonly string[]; last: string | null } = { ids: [], last: null },
): Promise<Statements> {
  const { db } = context
  const { at, size } = progress.sweep
  const slots = slotsOf(timetable, progress, at)
  const { users, covered } = await readUsers(db, ids.slice(0, most))
  const placed = users.flatMap((user) => {
    const slot = slots.find(({ zone }) => zone === canonicalZone(zoneBefore(user, at)))
    return slot === undefined ? [] : [{ user, slot, at }]
  })
  const { outboxEntries, handled } = await scheduledEntries(context, config, placed)
  // Users who do not fit in this step have their turn in the next one.
  const lastHandled = handled < placed.length ? placed[handled - 1]?.user.id : ids[covered - 1]
  const isAll = handled === placed.length && covered === ids.length
  const reached = isAll ? last : (lastHandled ?? last)
  const [next, dueAt] =
    reached === null
      ? ended(progress, timetable, at)
      : [{ ...progress, sweep: { at, after: reached, size: sizeAfter(size, ids.length, most) } }, at]
  return [...insertEntriesOnce(db, outboxEntries), work.goOn(next, dueAt)]
}

/** The progress, and when it continues. Once a day zones are read again, so that those without users go. */
function ended(progress: Progress, timetable: Timetable, at: Instant): [Progress, Instant] {
  const next = { ...progress, through: at, sweep: null }
  return at - progress.looked < DAY
    ? [next, momentAfter(timetable, next) ?? at]
    : [{ ...next, ...LOOKING, looked: at }, at]
}

/** The most users that a step notifies. Long templates lower it: see `MOST_WRITTEN`. */
function maxRecipients({ templates }: Pick<Configuration, 'templates'>): number {
  const lengths = templates.map(({ status, title, body }) =>
    status === 'active' ? title.length + body.length : 0,
  )
  const most = Math.floor(MOST_WRITTEN / Math.max(1, ...lengths))
  return Math.min(MOST_RECIPIENTS, Math.max(FEWEST_RECIPIENTS, most))
}

/** How many users to look at next: below the limit of notified users, with few steps without candidates. */
function sizeAfter(size: number, found: number, most: number): number {
  if (found > most) return Math.max(most, Math.floor(size / 2))
  return found * 4 < most ? Math.min(MOST_LOOKED_AT, size * 2) : size
}

function candidatesOf(timetable: Timetable, progress: Progress, at: Instant): Candidates {
  const slots = slotsOf(timetable, progress, at)
  const daysOf = (type: Slot['types'][number]) =>
    slots.filter(({ types }) => types.includes(type)).map(({ day }) => day)
  const { recap, streak_reminder: reminder } = timetable
  const recaps = recap === null ? [] : daysOf('recap').map((day) => recapPeriod(day, recap).start)
  const reminders =
    reminder === null ? [] : daysOf('streak_reminder').map((day) => periodStart(day, reminder))
  return {
    zones: namesOf(progress, slots),
    at,
    activeDays: [...new Set(daysOf('reactivation'))].flatMap((day) =>
      REACTIVATION_DAYS.map((days) => day - days),
    ),
    // If a user travels, the last event may have an earlier date than the one before it.
    activeFrom: recaps.length === 0 ? null : Math.min(...recaps) - 1,
    streakBefore: reminders.length === 0 ? null : Math.max(...reminders),
  }
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    schedule: true
    completions: true
  }
}

/**
 * Notifies users at times of their day (N2). One guarded batch stores the outbox entries of some users at a
 * moment that is due, and the progress.
 */
export const scheduleJob = defineJob({
  kind: 'schedule',
  of: 'users',
  furthest: 33 * DAY,
  progress: ScheduleProgress,
  step: (context, work, { until, next }) => {
    const by = next === null ? until : instant(Math.min(until, next - 1))
    return guardedStep(context, work, (config) => step(context, config, work, { until, by }))
  },
})

/** The most notifications in one step. Long messages lower it. */
const MOST_PENDING = 200
/** The most changes of zone in one step: each one takes some reads of its own. */
const MOST_SKIPS = 10

/**
 * Does one step for completed achievements and changes of zone (N2): one guarded batch writes the messages
 * that are due up to `until`, and deletes their pending notifications.
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
  const isClockSet = (await readTestClock(db)) !== null
  const by = isClockSet ? work.dueAt : instant(Math.max(work.dueAt, Math.min(until, systemNow())))
  const { pending, outboxEntries } = await messagesOfDue(
    context,
    config,
    await duePendingNotifications(db, by, MOST_PENDING),
  )
  const statements = [
    configurationUnchanged(db, config.version),
    pendingNotificationsPresent(db, pending),
    ...insertEntriesOnce(db, outboxEntries),
    ...deletePendingNotifications(db, pending),
  ]
  if ((await db.batch(statements).catch(nullIfConflict)) === null) await loadConfiguration(context)
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

/** Notifies users about completed achievements, and after changes of zone (N2). */
export const completionsJob = defineJob({
  kind: 'completions',
  of: 'users',
  furthest: PENDING_AT_MOST,
  step: (context, work, { until }) => completionStep(context, work, until),
})
