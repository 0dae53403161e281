import { and, asc, eq, getTableColumns, gt, isNull, sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { BoundedMap } from '../lib/bounded'
import { DAY, type Instant, SECOND } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import { Moment, readingOf } from '../platform/columns'
import { type Context, databasesOf, KEY_SCOPES, perInstance } from '../platform/context'
import { type AccountDatabase, noCost, type Statement, type TenantDatabase } from '../platform/database'
import { among, ofTenant } from '../platform/guard'
import { SURFACES } from './credentials'
import { tenantActive } from './tenants.sql.ts'

/** Application keys of one user, and admin keys of the account (K1). The body of a key is never stored. */
export const apiKeys = sqliteTable(
  'api_keys',
  {
    no: integer('no').primaryKey({ autoIncrement: true }),
    id: text('id').notNull().unique(),
    prefix: text('prefix').notNull().unique(),
    kind: text('kind', { enum: SURFACES }).notNull(),
    /** Null for an admin key. */
    tenantId: text('tenant_id'),
    /** The user of an application key, by the caller's own id. */
    userId: text('user_id'),
    name: text('name'),
    /** SHA-256 of the body, in hexadecimal. */
    hash: text('hash').notNull(),
    scope: text('scope', { enum: KEY_SCOPES }).notNull().default('write'),
    /** When an application key ends, in milliseconds; null for never (K5). */
    expires: integer('expires'),
    created: integer('created').notNull(),
  },
  (table) => [
    index('api_keys_by_tenant').on(table.tenantId),
    index('api_keys_by_user').on(table.tenantId, table.userId),
  ],
)

/** How long an isolate remembers a record, in milliseconds: deleted keys are forgotten some time (K2). */
const KEPT = DAY

/** Key records by prefix: at most 10,000, each for a day. They never change, and D1 refuses deleted keys. */
class KeyCache {
  readonly #records = new BoundedMap<string, { record: KeyRecord; until: number }>(10_000)

  get(prefix: string): KeyRecord | undefined {
    const found = this.#records.get(prefix)
    return found === undefined || systemNow() > found.until ? undefined : found.record
  }

  set(prefix: string, record: KeyRecord): void {
    this.#records.set(prefix, { record, until: systemNow() + KEPT })
  }

  delete(prefix: string): void {
    this.#records.delete(prefix)
  }
}

export const keyCacheOf = perInstance(() => new KeyCache())

const KEY = readingOf(apiKeys, ['id', 'kind', 'tenantId', 'userId', 'hash', 'scope', 'expires', 'name'])
const Stored = KEY.row.extend({ expires: Moment.nullable(), name: z.string().nullable().optional() })

/** A key's record: the data to check the key and to find its holder. It never changes (K2). */
export type KeyRecord = z.output<typeof Stored>

/** The record of a key. Only an admin key has a name. */
export function recordOf(key: KeyRecord): KeyRecord {
  const { name, ...record } = Stored.parse(key)
  return key.kind === 'admin' ? { ...record, name } : record
}

/** Whether an admin's record has the name for the audit log, which only the first database knows. */
const isWhole = ({ kind, name }: KeyRecord): boolean => kind !== 'admin' || name !== undefined

const BY_PREFIX = `SELECT ${KEY.columns('api_keys')} FROM api_keys WHERE prefix = ?1`

/** Seconds for which the edge may cache a record: long, because records never change. */
const EDGE_TTL = DAY / SECOND

const kvKey = (prefix: string) => `key:${prefix}`

type Caches = Pick<Context, 'instance' | 'env' | 'waitUntil'>

/**
 * Finds the record of a key by its prefix: in memory, then in KV, then in D1. A record that is found is
 * stored in the places before. D1 says whether the key still exists, in a read that the request makes anyway
 * (K2). If KV can't be reached, this only costs a round trip.
 */
export async function findKeyRecord(ctx: Context, prefix: string): Promise<KeyRecord | null> {
  const remembered = keyCacheOf(ctx.instance).get(prefix)
  if (remembered !== undefined) return remembered
  const cached = await ctx.env.KEYS.get(kvKey(prefix), { type: 'json', cacheTtl: EDGE_TTL }).catch(() => null)
  const fromKv = Stored.safeParse(cached)
  if (fromKv.success && isWhole(fromKv.data)) {
    keyCacheOf(ctx.instance).set(prefix, fromKv.data)
    return fromKv.data
  }
  const stored = await ctx.db.find(Stored, BY_PREFIX, prefix)
  if (stored === undefined) return null
  const record = recordOf(stored)
  rememberKey(ctx, prefix, record)
  return record
}

const PRESENT = 'SELECT 1 FROM api_keys WHERE prefix = ?1'

/**
 * Puts a record into the caches. For a new key, this must happen before the first request with it, because
 * the edge also remembers for a day that KV had no record. If the key was deleted meanwhile, for example with
 * its user or its tenant, the record is deleted again. Code that deletes a key deletes the row first and the
 * record after it. So either the check here no longer finds the row, or the other code deletes the record
 * later.
 */
export function rememberKey(ctx: Caches, prefix: string, record: KeyRecord): void {
  keyCacheOf(ctx.instance).set(prefix, record)
  const { KEYS } = ctx.env
  const remember = async () => {
    await KEYS.put(kvKey(prefix), JSON.stringify(record))
    const db = databasesOf(ctx.instance, ctx.env, noCost()).first
    if ((await db.rows(db.statement(PRESENT, prefix))).length === 0) await KEYS.delete(kvKey(prefix))
  }
  ctx.waitUntil(remember().catch(() => undefined))
}

/**
 * Removes deleted keys from the caches. D1 rejects them already (K2). If KV can't be reached, the cron
 * trigger deletes their records before D1 forgets the keys (`deleted-keys.ts`).
 */
export function forgetKeys(ctx: Caches, prefixes: readonly string[]): void {
  for (const prefix of prefixes) {
    keyCacheOf(ctx.instance).delete(prefix)
    ctx.waitUntil(ctx.env.KEYS.delete(kvKey(prefix)).catch(() => undefined))
  }
}

/** Deletes a key's record in KV. Throws if KV can't be reached. */
export function dropKeyRecord({ env }: Pick<Caches, 'env'>, prefix: string): Promise<void> {
  return env.KEYS.delete(kvKey(prefix))
}

const UNKNOWN = `
  SELECT value AS prefix FROM json_each(?1) WHERE NOT EXISTS (SELECT 1 FROM api_keys WHERE prefix = value)`

/** Reads a page of the records in KV: the prefixes of those without a key in D1, and the cursor of the next page. */
export async function recordsWithoutKey(
  { db, env }: Pick<Context, 'db' | 'env'>,
  cursor: string | undefined,
): Promise<{ prefixes: string[]; next: string | undefined }> {
  const page = await env.KEYS.list({ prefix: kvKey(''), ...(cursor !== undefined && { cursor }) })
  const prefixes = page.keys.map(({ name }) => name.slice(kvKey('').length))
  const next = page.list_complete ? undefined : page.cursor
  return { prefixes: await db.list(Prefix, UNKNOWN, JSON.stringify(prefixes)), next }
}

/** The owner of keys: the database's tenant for application keys, or the account for admin keys (K3, K4). */
export type KeyOwner = { kind: 'application'; db: TenantDatabase } | { kind: 'admin'; db: AccountDatabase }

/** A key to store, without its secret. */
export type KeyRow = KeyRecord & { prefix: string; name: string | null; created: Instant }

const ownedBy = (owner: KeyOwner) =>
  and(
    eq(apiKeys.kind, owner.kind),
    owner.kind === 'admin' ? isNull(apiKeys.tenantId) : eq(apiKeys.tenantId, owner.db.tenantId),
  )

/** The same by id. The plus keeps SQLite from reading all of the tenant's keys by the tenant's index. */
const ownedById = (owner: KeyOwner) =>
  and(
    eq(apiKeys.kind, owner.kind),
    owner.kind === 'admin'
      ? sql`+${apiKeys.tenantId} IS NULL`
      : ofTenant(apiKeys.tenantId, owner.db.tenantId),
  )

/** Stores new keys and the statements, or none. A conflict if their tenant is not active any more. */
export async function insertKeys(
  owner: KeyOwner,
  rows: readonly KeyRow[],
  also: readonly Statement[],
): Promise<void> {
  const { db } = owner
  const guards = owner.kind === 'admin' ? [] : [tenantActive(owner.db)]
  await db.batch([...guards, ...db.inserts(apiKeys, rows), ...also])
}

const { no: _no, kind: _kind, tenantId: _tenantId, hash: _hash, ...LISTED } = getTableColumns(apiKeys)
const ListedRows = z.array(
  readingOf(apiKeys, ['id', 'name', 'prefix', 'scope'])
    .row.extend({ user_id: z.string().nullable(), expires: Moment.nullable(), created: Moment })
    .transform(({ user_id: userId, ...key }) => ({ ...key, userId })),
)

type Wanted = { userId?: string | undefined; after: number }

const wanted = (owner: KeyOwner, { userId, after }: Wanted) =>
  and(ownedBy(owner), userId === undefined ? undefined : eq(apiKeys.userId, userId), gt(apiKeys.no, after))

/** A page of keys, oldest first (G7). */
export async function listKeys(
  owner: KeyOwner,
  which: Wanted,
  { limit, skip }: { limit: number; skip: number },
): Promise<z.infer<typeof ListedRows>> {
  const { db } = owner
  const query = db.orm
    .select(LISTED)
    .from(apiKeys)
    .where(wanted(owner, which))
    .orderBy(asc(apiKeys.no))
    .limit(limit)
    .offset(skip)
  return ListedRows.parse(await db.rows(db.built(query)))
}

/** The number of the `nth` of these keys, from 1; null if there are fewer. */
export async function nthKey(owner: KeyOwner, which: Wanted, nth: number): Promise<number | null> {
  const { db } = owner
  const query = db.orm
    .select({ no: apiKeys.no })
    .from(apiKeys)
    .where(wanted(owner, which))
    .orderBy(asc(apiKeys.no))
    .limit(1)
    .offset(nth - 1)
  const [row] = await db.rows(db.built(query))
  return row === undefined ? null : z.object({ no: z.number() }).parse(row).no
}

const DeletedRows = z.array(z.object({ id: z.string(), prefix: z.string() }))

/** SQL: the key whose id or prefix is the subject of an entry of the audit log still exists. */
export const KEY_EXISTS = 'EXISTS (SELECT 1 FROM api_keys WHERE id = value ->> 0)'
export const PREFIX_EXISTS = 'EXISTS (SELECT 1 FROM api_keys WHERE prefix = value ->> 0)'

/** Deletes keys. Returns the keys that existed. `before` are statements that belong to the change. */
export async function deleteKeys(
  owner: KeyOwner,
  ids: readonly string[],
  before: readonly Statement[],
): Promise<z.infer<typeof DeletedRows>> {
  const { db } = owner
  const query = db.orm
    .delete(apiKeys)
    .where(and(among(apiKeys.id, ids), ownedById(owner)))
    .returning({ id: apiKeys.id, prefix: apiKeys.prefix })
  const { deleted } = await db.batchOf({ before, deleted: db.built(query) })
  return DeletedRows.parse(deleted.results)
}

const Prefix = z.object({ prefix: z.string() }).transform(({ prefix }) => prefix)

/** An owner's keys with these ids. */
export async function keysWithIds(
  owner: KeyOwner,
  ids: readonly string[],
): Promise<z.infer<typeof ListedRows>> {
  const { db } = owner
  const query = db.orm
    .select(LISTED)
    .from(apiKeys)
    .where(and(among(apiKeys.id, ids), ownedById(owner)))
  return ListedRows.parse(await db.rows(db.built(query)))
}

const REMOVE_BY_PREFIX =
  'DELETE FROM api_keys WHERE prefix IN (SELECT value FROM json_each(?1)) RETURNING prefix'

/** Deletes any owner's keys by prefix, after the statements `before`. Returns those that had a key (M3). */
export async function removeKeysByPrefix(
  db: AccountDatabase,
  prefixes: readonly string[],
  before: readonly Statement[],
): Promise<string[]> {
  if (prefixes.length === 0) return []
  const { removed } = await db.batchOf({
    before,
    removed: db.statement(REMOVE_BY_PREFIX, JSON.stringify(prefixes)),
  })
  return z.array(Prefix).parse(removed.results)
}

const OF_USER = 'SELECT prefix FROM api_keys WHERE tenant_id = ?1 AND user_id = ?2'

/** The prefixes of a user's keys, from the first database. */
export async function prefixesOf(db: TenantDatabase, userId: string): Promise<string[]> {
  return db.list(Prefix, OF_USER, db.tenantId, userId)
}

/** Gives the admin key with this id and prefix others. Returns whether there was one (K4). */
export async function replaceKey(
  db: AccountDatabase,
  { id, prefix: present }: { id: string; prefix: string },
  { prefix, hash }: Pick<KeyRow, 'prefix' | 'hash'>,
  before: readonly Statement[],
): Promise<boolean> {
  const its = and(ownedBy({ kind: 'admin', db }), eq(apiKeys.id, id), eq(apiKeys.prefix, present))
  const { replaced } = await db.batchOf({
    before,
    replaced: db.built(db.orm.update(apiKeys).set({ prefix, hash }).where(its).returning({ id: apiKeys.id })),
  })
  return replaced.results.length > 0
}
