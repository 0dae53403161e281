import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, vi } from 'vitest'
import * as z from 'zod'
import { instant } from '../../../src/lib/clock'
import type { Bindings } from '../../../src/platform/env'
import { TABLES } from '../../../src/store/user-data/register'
import { workOff } from '../../../src/time/run'
import type { TimekeeperObject } from '../../../src/time/timekeeper.object'
import { JOBS } from '../../../src/worker/jobs'
import { words } from '../words'
import { DAY, dateAt, NOON, withBoard } from './boards'
import { everyPlace } from './contexts'
import { beforeFirst as beforeFirstCall, type Call, lost, only } from './faulty'
import {
  type Answer,
  account,
  at,
  everything,
  lastDatabase,
  newApp,
  newTenantInLast,
  rowsEverywhere,
  type Send,
  type TestTenant,
  toApp,
} from './harness'
import { KINDS } from './kinds'
import { UNREACHED } from './objects'
import { Hook } from './receiver'

/* A tenant with one of everything, and the rest of it after a purge */

export const tenants = (
  method: string,
  path: string,
  { send, body }: { send?: Send; body?: unknown } = {},
): Promise<Answer> => account(method, `/tenants${path}`, body, send)

export const archive = (id: string) => tenants('DELETE', `?ids=${id}`)
export const purge = (id: string, send: Send = toApp) => tenants('DELETE', `/${id}?purge=true`, { send })

/** Ids of a tenant with everything: the tenant, its users, and its objects. */
export type Furnished = {
  tenant: TestTenant
  users: string[]
  boards: string[]
  deliveryQueues: string[]
  webhook: string
  hook: Hook
  metric: string
  key: string
}

