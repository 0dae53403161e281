import { readTestClock } from '../../access/clock.sql.ts'
import { userAchievementResponse } from '../../api/shapes/achievements'
import { historyBegins, wholeStreakResponse } from '../../api/shapes/streaks'
import { userResponse } from '../../api/shapes/users'
import type { Configuration } from '../../configuration/model'
import { DAY, HOUR, type Instant, instant, iso } from '../../lib/clock'
import { fromMicros } from '../../lib/decimal'
import { namedId } from '../../lib/ids'
import { MOST_AT_ONCE } from '../../lib/packed'
import { systemNow } from '../../lib/system-clock'
import { civilDateOfDay, dayIn, LAST_DAY, periodStart } from '../../lib/zone'
import type { TenantContext } from '../../platform/context'
import type { UserState } from '../../rules/state'
import { pausesOfSeveral, runsOfSeveral } from '../../store/users/streaks.sql.ts'
import { draftOf, type EventDraft } from '../../webhooks/events'
import {
  type AddressedEntry,
  type Message,
  NOTIFICATION_MESSAGES,
  splitIntoEntries,
} from '../../webhooks/outbox/outbox'
import { bytesOfEntries } from '../../webhooks/outbox/outbox.sql.ts'
import { type Due, type Reason, type RecapReason, templatesFor } from './notification'
import { absence, isInDanger, isSentByWebhook, recapPeriod, type Slot, timetableOf } from './schedule.rules'
import { activeBetween, gainsBetween } from './schedule.sql.ts'
import { type MessageBuilder, messageBuilderOf } from './templates/render'

/** All messages to a user for one reason (N1, N5). The same reason gives the same ids each time. */
export async function messagesOf(
  build: MessageBuilder,
  config: Configuration,
  user: UserState,
  due: Due,
): Promise<Message[]> {
  const { reason, at, name, named } = due
  const { type } = reason.about
  const idOf = (way: string) => namedId(named, JSON.stringify([user.iid, type, way, name]))
  const messages: Message[] = []
  if (isSentByWebhook(config, user, type)) {
    messages.push({ id: idOf('webhook'), ...draftOfReason(config, user, at, reason) })
  }
  for (const template of templatesFor(config, user, type)) {
    const { channel } = template
    const body = await build(user, due, template)
    messages.push({ id: idOf(channel), type: NOTIFICATION_MESSAGES[channel], body })
  }
  return messages
}

/** Outbox entries for a user's messages. The same `name` gives the same ids each time. */
export function addressedEntry(
  { id: userId, iid: userIid, seq }: Pick<UserState, 'id' | 'iid' | 'seq'>,
  at: Instant,
  name: string,
  messages: readonly Message[],
): AddressedEntry[] {
  const idOf = (n: number) => namedId(at, n === 0 ? name : `${name} ${n}`)
  return splitIntoEntries({ at, seq, userIid }, messages, idOf).map((outboxEntry) => ({
    outboxEntry,
    userId,
  }))
}

/** The webhook event for a reason, without its id. */
function draftOfReason(config: Configuration, user: UserState, at: Instant, reason: Reason): EventDraft {
  const due = { timestamp: iso(at), user: userResponse(config, user) }
  if ('achievement' in reason) {
    const { id } = reason.achievement
    const achievement = userAchievementResponse(config, reason.achievement, user.achievements.get(id))
    return draftOf('emails.achievement_due', { ...due, achievement })
  }
  if ('streak' in reason) return draftOf('emails.streak_reminder_due', { ...due, streak: reason.streak })
  const { about } = reason
  if (about.type === 'recap') {
    const { periodStart, periodEnd } = about
    return draftOf('emails.recap_due', { ...due, recap: { periodStart, periodEnd } })
  }
  const { messageNumber, daysSinceLastActive } = about
  return draftOf('emails.reactivation_due', { ...due, reactivation: { messageNumber, daysSinceLastActive } })
}

/** Periods of a streak's history that a reminder shows: the default of `GET /users/{id}/streak` (S6). */
const HISTORY = 7

/** A user who may be notified at a moment, and the slot: the types, and their local day and hour. */
export type Placed = { user: UserState; slot: Slot; at: Instant }
type Found = { placed: Placed; reason: Reason }

/** Outbox entries for users. `handled` is how many of them fit in one batch, from the first on. */
export async function scheduledEntries(
  context: TenantContext,
  config: Configuration,
  all: readonly Placed[],
): Promise<{ outboxEntries: AddressedEntry[]; handled: number }> {
  const found = Map.groupBy(await reasonsOf(context, config, all), ({ placed }) => placed)
  const build = messageBuilderOf(context, config)
  const outboxEntries: AddressedEntry[] = []
  let bytes = 0
  for (const [handled, placed] of all.entries()) {
    if (bytes > MOST_AT_ONCE) return { outboxEntries, handled }
    const { user, at, slot } = placed
    const reasons = found.get(placed) ?? []
    const dues = reasons.map(({ reason }) => messagesOf(build, config, user, dueOf(placed, reason)))
    const messages = (await Promise.all(dues)).flat()
    const own = addressedEntry(user, at, `${user.iid} ${slot.day} ${slot.types}`, messages)
    outboxEntries.push(...own)
    bytes += bytesOfEntries(own)
  }
  return { outboxEntries, handled: all.length }
}

