import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { newInstance } from '../../../src/configuration/configuration'
import { settleCopy } from '../../../src/configuration/copies'
import { BUCKETS, bucketOf } from '../../../src/lib/ids'
import { boundDatabases, databasesOf, type Instance } from '../../../src/platform/context'
import { noCost } from '../../../src/platform/database'
import type { Bindings } from '../../../src/platform/env'
import { createApp } from '../../../src/worker/app'
import { conforming, firstEventOf } from '../conformance'
import { readableTable } from '../readable'
import { present } from '../time'
import { until } from '../until'

export { until, untilHeld } from '../until'

/** The admin key of the tests, as vitest.config.ts sets it. */
export const ADMIN_KEY = env.ADMIN_API_KEY ?? ''

/** A response, with its body parsed as JSON. */
export type Answer = { status: number; headers: Headers; body: unknown }

/**
 * Sends a request to a Worker. Throws if the contract does not document the response. The opaque 500 is
 * allowed here, for the tests that cause it on purpose, but not in `call`.
 */
export type Send = (request: Request) => Promise<Response>

/** The memories of the apps, by the bindings of their requests. */
const instances = new WeakMap<Bindings, Instance>()
/** The routes of all apps. To make them takes as long as four requests. */
const app = createApp((bindings) => instances.get(bindings) ?? newInstance())

/**
 * Sends to a new app with its own memory, as if in another isolate. `overrides` replace bindings and
 * variables. A 503 is allowed only if `DB` is one of them. A test that changes the tables of the real
 * database, or replaces the database of objects, passes the real `DB`. The requests run in the test's own
 * context: in this runner, one request's context cannot settle a promise of another one. test/server tests
 * the effects between requests over HTTP.
 */
export function newApp(overrides: Partial<Bindings> = {}, instance = newInstance()): Send {
  return async (request) => {
    const ctx = createExecutionContext()
    const bindings = { ...env, ...overrides }
    instances.set(bindings, instance)
    const response = await app.fetch(request, bindings, ctx)
    await waitOnExecutionContext(ctx)
    const toAdminHost = overrides.ADMIN_HOST?.toLowerCase() === new URL(request.url).host
    const isDatabaseReplaced = overrides.DB !== undefined
    await conforming(request, response, { mayFail: true, isDatabaseReplaced, toAdminHost })
    return firstEventOf(response)
  }
}

/** Sends to the app that the tests share. */
export const toApp: Send = newApp()

/** Calls an operation of the whole account, which names no tenant; `path` begins after the admin base. */
export const account = (method: string, path: string, body?: unknown, send: Send = toApp): Promise<Answer> =>
  call(send, method, `/admin/v1${path}`, { headers: { 'x-api-key': ADMIN_KEY }, body })

type Options = {
  body?: unknown
  /** A body to send unchanged. */
  raw?: BodyInit
  headers?: Record<string, string>
}

