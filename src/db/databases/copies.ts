import * as z from 'zod'
import { errors, RETRY_AFTER } from '../../lib/errors'
import { packed } from '../../lib/packed'
import { systemNow, wait } from '../../lib/system-clock'
import type { AccountDatabase } from '../database'
import { guardSql, isConflict, isDatabaseAway } from '../guard'
import type { Statement } from '../statement'
import { settleClock } from './clock-copies'
import type { Databases } from './databases'
import { FIRST, holdersOf } from './directory'
import { isEverywhere, statementOf } from './everywhere'
import { fillDeletedKeys } from './key-copies'

/*
 * Each database that holds users of a tenant has a copy of the tenant's configuration, so that an event needs
 * no other database. The first database decides. A change is prepared in each copy (`changing`), stored in
 * the first database, and then copied. While a copy is being changed, no batch about users is accepted there,
 * so no event counts by an older configuration after the change was answered (B4).
 */

/** How long a change may take from its preparation to its commit, in ms. After that it can't commit. */
const LIFETIME = 10_000

/** Columns of every configured resource (`resource` in columns.ts). */
const RESOURCE = ['no', 'id', 'tenant_id', 'created', 'updated', 'deleted'] as const

/**
 * The copied tables and their columns. A test compares them with the tables of the schema. Boosts have no
 * `no`, because each database numbers its own; those of one user are not copied, since they are the user's.
 */
export const COPIED = {
  attributes: [...RESOURCE, 'type', 'key', 'name', 'writable_by'],
  metrics: [...RESOURCE, 'key', 'name', 'unit_type', 'units'],
  points_systems: [...RESOURCE, 'key', 'name', 'description', 'badge_url', 'max_points'],
  points_levels: [...RESOURCE, 'system_id', 'key', 'name', 'description', 'badge_url', 'points'],
  points_triggers: [
    ...RESOURCE,
    'system_id',
    'type',
    'points',
    'status',
    'user_attributes',
    'event_attributes',
    'metric_id',
    'metric_threshold',
    'achievement_id',
    'streak_length',
    'time_unit',
    'time_interval',
    'block_if_out_of_points',
    'counter_id',
    'version',
    'anchor',
    'key',
  ],
  achievements: [
    ...RESOURCE,
    'key',
    'name',
    'description',
    'badge_url',
    'status',
    'trigger',
    'metric_id',
    'metric_value',
    'streak_length',
    'achievement_ids',
    'user_attributes',
    'event_attributes',
    'counter_id',
    'counted',
  ],
  leaderboards: [
    ...RESOURCE,
    'key',
    'name',
    'description',
    'status',
    'rank_by',
    'metric_id',
    'system_id',
    'max_participants',
    'start',
    'end',
    'start_time',
    'end_time',
    'breakdown',
    'run_unit',
    'run_interval',
    'finished',
    'upkeep',
  ],
  webhooks: [...RESOURCE, 'url', 'events', 'status', 'secret', 'key'],
  notification_templates: [
    ...RESOURCE,
    'type',
    'channel',
    'title',
    'body',
    'user_attributes',
    'status',
    'origin',
    'key',
  ],
  points_boosts: [
    'id',
    'tenant_id',
    'created',
    'updated',
    'deleted',
    'system_id',
    'name',
    'start',
    'end',
    'multiplier',
    'rounding',
    'user_attributes',
    'notified',
    'key',
  ],
} as const satisfies Record<string, readonly string[]>

/** The copied columns of the tenant's own row. */
export const COPIED_OF_TENANT = [
  'id',
  'customer_id',
  'name',
  'status',
  'config_version',
  'config_change',
  'control_ratio',
  'recap_frequency',
  'created',
  'updated',
  'streaks',
  'link_secret',
] as const

const updates = (columns: readonly string[]) =>
  columns.map((column) => `"${column}" = excluded."${column}"`).join(', ')
