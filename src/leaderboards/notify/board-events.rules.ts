import { type Instant, instant } from '../../lib/clock'
import { jsonBytes, packsOf } from '../../lib/packed'
import { QUIET } from '../../webhooks/outbox/quiet-time.rules'
import type { BoardEventType, Fact, Place } from './board-events.messages'

/** How many first places of a group an event lists (W6). */
export const TOP = 10
/** The limits of an outbox row. A single fact may have more bytes; then it has a row of its own. */
const MOST_BYTES = 100_000
const MOST_FACTS = 250

/**
 * When to send a change that happens now: at once if the last flush is longer ago than the quiet time, else
 * when the quiet time ends (W5). `flushed` is the moment of the last flush, in milliseconds.
 */
export const flushAt = (now: Instant, flushed: number): Instant => instant(Math.max(now, flushed + QUIET))

/** The place of a score in its group, and its value as served; null if it is not ranked. */
export type BoardPosition = { rank: number; group: string | null; value: number } | null

/**
 * Whether a change of one user's place may cause a webhook event that is listened to (W6): a changed rank or
 * group, or a change among the first places.
 */
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

/** Whether a webhook listens to this type. */
export const listens = (listened: readonly string[], type: BoardEventType): boolean => listened.includes(type)

/**
 * The ranking of a group as webhooks last received it: one entry for each rank, best first. An erased user's
 * entry is null, so that the other ranks stay (U8).
 */
export type SentList = ([userId: string, iid: string, value: number] | null)[]

/**
 * The difference between a user's last sent rank and the present one, in one group. A rank of null means not
 * ranked.
 */
export type Move = Omit<Extract<Fact, { type: 'leaderboard.rank_changed' }>, 'type' | 'run'>

/**
 * Compares the last sent list of a group with the present places. Returns a move for each user whose rank
 * differs, and the list to store as sent (W5). A user with the same rank keeps the value that was last sent.
 */
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
 * Joins the moves of all groups of a run, so that there is one for each user (W5). A user who went to another
 * group has two moves: out of the old group and into the new one. They become one, with the previous rank
 * from the old group and the rank from the new one. These ranks may be the same.
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

/**
 * Whether a sent list equals the present first places: the same users in the same places with the same
 * values.
 */
export const isSame = (sent: SentList, top: readonly Place[]): boolean =>
  sent.length === top.length &&
  top.every(([, iid, , value], index) => sent[index]?.[1] === iid && sent[index]?.[2] === value)

/** The sent list after these places were sent. */
export const sentListOf = (places: readonly Place[]): SentList =>
  places.map(([userId, iid, , value]) => [userId, iid, value])

/**
 * Packs facts into as few rows as possible. A row has a limited number of bytes, and as many facts as can get
 * their own ids (`childId`).
 */
export const rowsOf = (facts: readonly Fact[]): Fact[][] =>
  packsOf(facts, MOST_BYTES, (fact) => Math.max(jsonBytes(fact), MOST_BYTES / MOST_FACTS))

/** A fact without an erased user; null if nothing is left of it (U8). */
export function without(fact: Fact, iid: string): Fact | null {
  if ('top' in fact) return { ...fact, top: fact.top.filter(([, one]) => one !== iid) }
  return 'iid' in fact && fact.iid === iid ? null : fact
}
