import { DAY, type Instant, instant } from '../../lib/clock'
import { firstIdAt, timeOf } from '../../lib/ids'
import { MOST_AT_ONCE, utf8Bytes } from '../../lib/packed'
import { Sql, type Steps, type TableStorage } from '../../platform/objects'
import type {
  Delivery,
  Destination,
  LogPage,
  OutgoingMessage,
  Place,
  QueuedMessage,
  Resend,
} from './messages'
import { HEALTHY, type Health } from './retries.rules'

/**
 * The tables of a delivery queue. docs/storage.md lists them. The body is the last column, so that reading
 * the other columns does not touch the pages of a long body. A message that is sent at once is in one index
 * only. Messages that failed or wait for another one are in a second index. To change a table, add a step.
 * Never change an existing step.
 */
const STEPS: Steps = [
  [
    `CREATE TABLE messages (at INTEGER, seq INTEGER, id TEXT, subject TEXT, event TEXT, status TEXT,
     attempts INTEGER, tries INTEGER, created INTEGER, since INTEGER, next_at INTEGER, waits INTEGER,
     claimed INTEGER, last_status INTEGER, last_error TEXT, body TEXT,
     PRIMARY KEY (at, seq, id)) WITHOUT ROWID`,
    "CREATE INDEX messages_by_next ON messages (next_at) WHERE status = 'pending'",
    `CREATE INDEX messages_by_subject ON messages (subject, at, seq, id)
     WHERE status = 'pending' AND waits > 0`,
    // Notifications by user, for timelines (X2). Types of webhook events contain a point; these do not.
    `CREATE INDEX messages_of_user ON messages (subject, at, seq, id)
     WHERE subject IS NOT NULL AND event NOT GLOB '*.*'`,
    'CREATE TABLE named (id TEXT PRIMARY KEY, at INTEGER, seq INTEGER) WITHOUT ROWID',
    'CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID',
  ],
]

/** The reason why a pending message waits: its first turn, an earlier message, or the time of its retry. */
const WAITS = { forNothing: 0, forAnother: 1, forTime: 2 } as const

/** A pending message, without its body. */
export type Pending = Place & {
  subject: string | null
  attempts: number
  tries: number
  created: number
  /** When it last became pending: when it was handed over, or renewed. */
  since: number
  nextAt: number
  waits: number
  /** 1 if an attempt has begun that must not be repeated. */
  claimed: number
}

/** A row of the log. */
export type Row = Place &
  Omit<Delivery, 'created' | 'nextAttempt'> & { created: number; nextAt: number | null }

type Whole = Row & { body: string }

/** The most rows that one call returns, if they are short. */
const MOST_ROWS = 1_000
/** The most rows that one call reads for a list. Then the next call goes on. */
const MOST_READ = 20_000
/** How long the name of a dropped message lasts, in ms. A user may come to a date again within 26 hours. */
const NAMES_LAST = 3 * DAY
/** How many messages a part of a resend looks at. New messages wait for one part at most. */
const PART = 500

/** The result of an attempt: the new status of the message. */
export type Outcome = Pick<Row, 'status' | 'lastStatus' | 'lastError'> & { nextAt: Instant | null }

const KEY = 'at = ?1 AND seq = ?2 AND id = ?3'
const PENDING = 'at, seq, id, subject, attempts, tries, created, since, next_at AS nextAt, waits, claimed'
const ROW = `at, seq, id, event, status, attempts, last_status AS lastStatus, last_error AS lastError,
  created, next_at AS nextAt`

/** Whether the last attempt of a message failed. One that was sent again since then has no tries yet. */
const FAILED = "(status = 'dead' OR status = 'pending' AND tries > 0)"

const OUTDATED = "FROM messages WHERE at < ?1 AND status <> 'pending' ORDER BY at, seq, id LIMIT ?2"
const OLDEST = "FROM messages WHERE status <> 'pending' ORDER BY at, seq, id LIMIT ?1"

const pageOf = (columns: string) => `
  SELECT ${columns} FROM messages WHERE (at, seq, id) < (?1, ?2, ?3)
  ORDER BY at DESC, seq DESC, id DESC LIMIT ?4 OFFSET ?5`

