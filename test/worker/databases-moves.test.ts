import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test } from 'vitest'
import { at, databases, newApp, newTenant, type TestTenant, until } from './harness'

/** Sets the weights of databases; others count 1. */
async function weigh(weights: Record<string, number>): Promise<void> {
  await env.DB.batch([
    env.DB.prepare('DELETE FROM database_weights'),
    env.DB.prepare('INSERT INTO database_weights (name, weight) SELECT key, value FROM json_each(?1)').bind(
      JSON.stringify(weights),
    ),
  ])
}

const wake = ({ id }: TestTenant, steps = 20) => env.TIMEKEEPER.getByName(id).wake(id, steps)

/** The users that each database has, by the tenant. */
async function usersByDatabase({ id }: TestTenant): Promise<Record<string, number>> {
  const counts = databases().map(async ({ name, d1 }) => {
    const row = await d1
      .prepare('SELECT count(*) AS n FROM users WHERE tenant_id = ?1')
      .bind(id)
      .first<{ n: number }>()
    return [name, row?.n ?? 0] as const
  })
  return Object.fromEntries(await Promise.all(counts))
}

const progressOf = ({ id }: TestTenant) =>
  env.DB.prepare("SELECT progress FROM due_work WHERE tenant_id = ?1 AND kind = 'moves'")
    .bind(id)
    .first<string>('progress')

/** Wakes the Timekeeper until all buckets are where they should be. Rows that stay behind are deleted at once. */
async function settle(tenant: TestTenant): Promise<void> {
  await until(async () => {
    await env.DB.prepare(
      "UPDATE due_work SET progress = json_set(progress, '$.left', (SELECT json_group_array(json_set(value, '$.at', 0)) FROM json_each(progress, '$.left'))) WHERE tenant_id = ?1 AND kind = 'moves' AND progress IS NOT NULL",
    )
      .bind(tenant.id)
      .run()
    await wake(tenant)
    return (await progressOf(tenant)) === null
  })
}

const NAMES = databases().map(({ name }) => name)
const LAST = NAMES.at(-1) ?? ''

afterEach(() => weigh({}))

describe('Buckets move between databases [B3]', () => {
  test('a database of weight 0 is emptied, and filled again', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    const ids = Array.from({ length: 40 }, (_, nth) => `user-${nth}`)
    for (const [nth, id] of ids.entries())
      await tenant.event('words', id, nth + 1, { idempotencyKey: `k${nth}` })
    const before = await usersByDatabase(tenant)
    expect(before[LAST]).toBeGreaterThan(3)

    await weigh({ [LAST]: 0 })
    await settle(tenant)
    expect((await usersByDatabase(tenant))[LAST]).toBe(0)
    for (const [nth, id] of ids.entries()) {
      const repeated = await tenant.event('words', id, nth + 1, { idempotencyKey: `k${nth}` })
      expect(at(repeated.body, 'total')).toBe(nth + 1)
    }
    await weigh({})
    await settle(tenant)
    expect(await usersByDatabase(tenant)).toEqual(before)
  })
})
