import type * as z from 'zod'
import { filtersResponse } from '../../api/fields'
import { type LeaderboardRanking, leaderboardFields } from '../../api/shapes/leaderboards'
import { userResponse } from '../../api/shapes/users'
import type { Configuration, Leaderboard } from '../../configuration/model'
import { type Instant, instant } from '../../lib/clock'
import { unreachable } from '../../lib/errors'
import { childId, namedId } from '../../lib/ids'
import { dateOfDay } from '../../lib/zone'
import type { TenantContext } from '../../platform/context'
import { beginsAt, finalAt } from '../../rules/runs.rules'
import type { UserState } from '../../rules/state'
import { readPortionOfAll } from '../../store/users/portions.sql.ts'
import { namesOf, userOf } from '../../store/users/users.sql.ts'
import { handOver } from '../../webhooks/delivery/queue'
import { draftOf, type EventDraft } from '../../webhooks/events'
import type { OutboxEntry } from '../../webhooks/outbox/outbox'
import type { BoardEventRow, Fact, Place } from './board-events.sql.ts'

/** A fact of the leaderboard's outbox, with its own id. Null if it was about a user who is erased. */
type PendingFact = { id: string; at: Instant; fact: Fact | null }

/**
 * Hands a leaderboard's webhook events over to the delivery queues, with the present data of users. Throws if
 * a delivery queue cannot be reached. The leaderboard keeps the events until this has succeeded, and their
 * ids stay the same (W2).
 */
export async function sendBoardEvents(
  context: TenantContext,
  config: Configuration,
  board: Leaderboard,
  events: readonly BoardEventRow[],
  now: Instant,
): Promise<void> {
  const unreached = new Map<string, unknown>()
  const all = events.flatMap(({ id, at, facts }) =>
    facts.map((fact, index): PendingFact => ({ id: idOfRun(board, fact) ?? childId(id, index), at, fact })),
  )
  const { databases } = context
  const { tenantId } = context.db
  const names = await namesOf(databases, tenantId, [...new Set(all.flatMap(mentioned))])
  // Events about another rank contain the whole user. So users are read in parts, as many as there is room
  // for.
  for (let left = all; left.length > 0; ) {
    const ids = [...new Set(left.flatMap(({ fact }) => (fact && 'iid' in fact ? fact.userId : [])))]
    const { rows, covered } = await readPortionOfAll(databases, tenantId, ids)
    const users = new Map(rows.map(userOf).map((user) => [user.iid, user]))
    const unread = new Set(ids.slice(covered))
    const end = left.findIndex(({ fact }) => fact && 'iid' in fact && unread.has(fact.userId))
    const some = end === -1 ? left : left.slice(0, end)
    const outboxEntries = some.flatMap((one) => outboxEntryOf(config, board, { users, names }, one) ?? [])
    await handOver(context, config, outboxEntries, now, unreached)
    left = left.slice(some.length)
  }
  for (const [name, error] of unreached)
    throw new Error(`the delivery queue ${name} was not reached: ${error}`)
}

/** The id of the event of a run's beginning or end: the same after a restore (M2). Null for other facts. */
function idOfRun(board: Leaderboard, fact: Fact | null): string | null {
  if (fact === null || !('series' in fact) || fact.series === undefined) return null
  const { type, run, series } = fact
  const isEnd = type !== 'leaderboard.started'
  const at = isEnd ? (board.finished ?? finalAt(run)) : beginsAt(run)
  const group = isEnd ? fact.group : []
  return at === null ? null : namedId(instant(at), JSON.stringify([board.id, type, run.start, group, series]))
}

function outboxEntryOf(
  config: Configuration,
  board: Leaderboard,
  known: Known,
  { id, at, fact }: PendingFact,
): OutboxEntry | null {
  const draft = fact && draftOfFact(config, board, known, fact, at)
  if (draft === null || fact === null) return null
  const userIid = 'iid' in fact ? fact.iid : null
  // Events of a leaderboard that are about no single user are sent in order.
  const order = userIid === null ? { subject: `board:${board.id}` } : {}
  return { at, seq: 0, id, userIid, ...order, messages: [{ id, ...draft }] }
}

/** The users who still exist, by iid: `users` of events about one user, and `names` in first places. */
type Known = { users: ReadonlyMap<string, UserState>; names: ReadonlyMap<string, string | null> }

const mentioned = ({ fact }: PendingFact): string[] =>
  fact && 'top' in fact ? fact.top.map(([userId]) => userId) : []

/** The webhook event of a fact, without its id. Null if it is about a user who is erased (U8). */
function draftOfFact(
  config: Configuration,
  board: Leaderboard,
  { users, names }: Known,
  fact: Fact,
  at: Instant,
): EventDraft | null {
  const { start, end } = fact.run
  // The dates of this run, as in an event's response (L11).
  const leaderboard = {
    ...leaderboardFields(config, board, at),
    start: dateOfDay(start),
    end: end === null ? null : dateOfDay(end),
  }
  switch (fact.type) {
    case 'leaderboard.started':
      return draftOf(fact.type, { leaderboard: { ...leaderboard, rankings: [] } })
    case 'leaderboard.changed':
    case 'leaderboard.finished': {
      const rankings = rankingsOf(names, fact.top)
      const status = fact.type === 'leaderboard.finished' ? 'finished' : leaderboard.status
      return draftOf(fact.type, {
        leaderboard: { ...leaderboard, status, ...groupOf(config, fact), rankings },
      })
    }
    case 'leaderboard.rank_changed': {
      const user = users.get(fact.iid)
      if (user === undefined) return null
      const { rank, value, previousRank, previousValue } = fact
      const own = { rank, value, previousRank, previousValue }
      return draftOf(fact.type, {
        user: userResponse(config, user),
        leaderboard: { ...leaderboard, ...groupOf(config, fact), ...own },
      })
    }
    default:
      return unreachable(fact)
  }
}

/** The group of a fact. No field if the leaderboard has no breakdown. */
function groupOf(config: Configuration, { group }: { group: readonly [string, string][] }) {
  const filters = group.map(([attributeId, attributeValue]) => ({ attributeId, attributeValue }))
  return filters.length === 0 ? {} : { group: filtersResponse(config, filters) }
}

const rankingsOf = (names: Known['names'], top: readonly Place[]): z.infer<typeof LeaderboardRanking>[] =>
  top.flatMap(([userId, iid, rank, value]) => {
    const userName = names.get(iid)
    return userName === undefined ? [] : [{ userId, userName, rank, value }]
  })
