/** Worlds, and looks into the databases, for the tests of moves. */
import { env } from 'cloudflare:workers'
import { expect, vi } from 'vitest'
import * as z from 'zod'
import { MOVED } from '../../../src/features/databases/moved-tables'
import { stepMoves } from '../../../src/features/databases/moves'
import { bucketOf } from '../../../src/lib/ids'
import type { Bindings } from '../../../src/platform/env'
import { JOBS } from '../../../src/worker/jobs'
import { readableTable } from '../readable'
import { contextOfAccount } from './contexts'
import { onWrites } from './faulty'
import {
  account,
  databases,
  evenUsers,
  newTenant,
  rowsEverywhere,
  type Send,
  type TestTenant,
  toApp,
  until,
} from './harness'

export const NAMES = databases().map(({ name }) => name)
export const LAST = NAMES.at(-1) ?? ''

/** Sets the weights of databases; others count 1. */
export async function weigh(weights: Record<string, number>): Promise<void> {
  await env.DB.batch([
    env.DB.prepare('DELETE FROM database_weights'),
    env.DB.prepare('INSERT INTO database_weights (name, weight) SELECT key, value FROM json_each(?1)').bind(
      JSON.stringify(weights),
    ),
  ])
}

/** Weights by which one database holds everything. */
export const allIn = (name: string) => Object.fromEntries(NAMES.map((one) => [one, one === name ? 1 : 0]))

export const wake = ({ id }: Pick<TestTenant, 'id'>, steps = 20) =>
  env.TIMEKEEPER.getByName(id).wake(id, steps)

/** Counts rows in each database. */
export async function countEach(sql: string, ...params: unknown[]): Promise<Record<string, number>> {
  const counts = databases().map(async ({ name, d1 }) => {
    const row = await d1
      .prepare(sql)
      .bind(...params)
      .first<{ n: number }>()
    return [name, row?.n ?? 0] as const
  })
  return Object.fromEntries(await Promise.all(counts))
}

/** The users that each database has. */
export const usersByDatabase = ({ id }: Pick<TestTenant, 'id'>) =>
  countEach('SELECT count(*) AS n FROM users WHERE tenant_id = ?1', id)

/** The internal ids of all users of a tenant. */
export const iidsOf = async ({ id }: TestTenant): Promise<string[]> =>
  (await rowsEverywhere<{ iid: string }>('SELECT iid FROM users WHERE tenant_id = ?1', id)).map(
    ({ iid }) => iid,
  )

/** The rows of users in all tables whose rows move, and in which databases they are. */
export async function rowsOf(
  iids: readonly string[],
): Promise<{ rows: Record<string, string[]>; places: Record<string, number> }> {
  const rows: Record<string, string[]> = {}
  const places: Record<string, number> = {}
  for (const { name, d1 } of databases()) {
    for (const table of MOVED) {
      const key = table === 'users' ? 'iid' : 'user_iid'
      const { results } = await d1
        .prepare(
          `SELECT * FROM ${readableTable(table)} WHERE ${key} IN (SELECT value FROM json_each(?1)
            UNION ALL SELECT unhex(value, '-') FROM json_each(?1))`,
        )
        .bind(JSON.stringify(iids))
        .all()
      for (const { no: _, ...row } of results) {
        // The first database also has all own boosts of users in other ones.
        const isBoost = table === 'points_boosts'
        if (isBoost && rows[table]?.includes(JSON.stringify(row))) continue
        rows[table] = [...(rows[table] ?? []), JSON.stringify(row)]
        if (!isBoost) places[name] = (places[name] ?? 0) + 1
      }
    }
  }
  for (const list of Object.values(rows)) list.sort()
  return { rows, places }
}

/** Lets moves begin, and rows of users who have left be deleted, at once, and not after half a minute. */
export const hurry = () =>
  env.DB.batch([
    env.DB.prepare(
      `UPDATE due_work SET progress = json_set(progress, '$.left', (
        SELECT json_group_array(json_set(value, '$.at', 0)) FROM json_each(progress, '$.left')))
      WHERE kind = 'moves' AND progress IS NOT NULL`,
    ),
    env.DB.prepare('UPDATE known_databases SET since = 0'),
  ])