const SQL = {
  name: 'INSERT INTO named (id, at, seq) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING',
  named: 'SELECT at FROM named WHERE id = ?1',
  unnameErased: 'DELETE FROM named WHERE id IN (SELECT id FROM messages WHERE subject = ?1)',
  // An id begins with its moment, so this reads only names from before ?1, of dropped and of pending messages.
  unname: `DELETE FROM named WHERE id < ?1 AND NOT EXISTS (SELECT 1 FROM messages m
    WHERE m.at = named.at AND m.seq = named.seq AND m.id = named.id)`,
  oldestAt: `SELECT at ${OLDEST}`,
  // A message without attempts is due since its moment `at`. So a user's earlier message comes first.
  add: `INSERT INTO messages (at, seq, id, subject, event, status, attempts, tries, created, since, next_at,
    waits, claimed,
      last_status, last_error, body)
    VALUES (?1, ?2, ?3, ?4, ?5, 'pending', 0, 0, ?6, ?6, min(?1, ?6), 0, 0, NULL, NULL, ?7)
      ON CONFLICT DO NOTHING`,
  due: `SELECT ${PENDING} FROM messages WHERE status = 'pending' AND next_at <= ?1
    ORDER BY next_at, at, seq, id LIMIT ?2`,
  first: "SELECT min(next_at) AS nextAt FROM messages WHERE status = 'pending'",
  pending: `SELECT ${PENDING} FROM messages WHERE ${KEY} AND status = 'pending'`,
  body: `SELECT subject, event, body FROM messages WHERE ${KEY}`,
  before: `SELECT at FROM messages WHERE status = 'pending' AND waits > 0 AND subject = ?4
      AND (at, seq, id) < (?1, ?2, ?3) AND at > ?5
    ORDER BY at DESC, seq DESC, id DESC LIMIT 1`,
  after: `SELECT ${PENDING} FROM messages WHERE status = 'pending' AND waits > 0 AND subject = ?4
      AND (at, seq, id) > (?1, ?2, ?3)
    ORDER BY at, seq, id LIMIT 1`,
  wait: `UPDATE messages SET waits = ${WAITS.forAnother}, next_at = ?4 WHERE ${KEY} AND status = 'pending'`,
  claim: `UPDATE messages SET claimed = 1 WHERE ${KEY} AND status = 'pending'`,
  settle: `UPDATE messages SET status = ?4, next_at = ?5, last_status = ?6, last_error = ?7, waits = ?8,
      claimed = 0, attempts = attempts + ?9, tries = tries + ?10
    WHERE ${KEY} AND status = 'pending'`,
  rewrite: `UPDATE messages SET body = ?4 WHERE ${KEY} AND status = 'pending'`,
  renew: `UPDATE messages SET status = 'pending', next_at = ?4, since = ?4, tries = 0, claimed = 0, waits =
    ${WAITS.forAnother}
    WHERE ${KEY}`,
  following: `SELECT at, seq, id, status, created >= ?7 AND iif(?8 IS NULL, ${FAILED}, status = ?8) AS isMeant
    FROM messages WHERE (at, seq, id) > (?1, ?2, ?3) AND (at, seq, id) <= (?4, ?5, ?6) ORDER BY at, seq, id LIMIT ${PART}`,
  capDueTimes: "UPDATE messages SET next_at = ?1 WHERE status = 'pending' AND next_at > ?2",
  list: pageOf(ROW),
  log: pageOf(`${ROW}, body`),
  moment: 'SELECT at FROM messages ORDER BY at DESC, seq DESC, id DESC LIMIT 1 OFFSET ?1',
  one: `SELECT ${ROW} FROM messages WHERE at = ?1 AND id = ?2`,
  held: `SELECT ${ROW}, body FROM messages WHERE subject = ?1 AND (at, seq, id) > (?2, ?3, ?4)
    ORDER BY at, seq, id`,
  newest: `SELECT ${ROW}, body FROM messages WHERE subject = ?1 AND subject IS NOT NULL
      AND event NOT GLOB '*.*' AND (at, seq, id) < (?2, ?3, ?4)
    ORDER BY at DESC, seq DESC, id DESC LIMIT ?5`,
  erase: "DELETE FROM messages WHERE subject = ?1 RETURNING status <> 'pending' AS isSettled",
  // ?2 is ?1 as JSON. Most messages do not contain it, and need not be parsed.
  unrank: `UPDATE messages SET body = json_set(body, '$.leaderboard.rankings', json((
      SELECT json_group_array(json(value) ORDER BY key) FROM json_each(body, '$.leaderboard.rankings')
      WHERE value ->> '$.userId' <> ?1)))
    WHERE event GLOB 'leaderboard.*' AND instr(body, '"userId":' || ?2) > 0
      AND json_type(body, '$.leaderboard.rankings') = 'array'`,
  outdated: `DELETE FROM messages WHERE (at, seq, id) IN (SELECT at, seq, id ${OUTDATED})`,
  oldest: `DELETE FROM messages WHERE (at, seq, id) IN (SELECT at, seq, id ${OLDEST})`,
  settled: "SELECT count(*) AS count FROM messages WHERE status <> 'pending'",
  countPending: `SELECT count(*) AS count FROM (
    SELECT 1 FROM messages WHERE status = 'pending' ORDER BY next_at LIMIT ?1)`,
  countNewest: `SELECT count(*) AS count, min(at) AS oldest, count(*) FILTER (WHERE status = 'dead') AS dead,
      count(*) FILTER (WHERE at >= ?2 AND (status = 'delivered' OR ${FAILED})) AS tried,
      count(*) FILTER (WHERE at >= ?2 AND ${FAILED}) AS failed
    FROM (SELECT at, status, tries FROM messages ORDER BY at DESC, seq DESC, id DESC LIMIT ?1)`,
} as const

