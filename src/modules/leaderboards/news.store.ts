import * as z from 'zod'
import type { Instant } from '../../shared/clock'
import { newId } from '../../shared/ids'
import type { Sql } from './board.statements'
import { type Fact, NewsRow } from './news.messages'
import { rowsOf, ToldList, without } from './news.rules'

/** Stands for the first of all groups together, where a group would be: groups are lists in JSON. */
export const ALL = ''
/** Rows of the outbox that are handed out at once. */
const PAGE = 2

const SQL = {
  told: 'SELECT list FROM told WHERE run = ?1 AND grp = ?2',
  groups: 'SELECT grp AS "group" FROM told WHERE run = ?1 AND grp <> ?2',
  runs: 'SELECT DISTINCT run FROM told WHERE run >= ?1',
  tell: 'INSERT INTO told (run, grp, list) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET list = ?3',
  untell: 'DELETE FROM told WHERE run = ?1 AND grp = ?2',
  dropBefore: 'DELETE FROM told WHERE run < ?1',
  dropTops: 'DELETE FROM told WHERE grp = ?1',
  dropRanks: 'DELETE FROM told WHERE grp <> ?1',
  dropAll: 'DELETE FROM told',
  add: 'INSERT INTO outbox (id, at, facts) VALUES (?1, ?2, ?3)',
  page: 'SELECT no, id, at, facts FROM outbox ORDER BY no LIMIT ?1',
  // By number and id: a number is used anew once the last row is gone.
  remove: `DELETE FROM outbox WHERE (no, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?1))`,
  listsWith: 'SELECT run, grp AS "group", list FROM told WHERE instr(list, ?1) > 0',
  rowsWith: 'SELECT no, id, at, facts FROM outbox WHERE instr(facts, ?1) > 0',
  change: 'UPDATE outbox SET facts = ?2 WHERE no = ?1',
} as const

type Stored = { no: number; id: string; at: number; facts: string }
const read = ({ facts, ...row }: Stored): NewsRow => NewsRow.parse({ ...row, facts: JSON.parse(facts) })

/** What was last told of a board's users, and what is still to be told: two of the tables that board.store.ts makes. */
export class NewsStore {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** What was last told of a group in a run. */
  list(run: number, group: string): ToldList {
    const [row] = this.#sql.rows<{ list: string }>(SQL.told, run, group)
    return row === undefined ? [] : ToldList.parse(JSON.parse(row.list))
  }

  /** The groups of a run of whose users something was told. */
  groups(run: number): string[] {
    return this.#sql.rows<{ group: string }>(SQL.groups, run, ALL).map(({ group }) => group)
  }

  /** The runs from this one on of which something was told. */
  runs(from: number): number[] {
    return this.#sql.rows<{ run: number }>(SQL.runs, from).map(({ run }) => run)
  }

  /** Notes what was told of a group in a run. */
  tell(run: number, group: string, list: ToldList): void {
    if (list.length === 0) this.#sql.run(SQL.untell, run, group)
    else this.#sql.run(SQL.tell, run, group, JSON.stringify(list))
  }

  /** Forgets what was told of the runs before this one. */
  forgetBefore(run: number): void {
    this.#sql.run(SQL.dropBefore, run)
  }

  /** Forgets what was told of the first, of ranks, or of both. */
  forget(what: 'tops' | 'ranks' | 'all'): void {
    if (what === 'all') this.#sql.run(SQL.dropAll)
    else this.#sql.run(what === 'tops' ? SQL.dropTops : SQL.dropRanks, ALL)
  }

  /** Writes down what is to be told, each fact with an id for good. */
  add(at: Instant, facts: readonly Fact[]): void {
    for (const row of rowsOf(facts)) this.#sql.run(SQL.add, newId(at), at, JSON.stringify(row))
  }

  /** The first of what is to be told, and whether there is more. */
  page(): { rows: NewsRow[]; hasMore: boolean } {
    const rows = this.#sql.rows<Stored>(SQL.page, PAGE + 1)
    return { rows: rows.slice(0, PAGE).map(read), hasMore: rows.length > PAGE }
  }

  /** Forgets rows that others have now. */
  remove(rows: readonly (readonly [no: number, id: string])[]): void {
    this.#sql.run(SQL.remove, JSON.stringify(rows))
  }

  /** Takes a user out of what was told and what is to be told; the others keep the ranks that they were told (U8). */
  erase(iid: string): void {
    for (const { run, group, list } of this.#sql.rows<{ run: number; group: string; list: string }>(
      SQL.listsWith,
      iid,
    )) {
      const rest = z
        .array(ToldList.element)
        .parse(JSON.parse(list))
        .map((one) => (one?.[1] === iid ? null : one))
      this.#sql.run(SQL.tell, run, group, JSON.stringify(rest))
    }
    for (const { no, facts } of this.#sql.rows<Stored>(SQL.rowsWith, iid).map(read)) {
      const rest = facts.map((fact) => fact && without(fact, iid))
      this.#sql.run(SQL.change, no, JSON.stringify(rest))
    }
  }
}
