import type { TenantContext } from '../../context'
import { configurationUnchanged, isConflict } from '../../db/guard'
import type { UserState } from '../../engine/state'
import { civilDateOfDay } from '../../shared/civil'
import { type Instant, instant, systemNow } from '../../shared/clock'
import { namedId } from '../../shared/ids'
import { LAST_DAY, periodStart } from '../../shared/periods'
import { readTestClock } from '../clock/clock.repository'
import type { Configuration } from '../configuration/configuration'
import { loadConfiguration } from '../configuration/configuration.repository'
import { type Addressed, keepParcels } from '../outbox/parcels.repository'
import { historyBegins, wholeStreakAnswer } from '../streaks/streaks.answers'
import { dayIn } from '../streaks/streaks.rules'
import { type DueWork, rescheduled, workUnchanged } from '../timekeeper/timekeeper.repository'
import { isToldByWebhook } from './eligibility.rules'
import { type Due, messagesOf, type Occasion } from './occasions'
import {
  activeBetween,
  type Candidates,
  candidatesAfter,
  type Progress,
  parseProgress,
  readUsers,
  storeProgress,
  streakPasts,
  zonesAfter,
} from './schedule.repository'
import {
  ABSENCES,
  absence,
  isEmpty,
  isInDanger,
  nextMoment,
  recapPeriod,
  type Slot,
  slotsAt,
  type Timetable,
  timetableOf,
} from './schedule.rules'

/** Users of whom a step looks for zones, and at whom it looks at most; how many it tells something at most. */
const ZONES_CHUNK = 10_000
const MOST_LOOKED_AT = 10_000
const FIRST_LOOK = 1_000
const MOST_TOLD = 500
/** Periods of a streak's history that a reminder shows, as `GET /users/{id}/streak` does where nothing is said (S6). */
const HISTORY = 7
/** Users without a zone are in UTC (U1). */
const UTC = 'UTC'
const HOUR = 3_600_000
const DAY = 24 * HOUR

/** What a step stores. */
type Stored = { statements: readonly D1PreparedStatement[] }

/**
 * Does one step of telling users what comes at a time of their day (N2): so many users at a moment that has come, in one guarded batch of
 * outbox and progress. Where somebody else did the step, or the configuration moved, nothing happens. `until` is up to when work is done.
 */
export async function scheduleStep(context: TenantContext, work: DueWork, until: Instant): Promise<void> {
  const { db } = context
  const source = { db, configurations: context.instance.configurations }
  const config = source.configurations.get(db.tenantId) ?? (await loadConfiguration(source))
  const { statements } = await step(context, config, work, until)
  try {
    await db.batch([configurationUnchanged(db, config.version), workUnchanged(db, work), ...statements])
  } catch (error) {
    if (!isConflict(error)) throw error
    await loadConfiguration(source)
  }
}

async function step(
  context: TenantContext,
  config: Configuration,
  work: DueWork,
  until: Instant,
): Promise<Stored> {
  const { db } = context
  const timetable = timetableOf(config)
  if (isEmpty(timetable)) return { statements: [rescheduled(db, work, null)] }
  const progress = parseProgress(work.progress)
  if (progress === null || progress.through > until) {
    // From here on new zones are noted, so none is missed among those that are looked for. Where the clock went back, all begins anew.
    const begun = { zones: [], found: '', through: work.dueAt, since: {}, pass: null }
    return { statements: [storeProgress(db, begun, work.dueAt)] }
  }
  if (progress.found !== null) return findZones(context, progress, timetable, progress.found)
  if (progress.pass === null) {
    const at = momentAfter(timetable, progress)
    if (at === null) return { statements: [rescheduled(db, work, null)] }
    // What falls due before has its turn first.
    if (at > work.dueAt) return { statements: [storeProgress(db, progress, at)] }
    return pass(context, config, { ...progress, pass: { at, after: '', size: FIRST_LOOK } })
  }
  return pass(context, config, { ...progress, pass: progress.pass })
}

const zonesOf = ({ zones }: Progress) => [...new Set([UTC, ...zones])]
const momentAfter = (timetable: Timetable, progress: Progress) =>
  nextMoment(timetable, zonesOf(progress), progress.through)

async function findZones(
  { db }: TenantContext,
  progress: Progress,
  timetable: Timetable,
  after: string,
): Promise<Stored> {
  const { zones, last } = await zonesAfter(db, after, ZONES_CHUNK)
  const next = { ...progress, zones: [...new Set([...progress.zones, ...zones])], found: last }
  const dueAt = last === null ? (momentAfter(timetable, next) ?? next.through) : next.through
  return { statements: [storeProgress(db, next, dueAt)] }
}

/** Tells the next users of a pass what is due for them at its moment. */
async function pass(
  context: TenantContext,
  config: Configuration,
  progress: Progress & { pass: NonNullable<Progress['pass']> },
): Promise<Stored> {
  const { db } = context
  const { at, after, size } = progress.pass
  const timetable = timetableOf(config)
  const slots = slotsAt(timetable, zonesOf(progress), at, progress.since)
  const wanted = candidatesOf(timetable, slots)
  const { ids, last } =
    slots.length === 0 ? { ids: [], last: null } : await candidatesAfter(db, after, size, wanted)
  const users = await readUsers(db, ids.slice(0, MOST_TOLD))
  const parcels = await parcelsOf(context, config, slots, at, users)
  const reached = ids.length > MOST_TOLD ? (ids[MOST_TOLD - 1] ?? last) : last
  const next: Progress =
    reached === null
      ? { ...progress, through: at, pass: null }
      : { ...progress, pass: { at, after: reached, size: sizeAfter(size, ids.length) } }
  const dueAt = reached === null ? (momentAfter(timetable, next) ?? at) : at
  return { statements: [...keepParcels(db, parcels), storeProgress(db, next, dueAt)] }
}

