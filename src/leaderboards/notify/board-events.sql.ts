import * as z from 'zod'
import type { Configuration } from '../../configuration/model'
import { type Instant, instant } from '../../lib/clock'
import { newId } from '../../lib/new-id'
import { jsonBytes, packsOf } from '../../lib/packed'
import { Moment } from '../../platform/columns'
import type { Sql } from '../../platform/objects'
import { isSubscribed } from '../../webhooks/outbox/outbox'
import { QUIET } from '../../webhooks/outbox/points-changed.sql.ts'

const BOARD_EVENT_TYPES = [
  'leaderboard.started',
  'leaderboard.changed',
  'leaderboard.finished',
  'leaderboard.rank_changed',
] as const

const BoardEventType = z.enum(BOARD_EVENT_TYPES)
export type BoardEventType = z.infer<typeof BoardEventType>

/** The types that webhooks listen to, each with the earliest last update (ms) of its webhooks. */
export const Listened = z.array(z.tuple([BoardEventType, z.number()]))
export type Listened = z.infer<typeof Listened>

/** The types of leaderboard events that active webhooks listen to at present. */
export function listenedOf({ webhooks }: Pick<Configuration, 'webhooks'>): Listened {
  return BOARD_EVENT_TYPES.flatMap((type): Listened => {
    const sent = webhooks.filter((webhook) => isSubscribed(webhook, type))
    return sent.length === 0 ? [] : [[type, Math.min(...sent.map(({ updated }) => updated))]]
  })
}

const Rank = z.number().nullable()
/** First and last day of a run, as days since 1970-01-01. The last is null if the run has no end. */
const Span = z.object({ start: z.number(), end: z.number().nullable() })
/** One of the first places: the caller's id of the user, the iid, the rank, and the value as served. */
export const Place = z.tuple([z.string(), z.string(), z.number(), z.number()])
export type Place = z.infer<typeof Place>

/**
 * The group of a fact: the ids of the breakdown attributes and their values, in the breakdown's order (L6).
 * Empty on a board without breakdown, and for a run without ranked users.
 */
const Group = z.array(z.tuple([z.string(), z.string()]))

/**
 * The series of runs to which a beginning or an end of a run belongs: how often the runs were replaced by
 * others, or a test clock went back, before it. None in facts about changes.
 */
const Series = z.number().optional()

/** The data of one webhook event. It has only the ids of users; `sendBoardEvents` reads the users. */
export const Fact = z.discriminatedUnion('type', [
  z.object({ type: z.literal('leaderboard.started'), run: Span, series: Series }),
  z.object({
    type: z.enum(['leaderboard.changed', 'leaderboard.finished']),
    run: Span,
    group: Group,
    top: z.array(Place),
    series: Series,
  }),
  z.object({
    type: z.literal('leaderboard.rank_changed'),
    run: Span,
    group: Group,
    userId: z.string(),
    iid: z.string(),
    rank: Rank,
    value: Rank,
    previousRank: Rank,
    previousValue: Rank,
  }),
])
export type Fact = z.infer<typeof Fact>

/**
 * The facts of one moment. `id` is a UUID v7 of that moment. The id of each fact is made from it and the
 * fact's place in the list, unless the fact has a series: then the id is made from the run. A fact is null if
 * it was about a user who is erased (U8).
 */
export const BoardEventRow = z.object({
  no: z.number(),
  id: z.string(),
  at: Moment,
  facts: z.array(Fact.nullable()),
})
export type BoardEventRow = z.output<typeof BoardEventRow>

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

/** Whether a user's move may cause an event that is listened to (W6): of ranks, or of first places. */
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

/** A group as webhooks last received it: one entry for each rank. An erased user's entry is null (U8). */
export type SentList = ([userId: string, iid: string, value: number] | null)[]

/** How a user's last sent rank and the present one differ, in one group. A rank of null means not ranked. */
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

/** Whether the present first places were sent: the same users in the same places with the same values. */
export const isSame = (sent: SentList, top: readonly Place[]): boolean =>
  sent.length === top.length &&
  top.every(([, iid, , value], index) => sent[index]?.[1] === iid && sent[index]?.[2] === value)

/** The sent list after these places were sent. */
export const sentListOf = (places: readonly Place[]): SentList =>
  places.map(([userId, iid, , value]) => [userId, iid, value])

/** Packs facts into few rows: of limited bytes, and with as many facts as can get ids (`childId`). */
export const rowsOf = (facts: readonly Fact[]): Fact[][] =>
  packsOf(facts, MOST_BYTES, (fact) => Math.max(jsonBytes(fact), MOST_BYTES / MOST_FACTS))

/** A fact without an erased user; null if nothing is left of it (U8). */
export function without(fact: Fact, iid: string): Fact | null {
  if ('top' in fact) return { ...fact, top: fact.top.filter(([, one]) => one !== iid) }
  return 'iid' in fact && fact.iid === iid ? null : fact
}

/** The state of a board's webhook events. */
export const BoardEventState = z.object({
  /** The version of the configuration from which `listened` was read: the types that webhooks listen to. */
  version: z.number(),
  listened: z.array(z.string()),
  /** The first day of a run: started events are sent, or not needed, up to it. Null: there is no such run. */
  begun: z.number().nullable(),
  /** For runs that start before this day, the finished events are sent, or not needed. */
  ended: z.number(),
  /** When changes were last sent, in milliseconds; 0 if never. */
  flushed: z.number(),
  /** When changes will be sent next; null if there are none. */
  due: Moment.nullable(),
  /** How often the runs were replaced by others, or a test clock went back. */
  series: z.number(),
})
export type BoardEventState = z.output<typeof BoardEventState>

