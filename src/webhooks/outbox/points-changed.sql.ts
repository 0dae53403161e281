import * as z from 'zod'
import type { Configuration } from '../../configuration/model'
import { DAY, type Instant, instant, MINUTE } from '../../lib/clock'
import { bytesOf, columnList, fieldsOf, idOf, Moment, numberOf, readingOf } from '../../platform/columns'
import type { AccountDatabase, Statement, TenantDatabase } from '../../platform/database'
import { guardSql, onlyUnchanged, overUsers, type UsersAsRead } from '../../platform/guard'
import type { UserState } from '../../rules/state'
import { scheduleEarliest } from '../../time/due-work.sql.ts'
import { listens } from './outbox'
import { pointsNotifications } from './outbox.sql.ts'

/** The time after a message about points or a leaderboard in which no other is sent, in milliseconds (W5). */
export const QUIET = 15 * MINUTE

type PointsChange = {
  before: Pick<UserState, 'seq' | 'changed' | 'points'> | null
  after: Pick<UserState, 'id' | 'iid' | 'seq' | 'changed' | 'points'>
  awards: readonly { systemId: string }[]
}

// While a message is due, changes in between will be part of it, so nothing is written. Otherwise the
// messages so far cover all changes before this one.
const onConflict = `ON CONFLICT DO UPDATE SET seq = excluded.seq, at = excluded.at, total = excluded.total,
    due_at = max(until, excluded.due_at) WHERE due_at IS NULL`
const NOTE_LIST = columnList(pointsNotifications, fieldsOf(pointsNotifications, ['tenantId']))
const NOTE = `
  INSERT INTO points_notifications (tenant_id, ${NOTE_LIST.columns})
  SELECT ?2, ${NOTE_LIST.sql()} FROM json_each(?1)
  WHERE ${onlyUnchanged(NOTE_LIST.value('userIid'))} ${onConflict}`

/**
 * Schedules `points.changed` for changes if a webhook listens (W5): now, or 15 minutes after the last
 * message. Part of the batch that stores the changes. `among` selects the users (`usersAsRead`).
 * A change after a quiet time costs two written rows. While a message is due, a change costs none.
 */
export function notePoints(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly PointsChange[],
  among: UsersAsRead,
): Statement[] {
  if (!listens(config, 'points.changed')) return []
  const noted = new Set<string>()
  const rows = changes.flatMap(({ before, after, awards }) =>
    [...new Set(awards.map(({ systemId }) => systemId))].flatMap((systemId) => {
      const key = `${after.iid} ${systemId}`
      if (noted.has(key)) return []
      noted.add(key)
      const [seq, at] = [before?.seq ?? 0, before?.changed ?? instant(0)]
      const total = before?.points.get(systemId) ?? 0
      const [userIid, userId, dueAt] = [after.iid, after.id, after.changed]
      return [NOTE_LIST.values({ userIid, systemId, userId, seq, at, total, until: dueAt, dueAt })]
    }),
  )
  return overUsers(db, NOTE, rows, among)
}

const MOST_DUE = 25

const COVERED = readingOf(pointsNotifications, ['userIid', 'systemId', 'userId', 'seq', 'at', 'total'])
const DUE = `
  SELECT ${COVERED.columns('t')}, due_at AS dueAt FROM points_notifications t
  WHERE tenant_id = ?1 AND due_at BETWEEN ?2 AND ?3 ORDER BY due_at LIMIT ${MOST_DUE}`

const DueRow = COVERED.row.extend({ dueAt: Moment })

/** The changes of points that the next message covers: all after this `seq`, moment and total. */
export type DuePoints = z.infer<typeof DueRow>

/** The rows that are due from one moment to another, the oldest first. */
export async function duePoints(db: TenantDatabase, from: Instant, to: Instant): Promise<DuePoints[]> {
  return db.list(DueRow, DUE, db.tenantId, from, to)
}

const NOT_SENT = guardSql(`
  NOT EXISTS (SELECT 1 FROM json_each(?1) asked WHERE NOT EXISTS (SELECT 1 FROM points_notifications t
    WHERE t.user_iid = asked.value ->> 0 AND t.system_id = asked.value ->> 1 AND t.seq = asked.value ->> 2
      AND t.due_at = asked.value ->> 3))`)

/** A guard. It holds while no other call has sent these. */
export function notSentYet(db: TenantDatabase, due: readonly DuePoints[]): Statement {
  const asked = due.map(({ userIid, systemId, seq, dueAt }) => [userIid, systemId, seq, dueAt])
  return db.statement(NOT_SENT, JSON.stringify(asked))
}

// A user with a higher `seq` may have more changes. They were not scheduled while this message was due, so a
// message is due again.
const SENT = `
  WITH asked AS MATERIALIZED (SELECT value FROM json_each(?2))
  UPDATE points_notifications SET seq = a.value ->> 2, at = a.value ->> 3, total = a.value ->> 4, until =
    a.value ->> 5,
    due_at = CASE WHEN (SELECT seq FROM users WHERE tenant_id = ?1 AND id = points_notifications.user_id
      AND iid = user_iid)
      > a.value ->> 2 THEN a.value ->> 5 END
  FROM asked a WHERE points_notifications.user_iid = a.value ->> 0
    AND points_notifications.system_id = a.value ->> 1`

