/**
 * The database of each earlier version is upgraded while clients send requests. Each request gets a success,
 * or 503 with Retry-After and the name of a migration. Each event counts once.
 */
import { applyD1Migrations } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { NEEDED_MIGRATION } from '../../src/platform/schema-version.sql'
import { databaseWith, earlier } from './earlier-versions'
import { type Answer, at, newApp, TestTenant } from './harness'

const DAY = 86_400_000
const today = Math.floor(Date.now() / DAY)
/** UUIDs in the form of earlier databases. */
const uuid = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`
const [ADA, METRIC, SYSTEM, TRIGGER, WEBHOOK] = [1, 11, 21, 31, 41].map(uuid)
const EVENTS = [101, 102, 103, 104, 105].map(uuid)
/** With so many migrations or fewer no request is served: 0011 renames columns that each request reads. */
const NONE_SERVED = 11
/** With so many or more every request is served. */
const ALL_SERVED = NEEDED_MIGRATION.number + 1

const trigger = JSON.stringify({
  id: TRIGGER,
  type: 'metric',
  points: 10,
  status: 'active',
  metricId: METRIC,
  metricName: 'Steps',
  metricThreshold: 1,
  userAttributes: [],
  created: '2026-01-01T00:00:00Z',
  updated: '2026-01-01T00:00:00Z',
})

const streak = JSON.stringify({
  frequency: 'daily',
  run: {
    started: today - 1,
    first: today - 1,
    last: today - 1,
    marks: '1e',
    length: 1,
    extended: (today - 1) * DAY,
  },
  born: today - 20,
})

/**
 * The rows that a database has before the upgrade, in the form of their tables at that time, by the number of
 * migrations that make room for them.
 */
const seedOf = (tenant: string) =>
  new Map([
    [
      1,
      [
        `INSERT INTO tenants (id, customer_id, name, config_version, created, updated)
         VALUES ('${tenant}', '${tenant}', 't', 1, 0, 0)`,
        `INSERT INTO metrics (id, tenant_id, created, updated, key, name, unit_type, units)
         VALUES ('${METRIC}', '${tenant}', 1, 1, 'steps', 'Steps', 'number', '')`,
        `INSERT INTO points_systems (id, tenant_id, created, updated, key, name, description)
         VALUES ('${SYSTEM}', '${tenant}', 1, 1, 'xp', 'XP', '')`,
        `INSERT INTO points_triggers (id, tenant_id, created, updated, system_id, type, points, status,
         user_attributes, event_attributes, metric_id, metric_threshold, block_if_out_of_points, counter_id,
         version)
         VALUES ('${TRIGGER}', '${tenant}', 1, 1, '${SYSTEM}', 'metric', 10, 'active', '[]', '[]',
         '${METRIC}', 1, 0, '${TRIGGER}', 1)`,
        `INSERT INTO trigger_versions VALUES ('${TRIGGER}', 1, '${trigger}')`,
        `INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes, control,
         created, updated, metrics, points, counters)
         VALUES ('${tenant}', 'ada', '${ADA}', 5, ${Date.now() - DAY}, 1, '{}', 0, 1, 1,
         '[["${METRIC}",5000000,5000000]]', '{"${SYSTEM}":50}', '[]')`,
        `INSERT INTO events SELECT '${ADA}', '${METRIC}', ${(today - 1) * DAY} + key, key + 1, value,
         1000000, 0, NULL FROM json_each('${JSON.stringify(EVENTS)}')`,
        `INSERT INTO idempotency_keys VALUES ('${ADA}', '${METRIC}', 'first', '${EVENTS[0]}')`,
        `INSERT INTO awards SELECT '${ADA}', '${SYSTEM}', ${(today - 1) * DAY} + key, key + 1, 0,
         replace(value, '0000000001', '0000000002'), 10, (key + 1) * 10, 0, '${TRIGGER}', 1, NULL
         FROM json_each('${JSON.stringify(EVENTS)}')`,
      ],
    ],
    [
      3,
      [
        `UPDATE users SET streak = '${streak}'`,
        `INSERT INTO streak_runs VALUES ('${ADA}', ${today - 20}, ${today - 18}, ${today - 20}, '3e', 3)`,
      ],
    ],
    [
      5,
      [
        `INSERT INTO webhooks (id, tenant_id, created, updated, url, events, status, secret)
         VALUES ('${WEBHOOK}', '${tenant}', 1, 1, 'https://hooks.example/', '["*"]', 'inactive',
         'whsec_eA==')`,
      ],
    ],
    [
      6,
      [
        `INSERT INTO points_told VALUES ('${ADA}', '${SYSTEM}', '${tenant}', 'ada', 5, 1, 50, 0, NULL)`,
        `INSERT INTO notices VALUES ('${tenant}', ${Date.now() + DAY}, '${uuid(51)}', 'ada', '${ADA}',
         '${uuid(52)}')`,
      ],
    ],
  ])

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
      /^The migration \d{4}_\w+ (is missing|was applied during the request)\./,
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

test.each(earlier)(
  '[E2, E4, G2] a database with the first %i migrations is upgraded under load',
  async (from) => {
    const tenant = new TestTenant(newApp({ DB: env.DB }))
    await databaseWith(from, seedOf(tenant.id))
    const { counted, load } = clients(tenant)

    const before = await load()
    if (from <= NONE_SERVED) expect(before).not.toContain(true)
    if (from >= ALL_SERVED) expect(before).not.toContain(false)
    for (const count of earlier.filter((one) => one > from)) {
      // The clients send while the migration is applied.
      const migrations = env.MIGRATIONS.slice(0, count)
      const [served] = await Promise.all([load(), applyD1Migrations(env.DB, migrations)])
      if (from >= ALL_SERVED) expect(served).not.toContain(false)
    }
    expect(await load()).not.toContain(false)

    // The user has what the user had, and each event that got a success, once.
    const total = EVENTS.length + counted.size
    expect(at((await tenant.app('GET', '/users/ada/metrics/steps')).body, 'current')).toBe(total)
    expect(at((await tenant.app('GET', '/users/ada/points/xp')).body, 'total')).toBe(10 * total)
    const { body } = await tenant.admin('GET', '/users/ada/export')
    const { events, awards, idempotencyKeys } = Export.parse(body)
    const ids = events.map(({ id }) => id).sort()
    expect(ids).toEqual([...EVENTS, ...counted.values()].sort())
    expect(awards.map(({ awarded }) => awarded)).toEqual(ids.map(() => 10))
    const keys = new Map(idempotencyKeys.map(({ key, eventId }) => [key, eventId]))
    expect(keys).toEqual(new Map([['first', EVENTS[0]], ...counted]))
    if (from >= 3) expect(JSON.stringify(at(body, 'streak'))).toContain('"periods":"3e"')
    // A key from before the upgrade is still known.
    const again = await tenant.event('steps', 'ada', 1, { idempotencyKey: 'first' })
    expect([again.status, at(again.body, 'total')]).toEqual([202, total])
  },
)