/** Wakes the Timekeeper until all buckets are where they should be, and nothing is left behind. */
export async function settle(tenant: Pick<TestTenant, 'id'>): Promise<void> {
  await wake(tenant)
  await until(async () => {
    await hurry()
    await wake(tenant)
    const isAsked = await env.DB.prepare(
      "SELECT 1 AS n FROM due_work WHERE tenant_id = ?1 AND kind = 'moves'",
    )
      .bind(tenant.id)
      .first('n')
    return isAsked === null
  })
}

export const rebalance = (weights?: Record<string, number>, send: Send = toApp) =>
  account('POST', '/databases/rebalance', weights === undefined ? {} : { weights }, send)
export const listed = () => account('GET', '/databases')

/** A tenant with a configuration that leaves rows in all tables. */
export async function newWorld(): Promise<TestTenant> {
  const tenant = await newTenant()
  await tenant.metric('words')
  const words = { metricKey: 'words', status: 'active' }
  const triggers = [{ type: 'metric', metricThreshold: 10, points: 3, ...words }]
  await tenant.create('/points', { key: 'xp', name: 'XP', triggers })
  const hundred = { key: 'hundred', name: 'Hundred', trigger: 'metric', metricValue: 100 }
  await tenant.create('/achievements', { ...hundred, ...words })
  return tenant
}

export const KINDS = JOBS.list.flatMap(({ kind, of }) => (of === 'users' ? [kind] : []))

/** Does moves as the Timekeeper does, with these bindings instead of others, in an isolate without memory. */
export const stepWith = (bindings: Partial<Bindings>, { id }: Pick<TestTenant, 'id'>) =>
  stepMoves(contextOfAccount(bindings), id, KINDS, true)

/** Does all moves in the test itself: in this runner, no object runs while the test sends requests. */
export async function moveAll(tenant: TestTenant): Promise<void> {
  do await hurry()
  while ((await stepWith({}, tenant)) !== null)
}

/** Moves users three times while clients send requests. A client ends when `isOver()` is true: after the last move. */
export async function whileMoving(
  tenant: TestTenant,
  clients: readonly ((isOver: () => boolean) => Promise<void>)[],
): Promise<void> {
  let isOver = false
  const moves = async () => {
    try {
      for (const weights of [{ [LAST]: 0 }, { DB: 0 }, {}]) {
        await moveBy(tenant, weights)
      }
    } finally {
      isOver = true
    }
  }
  await Promise.all([moves(), ...clients.map((client) => client(() => isOver))])
}

/** The orders of a write of a move and of another act (`moveWith`). */
export const ORDERS = ['before', 'beside'] as const

/**
 * Does the moves of a tenant, and begins other acts just before one of its writes. Each order of the two must be right.
 * `before`: the write waits until the first act is done, or until any code waits in real time, as an act does that waits
 * for the move. `beside`: the write does not wait. Returns false if there were fewer writes.
 */
export async function moveWith(
  tenant: TestTenant,
  nth: number,
  act: () => readonly Promise<unknown>[],
  order: (typeof ORDERS)[number] = 'before',
): Promise<boolean> {
  const acting: Promise<unknown>[] = []
  let hasBegun = false
  const { bindings } = onWrites(async ({ run }, write) => {
    if (write === nth) {
      hasBegun = true
      const { promise: waits, resolve } = Promise.withResolvers<void>()
      const wait = scheduler.wait.bind(scheduler)
      const waiting = vi.spyOn(scheduler, 'wait').mockImplementation((...asked) => {
        resolve()
        return wait(...asked)
      })
      try {
        acting.push(...act())
        if (order === 'before') await Promise.race([acting[0], waits])
      } finally {
        waiting.mockRestore()
      }
    }
    return run()
  })
  await stepWith(bindings, tenant)
  await Promise.all(acting)
  return hasBegun
}

/** Spreads the users of a tenant by these weights; the other databases count 1. */
export async function moveBy(tenant: TestTenant, weights: Record<string, number>): Promise<void> {
  await weigh(weights)
  await moveAll(tenant)
}