/** A tenant with rows in every table, objects, and records in KV. All users are in the last database. */
export async function furnished(): Promise<Furnished> {
  const daily = { runUnit: 'day', runInterval: 1 }
  const { tenant, board, metric, system } = await withBoard(daily, await newTenantInLast())
  const hook = new Hook()
  const hooks = { url: hook.url, events: ['*'] }
  const webhook = await tenant.create('/webhooks', hooks)
  const deleted = await tenant.create('/webhooks', hooks)
  const other = { key: 'other', name: 'Other', rankBy: 'metric', metricId: metric }
  const goneBoard = await tenant.create('/leaderboards', other)
  await tenant.create(`/points/${system}/levels`, { key: 'l', name: 'L', points: 10 })
  await tenant.create('/achievements', {
    ...{ key: 'first', name: 'First', trigger: 'metric', metricId: metric, metricValue: 1, status: 'active' },
  })
  const template = { type: 'recap', channel: 'email', subject: 's', body: 'b', status: 'active' }
  await tenant.create('/notifications/templates', template)
  for (const kind of Object.values(KINDS)) if (kind.isAlone) await tenant.create(kind.path, kind.least('one'))
  await tenant.create(`/points/${system}/boosts`, { name: 'All', start: dateAt(NOON), multiplier: 2 })
  await tenant.admin('PATCH', '/streaks/settings', { freezes: { startCount: 0, maxCount: 3 } })
  const users = Array.from({ length: 3 }, (_, n) => `user-${n}-${tenant.id.slice(0, 8)}`)
  const silent = tenant.through(newApp({ TIMEKEEPER: UNREACHED }))
  for (const id of users) {
    const user = { id, name: `name of ${id}`, tz: 'Europe/Paris', deviceTokens: [`device of ${id}`] }
    await silent.event('steps', user, 3, { idempotencyKey: id })
    const boost = { userId: id, name: 'Own', start: dateAt(NOON), multiplier: 3 }
    await silent.admin('POST', `/points/${system}/boosts`, [boost])
    const pause = { userId: id, start: dateAt(NOON + 5 * DAY), end: dateAt(NOON + 6 * DAY) }
    await silent.admin('POST', '/streaks/pauses', { pauses: [pause] })
  }
  const key = await tenant.key(users[0] ?? '')
  await tenant.as(key, 'GET', `/users/${users[0]}`)
  await tenant.admin('DELETE', `/webhooks?ids=${deleted}`)
  await tenant.admin('DELETE', `/leaderboards?ids=${goneBoard}`)
  await silent.admin('POST', '/metrics/events', [{ key: 'steps', user: { id: users[0] }, value: 1 }])
  const { d1 } = lastDatabase()
  const iid = await d1.prepare('SELECT iid FROM users WHERE tenant_id = ?1').bind(tenant.id).first('iid')
  const id = crypto.randomUUID()
  const message = JSON.stringify([{ id, type: 'streak.lost', body: {} }])
  const voided = `(user_iid, id, metric_no, at, seq, value, utc_offset, voided_at, voided_seq, response)
    SELECT user_iid, randomblob(16), metric_no, at, seq, value, utc_offset, 0, 0, '{}' FROM events
    WHERE user_iid = unhex(?1, '-') LIMIT 1`
  const sums = "SELECT unhex(?1, '-'), 'events', no, 1, '[]', 1 FROM metrics WHERE id = ?2"
  const keys = "SELECT unhex(?1, '-'), no, 'k', randomblob(16), 1, 1 FROM points_systems WHERE id = ?2"
  const into = (values: string, ...given: unknown[]) => d1.prepare(`INSERT INTO ${values}`).bind(...given)
  await d1.batch([
    into("parked_events VALUES (?1, ?2, 0, '{}', 'why')", tenant.id, id),
    into("points_summaries VALUES (?1, ?2, 'ranges', '', 1, 0, '[]')", tenant.id, system),
    into('outbox VALUES (?1, 1, 0, ?2, NULL, ?3)', tenant.id, id, message),
    into(`day_sums ${sums}`, iid, metric),
    into(`voided_events ${voided}`, iid),
    into(`adjustment_keys ${keys}`, iid, system),
    into("change_distributions VALUES (?1, '2020', '', '{}')", tenant.id),
    into('pending_notifications VALUES (?1, 1, ?2, ?3, ?4, ?2)', tenant.id, id, users[0], iid),
    into("streak_runs VALUES (?1, 1, 1, 1, '1e', 1, NULL) ON CONFLICT DO NOTHING", iid),
  ])
  const hooked = [`webhook:${webhook}`, `webhook:${deleted}`]
  const deliveryQueues = [...hooked, `email:${tenant.id}`, `push:${tenant.id}`]
  return { tenant, users, boards: [board, goneBoard], deliveryQueues, webhook, hook, metric, key }
}

const WRITE = /^\s*(insert|update|delete|with)/i

/** Databases that run `work` before the first batch that writes, or that has a statement of this form. */
export const beforeFirst = (work: () => Promise<void>, form = WRITE): Record<string, D1Database> =>
  only(({ texts }) => texts.some((text) => form.test(text)), beforeFirstCall(work)).bindings

/**
 * Databases that fail once at each different write of an erasure, before or after the write; and the failed
 * writes. The texts of a write identify it.
 */
export function failingOnce(isDone: boolean): { bindings: Record<string, D1Database>; failed: Set<string> } {
  const failed = new Set<string>()
  const isWrite = ({ texts }: Call) => texts.some((text) => WRITE.test(text))
  const { bindings } = only(isWrite, async ({ texts, run }) => {
    const all = texts.join(';')
    if (failed.has(all)) return run()
    failed.add(all)
    if (isDone) await run()
    throw lost()
  })
  return { bindings, failed }
}

const Ids = z.array(z.object({ id: z.string() }))

/**
 * Every id that names a tenant in the tables: its own id, ids of its users, and ids of its configuration.
 */
export async function namesOf({ tenant, users }: Pick<Furnished, 'tenant' | 'users'>): Promise<string[]> {
  const idsIn = async (column: string, table: string) => {
    const sql = `SELECT ${column} AS id FROM ${table} WHERE tenant_id = ?1`
    return Ids.parse(await rowsEverywhere(sql, tenant.id)).map(({ id }) => id)
  }
  const configured = words`metrics points_systems points_triggers leaderboards webhooks achievements`
  const ids = await Promise.all([idsIn('iid', 'users'), ...configured.map((table) => idsIn('id', table))])
  return [tenant.id, ...users, ...ids.flat()]
}