/** Sends one request. Throws if the contract does not document the response, or if it is a 500. */
export async function call(
  send: Send,
  method: string,
  path: string,
  { body, raw, headers = {} }: Options = {},
): Promise<Answer> {
  const request = new Request(`http://laurel.test${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(raw !== undefined ? { body: raw } : body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const response = await send(request)
  const text = await response.text()
  // A test that causes faults on purpose uses `send` itself.
  if (response.status === 500) throw new Error(`${method} ${path} failed: ${text}`)
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

/** A new tenant for one test, so that the test sees no data of other tests. */
export class TestTenant {
  readonly id = crypto.randomUUID()
  readonly send: Send

  constructor(send: Send) {
    this.send = send
  }

  /** The same tenant, through another Worker. */
  through(send: Send): TestTenant {
    const other = new TestTenant(send)
    return Object.assign(other, { id: this.id })
  }

  /** Calls the admin interface; `path` begins after its base. */
  admin(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Answer> {
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': this.id, ...more }
    return call(this.send, method, `/admin/v1${path}`, { body, headers })
  }

  /** Calls the application interface with the admin key; `path` begins after its base. */
  app(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Answer> {
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': this.id, ...more }
    return call(this.send, method, `/v1${path}`, { body, headers })
  }

  /** Records an event with the admin key. */
  event(
    metric: string,
    user: string | Record<string, unknown>,
    value: number,
    options: { attributes?: Record<string, string>; idempotencyKey?: string } = {},
  ): Promise<Answer> {
    const { attributes, idempotencyKey } = options
    return this.app(
      'POST',
      `/metrics/${metric}/event`,
      { user: typeof user === 'string' ? { id: user } : user, value, ...(attributes && { attributes }) },
      idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
    )
  }

  /**
   * Calls the application interface as a browser does, with this key and no tenant; `path` begins after its
   * base.
   */
  as(
    key: string,
    method: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ): Promise<Answer> {
    return call(this.send, method, `/v1${path}`, { body, headers: { 'x-api-key': key, ...more } })
  }

  /** Creates one resource, and returns it. Throws if the response has an issue instead. */
  async made(path: string, item: unknown) {
    const { body } = await this.admin('POST', path, [item])
    const made = Object(at(body, 'created', 0))
    if (typeof made.id !== 'string') throw new Error(`The resource was not created: ${JSON.stringify(body)}`)
    return made
  }

  /** Creates one resource, and returns its id. */
  async create(path: string, item: unknown): Promise<string> {
    return (await this.made(path, item)).id
  }

  async key(userId: string): Promise<string> {
    return (await this.made('/application-api-keys', { userId })).key
  }

  /** Creates a metric, and returns its id. */
  metric(key: string): Promise<string> {
    return this.create('/metrics', { key, name: `Metric ${key}` })
  }

  /** Reads, sets or deletes the test clock. Returns the time that it shows. */
  async clock(method: 'GET' | 'PUT' | 'DELETE', body?: unknown): Promise<number> {
    const answer = await this.admin(method, '/test-clock', body)
    expect([method, answer.status]).toEqual([method, 200])
    return Date.parse(String(at(answer.body, 'now')))
  }

  /** Moves the test clock forward, in steps that it allows (C1). */
  async moveClock(to: number): Promise<void> {
    let now = await this.clock('GET')
    do {
      now = Math.min(now + 400 * 86_400_000, to)
      await this.clock('PUT', { now: new Date(now).toISOString() })
    } while (now < to)
  }

  /**
   * All rows as JSON, to see that a request stores nothing. No work in the background changes them meanwhile: they
   * are read when nothing of this tenant is waiting, and without what the analytics count a minute after a change.
   * The rows of other tenants are left out, since work that earlier tests began may change them at any time.
   */
  async stored(): Promise<Record<string, string[]>> {
    let rows: Rows = {}
    const isMine = (row: Record<string, unknown>) => row.tenant_id === this.id
    await until(async () => {
      const others = await rowsEverywhere<{ id: string }>('SELECT id FROM tenants WHERE id <> ?1', this.id)
      rows = await readTables(others.map(({ id }) => id))
      const due = rows.due_work?.filter((row) => isMine(row) && Number(row.due_at) <= present()) ?? []
      return ![due, rows.inbox, rows.outbox].some((waiting) => waiting?.some(isMine))
    })
    const uncounted = ['analytics_figures', 'analytics_passes', 'counted_users']
    const kept = Object.entries(rows).filter(([table]) => !uncounted.includes(table))
    const { users = [], due_work = [], ...more } = Object.fromEntries(kept)
    return sorted({
      ...more,
      users: users.map(({ counted, ...user }) => user),
      due_work: due_work.filter(({ kind }) => kind !== 'analytics'),
    })
  }
}

/** Creates a tenant, in the shared app unless another one is given. */
export async function newTenant(send: Send = toApp): Promise<TestTenant> {
  const tenant = await storedTenant(send)
  if (databases().length > 1) await spread(tenant.id)
  return tenant
}

/**
 * The same, but all users are in `lastDatabase`: for tests of work that each database does on its own users.
 */
export async function newTenantInLast(send: Send = toApp): Promise<TestTenant> {
  const tenant = await storedTenant(send)
  if (databases().length === 1) return tenant
  const { name } = lastDatabase()
  await place(tenant.id, 0, [[0, name]])
  // So that no test meets the writes of the copy.
  await settleCopy(databasesOf(newInstance(), env, noCost()), tenant.id, name)
  return tenant
}

/** The same, but all users are in the first database, as those of a tenant that was never spread. */
export const newTenantInFirst = (): Promise<TestTenant> => storedTenant(toApp)

/** Creates a tenant with a metric of this key. */
export async function newTenantWith(metric: string, make: () => Promise<TestTenant> = newTenant) {
  const tenant = await make()
  await tenant.metric(metric)
  return tenant
}

async function storedTenant(send: Send): Promise<TestTenant> {
  const tenant = new TestTenant(send)
  await env.DB.prepare(
    'INSERT INTO tenants (id, customer_id, name, created, updated) VALUES (?1, ?2, ?2, ?3, ?3)',
  )
    .bind(tenant.id, `customer-${tenant.id}`, present())
    .run()
  return tenant
}

/** All databases of the tests by name, the first one first. */
export const databases = (): { name: string; d1: D1Database }[] => boundDatabases(env)

/** One of them. */
export function d1Of(name: string): D1Database {
  const found = databases().find((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no database ${name}`)
  return found.d1
}

