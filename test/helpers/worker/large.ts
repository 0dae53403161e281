import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { instant } from '../../../src/lib/clock'
import { newId } from '../../../src/lib/new-id'
import { DeliveryQueueStore } from '../../../src/webhooks/delivery/queue.sql'
import { type Batch, intercepted } from './faulty'
import {
  at,
  lastDatabase,
  newApp,
  newTenantInLast,
  replaced,
  rowsEverywhere,
  type TestTenant,
} from './harness'
import { stubbed } from './objects'
import { iidOf } from './stored-users'

/* The largest user that the interfaces accept */

/** A character that becomes six in JSON, one that becomes two, and one of three bytes. */
export const GROWING = { control: '\u0001', quote: '"', wide: '中' } as const
export type Growing = (typeof GROWING)[keyof typeof GROWING]

/** The most attributes of a tenant, and the most characters of a value. */
const [ATTRIBUTES, CHARACTERS] = [200, 1_000]

const keyOf = (n: number) => `a${String(n).padStart(3, '0')}`

/** A tenant with the most user attributes. All its users are in the last database. */
export async function largeTenant(tenant?: TestTenant): Promise<TestTenant> {
  const made = tenant ?? (await newTenantInLast())
  for (let from = 0; from < ATTRIBUTES; from += 100) {
    const items = Array.from({ length: 100 }, (_, n) => ({ key: keyOf(from + n), name: 'A', type: 'user' }))
    const { status } = await made.admin('POST', '/attributes', items)
    if (status !== 201) throw new Error(`attributes: ${status}`)
  }
  return made
}

/** Values of the longest length for `count` attributes, from attribute number `from` on. */
export const largeValues = (character: string, from = 0, count = ATTRIBUTES): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [keyOf(from + n), character.repeat(CHARACTERS)]))

/** Fills all attributes of a user, with two requests, since one request may have at most 1 MiB. */
export async function fill(tenant: TestTenant, id: string, character: string): Promise<void> {
  for (const from of [0, 100]) {
    const attributes = largeValues(character, from, 100)
    const { status } = await tenant.app('PUT', `/users/${encodeURIComponent(id)}`, { attributes })
    if (status !== 200) throw new Error(`user ${id}: ${status}`)
  }
}

/** Creates a number of achievements for one event of a metric. Returns their ids. */
export async function achievements(tenant: TestTenant, metricId: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let from = 0; from < count; from += 100) {
    const items = Array.from({ length: Math.min(100, count - from) }, (_, n) => ({
      key: `done${from + n}`,
      name: 'Done',
      trigger: 'metric',
      metricId,
      metricValue: 1,
      status: 'active',
    }))
    const { body } = await tenant.admin('POST', '/achievements', items)
    const created = at(body, 'created')
    if (!Array.isArray(created) || created.length !== items.length) throw new Error(JSON.stringify(body))
    ids.push(...created.map((one) => String(at(one, 'id'))))
  }
  return ids
}

const encoder = new TextEncoder()

/** Throws what D1 answers to a batch beyond its documented limits for statements. The local D1 allows more. */
function limit({ texts, params }: Batch, bytes = 2_000_000): void {
  const tooBig = (what: string) => new Error(`D1_ERROR: ${what}: SQLITE_TOOBIG`)
  const isLonger = (one: unknown, most: number) =>
    typeof one === 'string' && encoder.encode(one).length > most
  if (texts.some((text) => isLonger(text, 100_000))) throw tooBig('statement too long')
  if (params.some((values) => values.length > 100)) throw tooBig('too many parameters')
  if (params.flat().some((one) => isLonger(one, bytes))) throw tooBig('string or blob too big')
}

/** All databases with these limits. */
export const strict = (bytes?: number): Record<string, D1Database> =>
  replaced((d1) =>
    intercepted(d1, async (batch) => {
      limit(batch, bytes)
      return batch.run()
    }),
  )

/** Makes copies of a user, numbered from 1 on, except the counts of users. Returns their ids. */
export async function copies(tenant: TestTenant, id: string, count: number): Promise<string[]> {
  const { d1 } = lastDatabase()
  const { results } = await d1.prepare("SELECT name FROM pragma_table_info('users')").all<{ name: string }>()
  const rest = results.map(({ name }) => name).filter((name) => name !== 'id' && name !== 'iid')
  await d1
    .prepare(
      `INSERT INTO users (id, iid, ${rest.join(', ')})
     WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?3)
     SELECT id || '-' || printf('%03d', n), substr(iid, 1, 24) || printf('%012d', n), ${rest.join(', ')}
     FROM users, n WHERE tenant_id = ?1 AND id = ?2`,
    )
    .bind(tenant.id, id, count)
    .run()
  return Array.from({ length: count }, (_, n) => `${id}-${String(n + 1).padStart(3, '0')}`)
}

