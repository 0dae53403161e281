import * as z from 'zod'
import { pauseFields } from '../../../api/shapes/streaks'
import { userResponse } from '../../../api/shapes/users'
import { Streamed } from '../../../api/streams'
import { configurationOf } from '../../../configuration/configuration'
import { NOTIFICATION_CHANNELS } from '../../../configuration/enumerations'
import type { Configuration, Leaderboard } from '../../../configuration/model'
import type { HeldAsked, HeldRun, HeldRuns } from '../../../leaderboards/board'
import { asked } from '../../../leaderboards/leaderboards'
import { type Instant, instant, iso, isoOrNull } from '../../../lib/clock'
import { fromMicros, micros } from '../../../lib/decimal'
import { errors } from '../../../lib/errors'
import { systemNow } from '../../../lib/system-clock'
import { dateOfDay, uncheckedDateAt } from '../../../lib/zone'
import type { Scope } from '../../../platform/context'
import { OPEN_END } from '../../../rules/points/boosts.rules'
import type { Counter, UserState } from '../../../rules/state'
import { ANY_METRIC, type StreakRun } from '../../../rules/streaks/streak-state.rules'
import type { StoredStreakEntry } from '../../../store/events.sql.ts'
import type {
  Destination,
  HeldMessage,
  Held as HeldMessages,
  Place,
} from '../../../webhooks/delivery/messages'
import { deliveryQueueOf } from '../../../webhooks/delivery/queue'
import { userStreak } from '../../streaks/streaks.routes'
import {
  AWARDS,
  adjustmentKeyPages,
  CHANGES,
  EVENTS,
  type Held,
  isPresent,
  pagesOfUser,
  parkedPages,
  type RowOf,
  readHeld,
  usedKeyPages,
  VOIDED,
  waitingPages,
} from './export.sql.ts'
import type { UserExport } from './shape'

type Export = z.input<typeof UserExport>

/** The ids of configured items with their keys; null if the item was deleted. */
function namesOf({ metrics, systems, achievements, attributes }: Configuration) {
  const keyIn = (list: readonly { id: string; key: string }[]) => {
    const keys = new Map(list.map(({ id, key }) => [id, key]))
    return (id: string) => keys.get(id) ?? null
  }
  const [ofMetric, ofSystem] = [keyIn(metrics), keyIn(systems)]
  const [ofAchievement, ofAttribute] = [keyIn(achievements), keyIn(attributes)]
  return {
    metric: (metricId: string) => ({ metricId, metricKey: ofMetric(metricId) }),
    system: (systemId: string) => ({ systemId, systemKey: ofSystem(systemId) }),
    achievement: (achievementId: string) => ({ achievementId, achievementKey: ofAchievement(achievementId) }),
    attributes: (values: Iterable<readonly [string, string]>) =>
      [...values].map(([id, value]) => ({ id, key: ofAttribute(id), value })),
  }
}
type Names = ReturnType<typeof namesOf>

/** A moment (E8). Called for up to a million events, so the date is made without checks. */
const momentOf = ({ at, utcOffset }: { at: Instant; utcOffset: number }) => ({
  date: iso(at),
  localDate: uncheckedDateAt(at, utcOffset),
  utcOffsetMinutes: utcOffset,
})

const inUnits = ({ total, highest }: Counter) => ({ total: fromMicros(total), highest: fromMicros(highest) })

/** A user's running totals and completed achievements. */
const totalsOf = (names: Names, { metrics, counters, points, achievements, revoked }: UserState) => ({
  metrics: [...metrics].map(([id, counter]) => ({ ...names.metric(id), ...inUnits(counter) })),
  counters: [...counters].map(([id, counter]) => ({ id, ...inUnits(counter) })),
  points: [...points].map(([id, total]) => ({ ...names.system(id), total })),
  achievements: [...achievements].map(([achievementId, { id, ...at }]) => ({
    id,
    ...names.achievement(achievementId),
    ...momentOf(at),
  })),
  revokedAchievements: [...revoked].map((mark) => {
    const [achievementId = mark, triggerId = null] = mark.split(' ')
    return { ...names.achievement(achievementId), triggerId }
  }),
})

/** A user's preferences, including settings that do not apply now (U7). */
function preferencesOf(
  names: Names,
  { preferences: { notifications, streak } }: UserState,
): Export['preferences'] {
  const { enabled, evaluationMode, metrics, daysOff } = streak
  const channels = Object.entries(notifications).map(([type, list]) => [type, [...list]])
  return {
    notifications: Object.fromEntries(channels),
    streak: {
      ...(enabled !== undefined && { enabled }),
      ...(evaluationMode !== undefined && { evaluationMode }),
      ...(metrics !== undefined && {
        metrics: metrics.map(({ metricId, threshold }) => ({
          ...names.metric(metricId),
          threshold: fromMicros(micros(threshold)),
        })),
      }),
      ...(daysOff !== undefined && { daysOff: [...daysOff] }),
    },
  }
}