const quoted = (columns: readonly string[]) => columns.map((column) => `"${column}"`).join(', ')
const values = (columns: readonly string[]) => columns.map((_, nth) => `value ->> ${nth}`).join(', ')

/** The statements of one copied table. Only constants of this file are joined. */
const TABLES = Object.entries<readonly string[]>(COPIED).map(([table, columns]) => {
  const its = table === 'points_boosts' ? 'tenant_id = ?1 AND user_iid IS NULL' : 'tenant_id = ?1'
  return {
    table,
    read: `SELECT id AS name, json_array(${quoted(columns)}) AS content FROM ${table} WHERE ${its} ORDER BY no`,
    remove: `DELETE FROM ${table} WHERE ${its} AND id IN (SELECT value FROM json_each(?2))`,
    insert: `INSERT INTO ${table} (${quoted(columns)}) SELECT ${values(columns)} FROM json_each(?1)${
      // A boost that has changed keeps its place in the order.
      table === 'points_boosts' ? ` WHERE true ON CONFLICT (id) DO UPDATE SET ${updates(columns)}` : ''
    }`,
  }
})

const BOOST_COLUMNS: readonly string[] = COPIED.points_boosts
const FREE_KEYS = `
  UPDATE points_boosts SET key = '~' || id WHERE tenant_id = ?1 AND deleted IS NULL
    AND (system_id, key) IN (SELECT value ->> ${BOOST_COLUMNS.indexOf('system_id')},
      value ->> ${BOOST_COLUMNS.indexOf('key')} FROM json_each(?2)
      WHERE value ->> ${BOOST_COLUMNS.indexOf('deleted')} IS NULL)`

const VERSIONS = {
  read: `SELECT trigger_id || ':' || v.version AS name, json_array(trigger_id, v.version, document) AS content
    FROM points_triggers t JOIN trigger_versions v ON v.trigger_id = t.id WHERE t.tenant_id = ?1`,
  insert: `INSERT OR IGNORE INTO trigger_versions (trigger_id, version, document)
    SELECT ${values(['trigger_id', 'version', 'document'])} FROM json_each(?1)`,
}

const TENANT = `
  SELECT config_version AS version, status, changing, is_copy AS isCopy, config_work AS work,
    json_array(${quoted(COPIED_OF_TENANT)}) AS content
  FROM tenants WHERE id = ?1`

// The clock of the database that decides, so that no other clock counts.
const DATABASE_NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"

const STORE_TENANT = `
  INSERT INTO tenants (${quoted(COPIED_OF_TENANT)}, is_copy)
  SELECT ${values(COPIED_OF_TENANT)}, 1 FROM json_each(?1) WHERE true
  ON CONFLICT (id) DO UPDATE SET ${updates(COPIED_OF_TENANT.slice(1))}, is_copy = 1, changing = NULL`

// An older copy of another tenant may still have the name. It is compared with its original before it is
// used.
const FREE_NAME = `
  UPDATE tenants SET customer_id = id, changing = coalesce(changing, json_object('change', '', 'until', 0))
  WHERE customer_id = (SELECT value ->> ${COPIED_OF_TENANT.indexOf('customer_id')} FROM json_each(?2))
    AND id <> ?1 AND is_copy = 1`

/** A guard: holds while the copy is as it was read. */
const COPY_UNCHANGED = guardSql(`
  coalesce((SELECT config_version || ':' || coalesce(changing, '') FROM tenants WHERE id = ?1), '') = ?2`)

const PREPARE = `
  UPDATE tenants SET changing = json_object('change', ?2, 'until', ?3)
  WHERE id = ?1 AND changing IS NULL AND config_version = ?4`
const WITHDRAW = `
  UPDATE tenants SET changing = NULL WHERE id = ?1 AND changing ->> '$.change' = ?2`
