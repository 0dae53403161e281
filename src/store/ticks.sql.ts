import * as z from 'zod'
import { BOOST_LIST, BoostRow } from '../configuration/configuration'
import type { Configuration } from '../configuration/model'

import { DAY, type Instant, instant, SECOND } from '../lib/clock'
import { packed } from '../lib/packed'
import { bytesOf, columnList, json, readingOf } from '../platform/columns'
import type { Statement, TenantDatabase } from '../platform/database'
import type { TickChange, TickUser } from '../rules/points/ticks.rules'
import type { AwardRecord } from '../rules/state'
import { advanceSweep, type DueKind, type State } from '../time/due-work.sql.ts'
import { levelEntriesOf, levelsMoved } from '../webhooks/outbox/changes'
import { insertOutboxEntries } from '../webhooks/outbox/outbox.sql.ts'
import { notePoints } from '../webhooks/outbox/points-changed.sql.ts'
import { AWARD_VALUES } from './awards.sql.ts'
import { asRead } from './commit/writer'
import { awards, users } from './tables.sql.ts'
import { portionOf, shortAmong, shortColumns } from './users/portions.sql.ts'
import { userOf, usersStatement } from './users/users.sql.ts'

/**
 * The statements that write messages about ticks to the outbox. They come before the statements that store
 * the users, in the same batch (W2, W6). There are none without an active webhook.
 */
export async function outboxInsertsOfTicks(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly TickChange[],
): Promise<Statement[]> {
  if (!config.webhooks.some(({ status }) => status === 'active')) return []
  const among = asRead(db, config, changes)
  const dated = changes.map((change) => ({ ...change, after: { ...change.after, changed: lastOf(change) } }))
  const moved = dated.filter((change) => levelsMoved(config, change).length > 0)
  const users = new Map((await usersOf(db, moved)).map((user) => [user.iid, user]))
  const outboxEntries = moved.flatMap(({ before, after, awards }) => {
    const user = users.get(before.iid)
    // The batch also skips users who have changed since the read.
    if (user === undefined || user.seq !== before.seq) return []
    const { seq, changed, points } = after
    const change = { before, after: { ...user, seq, changed, points }, awards }
    return levelEntriesOf(config, change)
  })
  return [...insertOutboxEntries(db, outboxEntries, among), ...notePoints(db, config, dated, among)]
}

/** When the last of a user's ticks was due, but not before the user's last change. */
function lastOf({ before, awards }: TickChange): Instant {
  return instant(Math.max(before.changed, ...awards.map(({ at }) => at)))
}

async function usersOf(db: TenantDatabase, changes: readonly TickChange[]) {
  if (changes.length === 0) return []
  const ids = changes.map(({ before }) => before.id)
  const result = await db.run(usersStatement(db, ids))
  return result.results.map(userOf)
}

const READ = [
  'id',
  'iid',
  'seq',
  'changed',
  'tz',
  'created',
  'attributes',
  'points',
  'lastSeqByInput',
] as const
const USER = readingOf(users, READ)
const OWN_BOOSTS = `
    (SELECT ${BOOST_LIST} FROM points_boosts b
     WHERE b.user_iid = u.iid AND b."end" >= date(?3 / ${SECOND} - ${(2 * DAY) / SECOND}, 'unixepoch')
       AND b.deleted IS NULL) AS boosts`

const VERSION = 'SELECT config_version AS version FROM tenants WHERE id = ?1'
const CHUNK = `
  SELECT ${shortColumns('?5', { names: READ })}, ${OWN_BOOSTS}
  FROM users u WHERE u.tenant_id = ?1 AND u.id > ?2 ORDER BY u.id LIMIT ?4`
