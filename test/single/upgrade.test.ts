/**
 * Upgrades of the tables: to this version, and to a scratch version after it. During an upgrade, each request
 * gets a success, or 503 with Retry-After and the name of a migration. Each event counts once.
 */
import { applyD1Migrations } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { is } from 'drizzle-orm'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { NEEDED_MIGRATION } from '../../src/platform/schema-version.sql'
import * as schema from '../../src/worker/schema'
import { type Answer, at, call, newApp, TestTenant } from '../helpers/worker/harness'

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results
const run = async (queries: readonly string[]) => {
  for (const sql of queries) await env.DB.prepare(sql).run()
}
const migrate = (migrations = env.MIGRATIONS) => applyD1Migrations(env.DB, migrations)

const TABLES = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'
  AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name`

beforeEach(async () => {
  await run((await rows(TABLES)).map(({ name }) => `DROP TABLE ${name}`))
})

test('the tables after all migrations are those that the code declares', async () => {
  await migrate()
  const made = (await rows(TABLES)).map(({ name }) => String(name)).filter((name) => name !== 'd1_migrations')
  const found = made.map(async (name) => ({
    name,
    columns: await rows(
      `SELECT name, lower(type) AS type, "notnull" AS required, pk FROM pragma_table_info('${name}') ORDER BY cid`,
    ),
    indexes: await rows(
      `SELECT name, "unique" FROM pragma_index_list('${name}') WHERE origin = 'c' ORDER BY name`,
    ),
  }))
  const declared = Object.values(schema)
    .flatMap((one) => (is(one, SQLiteTable) ? [getTableConfig(one)] : []))
    .map(({ name, columns, primaryKeys, indexes }) => {
      const keys = primaryKeys.flatMap((key) => key.columns.map((column) => column.name))
      return {
        name,
        columns: columns.map((column) => ({
          name: column.name,
          type: column.getSQLType(),
          required: Number(column.notNull),
          pk: column.primary ? 1 : keys.indexOf(column.name) + 1,
        })),
        indexes: [
          ...indexes.map(({ config }) => ({ name: config.name, unique: Number(config.unique) })),
          ...columns.flatMap(({ isUnique, uniqueName = '' }) =>
            isUnique ? [{ name: uniqueName, unique: 1 }] : [],
          ),
        ].sort((a, b) => (a.name < b.name ? -1 : 1)),
      }
    })
  expect(await Promise.all(found)).toEqual(declared.sort((a, b) => (a.name < b.name ? -1 : 1)))
})

/** A migration to the version after the present one. `oldest` is the oldest that can serve with it. */
const scratch = (queries: readonly string[], oldest: 'present' | 'scratch') => {
  const number = NEEDED_MIGRATION.number + 1
  const name = `${String(number).padStart(4, '0')}_scratch`
  const noted = oldest === 'present' ? NEEDED_MIGRATION.number : number
  const note = `UPDATE schema_version SET migration = ${number}, name = '${name}', oldest = ${noted}`
  return { name: `${name}.sql`, queries: [...queries, note] }
}

const ADD = [
  "ALTER TABLE users ADD scratch text DEFAULT 'none' NOT NULL",
  'CREATE TABLE scratch (no integer)',
]
/** Each request reads this column. */
const TAKE = ['ALTER TABLE users RENAME COLUMN points TO scratch']
const BRING = ['ALTER TABLE users RENAME COLUMN scratch TO points']
/** As before a migration that brings what this version needs. */
const EARLIER = [...TAKE, "UPDATE schema_version SET migration = migration - 1, name = 'earlier'"]

/** Creates a metric with a trigger of points. */
async function configure(tenant: TestTenant): Promise<void> {
  const metric = await tenant.metric('steps')
  const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
  const trigger = { type: 'metric', metricId: metric, metricThreshold: 1, points: 10, status: 'active' }
  await tenant.create(`/points/${system}/triggers`, trigger)
}

const newTenant = async (send = newApp({ DB: env.DB })) => {
  const tenant = new TestTenant(send)
  const insert = `INSERT INTO tenants (id, customer_id, name, created, updated) VALUES (?1, ?1, ?1, 0, 0)`
  await env.DB.prepare(insert).bind(tenant.id).run()
  await configure(tenant)
  return tenant
}

const Export = z.object({
  events: z.array(z.object({ id: z.string(), value: z.number() })),
  awards: z.array(z.object({ awarded: z.number() })),
  idempotencyKeys: z.array(z.object({ key: z.string(), eventId: z.string() })),
})

const PATHS = ['/users/ada', '/users/ada/metrics/steps', '/users/ada/streak', '/users/ada/points/xp']

/**
 * Two clients that send events, and one for each path. `counted` has the ids of the events that got a
 * success, by idempotency key.
 */
function clients(tenant: TestTenant) {
  const counted = new Map<string, string>()
  const isServed = (name: string, { status, headers, body }: Answer): boolean => {
    if (status !== 503) {
      expect([name, status, body]).toEqual([name, expect.toBeOneOf([200, 201, 202]), body])
      return true
    }
    expect(at(body, 'error')).toMatch(
      /^The migration \d{4}_\w+ (is missing|was applied during the request)\.|^A later version of Laurel has applied the migration \d{4}_scratch\./,
    )
    expect(headers.get('Retry-After')).toBe('5')
    return false
  }
  /** Sends one event after another. An event that got 503 is sent again, with the same key. */
  const writer = (name: string) => {
    let sent = 0
    return async () => {
      const key = `${name} ${sent}`
      const answer = await tenant.event('steps', 'ada', 1, { idempotencyKey: key })
      if (!isServed(key, answer)) return false
      counted.set(key, String(at(answer.body, 'eventId')))
      sent += 1
      return true
    }
  }
  const reader = (path: string) => async () => isServed(path, await tenant.app('GET', path))
  const all = [writer('a'), writer('b'), ...PATHS.map(reader)]
  /** All clients at once send three requests each. Returns whether each request got a success. */
  const load = async () => {
    const each = async (send: () => Promise<boolean>) => [await send(), await send(), await send()]
    return (await Promise.all(all.map(each))).flat()
  }
  return { counted, load }
}

test.each([...env.MIGRATIONS.keys(), env.MIGRATIONS.length])(
  'a database with the first %i migrations is migrated to this version and to the next one, and serves',
  async (count) => {
    await migrate(env.MIGRATIONS.slice(0, count))
    await migrate()
    const tenant = await newTenant()
    const event = async () => {
      const { status, body } = await tenant.event('steps', 'ada', 3)
      return [status, at(body, 'total')]
    }
    expect(await event()).toEqual([201, 3])
    await migrate([...env.MIGRATIONS, scratch(ADD, 'present')])
    expect(await event()).toEqual([201, 6])
    expect(at((await tenant.app('GET', '/users/ada/streak')).body, 'length')).toBe(1)
  },
)

test('[G1, G2] without tables, each request is a 503 that names the missing migration', async () => {
  const send = newApp({ DB: env.DB })
  const { status, body } = await call(send, 'GET', '/health')
  expect([status, at(body, 'error')]).toEqual([
    503,
    expect.stringContaining(`The migration ${NEEDED_MIGRATION.name} is missing.`),
  ])
  expect(await clients(new TestTenant(send)).load()).not.toContain(true)
})

test.each([
  ['only adds', { earlier: [], migration: scratch(ADD, 'present'), served: [true, true, true] }],
  [
    'brings what requests need',
    { earlier: EARLIER, migration: scratch(BRING, 'present'), served: [false, null, true] },
  ],
  [
    'takes away what requests need',
    { earlier: [], migration: scratch(TAKE, 'scratch'), served: [true, null, false] },
  ],
])(
  '[E2, E4, G2] a migration that %s is applied under load, and each event counts once',
  async (_what, { earlier, migration, served: [before, during, after] }) => {
    await migrate()
    const tenant = await newTenant()
    const first = await tenant.event('steps', 'ada', 1, { idempotencyKey: 'first' })
    await run(earlier)
    const { counted, load } = clients(tenant)
    const expectServed = (served: boolean[], expected: boolean | null | undefined) => {
      if (expected !== null) expect(served).not.toContain(!expected)
    }

    expectServed(await load(), before)
    // The clients send while the migration is applied.
    const [served] = await Promise.all([load(), migrate([...env.MIGRATIONS, migration])])
    expectServed(served, during)
    expectServed(await load(), after)
    const health = await call(tenant.send, 'GET', '/health')
    expect(health.status).toBe(after ? 200 : 503)
    if (!after) {
      expect(at(health.body, 'error')).toContain('_scratch. Deploy that version again.')
      await run(BRING)
      expectServed(await load(), true)
    }

    // The user has what the user had, and each event that got a success, once.
    const total = 1 + counted.size
    expect(at((await tenant.app('GET', '/users/ada/metrics/steps')).body, 'current')).toBe(total)
    expect(at((await tenant.app('GET', '/users/ada/points/xp')).body, 'total')).toBe(10 * total)
    const { events, awards, idempotencyKeys } = Export.parse(
      (await tenant.admin('GET', '/users/ada/export')).body,
    )
    const firstId = String(at(first.body, 'eventId'))
    const ids = events.map(({ id }) => id).sort()
    expect(ids).toEqual([firstId, ...counted.values()].sort())
    expect(awards.map(({ awarded }) => awarded)).toEqual(ids.map(() => 10))
    const keys = new Map(idempotencyKeys.map(({ key, eventId }) => [key, eventId]))
    expect(keys).toEqual(new Map([['first', firstId], ...counted]))
    // A key from before the upgrade is still known.
    const again = await tenant.event('steps', 'ada', 1, { idempotencyKey: 'first' })
    expect([again.status, at(again.body, 'total')]).toEqual([202, total])
  },
)
