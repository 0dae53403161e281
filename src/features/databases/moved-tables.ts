import { getTableName } from 'drizzle-orm'
import { getTableConfig, type SQLiteColumn, type SQLiteTable } from 'drizzle-orm/sqlite-core'
import { auditLog } from '../../configuration/audit.sql.ts'
import { pendingNotifications, pointsBoosts } from '../../configuration/tables.sql.ts'
import { bytesOf, columnsOf, quoted, updates } from '../../platform/columns'
import {
  adjustmentKeys,
  awards,
  devices,
  events,
  idempotencyKeys,
  streakPauses,
  streakRuns,
  userChanges,
  users,
  voidedEvents,
} from '../../store/tables.sql.ts'
import { outbox, pointsNotifications } from '../../webhooks/outbox/outbox.sql.ts'
import { countedUsers } from '../analytics/counting'

/*
 * The tables whose rows move with their users (B3), and their statements. A row travels as a JSON list of
 * its columns; bytes are hexadecimal in it. Only names of the schema are joined into these texts.
 */

/** The most rows of a table that one statement reads, and the same for tables with long rows. */
const [MANY, FEW] = [5_000, 200]

type Columns = readonly SQLiteColumn[]
const isBytes = (column: SQLiteColumn | undefined) => column?.getSQLType() === 'blob'
/** The columns of a primary key, if they are several. */
const keyOf = (table: SQLiteTable) => getTableConfig(table).primaryKeys.flatMap(({ columns }) => columns)

/** The SQL of a row as a JSON list. `t` is the table. */
const rowOf = (columns: Columns) =>
  `json_array(${columns
    .map((column) => {
      const value = `t."${column.name}"`
      return isBytes(column) ? `CASE WHEN ${value} IS NOT NULL THEN hex(${value}) END` : value
    })
    .join(', ')})`
/** The SQL of a column's value in such a list. */
const valueIn = (json: string, columns: Columns, column: SQLiteColumn) => {
  const value = `${json} ->> ${columns.indexOf(column)}`
  return isBytes(column) ? `unhex(${value})` : value
}
/** The column of the tenant gets ?2, because a departed row has another name there. */
function insertOf(table: SQLiteTable, columns: Columns): string {
  const values = columns.map((column) => {
    if (column === pointsBoosts.key) return freeKey(columns)
    return column.name === 'tenant_id' ? '?2' : valueIn('value', columns, column)
  })
  const into = `INTO ${getTableName(table)} (${quoted(columns)})
    SELECT ${values.join(', ')} FROM json_each(?1)`
  // The first database has the boosts of all users, in the order of their creation, which must stay.
  return table === pointsBoosts
    ? `INSERT ${into} WHERE true ON CONFLICT (id) DO UPDATE SET ${updates(columns)}`
    : `INSERT OR REPLACE ${into}`
}

/** The key of a boost, or a longer one if another boost has it in this database already (O2). */
function freeKey(columns: Columns): string {
  const of = (column: SQLiteColumn) => valueIn('value', columns, column)
  const [id, key] = [of(pointsBoosts.id), of(pointsBoosts.key)]
  return `CASE WHEN EXISTS (SELECT 1 FROM points_boosts o WHERE o.system_id = ${of(pointsBoosts.systemId)}
    AND o.key = ${key} AND o.deleted IS NULL AND o.id <> ${id})
    THEN ${key} || '-' || substr(${id}, -12) ELSE ${key} END`
}

/** SQL: whether a row is newer than the user's `seq`; null if the rows are few, and copied again. */
type IsNewer = ((iid: string, seq: string) => string) | null
const bySeq: IsNewer = (_, seq) => `t.seq > ${seq}`