const FORGET = 'DELETE FROM tenants WHERE id = ?1 AND is_copy = 1'
const NOW = `SELECT ${DATABASE_NOW} AS now`
const STILL_PREPARED = guardSql(`
  ${DATABASE_NOW} < ?2 AND coalesce((SELECT version FROM directory WHERE tenant_id = ?1), 0) = ?3`)
const NOTE_WORK = 'UPDATE tenants SET config_work = ?2 WHERE id = ?1'

const json = <S extends z.ZodType>(schema: S) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema)

const Rows = z.array(z.object({ name: z.string(), content: z.string() }))
const Changing = json(z.object({ change: z.string(), until: z.number() }))
const Work = json(z.array(z.object({ name: z.string().refine(isEverywhere), params: z.array(z.unknown()) })))
const TenantRow = z.object({
  version: z.number(),
  status: z.string(),
  changing: z.string().nullable(),
  isCopy: z.number(),
  work: z.string().nullable(),
  content: z.string(),
})
type Found = {
  tenant: z.infer<typeof TenantRow> | null
  tables: { name: string; content: string }[][]
  versions: { name: string; content: string }[]
  now: number
}

async function read(db: AccountDatabase, tenantId: string): Promise<Found> {
  const { tenant, tables, versions, now } = await db.batchOf({
    tenant: db.statement(TENANT, tenantId),
    tables: TABLES.map((table) => db.statement(table.read, tenantId)),
    versions: db.statement(VERSIONS.read, tenantId),
    now: db.statement(NOW),
  })
  const [row] = tenant.results
  return {
    tenant: row === undefined ? null : TenantRow.parse(row),
    tables: tables.map(({ results }) => Rows.parse(results)),
    versions: Rows.parse(versions.results),
    now: z.object({ now: z.number() }).parse(now.results[0]).now,
  }
}

/** The statements that make a copy the same as the original. */
function copying(tenantId: string, original: Found, copy: Found): Statement[] {
  const statements: Statement[] = []
  const removals: Statement[] = []
  for (const [index, { table, remove, insert }] of TABLES.entries()) {
    const wanted = original.tables[index] ?? []
    const present = new Map((copy.tables[index] ?? []).map(({ name, content }) => [name, content]))
    const changed = wanted.filter(({ name, content }) => present.get(name) !== content)
    const kept = new Set(wanted.map(({ name }) => name))
    const gone = [...present.keys()].filter((name) => !kept.has(name))
    const replaced = changed.map(({ name }) => name).filter((name) => present.has(name))
    const names = table === 'points_boosts' ? gone : [...gone, ...replaced]
    // A boost may get the key that another one had, also a user's own.
    if (table === 'points_boosts')
      for (const list of packed(changed.map(({ content }) => content)))
        removals.push({ sql: FREE_KEYS, params: [tenantId, list] })
    if (names.length > 0) removals.push({ sql: remove, params: [tenantId, JSON.stringify(names)] })
    for (const list of packed(changed.map(({ content }) => content)))
      statements.push({ sql: insert, params: [list] })
  }
  const known = new Set(copy.versions.map(({ name }) => name))
  const missing = original.versions.filter(({ name }) => !known.has(name))
  for (const list of packed(missing.map(({ content }) => content)))
    statements.push({ sql: VERSIONS.insert, params: [list] })
  return [...removals, ...statements]
}

const stampOf = ({ tenant }: Found) => (tenant === null ? '' : `${tenant.version}:${tenant.changing ?? ''}`)

/**
 * Makes a database's copy of a tenant's configuration the same as the original, unless a change is under way
 * that may still be stored. `absent`: the first database has no such tenant (any more).
 */
