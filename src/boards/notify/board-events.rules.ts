import { type Instant, instant } from '../../lib/clock'
import { jsonBytes, packsOf } from '../../lib/packed'
import { QUIET } from '../../outbox/quiet.rules'
import type { BoardEventType, Fact, Place } from './board-events.messages'

/** How many places of a group are told (W6). */
export const TOP = 10
/** Bytes of a row of the outbox, unless it has a single fact, and facts of one. */
const MOST_BYTES = 100_000
const MOST_FACTS = 250

/** When a change is told that happens now: at once after a quiet time, else when that is over (W5). */
export const flushAt = (now: Instant, flushed: number): Instant => instant(Math.max(now, flushed + QUIET))

/** Where a score stands in its group, and its value as served. */
export type BoardPosition = { rank: number; group: string | null; value: number } | null

/** Whether a score that has moved may have changed what is told to those who listen. */
export function causesEvent(
  listened: readonly string[],
  before: BoardPosition,
  after: BoardPosition,
): boolean {
  const hasMoved = before?.rank !== after?.rank || before?.group !== after?.group
  if (hasMoved && listens(listened, 'leaderboard.rank_changed')) return true
  const best = Math.min(before?.rank ?? Number.POSITIVE_INFINITY, after?.rank ?? Number.POSITIVE_INFINITY)
  const isOther = hasMoved || before?.value !== after?.value
  return listens(listened, 'leaderboard.changed') && isOther && best <= TOP
}

export const listens = (listened: readonly string[], type: BoardEventType): boolean => listened.includes(type)

/** What was last told of the users of a group, by rank: the caller's id, ours, and the value; null where one was erased (U8). */
export type SentList = ([userId: string, iid: string, value: number] | null)[]

/** A user's rank in a group that is another than was told; null is outside. */
export type Move = Omit<Extract<Fact, { type: 'leaderboard.rank_changed' }>, 'type' | 'run'>

/** Whose rank in a group is another than was told, and what is told of the group once they have been told so (W5). */
export function compared(
  sent: SentList,
  present: readonly Place[],
): { moves: Omit<Move, 'group'>[]; list: SentList } {
  const known = new Map(
    sent.flatMap((one, index) => (one === null ? [] : [[one[1], { rank: index + 1, value: one[2], one }]])),
  )
  const moves: Omit<Move, 'group'>[] = []
  const list = present.map(([userId, iid, rank, value]): SentList[number] => {
    const was = known.get(iid)
    known.delete(iid)
    if (was?.rank === rank) return was.one
    const previous = { previousRank: was?.rank ?? null, previousValue: was?.value ?? null }
    moves.push({ userId, iid, rank, value, ...previous })
    return [userId, iid, value]
  })
  for (const [iid, { rank, value, one }] of known) {
    moves.push({ userId: one[0], iid, rank: null, value: null, previousRank: rank, previousValue: value })
  }
  return { moves, list }
}

/**
 * The moves in all groups of a run, one for each user (W5): whoever went from one group to another has the rank in the new one, and before
 * that the rank in the old one, which may be the same.
 */
export function joined(moves: readonly Move[]): Move[] {
  const byUser = new Map<string, Move>()
  for (const move of moves) {
    const other = byUser.get(move.iid)
    const [left, came] = move.rank === null ? [move, other ?? move] : [other ?? move, move]
    const { previousRank, previousValue } = left
    byUser.set(move.iid, { ...came, previousRank, previousValue })
  }
  return [...byUser.values()]
}

/** Whether those whom a list tells of stand there as these do: the same users in the same places with the same values. */
export const isSame = (sent: SentList, top: readonly Place[]): boolean =>
  sent.length === top.length &&
  top.every(([, iid, , value], index) => sent[index]?.[1] === iid && sent[index]?.[2] === value)

/** What is told of a list of places once it was sent. */
export const sentListOf = (places: readonly Place[]): SentList =>
  places.map(([userId, iid, , value]) => [userId, iid, value])

/** Facts in as few rows as keep each of them short: of so many bytes at most, and as many facts as have ids of their own (`childId`). */
export const rowsOf = (facts: readonly Fact[]): Fact[][] =>
  packsOf(facts, MOST_BYTES, (fact) => Math.max(jsonBytes(fact), MOST_BYTES / MOST_FACTS))

/** A fact without an erased user; null where nothing is left of it (U8). */
export function without(fact: Fact, iid: string): Fact | null {
  if ('top' in fact) return { ...fact, top: fact.top.filter(([, one]) => one !== iid) }
  return 'iid' in fact && fact.iid === iid ? null : fact
}