const NAMED = `
  SELECT ${USER.columns('u')}, ${OWN_BOOSTS}
  FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

const Version = z.object({ version: z.number() })
const UserRow = USER.row
  .extend({ boosts: json(z.array(BoostRow)) })
  .transform(({ tz, attributes, ...user }): TickUser => ({ ...user, profile: { tz, attributes } }))

/** The users to read: the next ones in order of their ids, or users with these ids. */
export type Asked = { after: string | null; limit: number } | { ids: readonly string[] }

/**
 * Reads users for ticks, and the version of the tenant's configuration. The users have their own boosts that
 * were not over two days before `from`.
 * Of the next users, reads as many as there is room for. `isAll` is whether all requested users were read.
 */
export async function readTickUsers(
  db: TenantDatabase,
  asked: Asked,
  from: Instant,
): Promise<{ version: number; users: TickUser[]; isAll: boolean }> {
  const named = (ids: readonly string[]) => db.statement(NAMED, db.tenantId, JSON.stringify(ids), from)
  const short = 'ids' in asked ? 0 : shortAmong(asked.limit)
  const { version, found } = await db.batchOf({
    version: db.statement(VERSION, db.tenantId),
    found:
      'ids' in asked
        ? named(asked.ids)
        : db.statement(CHUNK, db.tenantId, asked.after ?? '', from, asked.limit, short),
  })
  const known = { version: Version.parse(version.results[0]).version }
  // There is room for these users, because they were read together before.
  if ('ids' in asked) return { ...known, users: z.array(UserRow).parse(found.results), isAll: true }
  const { rows, isCut } = await portionOf(db, found.results, { short, whole: named })
  const isAll = !isCut && found.results.length < asked.limit
  return { ...known, users: z.array(UserRow).parse(rows), isAll }
}

// Values that awards of one tick share are passed once (?3). Both lists are materialised. Otherwise SQLite
// parses JSON again at each use, which takes half of the time of a tick.
const {
  seq: _seq,
  systemNo,
  at,
  triggerNo,
  triggerVersion,
  // Time triggers have no counter.
  counterBefore: _before,
  counterAfter: _after,
  // No tick is a correction.
  type: _type,
  amount: _amount,
  reason: _reason,
  reverses: _reverses,
  ...OF_EACH
} = AWARD_VALUES
const TICK_LIST = columnList(awards, { systemNo, at, triggerNo, triggerVersion })
// In an award, the index of its tick comes first.
const AWARD_LIST = columnList(awards, OF_EACH, 1)
const BOOK = `
  WITH ticks (key, ${TICK_LIST.columns}) AS MATERIALIZED (SELECT key, ${TICK_LIST.sql()} FROM json_each(?3)),
  booked AS MATERIALIZED (
    SELECT ${bytesOf('u.iid')} AS iid, u.seq, a.value AS award FROM json_each(?2) asked
    CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value ->> 0 AND u.iid = asked.value ->> 1
      AND u.seq = asked.value ->> 2
    CROSS JOIN json_each(asked.value, '$[3]') a)
  INSERT INTO awards (user_iid, seq, ${TICK_LIST.columns}, ${AWARD_LIST.columns})
  SELECT b.iid, b.seq + 1, ${TICK_LIST.columns}, ${AWARD_LIST.sql((nth) => `b.award ->> ${nth}`)}
  FROM booked b CROSS JOIN ticks t ON t.key = b.award ->> 0`

// Materialised, so that SQLite finds each user by key. Otherwise it walks all users of the tenant, and reads
// the whole list for each.
const STORE = `
  WITH asked AS MATERIALIZED (SELECT value ->> 0 AS id, value ->> 1 AS iid, value ->> 2 AS seq, value ->> 3 AS
    points,
    value ->> 4 AS last_seq_by_input FROM json_each(?2))
  UPDATE users SET seq = users.seq + 1, changed = max(changed, ?3), points = asked.points, last_seq_by_input =
    asked.last_seq_by_input
  FROM asked
  WHERE users.tenant_id = ?1 AND users.id = asked.id AND users.iid = asked.iid AND users.seq = asked.seq`

/** A list of the values that awards of one tick share, each once, with its index. */
class TickList {
  readonly #indexes = new Map<string, number>()
  readonly #rows: unknown[] = []

  indexOf(award: AwardRecord): number {
    const key = `${award.triggerId} ${award.at}`
    const known = this.#indexes.get(key)
    if (known !== undefined) return known
    this.#indexes.set(key, this.#rows.length)
    return this.#rows.push(TICK_LIST.values(award)) - 1
  }

  get json(): string {
    return JSON.stringify(this.#rows)
  }
}

/** A user and some of the awards, as `BOOK` reads them: split, so that each list fits into a parameter. */
function bookings({ before, awards }: TickChange, ticks: TickList): string[] {
  const rows = awards.map((award) => JSON.stringify([ticks.indexOf(award), ...AWARD_LIST.values(award)]))
  const who = JSON.stringify([before.id, before.iid, before.seq]).slice(0, -1)
  return packed(rows).map((list) => `${who},${list}]`)
}

/**
 * The statements that write ticks' changes of users, and the state of the sweep. `row` sets the state to
 * `done` if all users are still as read. Otherwise it sets it to `open`, with the ids of the users who have
 * changed, and skips these users. Parse the result of `row` with `parseState`.
 */
export function writeTicks(
  db: TenantDatabase,
  kind: DueKind,
  changes: readonly TickChange[],
  changed: Instant,
  row: { done: State<object>; open: State<object> },
  /** Statements for users who are still as read. They must select these users themselves. */
  beside: readonly Statement[],
): { row: Statement; changes: Statement[] } {
  const users = changes.map(({ before }) => before)
  const ticks = new TickList()
  const booked = changes.flatMap((change) => bookings(change, ticks))
  const states = changes.map(({ before, after }) =>
    JSON.stringify([
      before.id,
      before.iid,
      before.seq,
      Object.fromEntries(after.points),
      Object.fromEntries(after.lastSeqByInput),
    ]),
  )
  return {
    row: advanceSweep(db, kind, users, row),
    changes: [
      ...beside,
      ...packed(booked).map((list) => db.statement(BOOK, db.tenantId, list, ticks.json)),
      ...packed(states).map((list) => db.statement(STORE, db.tenantId, list, changed)),
    ],
  }
}
