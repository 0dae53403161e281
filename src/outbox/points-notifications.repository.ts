import * as z from 'zod'
import type { Configuration } from '../config/configuration.types'
import { type ColumnValues, columnList } from '../db/column-list'
import type { AccountDatabase, TenantDatabase } from '../db/database'
import { guardSql, onlyUnchanged, overUsers, type UnchangedUsers } from '../db/guard'
import { bytesOf, idOf, numberOf } from '../db/short-ids'
import type { UserState } from '../engine/state.types'
import { makeDueByEarliest } from '../jobs/due-work.repository'
import { type Instant, instant } from '../lib/clock'
import { DAY } from '../lib/units'
import { listens } from './outbox.messages'
import { pointsNotifications } from './outbox.table'
import { QUIET } from './quiet.rules'

/** What a change did to a user's points: the user as read and as left by it, and its awards. */
export type PointsChange = {
  before: Pick<UserState, 'seq' | 'changed' | 'points'> | null
  after: Pick<UserState, 'id' | 'iid' | 'seq' | 'changed' | 'points'>
  awards: readonly { systemId: string }[]
}

// While one is due, what comes in between will be told with it: nothing is written. Else all was told up to this change.
const onConflict = `ON CONFLICT DO UPDATE SET seq = excluded.seq, at = excluded.at, total = excluded.total,
    due_at = max(until, excluded.due_at) WHERE due_at IS NULL`
const NOTE_VALUES: ColumnValues<
  typeof pointsNotifications,
  Pick<PointsChange, 'before' | 'after'> & { systemId: string },
  'tenantId'
> = {
  userIid: ({ after }) => after.iid,
  systemId: ({ systemId }) => systemId,
  userId: ({ after }) => after.id,
  seq: ({ before }) => before?.seq ?? 0,
  at: ({ before }) => before?.changed ?? 0,
  total: ({ before, systemId }) => before?.points.get(systemId) ?? 0,
  until: ({ after }) => after.changed,
  dueAt: ({ after }) => after.changed,
}
const NOTE_LIST = columnList(pointsNotifications, NOTE_VALUES)
const NOTE = `
  INSERT INTO points_notifications (tenant_id, ${NOTE_LIST.columns})
  SELECT ?2, ${NOTE_LIST.sql()} FROM json_each(?1)
  WHERE ${onlyUnchanged(NOTE_LIST.value('userIid'))} ${onConflict}`

/**
 * Notes that `points.changed` is to be told of changes, where somebody listens (W5): at once, or once the last one is 15 minutes old. Part of the
 * batch that stores the changes, of those among them (`amongUnmoved`).
 * Two rows written for a change after a quiet time, and none while one is due.
 */
export function notePoints(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly PointsChange[],
  among: UnchangedUsers,
): D1PreparedStatement[] {
  if (!listens(config, 'points.changed')) return []
  const noted = new Set<string>()
  const rows = changes.flatMap(({ before, after, awards }) =>
    [...new Set(awards.map(({ systemId }) => systemId))].flatMap((systemId) => {
      const key = `${after.iid} ${systemId}`
      if (noted.has(key)) return []
      noted.add(key)
      return [NOTE_LIST.values({ before, after, systemId })]
    }),
  )
  return overUsers(db, NOTE, rows, among)
}

/** The most that is told of points at once, in one write batch. */
const MOST_DUE = 25

const DUE = `
  SELECT user_iid AS userIid, system_id AS systemId, user_id AS userId, seq, at, total, due_at AS dueAt FROM points_notifications
  WHERE tenant_id = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT ${MOST_DUE}`

const DueRow = z.object({
  userIid: z.string(),
  systemId: z.string(),
  userId: z.string(),
  seq: z.number(),
  at: z.number().transform(instant),
  total: z.number(),
  dueAt: z.number().transform(instant),
})

/** Changes of a user's points in a system that are to be told: all after this `seq`, moment and total. */
export type DuePoints = z.infer<typeof DueRow>

/** What is due by a moment, the oldest first. */
export async function duePoints(db: TenantDatabase, by: Instant): Promise<DuePoints[]> {
  return z.array(DueRow).parse(await db.rows(db.statement(DUE, db.tenantId, by)))
}

const UNTOLD = guardSql(`
  NOT EXISTS (SELECT 1 FROM json_each(?1) asked WHERE NOT EXISTS (SELECT 1 FROM points_notifications t
    WHERE t.user_iid = asked.value ->> 0 AND t.system_id = asked.value ->> 1 AND t.seq = asked.value ->> 2
      AND t.due_at = asked.value ->> 3))`)

/** Holds while nobody else has told of these. */
export function notSentYet(db: TenantDatabase, due: readonly DuePoints[]): D1PreparedStatement {
  const asked = due.map(({ userIid, systemId, seq, dueAt }) => [userIid, systemId, seq, dueAt])
  return db.statement(UNTOLD, JSON.stringify(asked))
}

