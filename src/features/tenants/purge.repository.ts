import * as z from 'zod'
import { TENANT_STATUSES } from '../../access/tenants.types'
import type { TenantDatabase } from '../../db/database'
import { guardSql } from '../../db/guard'
import { makeDueOnce, nothingElseDue, removeWork } from '../../jobs/due-work.repository'
import type { Instant } from '../../lib/clock'
import { ROWS_OF_USERS } from '../../store/user-rows.repository'

const ACCEPT = `
  UPDATE tenants SET status = 'purging', config_version = config_version + 1, link_secret = NULL
  WHERE id = ?1 AND status = 'archived'`
const STATUS = 'SELECT status FROM tenants WHERE id = ?1'

const Status = z.object({ status: z.enum(TENANT_STATUSES) }).optional()

/**
 * Begins to erase an archived tenant, in one batch: from now on nobody finds it, whatever was decided on its configuration is not stored any more, and
 * the rest is due. Answers the tenant's status; undefined if there is no such tenant. Done again, it changes nothing.
 */
export async function acceptPurge(db: TenantDatabase, now: Instant) {
  const { status } = await db.batchOf({
    accepted: db.statement(ACCEPT, db.tenantId),
    due: makeDueOnce(db, 'purge', now, 'purging'),
    status: db.statement(STATUS, db.tenantId),
  })
  return Status.parse(status.results[0])?.status
}

const BOARDS = 'SELECT id AS name FROM leaderboards WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3'
const COURIERS = `
  SELECT name FROM (SELECT 'webhook:' || id AS name FROM webhooks WHERE tenant_id = ?1
    UNION ALL SELECT 'email:' || ?1 UNION ALL SELECT 'push:' || ?1)
  WHERE name > ?2 ORDER BY name LIMIT ?3`

const Names = z.array(z.object({ name: z.string() }))

/** The names of the tenant's next objects, those of what was deleted too. */
export async function objectsAfter(
  db: TenantDatabase,
  kind: 'boards' | 'couriers',
  after: string,
  limit: number,
): Promise<string[]> {
  const sql = kind === 'boards' ? BOARDS : COURIERS
  const rows = await db.rows(db.statement(sql, db.tenantId, after, limit))
  return Names.parse(rows).map(({ name }) => name)
}

const KEYS = 'SELECT prefix AS name FROM api_keys WHERE tenant_id = ?1 LIMIT ?2'
const REMOVE_KEYS = `
  DELETE FROM api_keys WHERE prefix IN (SELECT value FROM json_each(?2)) AND +tenant_id = ?1`

/** The prefixes of so many keys of the tenant. */
export async function keysOf(db: TenantDatabase, limit: number): Promise<string[]> {
  return Names.parse(await db.rows(db.statement(KEYS, db.tenantId, limit))).map(({ name }) => name)
}

/** Deletes keys by their prefixes. */
export function removeKeys(db: TenantDatabase, prefixes: readonly string[]): D1PreparedStatement {
  return db.statement(REMOVE_KEYS, db.tenantId, JSON.stringify(prefixes))
}

const USERS = 'SELECT id, iid FROM users WHERE tenant_id = ?1 ORDER BY id LIMIT ?2'
const REMOVE_USERS = `
  DELETE FROM users WHERE tenant_id = ?1 AND id IN (SELECT value FROM json_each(?2))`

const Users = z.array(z.object({ id: z.string(), iid: z.string() }))

/** So many users of the tenant. */
export async function usersOf(db: TenantDatabase, limit: number): Promise<z.infer<typeof Users>> {
  return Users.parse(await db.rows(db.statement(USERS, db.tenantId, limit)))
}

/** Deletes users' own rows. */
export function removeUsers(db: TenantDatabase, ids: readonly string[]): D1PreparedStatement {
  return db.statement(REMOVE_USERS, db.tenantId, JSON.stringify(ids))
}

/** Takes so many of the tenant's rows out of a table by its primary key. */
const someOf = (table: string, key: string, rows: number) => ({
  rows,
  sql: `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE tenant_id = ?1 LIMIT ${rows})`,
})

/** How many short rows go at once, and how many that may take a megabyte or two. */
const [SHORT, LONG] = [5_000, 100]

/** What takes rows out of each table that finds them by the tenant, by the table's name. */
const ROWS_OF_TENANT = {
  inbox: someOf('inbox', 'no', LONG),
  event_batches: someOf('event_batches', 'tenant_id, id', SHORT),
  parked_events: someOf('parked_events', 'tenant_id, batch_id, position', LONG),
  outbox: someOf('outbox', 'tenant_id, at, seq, id', LONG),
  notices: someOf('notices', 'tenant_id, due_at, id', SHORT),
  tallies: someOf('tallies', 'tenant_id, name', SHORT),
  change_spreads: someOf('change_spreads', 'tenant_id, period, subject', LONG),
  points_summaries: someOf('points_summaries', 'tenant_id, system_id, kind, filter', LONG),
} as const