/** Their rows of a user change only together with the user's `seq`, so they are copied beforehand. */
const LOGS: readonly (readonly [table: SQLiteTable, most: number, isNewer: IsNewer])[] = [
  [events, MANY, bySeq],
  [awards, MANY, bySeq],
  [
    idempotencyKeys,
    MANY,
    (iid, seq) => `t.event_id IN (SELECT id FROM events WHERE user_iid = ${iid} AND seq > ${seq}
      UNION ALL SELECT id FROM voided_events WHERE user_iid = ${iid} AND seq > ${seq})`,
  ],
  [voidedEvents, FEW, (_, seq) => `t.voided_seq > ${seq}`],
  [
    adjustmentKeys,
    MANY,
    (iid, seq) => `t.award_id IN (SELECT id FROM awards WHERE user_iid = ${iid} AND seq > ${seq})`,
  ],
  [userChanges, FEW, bySeq],
  [streakRuns, MANY, null],
]

/** The statements of a log. */
export const COPIED_LOGS = LOGS.map(([table, most, isNewer]) => {
  const name = getTableName(table)
  const columns = columnsOf(table)
  const [user, ...key] = keyOf(table)
  const row = rowOf(columns)
  const iidOf = (iid: string) => (isBytes(user) ? bytesOf(iid) : iid)
  const orderly = key.map((column) => `t."${column.name}"`).join(', ')
  const last = key.map((column) => valueIn('?2', columns, column)).join(', ')
  const asked = iidOf('asked.value ->> 0')
  return {
    name,
    most,
    /** Whether rows that are newer than a `seq` can be told from others. */
    hasNewer: isNewer !== null,
    /** All rows of the users ?1, a list of [iid, …]. */
    read: `SELECT ${row} AS row FROM json_each(?1) asked CROSS JOIN ${name} t ON t.user_iid = ${asked}
      LIMIT ${most + 1}`,
    /** The rows of the user ?1 in the order of their key: the first ones, and those after the row ?2. */
    begin: `SELECT ${row} AS row FROM ${name} t WHERE t.user_iid = ${iidOf('?1')} ORDER BY ${orderly} LIMIT ${most}`,
    goOn: `SELECT ${row} AS row FROM ${name} t WHERE t.user_iid = ${iidOf('?1')}
      AND (${orderly}) > (${last}) ORDER BY ${orderly} LIMIT ${most}`,
    /** The newer rows of the users ?1, a list of [iid, seq], and all rows of a log that can't tell. */
    newer: `SELECT ${row} AS row FROM json_each(?1) asked CROSS JOIN ${name} t ON t.user_iid = ${asked}
      ${isNewer === null ? '' : `AND ${isNewer(asked, 'asked.value ->> 1')}`}`,
    /** Deletes all rows of the users ?1, a list of iids. */
    remove: `DELETE FROM ${name} WHERE user_iid IN (SELECT ${iidOf('value')} FROM json_each(?1))`,
    insert: insertOf(table, columns),
  }
})

/** Deletes the events of users ?1, [iid, seq], that were voided after that `seq`. Their voids are there. */
export const REMOVE_VOIDED = `
  DELETE FROM events WHERE (user_iid, metric_no, at, seq) IN (
    SELECT v.user_iid, v.metric_no, v.at, v.seq FROM json_each(?1) asked
    CROSS JOIN voided_events v ON v.user_iid = ${bytesOf('asked.value ->> 0')}
      AND v.voided_seq > asked.value ->> 1)`

const departed = `'moved:' || ?1`
const IN_RANGE = (tenant: string) =>
  `SELECT iid FROM users WHERE tenant_id = ${tenant} AND bucket BETWEEN ?2 AND ?3`

/**
 * Rows that may change without a change of the user's `seq`. They are copied while nobody can write them:
 * between the departure from one database and the arrival in the other. Departed rows have the tenant
 * `moved:` and the tenant's id.
 */
const WITH_TENANT: readonly { table: SQLiteTable; but?: readonly string[] }[] = [
  { table: streakPauses },
  { table: devices },
  { table: pointsNotifications },
  { table: pendingNotifications },
  { table: outbox },
  { table: auditLog },
  // Each database numbers its own.
  { table: pointsBoosts, but: ['no'] },
]

/** Those that no index finds by their user. */
const NOT_BY_USER: readonly SQLiteTable[] = [outbox, pendingNotifications]