export async function settleCopy(
  databases: Databases,
  tenantId: string,
  name: string,
): Promise<'settled' | 'changing' | 'absent'> {
  const copyDb = databases.named(name)
  if (copyDb.testClock && (await settleClock(databases, name)) === 'changing') return 'changing'
  // The copy is read first. If it is being changed, the first database then says whether that was stored.
  const copy = await read(copyDb, tenantId)
  const original = await read(databases.first, tenantId)
  // A tenant that is being erased gets no new copy.
  if (original.tenant === null || (copy.tenant === null && original.tenant.status === 'purging')) {
    await copyDb.run(copyDb.statement(FORGET, tenantId))
    return 'absent'
  }
  const { tenant } = copy
  // Each database begins with a row of the only tenant of a deployment without tenants. It is no copy yet.
  const isCopy = tenant !== null && tenant.isCopy === 1
  if (isCopy && tenant.version === original.tenant.version) {
    if (tenant.changing === null) return 'settled'
    const { change, until } = Changing.parse(tenant.changing)
    if (original.now <= until) return 'changing'
    await copyDb.run(copyDb.statement(WITHDRAW, tenantId, change))
    return 'settled'
  }
  if (tenant === null) await fillDeletedKeys(databases.first, copyDb)
  // A new copy has no users yet, so there is no work on users to begin.
  const work = !isCopy || original.tenant.work === null ? [] : Work.parse(original.tenant.work)
  try {
    await copyDb.batch([
      copyDb.statement(COPY_UNCHANGED, tenantId, stampOf(copy)),
      ...copying(tenantId, original, copy),
      copyDb.statement(FREE_NAME, tenantId, `[${original.tenant.content}]`),
      copyDb.statement(STORE_TENANT, `[${original.tenant.content}]`),
      ...work.map(statementOf),
    ])
    return 'settled'
  } catch (error) {
    // Another request has changed the copy meanwhile.
    if (isConflict(error)) return 'changing'
    throw error
  }
}

/** A change of the configuration that every copy expects. */
export type Prepared = {
  /** Guards of the batch that stores the change: all copies still expect it. */
  guards: Statement[]
  /** Notes the work on users that the change begins, for the copies. Part of the same batch. */
  noting(statements: readonly Statement[]): Statement[]
  /** After the change was stored: brings the copies up to date. A copy that can't be reached waits. */
  finish(): Promise<void>
  /** After the change was not stored: the copies expect it no more. */
  withdraw(): Promise<void>
}

const NOTHING_TO_PREPARE: Prepared = {
  guards: [],
  noting: () => [],
  finish: async () => undefined,
  withdraw: async () => undefined,
}

/**
 * Prepares a change of a tenant's configuration in every database that has a copy, so that no event counts
 * there until the change is stored or withdrawn (B4). `change` is its random name, and `version` the version
 * that it replaces. Null if another change is under way. Throws 503 if a database can't be reached: then the
 * change takes effect nowhere. With one database it does nothing.
 */
export async function prepareCopies(
  databases: Databases,
  tenantId: string,
  { change, version }: { change: string; version: number },
): Promise<Prepared | null> {
  if (!databases.isSeveral) return NOTHING_TO_PREPARE
  const directory = await databases.directoryOf(tenantId)
  const names = holdersOf(directory).filter((name) => name !== FIRST)
  const until = systemNow() + LIFETIME
  const each = async (work: (name: string) => Promise<unknown>) => {
    const results = await Promise.allSettled(names.map(work))
    return results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  }
  const withdraw = async () => {
    await each((name) => databases.named(name).run({ sql: WITHDRAW, params: [tenantId, change] }))
    // If the directory has changed, the next attempt needs the new one.
    databases.forget(tenantId)
  }
  // One copy first, so that of several changes at once exactly one goes on.
  const [decisive, ...others] = names
  const all = { change, version, until }
  const results: PromiseSettledResult<boolean>[] = await Promise.allSettled(
    decisive === undefined ? [] : [prepare(databases, tenantId, decisive, all)],
  )
  if (results.every((result) => result.status === 'fulfilled' && result.value)) {
    const rest = others.map((name) => prepare(databases, tenantId, name, all))
    results.push(...(await Promise.allSettled(rest)))
  }
  const problem = results.find((result): result is PromiseRejectedResult => result.status === 'rejected')
  if (problem !== undefined || results.some((result) => result.status === 'fulfilled' && !result.value)) {
    await withdraw()
    if (problem === undefined) return null
    throw isDatabaseAway(problem.reason) ? errors.unavailable(RETRY_AFTER.databaseAway) : problem.reason
  }
  return {
    guards: [{ sql: STILL_PREPARED, params: [tenantId, until, directory.version] }],
    noting: (statements) => [
      {
        sql: NOTE_WORK,
        params: [
          tenantId,
          JSON.stringify(
            statements.flatMap(({ everywhere: name, params }) =>
              name === undefined ? [] : [{ name, params }],
            ),
          ),
        ],
      },
    ],
    finish: async () => {
      await each((name) => settleCopy(databases, tenantId, name))
    },
    withdraw,
  }
}