/** The last one of them. With one database, it is `DB`. */
export function lastDatabase(): { name: string; d1: D1Database } {
  const last = databases().at(-1)
  if (last === undefined) throw new Error('there is no database')
  return last
}

/** The rows of a statement in every database, one database after another. */
export async function rowsEverywhere<R = Record<string, unknown>>(
  sql: string,
  ...params: unknown[]
): Promise<R[]> {
  const rows: R[] = []
  for (const { d1 } of databases()) {
    const { results } = await d1
      .prepare(sql)
      .bind(...params)
      .all<R>()
    rows.push(...results)
  }
  return rows
}

/** Spreads the buckets of a tenant that has no users yet evenly over all databases. */
export async function spread(tenantId: string): Promise<void> {
  const names = databases().map(({ name }) => name)
  await place(
    tenantId,
    1,
    names.map((name, index) => [firstBucket(index), name]),
  )
}

/** Stores a tenant's first directory. The version 0 is that of a tenant that stays in one database. */
async function place(
  tenantId: string,
  version: number,
  places: (readonly [from: number, name: string])[],
): Promise<void> {
  await env.DB.prepare(
    "INSERT INTO directory (tenant_id, version, places, placements) VALUES (?1, ?2, ?3, '{}')",
  )
    .bind(tenantId, version, JSON.stringify(places))
    .run()
}

/** The first bucket of a database if all are evenly spread. */
export const firstBucket = (index: number) => Math.floor((index * BUCKETS) / databases().length)

/** The n-th user in a database of a tenant that is evenly spread. */
export function userIn(tenant: TestTenant, name: string, nth = 0): string {
  const index = databases().findIndex((one) => one.name === name)
  return userFrom(tenant, firstBucket(index), firstBucket(index + 1), nth)
}

/** Users of a tenant, one in each of equal parts of the buckets. */
export const evenUsers = (tenant: TestTenant, count: number): string[] =>
  Array.from({ length: count }, (_, part) =>
    userFrom(tenant, (part * BUCKETS) / count, ((part + 1) * BUCKETS) / count),
  )

/** The n-th user whose bucket is at least `from` and below `to`. */
function userFrom(tenant: TestTenant, from: number, to: number, nth = 0): string {
  let left = nth
  for (let n = 0; ; n += 1) {
    const bucket = bucketOf(tenant.id, `user-${n}`)
    if (bucket >= from && bucket < to) left -= 1
    if (left < 0) return `user-${n}`
  }
}

/** Bindings of all databases, each one replaced. */
export const replaced = (replace: (d1: D1Database, name: string) => D1Database): Record<string, D1Database> =>
  Object.fromEntries(databases().map(({ name, d1 }) => [name, replace(d1, name)]))

/**
 * D1 with counters of its batches and of the statements that are prepared for them. `bindings` are all
 * databases, which are counted together; `DB` is the first one alone.
 */
export function countedD1(): {
  DB: D1Database
  bindings: Record<string, D1Database>
  count: { batches: number; prepared: number; batched: number }
} {
  const count = { batches: 0, prepared: 0, batched: 0 }
  const counted = (d1: D1Database) =>
    new Proxy(d1, {
      get(target, name) {
        if (name === 'prepare') {
          return (sql: string) => {
            count.prepared += 1
            return target.prepare(sql)
          }
        }
        if (name === 'batch') {
          return (statements: D1PreparedStatement[]) => {
            count.batches += 1
            count.batched += statements.length
            return target.batch(statements)
          }
        }
        throw new Error(`Unexpected use of D1: ${String(name)}`)
      },
    })
  return { DB: counted(env.DB), bindings: replaced(counted), count }
}