export const DEPARTING = WITH_TENANT.map(({ table, but }) => {
  const name = getTableName(table)
  const columns = columnsOf(table, but)
  const isByUser = !NOT_BY_USER.includes(table)
  const keys = quoted(keyOf(table))
  // Users' own boosts stay in the first database, too: it serves admins, and decides about their keys.
  const stays = table === pointsBoosts
  return {
    name,
    depart: `UPDATE ${name} SET tenant_id = ${departed}
      WHERE tenant_id = ?1 AND user_iid IN (${IN_RANGE('?1')})
        ${stays ? 'AND (SELECT is_copy FROM tenants WHERE id = ?1) = 1' : ''}`,
    read: `SELECT ${rowOf(columns)} AS row FROM ${name} t
      WHERE t.tenant_id IN (${departed}${stays ? ', ?1' : ''}) AND t.user_iid IN (${IN_RANGE(departed)})`,
    insert: insertOf(table, columns),
    isByUser,
    /** Deletes departed rows: those of the users ?2, or the next ?2 rows if there is no index of users. */
    forget: isByUser
      ? `DELETE FROM ${name} WHERE tenant_id = ${departed}
          AND user_iid IN (SELECT value FROM json_each(?2))`
      : `DELETE FROM ${name} WHERE (${keys}) IN (
          SELECT ${keys} FROM ${name} WHERE tenant_id = ${departed} LIMIT ?2)`,
  }
})

/** About how many bytes the row of a user has. `octet_length` reads no long text. */
export const BYTES_OF_USER = columnsOf(users)
  .map(({ name }) => `coalesce(octet_length("${name}"), 0)`)
  .join(' + ')

/** The users themselves. */
export const DEPARTING_USERS = {
  depart: `UPDATE users SET tenant_id = ${departed} WHERE tenant_id = ?1 AND bucket BETWEEN ?2 AND ?3`,
  read: `SELECT t.iid, t.seq, ${rowOf(columnsOf(users))} AS row FROM users t
    WHERE t.tenant_id = ${departed} AND t.bucket BETWEEN ?2 AND ?3`,
  insert: insertOf(users, columnsOf(users)),
  next: `SELECT id, iid FROM users WHERE tenant_id = ${departed} LIMIT ?2`,
  forget: `DELETE FROM users WHERE tenant_id = ${departed} AND id IN (SELECT value FROM json_each(?2))`,
} as const

/** In which state the users are counted: the analytics change it without a change of the user's `seq`. */
export const DEPARTING_COUNTS = {
  read: `SELECT ${rowOf(columnsOf(countedUsers))} AS row FROM counted_users t WHERE t.user_iid IN (
    SELECT ${bytesOf('iid')} FROM users WHERE tenant_id = ${departed} AND bucket BETWEEN ?2 AND ?3)`,
  insert: insertOf(countedUsers, columnsOf(countedUsers)),
} as const

/** The statements of the next rows that belong to no user, of a tenant that leaves a database. */
function leftoversOf(table: SQLiteTable, most: number) {
  const [name, columns, key] = [getTableName(table), columnsOf(table), keyOf(table)]
  const valuesOf = (some: Columns) => some.map((column) => valueIn('value', columns, column)).join(', ')
  return {
    read: `SELECT ${rowOf(columns)} AS row FROM ${name} t WHERE tenant_id = ?1
      ORDER BY ${quoted(key)} LIMIT ${most}`,
    insert: `INSERT OR IGNORE INTO ${name} (${quoted(columns)})
      SELECT ${valuesOf(columns)} FROM json_each(?1)`,
    remove: `DELETE FROM ${name} WHERE (${quoted(key)}) IN (SELECT ${valuesOf(key)} FROM json_each(?1))`,
  }
}
export const LEFTOVERS = { outbox: leftoversOf(outbox, 100), audit: leftoversOf(auditLog, 500) }

/** The names of the tables whose rows move. A test compares them with the register of a user's data. */
export const MOVED: readonly string[] = [
  'users',
  getTableName(countedUsers),
  ...COPIED_LOGS.map(({ name }) => name),
  ...DEPARTING.map(({ name }) => name),
]
