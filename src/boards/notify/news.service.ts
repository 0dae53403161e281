import type * as z from 'zod'
import type { Configuration, Leaderboard } from '../../config/configuration.types'
import { handOver } from '../../delivery/dispatch.service'
import type { Run } from '../../engine/runs.rules'
import type { UserState } from '../../engine/state.types'
import type { Instant } from '../../lib/clock'
import { childId } from '../../lib/ids'
import { dateOfDay } from '../../lib/zone'
import type { Message, Parcel } from '../../outbox/outbox.messages'
import type { TenantContext } from '../../runtime/context'
import { readPortion } from '../../store/portions.repository'
import { namesOf, userOf } from '../../store/users.repository'
import { filtersAnswer } from '../../wire/presenters/attributes.presenter'
import { leaderboardFields } from '../../wire/presenters/leaderboard.presenter'
import { userAnswer } from '../../wire/presenters/user.presenter'
import type { WebhookLeaderboardResponse, WebhookUserLeaderboardResponse } from '../../wire/webhook.schemas'
import type { Fact, NewsRow, Place } from './news.messages'

/** One thing to tell, of a row of the leaderboard's outbox; null if it has gone with an erased user. */
type Telling = { id: string; at: Instant; fact: Fact | null }

/**
 * Hands what a leaderboard has to tell over to the couriers, with users as they are now. Throws where a courier can't be reached: the
 * leaderboard keeps it until this has succeeded, and its ids stay the same (W2).
 */
export async function tellNews(
  context: TenantContext,
  config: Configuration,
  board: Leaderboard,
  news: readonly NewsRow[],
  now: Instant,
): Promise<void> {
  const unreachable = new Map<string, unknown>()
  const all = news.flatMap(({ id, at, facts }) =>
    facts.map((fact, index): Telling => ({ id: childId(id, index), at, fact })),
  )
  const names = await namesOf(context.db, [...new Set(all.flatMap(mentioned))])
  // Whoever has another rank is told of whole: as many at a time as there is room for.
  for (let left = all; left.length > 0; ) {
    const ids = [...new Set(left.flatMap(({ fact }) => (fact && 'iid' in fact ? fact.userId : [])))]
    const { rows, covered } = await readPortion(context.db, ids)
    const users = new Map(rows.map(userOf).map((user) => [user.iid, user]))
    const unread = new Set(ids.slice(covered))
    const end = left.findIndex(({ fact }) => fact && 'iid' in fact && unread.has(fact.userId))
    const some = end === -1 ? left : left.slice(0, end)
    const parcels = some.flatMap((one) => parcelOf(config, board, { users, names }, one) ?? [])
    await handOver(context, config, parcels, now, unreachable)
    left = left.slice(some.length)
  }
  for (const [name, error] of unreachable) throw new Error(`the courier ${name} was not reached: ${error}`)
}

function parcelOf(
  config: Configuration,
  board: Leaderboard,
  known: Known,
  { id, at, fact }: Telling,
): Parcel | null {
  const body = fact && bodyOf(config, board, known, fact, at)
  if (body === null || fact === null) return null
  const message: Message = { id, type: fact.type, body }
  const userIid = 'iid' in fact ? fact.iid : null
  // What is about no user of a leaderboard goes in its order.
  const order = userIid === null ? { subject: `board:${board.id}` } : {}
  return { at, seq: 0, id, userIid, ...order, messages: [message] }
}

/** What is known of users who are still there, by our own ids: those who are told of, and the names of those who are among the first. */
type Known = { users: ReadonlyMap<string, UserState>; names: ReadonlyMap<string, string | null> }

/** Those who are among the first in what is told. */
const mentioned = ({ fact }: Telling): string[] =>
  fact && 'top' in fact ? fact.top.map(([userId]) => userId) : []

/** What is sent, but for its type; null where it is about somebody who is gone (U8). */
function bodyOf(
  config: Configuration,
  board: Leaderboard,
  { users, names }: Known,
  fact: Fact,
  at: Instant,
): Message['body'] | null {
  const leaderboard = { ...runFields(config, board, fact.run, at), ...groupFields(config, fact) }
  if (!('iid' in fact)) {
    const rankings = rankingsOf(names, 'top' in fact ? fact.top : [])
    return { leaderboard: { ...leaderboard, rankings } satisfies WithRankings }
  }
  const user = users.get(fact.iid)
  if (user === undefined) return null
  const { rank, value, previousRank, previousValue } = fact
  const place = { rank, value, previousRank, previousValue }
  return { user: userAnswer(config, user), leaderboard: { ...leaderboard, ...place } satisfies WithPlace }
}

type WithRankings = z.infer<typeof WebhookLeaderboardResponse>
type WithPlace = z.infer<typeof WebhookUserLeaderboardResponse>

/** The fields of a leaderboard, with the first and the last day of the run that it is about, as an event's answer has them (L11). */
function runFields(config: Configuration, board: Leaderboard, { start, end }: Run, at: Instant) {
  return {
    ...leaderboardFields(config, board, at),
    start: dateOfDay(start),
    end: end === null ? null : dateOfDay(end),
  }
}

/** The group that a fact is about, and what it says of the status: a run that is final is finished, although others may follow. */
function groupFields(
  config: Configuration,
  fact: Fact,
): Partial<Pick<WithRankings, 'userAttributes' | 'status'>> {
  const group = 'group' in fact ? fact.group : []
  const filters = group.map(([attributeId, attributeValue]) => ({ attributeId, attributeValue }))
  return {
    ...(filters.length > 0 && { userAttributes: filtersAnswer(config, filters) }),
    ...(fact.type === 'leaderboard.finished' && { status: 'finished' }),
  }
}

const rankingsOf = (names: Known['names'], top: readonly Place[]): WithRankings['rankings'] =>
  top.flatMap(([userId, iid, rank, value]) => {
    const userName = names.get(iid)
    return userName === undefined ? [] : [{ userId, userName, rank, value }]
  })