// Who has changed since that was read may have more to tell, which nobody has noted while this was due.
const TOLD = `
  WITH asked AS MATERIALIZED (SELECT value FROM json_each(?2))
  UPDATE points_notifications SET seq = a.value ->> 2, at = a.value ->> 3, total = a.value ->> 4, until = a.value ->> 5,
    due_at = CASE WHEN (SELECT seq FROM users WHERE tenant_id = ?1 AND id = points_notifications.user_id AND iid = user_iid)
      > a.value ->> 2 THEN a.value ->> 5 END
  FROM asked a WHERE points_notifications.user_iid = a.value ->> 0 AND points_notifications.system_id = a.value ->> 1`

/** What is known to be told from now on: up to which `seq`, moment and total of the user; whether anything was, or there was nothing to tell. */
export type SentPoints = Pick<DuePoints, 'userIid' | 'systemId' | 'seq' | 'at' | 'total'> & {
  wasSent: boolean
}

/** Notes what was told, so that nothing more is for 15 minutes (W5). */
export function notePointsSent(
  db: TenantDatabase,
  rows: readonly SentPoints[],
  now: Instant,
): D1PreparedStatement {
  const list = rows.map(({ userIid, systemId, seq, at, total, wasSent }) => [
    userIid,
    systemId,
    seq,
    at,
    total,
    wasSent ? now + QUIET : now,
  ])
  return db.statement(TOLD, db.tenantId, JSON.stringify(list))
}

/** The most awards of one message, the newest, and bytes of their boosts: of somebody who gets more within 15 minutes, `added` still tells all of them. */
const MOST_AWARDS = 1_000
const MOST_BYTES = 300_000
/** By how much an award may be older than what was told before it: ticks that are late are dated when they were due (P4). */
const LATE = 31 * DAY

const AWARDS = `
  SELECT nth, hex(id) AS id, at, seq, position, awarded, total, ${idOf('points_triggers', 't.trigger_no')} AS triggerId,
    trigger_version AS triggerVersion, boosts
  FROM (
    SELECT asked.key AS nth, a.id, a.at, a.seq, a.position, a.awarded, a.total, a.trigger_no, a.trigger_version, a.boosts,
      row_number() OVER newest AS place, sum(coalesce(octet_length(a.boosts), 0)) OVER newest AS bytes
    FROM json_each(?1) asked CROSS JOIN awards a ON a.user_iid = ${bytesOf('asked.value ->> 0')}
      AND a.system_no = ${numberOf('points_systems', 'asked.value ->> 1')} AND a.at >= asked.value ->> 2 AND a.seq > asked.value ->> 3
    WINDOW newest AS (PARTITION BY asked.key ORDER BY a.at DESC, a.seq DESC, a.position DESC)) t
  WHERE place <= ${MOST_AWARDS} AND (bytes <= ${MOST_BYTES} OR place = 1) ORDER BY nth, at, seq, position`

/** Reads the awards that were made since these were told, oldest first; `nth` is the place among them. Parsed by `StoredAward`. */
export function awardsSince(db: TenantDatabase, due: readonly DuePoints[]): D1PreparedStatement {
  const asked = due.map(({ userIid, systemId, at, seq }) => [userIid, systemId, at - LATE, seq])
  return db.statement(AWARDS, JSON.stringify(asked))
}

const FORGET = `
  DELETE FROM points_notifications WHERE (user_iid, system_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?1))`

/** Forgets what was told of users or systems that are gone. */
export function forgetPoints(db: TenantDatabase, rows: readonly DuePoints[]): D1PreparedStatement {
  return db.statement(FORGET, JSON.stringify(rows.map(({ userIid, systemId }) => [userIid, systemId])))
}

const FIRST = '(SELECT min(due_at) FROM points_notifications WHERE tenant_id = ?1 AND due_at IS NOT NULL)'

/** Has the Timekeeper know when the next is to be told. Writes a row only where it knows of none so early. */
export function schedulePointsNotification(db: TenantDatabase): D1PreparedStatement {
  return makeDueByEarliest(db, 'outbox', FIRST)
}

const FIRST_DUE = `SELECT ${FIRST} AS dueAt`

/** When the next of a tenant is to be told; null where nothing is. */
export async function firstDue(db: TenantDatabase): Promise<Instant | null> {
  const [row] = await db.rows(db.statement(FIRST_DUE, db.tenantId))
  return z.object({ dueAt: z.number().transform(instant).nullable() }).parse(row).dueAt
}

const SHORTEN = `
  UPDATE points_notifications SET until = min(until, ?1), due_at = min(due_at, ?1) WHERE until > ?1 OR due_at > ?1`

/** Has nobody wait longer than a quiet time from a moment on: for when the clock went back (C1). */
export function shortenQuiet(db: AccountDatabase, now: Instant): D1PreparedStatement {
  return db.statement(SHORTEN, now + QUIET)
}
