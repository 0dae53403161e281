import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, vi } from 'vitest'
import type { Bindings } from '../../src/runtime/env'
import { Instance } from '../../src/runtime/instance'
import { createApp } from '../../src/worker/app'
import { conforming } from '../conformance'
import { PATIENCE } from '../patience'
import { readableTable } from '../readable'

/** The admin key of the tests, as vitest.config.ts sets it. */
export const ADMIN_KEY = env.ADMIN_API_KEY ?? ''

/** An answer, with its body read as JSON. */
export type Answer = { status: number; headers: Headers; body: unknown }

/**
 * How a request reaches a Worker; it throws where the answer is not one that the contract documents. The opaque 500 passes
 * here, for the tests that provoke it, but not in `call`.
 */
export type Send = (request: Request) => Promise<Response>

/**
 * To an app with a memory of its own: another isolate, as it were. Bindings and variables may be others. The requests run in
 * the test's own context, since in this runner a promise can't be settled from one request's context for another's; what
 * crosses requests is seen over HTTP, in test/server.
 */
export function newApp(overrides: Partial<Bindings> = {}, instance = new Instance()): Send {
  const app = createApp(instance)
  return async (request) => {
    const ctx = createExecutionContext()
    const response = await app.fetch(request, { ...env, ...overrides }, ctx)
    await waitOnExecutionContext(ctx)
    const toAdminHost = overrides.ADMIN_HOST?.toLowerCase() === new URL(request.url).host
    return conforming(request, response, { mayFail: true, toAdminHost })
  }
}

/** To the app that the tests share. */
export const toApp: Send = newApp()

type Options = {
  body?: unknown
  /** A body that is sent as it is. */
  raw?: BodyInit
  headers?: Record<string, string>
}

/** Sends one request, whose answer must be one that the contract documents and no 500. */
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
  // Whoever breaks things on purpose sends the request by itself.
  if (response.status === 500) throw new Error(`${method} ${path} failed: ${text}`)
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? null : JSON.parse(text),
  }
}

/** A tenant of its own for a test: nothing that another test does is seen in it. */
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
  admin(method: string, path: string, body?: unknown): Promise<Answer> {
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': this.id }
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

  /** Calls the application interface with this key and nothing else, as a browser does; `path` begins after its base. */
  as(
    key: string,
    method: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ): Promise<Answer> {
    return call(this.send, method, `/v1${path}`, { body, headers: { 'x-api-key': key, ...more } })
  }

  /** Creates an application key of a user, and returns it. */
  async key(userId: string): Promise<string> {
    const { body } = await this.admin('POST', '/application-api-keys', [{ userId }])
    return String(at(body, 'created', 0, 'key'))
  }

  /** Creates one resource, and returns its id; throws where it became an issue. */
  async create(path: string, item: unknown): Promise<string> {
    const { body } = await this.admin('POST', path, [item])
    const id = at(body, 'created', 0, 'id')
    if (typeof id !== 'string') throw new Error(`not created: ${JSON.stringify(body)}`)
    return id
  }

  /** Creates a metric, and returns its id. */
  metric(key: string): Promise<string> {
    return this.create('/metrics', { key, name: `Metric ${key}` })
  }
}

/** A fresh tenant, in the shared app or in the one that is given. */
export async function newTenant(send: Send = toApp): Promise<TestTenant> {
  const tenant = new TestTenant(send)
  await env.DB.prepare(
    'INSERT INTO tenants (id, customer_id, name, created, updated) VALUES (?1, ?2, ?2, 0, 0)',
  )
    .bind(tenant.id, `customer-${tenant.id}`)
    .run()
  return tenant
}

/** D1 with what it is asked counted: batches, and statements prepared for them. */
export function countedD1(): {
  DB: D1Database
  count: { batches: number; prepared: number; batched: number }
} {
  const count = { batches: 0, prepared: 0, batched: 0 }
  const DB = new Proxy(env.DB, {
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
      throw new Error(`D1 was asked for ${String(name)}`)
    },
  })
  return { DB, count }
}

/** Every row of every table of ours, as JSON. */
export async function everything(): Promise<Record<string, string[]>> {
  const tables = await env.DB.prepare(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'd1%'",
  ).all<{ name: string }>()
  const all: Record<string, string[]> = {}
  for (const { name } of tables.results) {
    const { results } = await env.DB.prepare(`SELECT * FROM ${readableTable(name)}`).all()
    all[name] = results.map((row) => JSON.stringify(row)).sort()
  }
  return all
}

/** Waits until something is so, which comes about by itself. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitUntil(isSo, { timeout: PATIENCE, interval: 20 })
}

/** Waits until assertions hold, which come about by themselves. */
export async function untilHeld(assertions: () => void | Promise<void>): Promise<void> {
  await vi.waitFor(assertions, { timeout: PATIENCE, interval: 20 })
}

/** Waits until the machine's clock shows another millisecond. */
export async function untilTheClockMoves(): Promise<void> {
  const before = Date.now()
  await until(() => Date.now() > before)
}

/** Holds that a moment is not before the first of two others, nor after the last. In milliseconds. */
export function expectBetween(first: number, moment: number, last: number): void {
  expect(moment).toBeGreaterThanOrEqual(first)
  expect(moment).toBeLessThanOrEqual(last)
}

/** What stands at a path inside JSON; undefined where the path leads nowhere. */
export function at(json: unknown, ...path: (string | number)[]): unknown {
  let value = json
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Object.entries(value).find(([key]) => key === String(step))?.[1]
  }
  return value
}