type Value = string | number | null

const keyOf = ({ at, seq, id }: Place) => [at, seq, id] as const

/** The place of a row, without its other columns. */
export const placeOf = ({ at, seq, id }: Place): Place => ({ at, seq, id })

/** The key before that of every message. */
const FIRST = [-1, -1, ''] as const

/** The key before which a page of the log begins. Null: before all messages, so at the newest. */
const keyBefore = (place: Place | null) =>
  place === null ? ([Number.MAX_SAFE_INTEGER, 0, ''] as const) : keyOf(place)

/** The tables of a delivery queue. Calls without an await between them are one transaction. */
export class DeliveryQueueStore {
  readonly sql: Sql
  /** Settled messages that became pending again or were erased since this was made. */
  unsettled = 0

  constructor(storage: TableStorage) {
    this.sql = new Sql(storage)
    this.sql.migrate(STEPS)
  }

  /** The rows until their bodies are as long as one call can return. Further rows are not read. */
  #firstRows(statement: string, ...values: Value[]): { rows: Whole[]; hasMore: boolean } {
    const rows: Whole[] = []
    let bytes = 0
    for (const row of this.sql.each<Whole>(statement, ...values)) {
      if (bytes >= MOST_AT_ONCE || rows.length === MOST_ROWS) return { rows, hasMore: true }
      rows.push(row)
      bytes += utf8Bytes(row.body)
    }
    return { rows, hasMore: false }
  }

  add(messages: readonly QueuedMessage[], now: Instant): void {
    for (const { at, seq, id, subject, event, body, isNamed } of messages) {
      if (isNamed && this.sql.run(SQL.name, id, at, seq) === 0) continue
      this.sql.run(SQL.add, at, seq, id, subject, event, now, body)
    }
  }

  /** Pending messages that may be tried by a moment, in the order of their due times. */
  due(by: Instant, limit: number): Pending[] {
    return this.sql.rows<Pending>(SQL.due, by, limit)
  }

  /** When the next pending message may be tried; null if none is pending. */
  first(): number | null {
    return this.sql.rows<{ nextAt: number | null }>(SQL.first)[0]?.nextAt ?? null
  }

  pending(place: Place): Pending | undefined {
    return this.sql.rows<Pending>(SQL.pending, ...keyOf(place))[0]
  }

  /** A whole message; undefined if it was erased. */
  message(place: Place): OutgoingMessage | undefined {
    const [row] = this.sql.rows<{ subject: string | null; event: string; body: string }>(
      SQL.body,
      ...keyOf(place),
    )
    return row && { at: place.at, seq: place.seq, id: place.id, ...row }
  }

  /** The moment of the last earlier pending message of the user, after `since`, that was tried or waits. */
  before(message: Place & { subject: string }, since: number): number | null {
    return this.sql.rows<{ at: number }>(SQL.before, ...keyOf(message), message.subject, since)[0]?.at ?? null
  }

  /** Makes a message wait for an earlier one, at the longest until a moment. */
  wait(place: Place, until: Instant): void {
    this.sql.run(SQL.wait, ...keyOf(place), until)
  }

  /** Releases the message that waits for this settled one. */
  release(settled: Place & { subject: string }, now: Instant): void {
    const [next] = this.sql.rows<Pending>(SQL.after, ...keyOf(settled), settled.subject)
    if (next !== undefined && next.waits === WAITS.forAnother && next.nextAt > now) this.wait(next, now)
  }

  /** Notes that an attempt begins. */
  claim(place: Place): void {
    this.sql.run(SQL.claim, ...keyOf(place))
  }

  /** Stores the result of an attempt, or of none. `tries` are those that it has used up. */
  settle(place: Place, outcome: Outcome, attempts: 0 | 1, tries = attempts): void {
    const { status, nextAt, lastStatus, lastError } = outcome
    const waits = nextAt === null ? WAITS.forNothing : WAITS.forTime
    this.sql.run(SQL.settle, ...keyOf(place), status, nextAt, lastStatus, lastError, waits, attempts, tries)
  }

  rewrite(place: Place, body: string): void {
    this.sql.run(SQL.rewrite, ...keyOf(place), body)
  }

  /** Makes a message pending, like a new one. */
  renew(message: Place & Pick<Row, 'status'>, now: Instant): void {
    if (message.status !== 'pending') this.unsettled += 1
    this.sql.run(SQL.renew, ...keyOf(message), now)
  }

  /** Ends a rest or a wait of the destination. */
  endRest(): void {
    const { failures, probeAt } = this.health
    if (failures > 0 || probeAt !== null) this.health = HEALTHY
  }

  get resend(): Resend | null {
    return this.#note('resend')
  }

  set resend(resend: Resend) {
    this.sql.setNote('resend', resend)
  }

  beginResend({ since, status }: Pick<Resend, 'since' | 'status'>): void {
    const [newest] = this.list({ limit: 1, skip: 0, before: null }).rows
    const last = newest === undefined ? null : placeOf(newest)
    this.resend = { since, status, sent: 0, done: null, last, running: last !== null }
  }

  /**
   * Does the next part of a resend, together with the note of how far it is: no message is left out, and none is
   * sent again twice. Returns whether there was a part.
   */
  resendPart(now: Instant): boolean {
    const { resend } = this
    if (resend === null || resend.last === null || !resend.running) return false
    const { since, status, last, done } = resend
    const from = done === null ? FIRST : keyOf(done)
    type Looked = Place & Pick<Row, 'status'> & { isMeant: number }
    const rows = this.sql.rows<Looked>(SQL.following, ...from, ...keyOf(last), since, status)
    const meant = rows.filter(({ isMeant }) => isMeant === 1)
    for (const row of meant) this.renew(row, now)
    const running = rows.length === PART
    this.resend = { ...resend, sent: resend.sent + meant.length, done: placeOf(rows.at(-1) ?? last), running }
    return true
  }

  /** Makes messages that are due after `beyond` due now. */
  capDueTimes(beyond: Instant, now: Instant): void {
    this.sql.run(SQL.capDueTimes, now, beyond)
  }

  /**
   * A page of the log. `next` is the place from which to go on; null if there is no more. A page may be short or
   * empty before that, since a call reads a bounded number of rows.
   */
  list({ limit, skip, before, status, event }: LogPage): { rows: Row[]; next: Place | null } {
    const rows: Row[] = []
    let [read, skipped] = [0, 0]
    let last: Row | null = null
    for (const row of this.sql.each<Row>(SQL.list, ...keyBefore(before), -1, 0)) {
      const isFull = rows.length === limit || (read >= MOST_READ && skipped === skip)
      if (last !== null && isFull) return { rows, next: placeOf(last) }
      read += 1
      last = row
      if ((status ?? row.status) !== row.status || (event ?? row.event) !== row.event) continue
      if (skipped < skip) skipped += 1
      else rows.push(row)
    }
    return { rows, next: null }
  }

  /** A page of the log with the bodies, of messages before a place: as many as one call has room for. */
  log({ limit, skip, before }: LogPage) {
    return this.#firstRows(SQL.log, ...keyBefore(before), limit, skip)
  }

  /** The moment of the message after the `skip` newest ones; null if there is none. */
  moment(skip: number): number | null {
    return this.sql.rows<{ at: number }>(SQL.moment, skip)[0]?.at ?? null
  }

  /** The message with this id. Its moment is in `named`, or in the id itself. */
  find(id: string): Row | undefined {
    const at = this.sql.rows<{ at: number }>(SQL.named, id)[0]?.at ?? timeOf(id)
    return this.sql.rows<Row>(SQL.one, at, id)[0]
  }

  findWhole(id: string): Whole | undefined {
    const row = this.find(id)
    const message = row && this.message(row)
    return row && message && { ...row, body: message.body }
  }

  /** The next messages about a user, oldest first: as many as one call has room for. */
  held(iid: string, after: Place | null) {
    const from = after === null ? FIRST : keyOf(after)
    return this.#firstRows(SQL.held, iid, ...from)
  }

  /** The newest notifications of a user before a place: at most `limit`, as many as one call has room for. */
  newest(iid: string, before: Place, limit: number) {
    return this.#firstRows(SQL.newest, iid, ...keyOf(before), limit)
  }

  /** Deletes all messages about a user, and the user's entries in messages about leaderboards (U8). */
  erase({ iid, userId }: { iid: string; userId: string }): void {
    this.sql.run(SQL.unnameErased, iid)
    const erased = this.sql.rows<{ isSettled: number }>(SQL.erase, iid)
    this.unsettled += erased.filter(({ isSettled }) => isSettled === 1).length
    this.sql.run(SQL.unrank, userId, JSON.stringify(userId))
  }

  /** Deletes at most `most` settled messages from before a moment. Returns how many it deleted. */
  dropBefore(at: Instant, most: number): number {
    return this.sql.run(SQL.outdated, at, most)
  }

  /** Deletes the `count` oldest settled messages. Returns how many it deleted. */
  dropOldest(count: number): number {
    return this.sql.run(SQL.oldest, count)
  }

  /**
   * Forgets the names of dropped messages some days later than these, so that a user who comes to a date again gets
   * nothing twice, however short the log is (N2). `now` counts if nothing is left in the log.
   */
  unname(now: Instant): void {
    const oldest = this.sql.rows<{ at: number }>(SQL.oldestAt, 1)[0]?.at ?? now
    this.sql.run(SQL.unname, firstIdAt(instant(Math.max(0, oldest - NAMES_LAST))))
  }

  /** How many messages are settled. */
  settled(): number {
    return this.sql.rows<{ count: number }>(SQL.settled)[0]?.count ?? 0
  }

  /**
   * How many messages are pending, at most `most`. Of the newest `most`: how many are dead, the moment of the oldest
   * one if there are more, and how many since `since` have a result, and how many of those failed.
   */
  counts(most: number, since: Instant) {
    type Newest = { count: number; oldest: number | null; dead: number; tried: number; failed: number }
    const [pending] = this.sql.rows<{ count: number }>(SQL.countPending, most)
    const [newest] = this.sql.rows<Newest>(SQL.countNewest, most, since)
    const { count = 0, oldest = null, dead = 0, tried = 0, failed = 0 } = newest ?? {}
    return { pending: pending?.count ?? 0, dead, tried, failed, oldest: count < most ? null : oldest }
  }

  remember(destination: Destination): void {
    if (this.sql.note('destination') === null) this.sql.setNote('destination', destination)
  }

  /** A note that only this class writes, so it has this shape; null if there is none. */
  #note<T>(name: 'health' | 'resend'): T | null {
    const [row] = this.sql.rows<{ value: string }>('SELECT value FROM notes WHERE name = ?1', name)
    return row === undefined ? null : JSON.parse(row.value)
  }

  get health(): Health {
    return this.#note<Health>('health') ?? HEALTHY
  }

  set health(health: Health) {
    this.sql.setNote('health', health)
  }
}