/** How many users to look at next, so that a step tells neither too many something nor looks at too few. */
function sizeAfter(size: number, found: number): number {
  if (found > MOST_TOLD) return Math.max(MOST_TOLD, Math.floor(size / 2))
  return found * 4 < MOST_TOLD ? Math.min(MOST_LOOKED_AT, size * 2) : size
}

function candidatesOf(timetable: Timetable, slots: readonly Slot[]): Candidates {
  const daysOf = (type: Slot['types'][number]) =>
    slots.filter(({ types }) => types.includes(type)).map(({ day }) => day)
  const { recap, streak_reminder: reminder } = timetable
  const recaps = recap === null ? [] : daysOf('recap').map((day) => recapPeriod(day, recap).start)
  const reminders =
    reminder === null ? [] : daysOf('streak_reminder').map((day) => periodStart(day, reminder))
  return {
    zones: slots.map(({ zone }) => zone),
    activeDays: [...new Set(daysOf('reactivation'))].flatMap((day) => ABSENCES.map((days) => day - days)),
    // A traveller's last event may have an earlier date than the one before it.
    activeFrom: recaps.length === 0 ? null : Math.min(...recaps) - 1,
    streakBefore: reminders.length === 0 ? null : Math.max(...reminders),
  }
}

/** What there is to tell users at a moment, one parcel each. */
async function parcelsOf(
  context: TenantContext,
  config: Configuration,
  slots: readonly Slot[],
  at: Instant,
  users: readonly UserState[],
): Promise<Addressed[]> {
  const occasions = await occasionsOf(context, config, slots, at, users)
  const parcels: Addressed[] = []
  for (const user of users) {
    const dues = occasions.get(user.iid) ?? []
    const messages = (await Promise.all(dues.map((due) => messagesOf(context, config, user, due)))).flat()
    if (messages.length === 0) continue
    const parcel = { at, seq: user.seq, id: namedId(at, user.iid), userIid: user.iid, messages }
    parcels.push({ parcel, userId: user.id })
  }
  return parcels
}

/** What is due for users at a moment, by our own ids (N2). */
async function occasionsOf(
  context: TenantContext,
  config: Configuration,
  slots: readonly Slot[],
  at: Instant,
  users: readonly UserState[],
): Promise<ReadonlyMap<string, Due[]>> {
  const { db } = context
  const timetable = timetableOf(config)
  const placed = users.flatMap((user) => {
    const slot = slots.find(({ zone }) => zone === (user.profile.tz ?? UTC))
    return slot === undefined ? [] : [{ user, slot }]
  })
  const due = new Map<string, Due[]>()
  const add = ({ user, slot: { day, hour } }: (typeof placed)[number], occasion: Occasion) => {
    const named = instant(Math.min(day, LAST_DAY) * DAY + hour * HOUR)
    due.set(user.iid, [...(due.get(user.iid) ?? []), { occasion, at, name: civilDateOfDay(day), named }])
  }
  const having = (type: Slot['types'][number]) => placed.filter(({ slot }) => slot.types.includes(type))
  for (const one of having('reactivation')) {
    const found = absence(one.user.activeDay, one.slot.day)
    if (found === null) continue
    const reactivation = { messageNumber: found.number, daysSinceLastActive: found.days }
    add(one, { type: 'reactivation', reactivation })
  }
  const recaps = having('recap')
  const [first] = recaps
  if (timetable.recap !== null && first !== undefined) {
    // Mondays and first days are of one date all over the world, at one moment.
    const period = recapPeriod(first.slot.day, timetable.recap)
    const recap = { periodStart: civilDateOfDay(period.start), periodEnd: civilDateOfDay(period.end) }
    const isSure = ({ activeDay }: UserState) =>
      activeDay !== null && activeDay >= period.start && activeDay <= period.end
    const others = recaps.filter(
      ({ user }) => !isSure(user) && user.activeDay !== null && user.activeDay >= period.start - 1,
    )
    const active = await activeBetween(
      db,
      others.map(({ user }) => user),
      period,
    )
    for (const one of recaps)
      if (isSure(one.user) || active.has(one.user.iid)) add(one, { type: 'recap', recap })
  }
  const reminded = await stillTheirDay(context, at, having('streak_reminder'))
  const inDanger = reminded.filter(({ user }) => isInDanger(config, user, at))
  const asked = inDanger.map(({ user }) => ({
    iid: user.iid,
    since: historyBegins(config, user, at, HISTORY),
  }))
  const isShown = inDanger.some(({ user }) => isToldByWebhook(config, user, 'streak_reminder'))
  const { past, pauses } = await streakPasts(db, isShown ? asked : [])
  for (const one of inDanger) {
    const { iid } = one.user
    const known = { historyPeriods: HISTORY, past: past.get(iid) ?? [], pauses: pauses.get(iid) ?? [] }
    add(one, { type: 'streak_reminder', streak: wholeStreakAnswer(config, one.user, at, known) })
  }
  return due
}

/** Those whose local date is not over: after an outage, nobody is reminded of what can't be mended any more (N2). */
async function stillTheirDay<T extends { user: UserState; slot: Slot }>(
  { db }: TenantContext,
  at: Instant,
  placed: readonly T[],
): Promise<readonly T[]> {
  if (placed.length === 0) return placed
  // Under a set clock nothing is late.
  const present = (await readTestClock(db)) === null ? Math.max(systemNow(), at) : at
  return placed.filter(({ user, slot }) => dayIn(user.profile.tz, present) === slot.day)
}