/** An entry of an audit log; without the id of its user or tenant if nothing else of it is left (Z1). */
const withoutErased = (row: string): string =>
  row.includes('"fields":"{}"') ? row.replaceAll(/"(user_iid|resource_id)":"[^"]*"/g, '') : row

/** The tables that still contain one of the names. */
export async function tablesWith(names: readonly string[]): Promise<string[]> {
  const tables = Object.entries(await everything()).map(
    ([name, rows]) => [name, rows.map(name === 'audit_log' ? withoutErased : String).join('\n')] as const,
  )
  return tables.filter(([, rows]) => names.some((name) => rows.includes(name))).map(([name]) => name)
}

/** The remaining data of a tenant in its objects and in KV: names of tables and keys. */
export async function objectsWith({ tenant, boards, deliveryQueues }: Furnished): Promise<string[]> {
  const found: string[] = []
  const look =
    (name: string) =>
    async (_: unknown, { storage }: DurableObjectState) => {
      const tables = storage.sql
        .exec<{ name: string }>(
          "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
        )
        .toArray()
      found.push(...tables.map((table) => `${name} ${table.name}`))
      const keys = await storage.list()
      found.push(...[...keys.keys()].map((key) => `${name} ${key}`))
      if ((await storage.getAlarm()) !== null) found.push(`${name} alarm`)
    }
  for (const id of boards) await runInDurableObject(env.LEADERBOARD.getByName(id), look(`board ${id}`))
  for (const name of deliveryQueues)
    await runInDurableObject(env.DELIVERY_QUEUE.getByName(name), look(`delivery queue ${name}`))
  await runInDurableObject(env.TIMEKEEPER.getByName(tenant.id), look('timekeeper'))
  const { keys } = await env.KEYS.list()
  for (const { name } of keys) if ((await env.KEYS.get(name))?.includes(tenant.id)) found.push(`kv ${name}`)
  return found
}

/** Every table that a purge clears. */
export const tables = (): string[] =>
  Object.entries(TABLES).flatMap(([name, { purged }]) => (purged.length > 0 ? [name] : []))
export const created = (body: unknown) => String(at(body, 'created', 0, 'id'))

/**
 * Lets alarms of a tenant's Timekeeper do nothing, so that it works only if it is woken. Its other objects
 * make it set an alarm at moments of their own.
 */
export async function stopAlarms({ id }: TestTenant): Promise<void> {
  const timekeeper = env.TIMEKEEPER.getByName(id)
  await runInDurableObject(timekeeper, (object: TimekeeperObject) => {
    vi.spyOn(object, 'alarm').mockResolvedValue()
  })
  // Waits for an alarm that has begun.
  await timekeeper.wake(id, 0)
}

/** Requests the erasure of a tenant, and does no step of it. Only the test does steps from now on. */
export async function accepted({ tenant }: Pick<Furnished, 'tenant'>): Promise<void> {
  await stopAlarms(tenant)
  expect((await archive(tenant.id)).status).toBe(200)
  expect((await purge(tenant.id, newApp({ TIMEKEEPER: UNREACHED }))).status).toBe(202)
}

/** Runs a number of steps of a tenant's due work. */
export const work = async (id: string, steps: number, bindings: Partial<Bindings> = {}) => {
  const when = { to: instant(NOON), mustAll: false, isClockSet: true, grace: { first: 0, finals: 0 } }
  await workOff(JOBS, await everyPlace(id, bindings), { ...when, steps })
}

/** Checks that a tenant is gone, after its work is done. */
export async function isGone(one: Furnished, names: readonly string[]): Promise<void> {
  await env.TIMEKEEPER.getByName(one.tenant.id).wake(one.tenant.id, 100)
  expect([await tablesWith(names), await objectsWith(one)]).toEqual([[], []])
  expect((await tenants('GET', `/${one.tenant.id}`)).status).toBe(404)
  expect((await purge(one.tenant.id)).status).toBe(404)
}
