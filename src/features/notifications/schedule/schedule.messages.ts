import { readTestClock } from '../../../access/clock.repository'
import type { Configuration } from '../../../config/configuration.types'
import type { UserState } from '../../../engine/state.types'
import { civilDateOfDay } from '../../../lib/civil'
import { type Instant, instant } from '../../../lib/clock'
import { fromMicros, micros } from '../../../lib/decimal'
import { MOST_AT_ONCE } from '../../../lib/packed'
import { LAST_DAY } from '../../../lib/periods'
import { systemNow } from '../../../lib/system-clock'
import { DAY, HOUR } from '../../../lib/units'
import { canonicalZone, dayIn } from '../../../lib/zone'
import { UTC } from '../../../outbox/notifications.rules'
import type { AddressedEntry } from '../../../outbox/outbox.messages'
import { bytesOfEntries } from '../../../outbox/outbox.repository'
import type { TenantContext } from '../../../runtime/context'
import { historyBegins, wholeStreakResponse } from '../../../wire/presenters/streak.presenter'
import type { RecapReason } from '../notifications.types'
import type { Due, NotificationReason } from '../reasons.types'
import { messageBuilderOf } from '../templates/render.service'
import { templatesFor } from '../templates/templates.rules'
import { addressedEntry, messagesOf } from './reasons.service'
import { activeBetween, gainsBetween, streakPasts } from './schedule.repository'
import { absence, isInDanger, recapPeriod, type Slot, timetableOf } from './schedule.rules'
import { isSentByWebhook } from './sent-by-webhook.rules'

/** Periods of a streak's history that a reminder shows: the default of `GET /users/{id}/streak` (S6). */
const HISTORY = 7

/**
 * Outbox entries for users at a moment, separate for each user. `handled` is how many of the users fit in one
 * batch, from the first on.
 */
export async function scheduledEntries(
  context: TenantContext,
  config: Configuration,
  slots: readonly Slot[],
  at: Instant,
  users: readonly UserState[],
): Promise<{ outboxEntries: AddressedEntry[]; handled: number }> {
  const reasons = await reasonsOf(context, config, slots, at, users)
  const build = messageBuilderOf(context, config)
  const outboxEntries: AddressedEntry[] = []
  let bytes = 0
  for (const [handled, user] of users.entries()) {
    if (bytes > MOST_AT_ONCE) return { outboxEntries, handled }
    const dues = reasons.get(user.iid) ?? []
    const messages = (await Promise.all(dues.map((due) => messagesOf(build, config, user, due)))).flat()
    const own = addressedEntry(user, at, user.iid, messages)
    outboxEntries.push(...own)
    bytes += bytesOfEntries(own)
  }
  return { outboxEntries, handled: users.length }
}

/** A user, and the slot of the user's zone. */
type Placed = { user: UserState; slot: Slot }
type Found = { placed: Placed; reason: NotificationReason }

/** The reasons to notify users at a moment, by the users' iids (N2). */
async function reasonsOf(
  context: TenantContext,
  config: Configuration,
  slots: readonly Slot[],
  at: Instant,
  users: readonly UserState[],
): Promise<ReadonlyMap<string, Due[]>> {
  const placed = users.flatMap((user) => {
    const slot = slots.find(({ zone }) => zone === canonicalZone(user.profile.tz ?? UTC))
    return slot === undefined ? [] : [{ user, slot }]
  })
  const having = (type: Slot['types'][number]) => placed.filter(({ slot }) => slot.types.includes(type))
  const found = [
    ...reactivations(having('reactivation')),
    ...(await recaps(context, config, having('recap'))),
    ...(await reminders(context, config, at, having('streak_reminder'))),
  ]
  const dues = found.map(({ placed: { user, slot }, reason }) => {
    // The same in every zone. A user who travels and reaches the date again is not notified again.
    const named = instant(Math.min(slot.day, LAST_DAY) * DAY + slot.hour * HOUR)
    return { iid: user.iid, due: { reason, at, name: civilDateOfDay(slot.day), named } }
  })
  const byUser = Map.groupBy(dues, ({ iid }) => iid)
  return new Map([...byUser].map(([iid, list]) => [iid, list.map(({ due }) => due)]))
}

function reactivations(all: readonly Placed[]): Found[] {
  return all.flatMap((placed) => {
    const found = absence(placed.user.activeDay, placed.slot.day)
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
  const isSure = ({ activeDay }: UserState) =>
    activeDay !== null && activeDay >= period.start && activeDay <= period.end
  const unsure = all.filter(({ user }) => !isSure(user) && (user.activeDay ?? 0) >= period.start - 1)
  const active = await activeBetween(
    db,
    unsure.map(({ user }) => user),
    period,
  )
  const had = all.filter(({ user }) => isSure(user) || active.has(user.iid))
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

type Gains = Pick<RecapReason, 'metrics' | 'points'>

/** The users' gains in a period, and their totals at its end. Nothing is read if no template shows them. */
async function gainsOf(
  db: TenantContext['db'],
  config: Configuration,
  placed: readonly Placed[],
  period: { start: number; end: number },
): Promise<(user: UserState) => Gains> {
  const people = placed.map(({ user }) => user)
  const isShown = people.some((user) => templatesFor(config, user, 'recap').length > 0)
  const { metrics, systems } = config
  const known = await gainsBetween(db, isShown ? people : [], period)
  return ({ iid, metrics: counters, points }) => ({
    metrics: metrics.flatMap(({ id }) => {
      const { change = 0, later = 0 } = known.get(`${iid} ${id}`) ?? {}
      const total = micros((counters.get(id)?.total ?? 0) - later)
      return change === 0
        ? []
        : [{ metricId: id, change: fromMicros(micros(change)), total: fromMicros(total) }]
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
  at: Instant,
  all: readonly Placed[],
): Promise<Found[]> {
  const inDanger = (await stillTheirDay(context, at, all)).filter(({ user }) => isInDanger(config, user, at))
  const isShown = inDanger.some(({ user }) => isSentByWebhook(config, user, 'streak_reminder'))
  const asked = inDanger.map(({ user }) => ({
    iid: user.iid,
    since: historyBegins(config, user, at, HISTORY),
  }))
  const { past, pauses } = await streakPasts(context.db, isShown ? asked : [])
  return inDanger.map((placed) => {
    const { user } = placed
    const known = { past: past.get(user.iid) ?? [], pauses: pauses.get(user.iid) ?? [] }
    const streak = wholeStreakResponse(config, user, at, { historyPeriods: HISTORY, ...known })
    return { placed, reason: { about: { type: 'streak_reminder' }, streak } }
  })
}

/**
 * The users whose local date is not over. After an outage, a reminder for a past day would come too late
 * (N2).
 */
async function stillTheirDay(
  { db }: TenantContext,
  at: Instant,
  placed: readonly Placed[],
): Promise<readonly Placed[]> {
  if (placed.length === 0) return placed
  // Under a test clock, no notification is late.
  const present = (await readTestClock(db)) === null ? Math.max(systemNow(), at) : at
  return placed.filter(({ user, slot }) => dayIn(user.profile.tz, present) === slot.day)
}