/** Gives each user rows in the tables that few users have, so that no message is sent and nothing is due. */
export async function addRareRows({ id }: TestTenant): Promise<void> {
  const sql = [
    `INSERT INTO streak_runs (user_iid, first, last, started, history, length)
      SELECT iid, 1, 2, 1, 'x', 2 FROM users WHERE tenant_id = ?1`,
    `INSERT INTO streak_pauses (id, tenant_id, user_id, user_iid, start, end)
      SELECT 'pause ' || iid, ?1, id, iid, 30000, 30001 FROM users WHERE tenant_id = ?1`,
    `INSERT INTO devices (user_iid, token, tenant_id, user_id, at)
      SELECT iid, 'of ' || id, ?1, id, 1 FROM users WHERE tenant_id = ?1`,
    `INSERT INTO counted_users (user_iid, days, days_from, streak, completions, levels)
      SELECT unhex(iid, '-'), '[]', 0, 0, '[]', '{}' FROM users WHERE tenant_id = ?1`,
    `INSERT INTO pending_notifications (tenant_id, due_at, id, user_id, user_iid, achievement_id)
      SELECT ?1, 4000000000000, 'pending ' || iid, id, iid, '' FROM users WHERE tenant_id = ?1`,
    `INSERT INTO points_notifications (user_iid, system_id, tenant_id, user_id, seq, at, total, until)
      SELECT iid, 'system', ?1, id, 1, 1, 1, 1 FROM users WHERE tenant_id = ?1`,
    `INSERT INTO outbox (tenant_id, at, seq, id, user_iid, messages)
      SELECT ?1, 1, seq, 'outbox ' || iid, iid, '[]' FROM users WHERE tenant_id = ?1`,
    `INSERT INTO points_boosts (id, tenant_id, created, updated, system_id, user_id, user_iid, key,
        name, start,
        end, multiplier, rounding, user_attributes)
      SELECT 'boost ' || iid, ?1, 1, 1, 'system', id, iid, iid, 'Boost', '2020-01-01', '2020-01-02',
        1.5, 'up', '[]'
      FROM users WHERE tenant_id = ?1`,
  ]
  for (const { d1 } of databases()) await d1.batch(sql.map((text) => d1.prepare(text).bind(id)))
}

/** Makes users with events, evenly spread over the databases. Returns the total of each one, in the order of buckets. */
export async function newUsers(tenant: TestTenant, count: number): Promise<Map<string, number>> {
  const totals = new Map<string, number>()
  for (const [nth, id] of evenUsers(tenant, count).entries()) {
    await tenant.event('words', id, 5, { idempotencyKey: 'first' })
    await tenant.event('words', id, nth)
    totals.set(id, 5 + nth)
  }
  return totals
}

/** Expects each user to exist once, with the total, and with events that sum up to it. */
export async function expectTotals(tenant: TestTenant, totals: ReadonlyMap<string, number>): Promise<void> {
  const found = new Map<string, number>()
  for (const { d1 } of databases()) {
    const { results } = await d1
      .prepare(
        `SELECT u.id, u.metrics ->> '$[0][1]' AS total, u.bucket,
          (SELECT sum(value) FROM events e WHERE e.user_iid = unhex(u.iid, '-')) AS sum
        FROM users u WHERE tenant_id = ?1`,
      )
      .bind(tenant.id)
      .all<{ id: string; total: number; sum: number; bucket: number }>()
    for (const { id, total, sum, bucket } of results) {
      expect(found.has(id), `${id} is there twice`).toBe(false)
      expect(sum, id).toBe(total)
      expect(bucket).toBe(bucketOf(tenant.id, id))
      found.set(id, total / 1_000_000)
    }
  }
  expect(found).toEqual(new Map(totals))
}

export const Listed = z.object({
  name: z.string(),
  buckets: z.number(),
  users: z.number(),
  events: z.number(),
  state: z.string(),
})
export const states = (body: unknown) =>
  Object.fromEntries(
    Listed.array()
      .parse(body)
      .map(({ name, state }) => [name, state]),
  )