/** Up to which state of the user changes are covered. `wasSent`: false if nothing was to send. */
export type SentPoints = Pick<DuePoints, 'userIid' | 'systemId' | 'seq' | 'at' | 'total'> & {
  wasSent: boolean
}

/** Stores the last sent state. After a message, nothing more is sent for 15 minutes (W5). */
export function notePointsSent(db: TenantDatabase, rows: readonly SentPoints[], now: Instant): Statement {
  const list = rows.map(({ userIid, systemId, seq, at, total, wasSent }) => [
    userIid,
    systemId,
    seq,
    at,
    total,
    wasSent ? now + QUIET : now,
  ])
  return db.statement(SENT, db.tenantId, JSON.stringify(list))
}

/** The most awards of a message, the newest ones, and the most bytes of their boosts. `added` counts all. */
const MOST_AWARDS = 1_000
const MOST_BYTES = 300_000
/** By how much an award may be older than the last message, in ms. A late tick has its due time (P4). */
const LATE = 31 * DAY

const ASKED = `a.user_iid = ${bytesOf('asked.value ->> 0')} AND a.seq > asked.value ->> 3
      AND a.system_no = ${numberOf('points_systems', 'asked.value ->> 1')}`
const AWARDS_AFTER = `SELECT asked.key AS nth, a.* FROM json_each(?1) asked CROSS JOIN awards a ON ${ASKED}
      AND a.at >= asked.value ->> 2`
// A reversal has the moment of its award, which may be long ago (V2).
const OLD_CORRECTIONS = `SELECT asked.key AS nth, a.* FROM json_each(?1) asked
      CROSS JOIN awards a INDEXED BY awards_corrections ON ${ASKED} AND a.type IS NOT NULL
      AND a.at < asked.value ->> 2`
const AWARDS = `
  SELECT nth, hex(id) AS id, at, seq, position, awarded, total, ${idOf('points_triggers', 't.trigger_no')} AS
    triggerId,
    trigger_version AS triggerVersion, boosts, type
  FROM (
    SELECT a.nth, a.id, a.at, a.seq, a.position, a.awarded, a.total, a.trigger_no,
      a.trigger_version, a.boosts, a.type,
      row_number() OVER newest AS place, sum(coalesce(octet_length(a.boosts), 0)) OVER newest AS bytes
    FROM (${AWARDS_AFTER} UNION ALL ${OLD_CORRECTIONS}) a
    WINDOW newest AS (PARTITION BY a.nth ORDER BY a.at DESC, a.seq DESC, a.position DESC)) t
  WHERE place <= ${MOST_AWARDS} AND (bytes <= ${MOST_BYTES} OR place = 1) ORDER BY nth, at, seq, position`

/** Reads the awards since these states, oldest first, for `StoredAwardRow` and `nth`, the index in `due`. */
export function awardsSince(db: TenantDatabase, due: readonly DuePoints[]): Statement {
  const asked = due.map(({ userIid, systemId, at, seq }) => [userIid, systemId, at - LATE, seq])
  return db.statement(AWARDS, JSON.stringify(asked))
}

const FORGET = `
  DELETE FROM points_notifications WHERE (user_iid, system_id) IN (SELECT value ->> 0, value ->> 1
    FROM json_each(?1))`

/** Deletes the last sent state of deleted users or systems. */
export function forgetPoints(db: TenantDatabase, rows: readonly DuePoints[]): Statement {
  return db.statement(FORGET, JSON.stringify(rows.map(({ userIid, systemId }) => [userIid, systemId])))
}

const FIRST = '(SELECT min(due_at) FROM points_notifications WHERE tenant_id = ?1 AND due_at IS NOT NULL)'

/** Schedules the Timekeeper for the next message. Writes a row only if no earlier work is scheduled. */
export function schedulePointsNotification(db: TenantDatabase): Statement {
  return scheduleEarliest(db, 'outbox', FIRST)
}

const FIRST_DUE = `SELECT ${FIRST} AS dueAt`

/** When the next message of a tenant is due, or null if there is none. */
export async function firstDue(db: TenantDatabase): Promise<Instant | null> {
  return (await db.one(z.object({ dueAt: Moment.nullable() }), FIRST_DUE, db.tenantId)).dueAt
}

const SHORTEN = `
  UPDATE points_notifications SET until = min(until, ?1), due_at = min(due_at, ?1) WHERE until > ?1
    OR due_at > ?1`

/** Shortens all waits to one quiet time from a moment. Needed after the clock was set back (C1). */
export function shortenQuiet(db: AccountDatabase, now: Instant): Statement {
  return db.statement(SHORTEN, now + QUIET)
}