/** The databases of `strict`. `most` is the most characters that one batch has returned, and has received. */
export function measured(): {
  bindings: Record<string, D1Database>
  most: { read: number; written: number }
} {
  const most = { read: 0, written: 0 }
  const sum = (lengths: readonly number[]) => lengths.reduce((total, one) => total + one, 0)
  const bindings = replaced((d1) =>
    intercepted(d1, async (batch) => {
      limit(batch)
      const results = await batch.run()
      const read = sum(results.map(({ results: rows }) => JSON.stringify(rows).length))
      const written = sum(batch.params.flat().map((one) => (typeof one === 'string' ? one.length : 0)))
      most.read = Math.max(most.read, read)
      most.written = Math.max(most.written, written)
      return results
    }),
  )
  return { bindings, most }
}

/**
 * The most characters that one batch may read or write: four megabytes, and the rest of the last piece that
 * begins below that limit.
 */
export const MOST = 10_000_000

/** The number of a tenant's rows in a table, in all databases. */
export const count = async (
  tenant: TestTenant,
  table: 'outbox' | 'pending_notifications' | 'inbox' | 'parked_events' | 'due_work',
) => (await rowsEverywhere(`SELECT 1 FROM ${table} WHERE tenant_id = ?1`, tenant.id)).length

/** A tenant with a user whose attributes have the longest values, each character six in JSON. */
export async function withLargeUser(
  character: string = GROWING.control,
): Promise<{ tenant: TestTenant; metric: string }> {
  const tenant = await largeTenant()
  const metric = await tenant.metric('m')
  await fill(tenant.through(newApp(strict())), 'ada', character)
  return { tenant, metric }
}

/**
 * Puts messages into a delivery queue's log, one for each millisecond from a moment on. Returns their ids.
 */
export function keepMessages(
  deliveryQueue: string,
  messages: number,
  from: number,
  subject: string | null,
  body: string,
): Promise<string[]> {
  return runInDurableObject(env.DELIVERY_QUEUE.getByName(deliveryQueue), (_, { storage }) => {
    new DeliveryQueueStore(storage)
    return Array.from({ length: messages }, (_, n) => {
      const id = newId(instant(from + n))
      const row = [from + n, id, subject, body]
      storage.sql.exec(
        `INSERT INTO messages (at, seq, id, subject, event, status, attempts, tries, created, since, waits,
          claimed, body)
         VALUES (?1, 0, ?2, ?3, 'streak.lost', 'delivered', 1, 1, ?1, ?1, 0, 0, ?4)`,
        ...row,
      )
      return id
    })
  })
}

/** Delivery queues that accept everything and deliver nothing. `told` has the messages of each call. */
export function queuesThatListen() {
  const told: { body: string }[][] = []
  const accept = async ({ messages }: { messages: { body: string }[] }) => {
    told.push(messages)
  }
  return { DELIVERY_QUEUE: stubbed(env.DELIVERY_QUEUE, () => ({ accept })), told }
}

/** The keys of ten attributes with the longest values. */
export const breakdown = Object.keys(largeValues('', 0, 10))

/** A board that is broken down by ten attributes, and users in its groups. */
export async function withGroups(users: number) {
  const tenant = await largeTenant()
  const metric = await tenant.metric('m')
  const attributes = z
    .array(z.object({ id: z.string(), key: z.string() }))
    .parse((await tenant.admin('GET', '/attributes?limit=100')).body)
  const item = {
    key: 'board',
    name: 'Board',
    rankBy: 'metric',
    metricId: metric,
    runUnit: 'day',
    runInterval: 1,
  }
  const board = await tenant.create('/leaderboards', {
    ...item,
    breakdownAttributes: breakdown.map((key) => attributes.find((one) => one.key === key)?.id),
  })
  const values = largeValues(GROWING.control, 0, 10)
  await tenant.event('m', { id: 'ada', attributes: values }, 1)
  const ids = ['ada', ...(await copies(tenant, 'ada', users - 1))]
  await lastDatabase()
    .d1.prepare(
      `INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset, attributes, counter_ids)
     SELECT unhex(u.iid, '-'), e.metric_no, e.at, e.seq, e.id, e.value, e.utc_offset,
      e.attributes, e.counter_ids
     FROM events e, users u WHERE e.user_iid = unhex(?2, '-') AND u.tenant_id = ?1 AND u.id <> 'ada'`,
    )
    .bind(tenant.id, await iidOf(tenant, 'ada'))
    .run()
  return { tenant, metric, board, ids, values }
}
