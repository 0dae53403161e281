import type * as z from 'zod'
import type { TenantContext } from '../../context'
import type { UserState } from '../../engine/state'
import { type Instant, systemNow } from '../../shared/clock'
import { childId } from '../../shared/ids'
import { filtersAnswer } from '../attributes/attributes.answers'
import type { Configuration, Leaderboard } from '../configuration/configuration'
import { handOver } from '../outbox/hand-over.service'
import type { Message, Parcel } from '../outbox/outbox'
import { userAnswer } from '../users/users.answers'
import { userOf, usersStatement } from '../users/users.repository'
import type { WebhookLeaderboardResponse, WebhookUserLeaderboardResponse } from '../webhooks/payloads'
import { leaderboardFields } from './leaderboards.answers'
import type { Fact, NewsRow, Place } from './news.messages'
import { dateOf, type Run } from './runs.rules'

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
  const users = await usersIn(context, news)
  const parcels = news.flatMap(({ id, at, facts }) =>
    facts.flatMap((fact, index): Parcel[] => {
      const body = fact && bodyOf(config, board, users, fact, at)
      if (body === null || fact === null) return []
      const message: Message = { id: childId(id, index), type: fact.type, body }
      const userIid = 'iid' in fact ? fact.iid : null
      // What is about no user of a leaderboard goes in its order.
      const order = userIid === null ? { subject: `board:${board.id}` } : {}
      return [{ at, seq: 0, id: message.id, userIid, ...order, messages: [message] }]
    }),
  )
  const unreachable = new Map<string, unknown>()
  await handOver(context, config, parcels, now, unreachable)
  for (const [name, error] of unreachable) throw new Error(`the courier ${name} was not reached: ${error}`)
}

type Users = ReadonlyMap<string, UserState>

/** Those of the users whom rows mention who are still there, by our own ids. */
async function usersIn({ db }: TenantContext, news: readonly NewsRow[]): Promise<Users> {
  const ids = news.flatMap(({ facts }) =>
    facts.flatMap((fact) => {
      if (fact === null) return []
      if ('top' in fact) return fact.top.map(([userId]) => userId)
      return 'iid' in fact ? [fact.userId] : []
    }),
  )
  if (ids.length === 0) return new Map()
  const rows = await db.rows(usersStatement(db, { ids: [...new Set(ids)] }, systemNow()))
  return new Map(rows.map(userOf).map((user) => [user.iid, user]))
}

/** What is sent, but for its type; null where it is about somebody who is gone (U8). */
function bodyOf(
  config: Configuration,
  board: Leaderboard,
  users: Users,
  fact: Fact,
  at: Instant,
): Message['body'] | null {
  const leaderboard = { ...runFields(config, board, fact.run, at), ...groupFields(config, fact) }
  if (!('iid' in fact)) {
    const rankings = rankingsOf(users, 'top' in fact ? fact.top : [])
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
    start: dateOf(start),
    end: end === null ? null : dateOf(end),
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

const rankingsOf = (users: Users, top: readonly Place[]): WithRankings['rankings'] =>
  top.flatMap(([userId, iid, rank, value]) => {
    const user = users.get(iid)
    return user === undefined ? [] : [{ userId, userName: user.profile.name, rank, value }]
  })