const StoredSentPlace: z.ZodType<SentList[number]> = z.tuple([z.string(), z.string(), z.number()]).nullable()
const StoredSentList: z.ZodType<SentList> = z.array(StoredSentPlace)

/** The two kinds of sent lists of a group: its first places, or the ranks of all its users. */
type Noted = 'tops' | 'ranks'
/** The prefix of the key of a group's first places. A group is a JSON list, so it never begins like this. */
const TOPS = 'top:'
const keyOf = (what: Noted, group: string) => (what === 'tops' ? TOPS : '') + group

/** Rows of the outbox that one call returns. Each is short. */
const PAGE = 2

const SQL = {
  sent: 'SELECT list FROM sent_lists WHERE run = ?1 AND grp = ?2',
  keys: 'SELECT grp AS key FROM sent_lists WHERE run = ?1',
  runs: 'SELECT DISTINCT run FROM sent_lists WHERE run >= ?1',
  setSent: 'INSERT INTO sent_lists (run, grp, list) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET list = ?3',
  forgetSent: 'DELETE FROM sent_lists WHERE run = ?1 AND grp = ?2',
  dropBefore: 'DELETE FROM sent_lists WHERE run < ?1',
  dropTops: `DELETE FROM sent_lists WHERE substr(grp, 1, ${TOPS.length}) = '${TOPS}'`,
  dropRanks: `DELETE FROM sent_lists WHERE substr(grp, 1, ${TOPS.length}) <> '${TOPS}'`,
  dropAll: 'DELETE FROM sent_lists',
  add: 'INSERT INTO outbox (id, at, facts) VALUES (?1, ?2, ?3)',
  page: 'SELECT no, id, at, facts FROM outbox ORDER BY no LIMIT ?1',
  // By number and id: a number is used again once the last row is deleted.
  remove: `DELETE FROM outbox WHERE (no, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?1))`,
  listsWith: 'SELECT run, grp AS key, list FROM sent_lists WHERE instr(list, ?1) > 0',
  rowsWith: 'SELECT no, id, at, facts FROM outbox WHERE instr(facts, ?1) > 0',
  change: 'UPDATE outbox SET facts = ?2 WHERE no = ?1',
} as const

type Stored = { no: number; id: string; at: number; facts: string }
const read = ({ facts, ...row }: Stored): BoardEventRow =>
  BoardEventRow.parse({ ...row, facts: JSON.parse(facts) })

/** The last sent lists of a board, and its outbox of webhook events. `BoardStore` makes both tables. */
export class BoardEventStore {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  list(run: number, what: Noted, group: string): SentList {
    const [row] = this.#sql.rows<{ list: string }>(SQL.sent, run, keyOf(what, group))
    return row === undefined ? [] : StoredSentList.parse(JSON.parse(row.list))
  }

  groups(run: number, what: Noted): string[] {
    const keys = this.#sql.rows<{ key: string }>(SQL.keys, run).map(({ key }) => key)
    return what === 'tops'
      ? keys.filter((key) => key.startsWith(TOPS)).map((key) => key.slice(TOPS.length))
      : keys.filter((key) => !key.startsWith(TOPS))
  }

  /** The runs from this one on with a sent list. */
  runs(from: number): number[] {
    return this.#sql.rows<{ run: number }>(SQL.runs, from).map(({ run }) => run)
  }

  setSent(run: number, what: Noted, group: string, list: SentList): void {
    if (list.length === 0) this.#sql.run(SQL.forgetSent, run, keyOf(what, group))
    else this.#sql.run(SQL.setSent, run, keyOf(what, group), JSON.stringify(list))
  }

  forgetBefore(run: number): void {
    this.#sql.run(SQL.dropBefore, run)
  }

  /** Deletes the sent lists of first places, of ranks, or of both. */
  forget(what: Noted | 'all'): void {
    this.#sql.run({ tops: SQL.dropTops, ranks: SQL.dropRanks, all: SQL.dropAll }[what])
  }

  /** Adds facts to the outbox. Each has an id that stays the same. */
  add(at: Instant, facts: readonly Fact[]): void {
    for (const row of rowsOf(facts)) this.#sql.run(SQL.add, newId(at), at, JSON.stringify(row))
  }

  /** The first rows of the outbox, and whether there are more. */
  page(): { rows: BoardEventRow[]; hasMore: boolean } {
    const rows = this.#sql.rows<Stored>(SQL.page, PAGE + 1)
    return { rows: rows.slice(0, PAGE).map(read), hasMore: rows.length > PAGE }
  }

  remove(rows: readonly (readonly [no: number, id: string])[]): void {
    this.#sql.run(SQL.remove, JSON.stringify(rows))
  }

  /** Deletes a user from the sent lists and the outbox. Other users keep the ranks that were sent (U8). */
  erase(iid: string): void {
    for (const { run, key, list } of this.#sql.rows<{ run: number; key: string; list: string }>(
      SQL.listsWith,
      iid,
    )) {
      const rest = z
        .array(StoredSentPlace)
        .parse(JSON.parse(list))
        .map((one) => (one?.[1] === iid ? null : one))
      this.#sql.run(SQL.setSent, run, key, JSON.stringify(rest))
    }
    for (const { no, facts } of this.#sql.rows<Stored>(SQL.rowsWith, iid).map(read)) {
      const rest = facts.map((fact) => fact && without(fact, iid))
      this.#sql.run(SQL.change, no, JSON.stringify(rest))
    }
  }
}
