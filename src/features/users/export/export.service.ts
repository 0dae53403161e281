import * as z from 'zod'
import { userResponse } from '../../../api/shapes/user.presenter'
import { Streamed } from '../../../api/streams/json-stream'
import { configurationOf } from '../../../configuration/configuration.service'
import type { Configuration, Leaderboard } from '../../../configuration/configuration.types'
import { HeldReply } from '../../../leaderboards/board.messages'
import { asked } from '../../../leaderboards/leaderboards.service'
import { instant, iso } from '../../../lib/clock'
import { fromMicros } from '../../../lib/decimal'
import { errors } from '../../../lib/errors'
import { systemNow } from '../../../lib/system-clock'
import { dateOfDay } from '../../../lib/zone'
import type { Scope } from '../../../platform/context'
import type { UserState } from '../../../rules/state.types'
import { userStreak } from '../../streaks/streaks.service'
import {
  attributesOf,
  belongingsOf,
  exportedStreakEntry,
  type Keys,
  keysOf,
  momentOf,
  preferencesOf,
  streakOf,
  totalsOf,
} from './export.presenter'
import { type Held, isPresent, parkedPages, readHeld, waitingPages } from './export.repository'
import type { UserExport } from './export.schemas'
import { deliveries, notifications } from './export-deliveries.service'
import {
  adjustmentKeyPages,
  awardPages,
  changePages,
  eventPages,
  usedKeyPages,
  voidedPages,
} from './export-log.repository'

type Export = z.input<typeof UserExport>

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
  const keys = keysOf(config)
  return new Streamed<Export>({
    exported: iso(now),
    user: userResponse(config, user),
    attributes: attributesOf(keys, user.profile.attributes),
    preferences: preferencesOf(keys, user),
    ...totalsOf(keys, user),
    streak: streakOf(keys, held, await userStreak(scope, user, PERIODS)),
    ...belongingsOf(keys, held),
    waitingEvents: mapped(
      waitingPages(db, home, held),
      ({ batchId, position, event: { metricKey, idempotencyKey, body } }) => ({
        batchId,
        position,
        key: metricKey,
        idempotencyKey,
        ...body,
      }),
    ),
    parkedEvents: parkedPages(home, held),
    events: mapped(eventPages(db, user), (event) => exportedEvent(keys, event)),
    voidedEvents: mapped(voidedPages(db, user), (event) => ({
      ...exportedEvent(keys, event),
      voided: iso(event.voidedAt),
      reason: event.reason,
    })),
    awards: mapped(awardPages(db, user), (award) => exportedAward(keys, award)),
    changes: mapped(changePages(db, user), ({ at, fields, streak }) => ({
      date: iso(at),
      fields: fields.map(([field, before, after]) => ({ field, before, after })),
      streak: streak.map(exportedStreakEntry),
    })),
    idempotencyKeys: mapped(usedKeyPages(db, user), ({ metricId, key, eventId }) => ({
      metricId,
      metricKey: keys.metric(metricId),
      key,
      eventId,
    })),
    adjustmentKeys: mapped(adjustmentKeyPages(db, user), ({ systemId, key, awardId }) => ({
      systemId,
      systemKey: keys.system(systemId),
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

type Rows<P extends (...args: never) => AsyncGenerator<unknown[]>> =
  ReturnType<P> extends AsyncGenerator<(infer R)[]> ? R : never

const exportedEvent = (keys: Keys, event: Rows<typeof eventPages>): Export['events'][number] => ({
  id: event.id,
  metricId: event.metricId,
  metricKey: keys.metric(event.metricId),
  value: fromMicros(event.value),
  ...momentOf(event),
  attributes: attributesOf(keys, Object.entries(event.attributes)),
  streak: (event.streak ?? []).map(exportedStreakEntry),
})

const exportedAward = (keys: Keys, award: Rows<typeof awardPages>): Export['awards'][number] => ({
  id: award.id,
  systemId: award.systemId,
  systemKey: keys.system(award.systemId),
  triggerId: award.triggerId,
  awarded: award.awarded,
  total: award.total,
  ...momentOf(award),
  boosts: award.boosts,
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
    const request: { userId: string; iid: string; after: number | null } = { userId, iid, after }
    const found: z.output<typeof HeldReply> = await asked(scope, board, HeldReply, (object) =>
      object.held(request),
    )
    yield found.runs.map((run) => exportedPlace(board, run))
    if (!found.hasMore) return
    after = found.runs.at(-1)?.start ?? null
  }
}

const exportedPlace = (
  board: Leaderboard,
  run: z.output<typeof HeldReply>['runs'][number],
): Export['leaderboards'][number] => ({
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