/**
 * Prepares a change in one copy. Returns whether the copy expects it now: false if another one is under way.
 */
async function prepare(
  databases: Databases,
  tenantId: string,
  name: string,
  { change, version, until }: { change: string; version: number; until: number },
): Promise<boolean> {
  const db = databases.named(name)
  const attempt = async () =>
    (await db.run(db.statement(PREPARE, tenantId, change, until, version))).meta.changes > 0
  if (await attempt()) return true
  // The copy may be behind, or not exist yet.
  return (await settleCopy(databases, tenantId, name)) === 'settled' && attempt()
}

const VERSION = 'SELECT config_version AS version FROM tenants WHERE id = ?1'
const VERSION_UNCHANGED = guardSql('(SELECT config_version FROM tenants WHERE id = ?1) = ?2')
const RAISE = 'UPDATE tenants SET config_version = config_version + 1, config_change = ?2 WHERE id = ?1'
const LAST_CHANGE = 'SELECT 1 FROM tenants WHERE id = ?1 AND config_change = ?2'

/** How often a change of a tenant begins again because the configuration was changed meanwhile. */
const TENANT_TRIES = 250
/** The pause while another change is under way, in milliseconds. */
const PAUSE = 40

/** Statements around a change of a tenant's own row: `before` are guards, and `after` raises the version. */
export type AroundChange = { before: readonly Statement[]; after: readonly Statement[] }

/**
 * Changes a tenant's own row, such as its status, in the first database, and then in each copy, by the same
 * rule as the configuration (B4). `change` sends one batch, with these statements around it. Throws 503 if a
 * database can't be reached: then nothing is changed. With one database it only calls `change`.
 */
export async function changeTenant<T>(
  databases: Databases,
  tenantId: string,
  change: (around: AroundChange) => Promise<T>,
): Promise<T> {
  if (!databases.isSeveral) return change({ before: [], after: [] })
  const { first } = databases
  for (let tries = 0; tries < TENANT_TRIES; tries += 1) {
    const [row] = await first.rows(first.statement(VERSION, tenantId))
    if (row === undefined) return change({ before: [], after: [] })
    const { version } = z.object({ version: z.number() }).parse(row)
    const name = crypto.randomUUID()
    const prepared = await prepareCopies(databases, tenantId, { change: name, version })
    if (prepared === null) {
      await wait(PAUSE * (1 + Math.random()))
      continue
    }
    try {
      const result = await change({
        before: [first.statement(VERSION_UNCHANGED, tenantId, version), ...prepared.guards],
        after: [...prepared.noting([]), first.statement(RAISE, tenantId, name)],
      })
      await prepared.finish()
      return result
    } catch (error) {
      if (!isConflict(error)) {
        const rows = await first.rows(first.statement(LAST_CHANGE, tenantId, name))
        await (rows.length > 0 ? prepared.finish() : prepared.withdraw())
        throw error
      }
      await prepared.withdraw()
    }
  }
  throw errors.unprocessable('The tenant kept changing while this change was made. Send it again.')
}