const runOf = ({ started, first, last, history, length }: StreakRun) => ({
  started: dateOfDay(started),
  firstPeriod: dateOfDay(first),
  lastPeriod: dateOfDay(last),
  periods: history,
  length,
})

const exportedStreakEntry = ({ pause, ...entry }: z.output<typeof StoredStreakEntry>) => ({
  ...entry,
  ...(pause && { pause: pauseFields(pause) }),
})

/** A user's streak: current, as stored, and past runs. */
function streakOf(
  names: Names,
  { user: { streak }, runs, pauses }: Held,
  now: Export['streak']['now'],
): Export['streak'] {
  const { frequency, run, freezes, sums, jumps, resets, spared, altered } = streak
  return {
    now,
    stored: {
      frequency,
      run:
        run === null
          ? null
          : { ...runOf(run), extended: isoOrNull(run.extended), restored: isoOrNull(run.restored ?? null) },
      freezes,
      sums: sums.flatMap(([period, changes]) =>
        changes
          .filter(([metricId]) => metricId !== ANY_METRIC)
          .map(([metricId, change]) => ({
            period: dateOfDay(period),
            ...names.metric(metricId),
            change: fromMicros(change),
          })),
      ),
      zoneChanges: jumps.map(([at, from, to]) => ({
        date: iso(instant(at)),
        from: dateOfDay(from),
        to: dateOfDay(to),
      })),
      resets: resets.map(([at, day, , length]) => ({
        date: iso(instant(at)),
        localDate: dateOfDay(day),
        length,
      })),
      spared: spared === null ? null : dateOfDay(spared),
      altered: isoOrNull(altered),
    },
    // A past run with the same start as the current one is not over: it was restored (S8).
    past: runs
      .filter(({ first }) => first !== run?.first)
      .map((past) => ({ ...runOf(past), lost: isoOrNull(past.lost) })),
    pauses: pauses.map((pause) => ({ ...pauseFields(pause), deleted: isoOrNull(pause.deleted) })),
  }
}

/** The other data of a user that is short: own boosts and keys. */
const belongingsOf = (names: Names, { boosts, keys }: Held) => ({
  boosts: boosts.map(({ id, systemId, name, start, end, multiplier, rounding, ...times }) => ({
    id,
    ...names.system(systemId),
    name,
    start,
    end: end === OPEN_END ? null : end,
    multiplier,
    rounding,
    created: iso(instant(times.created)),
    updated: iso(instant(times.updated)),
    deleted: isoOrNull(times.deleted),
  })),
  applicationKeys: keys.map(({ created, expires, ...key }) => ({
    ...key,
    expires: isoOrNull(expires),
    created: iso(created),
  })),
})

/** The leaderboards that are read at once. */
const BOARDS = 10
/** The periods of the streak as the API shows it. The export has the whole history as well. */
const PERIODS = 7

/** The stored data of a user, without the parts that may be long. Throws 404 if there is no such user. */
export async function findHeld({ db, databases }: Scope, userId: string): Promise<Held> {
  const held = await readHeld(db, databases.home(db.tenantId), userId, systemNow())
  if (held === null) throw errors.notFound('This user')
  return held
}

/**
 * All stored data of a user (U8), as of the last change when the user was found. Long parts are read page by
 * page while the response is sent. The response breaks off with an error if a part can't be read, or if the
 * user is erased in between.
 */
export async function exportUser(scope: Scope, held: Held): Promise<Streamed<Export>> {
  const { db, now, databases } = scope
  const home = databases.home(db.tenantId)
  const { user } = held
  const config = await configurationOf(scope)
  const names = namesOf(config)
  return new Streamed<Export>({
    exported: iso(now),
    user: userResponse(config, user),
    attributes: names.attributes(user.profile.attributes),
    preferences: preferencesOf(names, user),
    ...totalsOf(names, user),
    streak: streakOf(names, held, await userStreak(scope, user, PERIODS)),
    ...belongingsOf(names, held),
    waitingEvents: mapped(waitingPages(db, home, held), ({ batchId, position, event }) => {
      const { metricKey: key, idempotencyKey, body } = event
      return { batchId, position, key, idempotencyKey, ...body }
    }),
    parkedEvents: parkedPages(home, held),
    events: mapped(pagesOfUser(db, EVENTS, user), (event) => exportedEvent(names, event)),
    voidedEvents: mapped(pagesOfUser(db, VOIDED, user), (event) => ({
      ...exportedEvent(names, event),
      voided: iso(event.voidedAt),
      reason: event.reason,
    })),
    awards: mapped(pagesOfUser(db, AWARDS, user), (award) => exportedAward(names, award)),
    changes: mapped(pagesOfUser(db, CHANGES, user), ({ at, content: { fields, streak } }) => ({
      date: iso(at),
      fields: fields.map(([field, before, after]) => ({ field, before, after })),
      streak: streak.map(exportedStreakEntry),
    })),
    idempotencyKeys: mapped(usedKeyPages(db, user), ({ metricId, key, eventId }) => ({
      ...names.metric(metricId),
      key,
      eventId,
    })),
    adjustmentKeys: mapped(adjustmentKeyPages(db, user), ({ systemId, key, awardId }) => ({
      ...names.system(systemId),
      key,
      awardId,
    })),
    deliveries: deliveries(scope, config, user),
    notifications: notifications(scope, user),
    leaderboards: places(scope, config, user),
  })
}