function dueOf({ slot: { day, hour }, at }: Placed, reason: Reason): Due {
  // The same in every zone. A user who travels and reaches the hour again is not notified again.
  const named = instant(Math.min(day, LAST_DAY) * DAY + hour * HOUR)
  return { reason, at, name: civilDateOfDay(day), named }
}

async function reasonsOf(
  context: TenantContext,
  config: Configuration,
  all: readonly Placed[],
): Promise<Found[]> {
  const having = (type: Slot['types'][number]) => all.filter(({ slot }) => slot.types.includes(type))
  return [
    ...(await reactivations(context, having('reactivation'))),
    ...(await recaps(context, config, having('recap'))),
    ...(await reminders(context, config, having('streak_reminder'))),
  ]
}

async function reactivations({ db }: TenantContext, all: readonly Placed[]): Promise<Found[]> {
  const iids = all.map(({ user }) => user.iid)
  const pauses = iids.length === 0 ? null : await pausesOfSeveral(db, iids)
  return all.flatMap((placed) => {
    const found = absence(placed.user.activeDay, placed.slot.day, pauses?.get(placed.user.iid))
    if (found === null) return []
    const about = { messageNumber: found.number, daysSinceLastActive: found.days }
    return [{ placed, reason: { about: { type: 'reactivation', ...about } } }]
  })
}

async function recaps(
  { db }: TenantContext,
  config: Configuration,
  all: readonly Placed[],
): Promise<Found[]> {
  const rhythm = timetableOf(config).recap
  const [first] = all
  if ((rhythm !== 'weekly' && rhythm !== 'monthly') || first === undefined) return []
  // At one moment, all zones with a recap have the same date: the first day of a period.
  const period = recapPeriod(first.slot.day, rhythm)
  // The last event may have an earlier date than the one before it, if the user travelled.
  const maybe = all.filter(({ user }) => (user.activeDay ?? 0) >= period.start - 1)
  const active = await activeBetween(
    db,
    maybe.map(({ user }) => user),
    period,
  )
  const had = maybe.filter(({ user }) => active.has(user.iid))
  const gains = await gainsOf(db, config, had, period)
  const common = {
    type: 'recap' as const,
    frequency: rhythm,
    periodStart: civilDateOfDay(period.start),
    periodEnd: civilDateOfDay(period.end),
  }
  return had.map((placed) => {
    const { metrics, points } = gains(placed.user)
    return { placed, reason: { about: { ...common, metrics, points } } }
  })
}

/** The users' gains in a period, and their totals at its end. Nothing is read if no template shows them. */
async function gainsOf(
  db: TenantContext['db'],
  config: Configuration,
  placed: readonly Placed[],
  period: { start: number; end: number },
): Promise<(user: UserState) => Pick<RecapReason, 'metrics' | 'points'>> {
  const people = placed.map(({ user }) => user)
  const isShown = people.some((user) => templatesFor(config, user, 'recap').length > 0)
  const { metrics, systems } = config
  const known = await gainsBetween(db, isShown ? people : [], period)
  return ({ iid, metrics: counters, points }) => ({
    metrics: metrics.flatMap(({ id }) => {
      const { change = 0, later = 0 } = known.get(`${iid} ${id}`) ?? {}
      const total = (counters.get(id)?.total ?? 0) - later
      return change === 0 ? [] : [{ metricId: id, change: fromMicros(change), total: fromMicros(total) }]
    }),
    points: systems.flatMap(({ id }) => {
      const { change = 0, later = 0 } = known.get(`${iid} ${id}`) ?? {}
      return change === 0 ? [] : [{ systemId: id, change, total: (points.get(id) ?? 0) - later }]
    }),
  })
}

async function reminders(
  context: TenantContext,
  config: Configuration,
  all: readonly Placed[],
): Promise<Found[]> {
  const inTime = await stillTheirPeriod(context, config, all)
  const inDanger = inTime.filter(({ user, at }) => isInDanger(config, user, at))
  const isShown = inDanger.some(({ user }) => isSentByWebhook(config, user, 'streak_reminder'))
  const asked = inDanger.map(({ user, at }) => ({
    iid: user.iid,
    since: historyBegins(config, user.profile.tz, at, HISTORY),
  }))
  // Past runs and pauses are not in the users' rows.
  const past = isShown ? await runsOfSeveral(context.db, asked) : null
  const iids = asked.map(({ iid }) => iid)
  const pauses = isShown ? await pausesOfSeveral(context.db, iids, 'living') : null
  return inDanger.map((placed) => {
    const { user, at } = placed
    const known = { past: past?.get(user.iid) ?? [], pauses: pauses?.get(user.iid) ?? [] }
    const streak = wholeStreakResponse(config, user, at, { historyPeriods: HISTORY, ...known })
    return { placed, reason: { about: { type: 'streak_reminder' }, streak } }
  })
}

/** The users whose period is not over. A reminder of a past period would come too late (N2). */
async function stillTheirPeriod(
  { db }: TenantContext,
  { streaks: { frequency } }: Configuration,
  all: readonly Placed[],
): Promise<readonly Placed[]> {
  if (all.length === 0) return all
  // Under a test clock, no notification is late.
  const isClockSet = (await readTestClock(db)) !== null
  return all.filter(({ user, slot, at }) => {
    const today = dayIn(user.profile.tz, isClockSet ? at : Math.max(systemNow(), at))
    return periodStart(today, frequency) === periodStart(slot.day, frequency)
  })
}