/** Takes the next rows out of all tables that find them by the tenant; tells whether these were the last ones. */
export async function removeTenantRows(db: TenantDatabase): Promise<boolean> {
  const tables = Object.values(ROWS_OF_TENANT)
  const results = await db.batch([
    removeWork(db, ['purge', 'erasure'], SHORT),
    ...tables.map(({ sql }) => db.statement(sql, db.tenantId)),
  ])
  const most = [SHORT, ...tables.map(({ rows }) => rows)]
  return results.every(({ meta }, index) => meta.changes < (most[index] ?? 0))
}

/** Rows of the configuration that are walked past at once: no index finds those that were deleted before, and a tenant has few. */
const WALK = 10_000

const walkOf = (table: string) => `
  SELECT max(no) AS last, count(*) AS count FROM (SELECT no FROM ${table} WHERE no > ?1 ORDER BY no LIMIT ${WALK})`
const walkedOf = (table: string) => `DELETE FROM ${table} WHERE no > ?2 AND no <= ?3 AND tenant_id = ?1`
const configured = <const T extends string>(table: T) => ({
  table,
  walk: walkOf(table),
  remove: walkedOf(table),
})

/** The tables of the configuration, in the order in which rows are taken out: what others refer to last. */
const CONFIGURATION = [
  configured('points_triggers'),
  configured('points_levels'),
  configured('points_boosts'),
  configured('points_systems'),
  configured('achievements'),
  configured('leaderboards'),
  configured('webhooks'),
  configured('notification_templates'),
  configured('metrics'),
  configured('attributes'),
] as const

const REMOVE_VERSIONS = `
  DELETE FROM trigger_versions WHERE (trigger_id, version) IN (
    SELECT v.trigger_id, v.version FROM points_triggers t CROSS JOIN trigger_versions v ON v.trigger_id = t.id
    WHERE t.no > ?2 AND t.no <= ?3 AND t.tenant_id = ?1 LIMIT ${SHORT})`

/** How far the configuration has been taken out: the table's place in the list, and the number of its last row that was walked past. */
export type Walked = { table: number; no: number }

const Walk = z.object({ last: z.number().nullable(), count: z.number() })

/** Takes the tenant's next rows out of the configuration, past so many rows of all tenants; answers how far that has got, null at the end. */
export async function removeConfiguration(db: TenantDatabase, from: Walked): Promise<Walked | null> {
  let { table, no } = from
  for (let walked = 0; walked < WALK; ) {
    const present = CONFIGURATION[table]
    if (present === undefined) return null
    const { last, count } = Walk.parse((await db.rows(db.statement(present.walk, no)))[0])
    if (last !== null) {
      const range = [db.tenantId, no, last] as const
      if (present.table === 'points_triggers' && !(await removeVersions(db, range))) return { table, no }
      await db.batch([db.statement(present.remove, ...range)])
    }
    walked += count
    if (last === null || count < WALK) [table, no] = [table + 1, 0]
    else no = last
  }
  return { table, no }
}

/** Takes out the forms of the tenant's triggers between two numbers; tells whether these were the last ones. */
async function removeVersions(
  db: TenantDatabase,
  range: readonly [tenantId: string, after: number, to: number],
): Promise<boolean> {
  const versions = await db.run(db.statement(REMOVE_VERSIONS, ...range))
  return versions.meta.changes < SHORT
}

const isAny = (table: string) => `EXISTS (SELECT 1 FROM ${table} WHERE tenant_id = ?1)`
const LEFT = ['users', 'api_keys', ...Object.keys(ROWS_OF_TENANT)].map(isAny).join(' OR ')
const NOTHING_LEFT = guardSql(`NOT (${LEFT})`)
const REMOVE = "DELETE FROM tenants WHERE id = ?1 AND status = 'purging'"

/** Deletes the tenant itself, with the note that it is being erased. Throws a conflict if something came in while the rest was taken out. */
export async function removeTenant(db: TenantDatabase): Promise<void> {
  await db.batch([
    db.statement(NOTHING_LEFT, db.tenantId),
    nothingElseDue(db, 'purge'),
    removeWork(db, [], SHORT),
    db.statement(REMOVE, db.tenantId),
  ])
}

/** Every table with rows of tenants: a test holds that none is missing. */
export const PURGED_TABLES: readonly string[] = [
  'tenants',
  'users',
  'api_keys',
  'trigger_versions',
  ...Object.keys(ROWS_OF_USERS),
  ...Object.keys(ROWS_OF_TENANT),
  'due_work',
  ...CONFIGURATION.map(({ table }) => table),
]