async function* mapped<T, R>(
  pages: AsyncIterable<readonly T[]>,
  answer: (item: T) => R,
): AsyncGenerator<R[]> {
  for await (const page of pages) yield page.map(answer)
}

const exportedEvent = (names: Names, event: RowOf<typeof EVENTS>) => ({
  id: event.id,
  ...names.metric(event.metricId),
  value: fromMicros(event.value),
  ...momentOf(event),
  attributes: names.attributes(Object.entries(event.content)),
  streak: (event.streak ?? []).map(exportedStreakEntry),
})

const exportedAward = (names: Names, award: RowOf<typeof AWARDS>) => ({
  id: award.id,
  ...names.system(award.systemId),
  triggerId: award.triggerId,
  awarded: award.awarded,
  total: award.total,
  ...momentOf(award),
  boosts: award.content,
  counter:
    award.counterBefore === null || award.counterAfter === null
      ? null
      : { before: fromMicros(award.counterBefore), after: fromMicros(award.counterAfter) },
  level: award.levels && { before: award.levels[0], after: award.levels[1] },
  ...(award.type !== null && {
    type: award.type,
    amount: award.amount,
    reason: award.reason,
    reverses: award.reverses,
  }),
})

/** Deliveries of webhook events about a user, sent and pending, by webhook, oldest first. */
async function* deliveries(
  scope: Scope,
  { webhooks }: Configuration,
  user: UserState,
): AsyncGenerator<Export['deliveries']> {
  const tenantId = scope.tenant.id
  for (const { id: webhookId } of webhooks)
    for await (const page of messages(scope, { kind: 'webhook', tenantId, webhookId }, user))
      yield page.map((message) => ({ webhookId, event: message.event, ...deliveryOf(message) }))
}

/** Notifications to a user, sent and pending, by channel, oldest first. */
async function* notifications(scope: Scope, user: UserState): AsyncGenerator<Export['notifications']> {
  for (const channel of NOTIFICATION_CHANNELS)
    for await (const page of messages(scope, { kind: channel, tenantId: scope.tenant.id }, user))
      yield page.map((message) => ({ channel, type: message.event, ...deliveryOf(message) }))
}

async function* messages(
  scope: Scope,
  destination: Destination,
  { iid }: UserState,
): AsyncGenerator<HeldMessage[]> {
  for (let after: Place | null = null; ; ) {
    const found: HeldMessages = await deliveryQueueOf(scope, destination).held({ iid, after })
    yield found.messages
    after = found.messages.at(-1)?.place ?? null
    if (!found.hasMore) return
  }
}

const deliveryOf = ({ place: _, event: __, body, created, nextAttempt, ...rest }: HeldMessage) => ({
  ...rest,
  created: iso(created),
  nextAttempt: isoOrNull(nextAttempt),
  payload: JSON.parse(body),
})

/** Throws at the end if the user was erased in between: the places may be incomplete then. */
async function* places(
  scope: Scope,
  { leaderboards }: Configuration,
  user: UserState,
): AsyncGenerator<Export['leaderboards']> {
  for (let from = 0; from < leaderboards.length; from += BOARDS) {
    const group = leaderboards.slice(from, from + BOARDS)
    const pages = group.map((board) => placesOn(scope, board, user))
    const firsts = await Promise.all(pages.map((page) => page.next()))
    for (const [index, first] of firsts.entries()) {
      if (first.done) continue
      yield first.value
      yield* pages[index] ?? []
    }
  }
  if (!(await isPresent(scope.db, user))) throw new Error('the user was erased while the export was read')
}

const Group = z.array(z.string())

/** A user's places in all runs of a leaderboard, in as many parts as the object's responses. */
async function* placesOn(
  scope: Scope,
  board: Leaderboard,
  { id: userId, iid }: UserState,
): AsyncGenerator<Export['leaderboards'], undefined> {
  let after: number | null = null
  for (;;) {
    const request: HeldAsked = { userId, iid, after }
    const found: HeldRuns = await asked(scope, board, (object) => object.held(request))
    yield found.runs.map((run) => exportedPlace(board, run))
    if (!found.hasMore) return
    after = found.runs.at(-1)?.start ?? null
  }
}

const exportedPlace = (board: Leaderboard, run: HeldRun): Export['leaderboards'][number] => ({
  leaderboardId: board.id,
  leaderboardKey: board.key,
  start: dateOfDay(run.start),
  end: run.end === null ? null : dateOfDay(run.end),
  isFinal: run.isFinal,
  group: run.group === null ? null : Group.parse(JSON.parse(run.group)),
  rank: run.rank,
  value: run.score,
  reached: run.reached === 0 ? null : iso(instant(run.reached)),
  history: run.history.map(({ day, score, rank }) => ({ date: dateOfDay(day), rank, value: score })),
})
