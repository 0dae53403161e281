import * as z from 'zod'
import type { Instant } from '../../lib/clock'
import { newId } from '../../lib/new-id'
import { Moment } from '../../platform/columns'
import type { Sql } from '../../platform/objects'
import { BoardEventRow, type Fact, rowsOf, type SentList, without } from './facts'

/** The state of a board's webhook events. */
export const BoardEventState = z.object({
  /** The version of the configuration from which `listened` was read: the types that webhooks listen to. */
  version: z.number(),
  listened: z.array(z.string()),
  /**
   * The first day of a run: started events are sent, or not needed, up to this run. Null if there is no such
   * run.
   */
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

/** One place of a sent list, and the list. */
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

  /** The last sent list of a group in a run. */
  list(run: number, what: Noted, group: string): SentList {
    const [row] = this.#sql.rows<{ list: string }>(SQL.sent, run, keyOf(what, group))
    return row === undefined ? [] : StoredSentList.parse(JSON.parse(row.list))
  }

  /** The groups of a run with a sent list. */
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

  /** Stores the sent list of a group in a run. */
  setSent(run: number, what: Noted, group: string, list: SentList): void {
    if (list.length === 0) this.#sql.run(SQL.forgetSent, run, keyOf(what, group))
    else this.#sql.run(SQL.setSent, run, keyOf(what, group), JSON.stringify(list))
  }

  /** Deletes the sent lists of the runs before this one. */
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

  /** Deletes rows that the delivery queues have received. */
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