type Rows = Record<string, Record<string, unknown>[]>

/**
 * The rows of all tables of Laurel in all databases, each database as it is at one moment, without the rows of
 * some tenants and of their users.
 */
async function readTables(without: readonly string[] = []): Promise<Rows> {
  const { results } = await env.DB.prepare(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'd1%'",
  ).all<{ name: string; sql: string }>()
  const tenants = 'SELECT value FROM json_each(?1)'
  const theirs = {
    tenant_id: tenants,
    user_iid: `SELECT iid FROM users WHERE tenant_id IN (${tenants})`,
    trigger_id: `SELECT id FROM points_triggers WHERE tenant_id IN (${tenants})`,
  }
  const statements = results.map(({ name, sql }) => {
    const left = Object.entries(theirs)
      .filter(([column]) => sql.includes(`\`${column}\``))
      .map(([column, of]) => `(${column} IS NULL OR ${column} NOT IN (${of}))`)
    if (name === 'tenants') left.push(`id NOT IN (${tenants})`)
    return `SELECT * FROM ${readableTable(name)} WHERE ${['?1 IS NOT NULL', ...left].join(' AND ')}`
  })
  const found = await Promise.all(
    databases().map(({ d1 }) =>
      d1.batch<Record<string, unknown>>(
        statements.map((sql) => d1.prepare(sql).bind(JSON.stringify(without))),
      ),
    ),
  )
  return Object.fromEntries(
    results.map(({ name }, index) => [name, found.flatMap((tables) => tables[index]?.results ?? [])]),
  )
}

/** Rows as texts that can be compared. */
const sorted = (rows: Rows): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(rows).map(([name, all]) => [name, all.map((row) => JSON.stringify(row)).sort()]),
  )

/**
 * All rows of all tables of Laurel in all databases, as JSON, to search for traces. To see that nothing is stored,
 * compare `TestTenant.stored` instead.
 */
export const everything = async (): Promise<Record<string, string[]>> => sorted(await readTables())

/** Waits until the machine's clock shows another millisecond. */
export async function untilTheClockMoves(): Promise<void> {
  const before = present()
  await until(() => present() > before)
}

/** Expects a moment to be between two others, or equal to one of them. In milliseconds. */
export function expectBetween(first: number, moment: number, last: number): void {
  expect(moment).toBeGreaterThanOrEqual(first)
  expect(moment).toBeLessThanOrEqual(last)
}

/** The value at a path inside JSON; undefined if there is none. */
export function at(json: unknown, ...path: (string | number)[]): unknown {
  let value = json
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Object.entries(value).find(([key]) => key === String(step))?.[1]
  }
  return value
}

/** The items of a JSON list; an item alone counts as a list of one. */
export const list = (body: unknown): unknown[] => [body].flat()

/** The field with this name of each item of a JSON list. */
export const pick = (rows: unknown, field: string): unknown[] => list(rows).map((row) => at(row, field))

export { NOBODY } from '../known'

/** Matches an id that Laurel makes (G4). */
export const UUID: unknown = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/,
)

/** The path of the next page in a `Link` header, without the base of the admin interface; null if none. */
export function nextPath(headers: Headers): string | null {
  const link = headers.get('link')
  if (link === null) return null
  const [, path] = /^<http:\/\/laurel\.test\/admin\/v1(\/[^>]*)>; rel="next"$/.exec(link) ?? []
  if (path === undefined) throw new Error(`not a link to a next page: ${link}`)
  return path
}

/** The pages of an admin list from this path on, to the last one. `between` is done after each of them. */
export async function pagesFrom(
  tenant: TestTenant,
  path: string,
  between: () => Promise<unknown> = async () => undefined,
): Promise<unknown[][]> {
  const pages: unknown[][] = []
  for (let next: string | null = path; next !== null; ) {
    const { status, body, headers } = await tenant.admin('GET', next)
    expect([next, status]).toEqual([next, 200])
    pages.push(list(body))
    await between()
    next = nextPath(headers)
  }
  return pages
}
