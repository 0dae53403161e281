import { applyD1Migrations } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { readable } from '../readable'
import { ADMIN_KEY, call, toApp } from './harness'

const TABLES = `SELECT name, sql FROM sqlite_schema
  WHERE type IN ('table', 'index') AND sql IS NOT NULL AND name NOT LIKE '\\_cf%' ESCAPE '\\'
    AND name NOT LIKE 'sqlite%'
  ORDER BY name`

const schema = async () => (await env.DB.prepare(TABLES).all()).results.map((row) => JSON.stringify(row))

/** Migrates an empty database up to the migration before this number. */
async function migratedBefore(number: number): Promise<void> {
  const tables = await env.DB.prepare(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
  ).all<{ name: string }>()
  for (const { name } of tables.results) await env.DB.prepare(`DROP TABLE ${name}`).run()
  await applyD1Migrations(env.DB, env.MIGRATIONS.slice(0, number))
}

/** UUIDs in the form of earlier databases: of users, events, metrics. */
const id = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`
const ADA = id(1)
const METRIC = id(11)
const OTHER = id(12)
const METRICS = `INSERT INTO metrics (id, tenant_id, created, updated, deleted, key, name, unit_type, units)
  VALUES ('${METRIC}', 't', 1, 1, NULL, 'lessons', '', 'number', ''), ('${OTHER}', 't', 1, 1, 1, 'gone', '',
    'number', '')`

const first = async (sql: string) => await env.DB.prepare(sql).first()

test('0001: in an earlier database, users keep their data, and active time triggers begin to tick', async () => {
  const fresh = await schema()
  await migratedBefore(1)
  await env.DB.batch([
    env.DB.prepare(`INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes,
      control, created,
      updated, metrics, points, counters) VALUES ('t', 'ada', 'i', 7, 1, 1, '{}', 0, 1, 1, '[["m",5,5]]',
        '{"s":3}', '[]'),
      ('t', 'bob', 'j', 1, 1, 1, '{}', 0, 1, 1, '[]', '{}', '[]')`),
    env.DB.prepare(`INSERT INTO points_triggers (id, tenant_id, created, updated, system_id, type, points,
      status,
      user_attributes, event_attributes, time_unit, time_interval, block_if_out_of_points, counter_id,
        version)
      VALUES ('x', 't', 1, 1, 's', 'time', 1, 'active', '[]', '[]', 'hours', 1, 0, 'x', 1),
      ('y', 't', 1, 1, 's', 'time', 1, 'inactive', '[]', '[]', 'hours', 1, 0, 'y', 1)`),
    env.DB.prepare(
      "INSERT INTO tenants (id, customer_id, name, created, updated) VALUES ('t', 'c', 'n', 0, 0)",
    ),
  ])
  await applyD1Migrations(env.DB, env.MIGRATIONS)
  expect(await schema()).toEqual(fresh)
  expect(await first("SELECT last_seq_by_input FROM users WHERE id = 'ada'")).toEqual({
    last_seq_by_input: '{"m":7,"s":7}',
  })
  expect(await first("SELECT last_seq_by_input FROM users WHERE id = 'bob'")).toEqual({
    last_seq_by_input: '{}',
  })
  expect(await first("SELECT anchor > 0 AS anchored FROM points_triggers WHERE id = 'x'")).toEqual({
    anchored: 1,
  })
  expect(await first("SELECT anchor FROM points_triggers WHERE id = 'y'")).toEqual({ anchor: null })
  expect(await first("SELECT tenant_id, kind, subject FROM due_work WHERE kind = 'ticks'")).toEqual({
    tenant_id: 't',
    kind: 'ticks',
    subject: '',
  })
  expect(await first("SELECT config_version FROM tenants WHERE id = 't'")).toEqual({ config_version: 1 })
})

test('0002: in an earlier database, streaks are counted from the log, and users are counted', async () => {
  const fresh = await schema()
  await migratedBefore(2)
  const day = 86_400_000
  const noon = Math.floor(Date.now() / day) * day - day / 2
  await env.DB.batch([
    env.DB.prepare(
      "INSERT INTO tenants (id, customer_id, name, created, updated) VALUES ('t', 'c', 'n', 0, 0)",
    ),
    env.DB.prepare(`INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes,
      control, created,
      updated, metrics, points, counters) VALUES ('t', 'ada', '${ADA}', 2, ?1, 1, '{}', 0, 1, 1,
        '[["${METRIC}",2,2]]', '{}', '[]'),
      ('t', 'bob', 'j', 1, 1, 1, '{}', 0, 1, 1, '[]', '{}', '[]')`).bind(noon),
    env.DB.prepare(METRICS),
    env.DB.prepare(`INSERT INTO events (user_iid, metric_id, at, seq, id, value, utc_offset)
      VALUES ('${ADA}', '${METRIC}', ?1, 1, '${id(21)}', 1, 0), ('${ADA}', '${METRIC}', ?2, 2, '${id(22)}', 1,
        0)`).bind(noon - day, noon),
  ])
  await applyD1Migrations(env.DB, env.MIGRATIONS)
  expect(await schema()).toEqual(fresh)
  expect(await first("SELECT count FROM tenant_counters WHERE tenant_id = 't' AND name = 'users'")).toEqual({
    count: 2,
  })
  expect(
    await first("SELECT kind, subject FROM due_work WHERE tenant_id = 't' AND kind <> 'analytics'"),
  ).toEqual({
    kind: 'recount',
    subject: '',
  })
  const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': 't' }
  const { body } = await call(toApp, 'GET', '/v1/streaks?userIds=bob&userIds=ada', { headers })
  expect(body).toEqual([
    { userId: 'ada', streakLength: 2, extended: new Date(noon).toISOString() },
    { userId: 'bob', streakLength: 0, extended: null },
  ])
})

test('0005: in an earlier database, users get the local date of their last event', async () => {
  const fresh = await schema()
  await migratedBefore(5)
  const day = 86_400_000
  await env.DB.batch([
    env.DB.prepare(`INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes,
      control, created,
      updated, metrics, points, counters) VALUES ('t', 'ada', '${ADA}', 3, ?1, 1, '{}', 0, 1, 1,
        '[["${METRIC}",2,2]]', '{}', '[]'),
      ('t', 'bob', 'j', 1, 1, 1, '{}', 0, 1, 1, '[]', '{}', '[]')`).bind(20_000 * day),
    env.DB.prepare(METRICS),
    // The last event was at 23:30 UTC. An hour further east, that is the next day.
    env.DB.prepare(`INSERT INTO events (user_iid, metric_id, at, seq, id, value, utc_offset)
      VALUES ('${ADA}', '${METRIC}', ?1, 1, '${id(21)}', 1, 0), ('${ADA}', '${OTHER}', ?2, 2, '${id(22)}', 1,
        60)`).bind(20_000 * day, 20_001 * day - 30 * 60_000),
  ])
  await applyD1Migrations(env.DB, env.MIGRATIONS)
  expect(await schema()).toEqual(fresh)
  expect(await first("SELECT active_day FROM users WHERE id = 'ada'")).toEqual({ active_day: 20_001 })
  expect(await first("SELECT active_day FROM users WHERE id = 'bob'")).toEqual({ active_day: null })
})

test('0007: in an earlier database, the log, the ledger and the keys stay the same, and a key finds its event', async () => {
  const fresh = await schema()
  await migratedBefore(7)
  const [system, trigger, event, award] = [id(31), id(32), id(41), id(42)]
  await env.DB.batch([
    env.DB.prepare(
      "INSERT INTO tenants (id, customer_id, name, created, updated) VALUES ('t', 'c', 'n', 0, 0)",
    ),
    env.DB.prepare(METRICS),
    env.DB.prepare(
      `INSERT INTO points_systems (id, tenant_id, created, updated, key, name, description) VALUES ('${system}', 't', 1, 1, 'xp', '', '')`,
    ),
    env.DB.prepare(`INSERT INTO points_triggers (id, tenant_id, created, updated, system_id, type, points,
      status, user_attributes,
      event_attributes, metric_id, metric_threshold, block_if_out_of_points, counter_id, version)
      VALUES ('${trigger}', 't', 1, 1, '${system}', 'metric', 7, 'active', '[]', '[]', '${METRIC}', 1, 0, 'x',
        3)`),
    env.DB.prepare(`INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes,
      control, created, updated,
      metrics, points, counters) VALUES ('t', 'ada', '${ADA}', 2, 5, 1, '{}', 0, 1, 1,
        '[["${METRIC}",1,1],["${OTHER}",2,2]]',
      '{"${system}":7}', '[]')`),
    env.DB.prepare(`INSERT INTO events (user_iid, metric_id, at, seq, id, value, utc_offset, attributes)
      VALUES ('${ADA}', '${METRIC}', 4, 1, '${event}', 1, 60, '{"a":"b"}'), ('${ADA}', '${OTHER}', 5, 2,
        '${id(43)}', 2, 0, NULL)`),
    env.DB.prepare(`INSERT INTO idempotency_keys (user_iid, metric_id, key, event_id)
      VALUES ('${ADA}', '${METRIC}', 'k', '${event}')`),
    env.DB.prepare(`INSERT INTO awards (user_iid, system_id, at, seq, position, id, awarded, total,
      utc_offset, trigger_id,
      trigger_version, boosts) VALUES ('${ADA}', '${system}', 4, 1, 0, '${award}', 7, 7, 60, '${trigger}', 3,
        '[]')`),
  ])
  const rows = async (of: (table: keyof typeof readable) => string) => {
    const tables = ['events', 'awards', 'idempotency_keys'] as const
    const all = await env.DB.batch(tables.map((table) => env.DB.prepare(`SELECT * FROM ${of(table)}`)))
    return all.map(({ results }) => results)
  }
  const before = await rows((table) => table)
  await applyD1Migrations(env.DB, env.MIGRATIONS)
  expect(await schema()).toEqual(fresh)
  expect(await rows((table) => readable[table])).toEqual(before)
  expect(before.map(({ length }) => length)).toEqual([2, 1, 1])

  const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': 't', 'idempotency-key': 'k' }
  const body = { user: { id: 'ada' }, value: 1 }
  const again = await call(toApp, 'POST', '/v1/metrics/lessons/event', { headers, body })
  expect(again).toMatchObject({ status: 202, body: { eventId: event, idempotentReplayed: true } })
})

test('[O2] 0014: triggers, boosts, webhooks and templates get unique keys, also from the version before', async () => {
  const fresh = await schema()
  await migratedBefore(14)
  const trigger = (n: number, system: string, of: object, deleted: number | null = null) => {
    const row = {
      type: 'metric',
      metric: METRIC,
      threshold: null,
      length: null,
      unit: null,
      interval: null,
      ...of,
    }
    return env.DB.prepare(`INSERT INTO points_triggers (id, tenant_id, created, updated, deleted, system_id,
      type, points, status, user_attributes, event_attributes, metric_id, metric_threshold, achievement_id,
      streak_length, time_unit, time_interval, block_if_out_of_points, counter_id, version)
      VALUES (?1, 't', 1, 1, ?2, ?3, ?4, 1, 'active', '[]', '[]', ?5, ?6, 'a', ?7, ?8, ?9, 0, 'x', 1)`).bind(
      ...[id(n), deleted, system, row.type, row.metric, row.threshold, row.length, row.unit, row.interval],
    )
  }
  const boost = (n: number, user: string | null, start: string) =>
    env.DB.prepare(`INSERT INTO points_boosts (id, tenant_id, created, updated, system_id, user_id, user_iid,
      name, start, "end", multiplier, rounding, user_attributes)
      VALUES (?1, 't', 1, 1, 's', ?2, ?2, '', ?3, ?3, 2, 'down', '[]')`).bind(id(n), user, start)
  const hook = (n: number, tenant: string, url: string) =>
    env.DB.prepare(`INSERT INTO webhooks (id, tenant_id, created, updated, url, events, status, secret)
      VALUES (?1, ?2, 1, 1, ?3, '["*"]', 'active', 's')`).bind(id(n), tenant, url)
  const template = (n: number, channel: string) =>
    env.DB.prepare(`INSERT INTO notification_templates (id, tenant_id, created, updated, type, channel, title,
      body, user_attributes, status, origin)
      VALUES (?1, 't', 1, 1, 'recap', ?2, '', '', '[]', 'active', '')`).bind(id(n), channel)
  await env.DB.batch([
    env.DB.prepare(METRICS),
    env.DB.prepare(`INSERT INTO metrics (id, tenant_id, created, updated, key, name, unit_type, units)
      VALUES ('odd', 't', 1, 1, 'lessons-5', '', 'number', ''), ('long', 't', 1, 1, '${'m'.repeat(255)}', '',
        'number', '')`),
    env.DB.prepare(`INSERT INTO achievements (id, tenant_id, created, updated, key, name, description, status,
      trigger, achievement_ids, user_attributes, event_attributes, counter_id, counted)
      VALUES ('a', 't', 1, 1, 'first', '', '', 'active', 'api', '[]', '[]', '[]', 'a', 1)`),
    trigger(101, 's', { threshold: 5 }),
    trigger(102, 's', { threshold: 5 }, 7),
    trigger(103, 's', { threshold: 5 }),
    // The same key as the one before.
    trigger(104, 's', { threshold: 2, metric: 'odd' }),
    trigger(105, 'other', { threshold: 5 }),
    trigger(106, 's', { type: 'achievement' }),
    trigger(107, 's', { type: 'streak', length: 7 }),
    trigger(108, 's', { type: 'time', interval: 2, unit: 'days' }),
    trigger(109, 's', { type: 'user_creation' }),
    trigger(110, 's', { threshold: 1, metric: 'long' }),
    trigger(111, 's', { threshold: 2, metric: 'long' }),
    boost(121, null, '2026-01-31'),
    boost(122, null, '2026-01-31'),
    boost(123, 'i', '2026-01-31'),
    hook(131, 't', 'https://example.com:8443/a?b=c'),
    hook(132, 't', 'https://example.com:8443/'),
    hook(133, 'u', 'https://example.com:8443/x'),
    hook(134, 't', 'http://[::1]:8080/'),
    hook(135, 't', 'https://a!b.example/'),
    template(141, 'email'),
    template(142, 'push'),
    template(143, 'email'),
  ])
  await applyD1Migrations(env.DB, env.MIGRATIONS)
  expect(await schema()).toEqual(fresh)
  const keys = async (table: string) =>
    (await env.DB.prepare(`SELECT key FROM ${table} ORDER BY no`).all()).results.map(({ key }) => key)
  const long = `metric-${'m'.repeat(193)}`
  expect(await keys('points_triggers')).toEqual([
    ...['metric-lessons-5', '', 'metric-lessons-5-2', `metric-lessons-5-2-${id(104)}`, 'metric-lessons-5'],
    ...['achievement-first', 'streak-7', 'time-2-days', 'user_creation', long, `${long}-2`],
  ])
  expect(await keys('points_boosts')).toEqual([
    'boost-2026-01-31',
    'boost-2026-01-31-2',
    'user-boost-000000000123',
  ])
  expect(await keys('webhooks')).toEqual([
    ...['example-com-8443', 'example-com-8443-2', 'example-com-8443', '--1-8080', 'webhook'],
  ])
  expect(await keys('notification_templates')).toEqual(['recap-email', 'recap-push', 'recap-email-2'])

  // The version before serves until the next deployment, and creates resources without a key.
  await env.DB.batch([trigger(112, 's', { threshold: 5 }), trigger(113, 's', { threshold: 5 })])
  await env.DB.batch([boost(124, null, '2026-02-01'), boost(125, 'i', '2026-02-01')])
  await env.DB.batch([hook(136, 't', 'https://example.com/'), hook(137, 't', 'https://example.com/')])
  await env.DB.batch([template(144, 'push'), template(145, 'push')])
  expect((await keys('points_triggers')).slice(-2)).toEqual(['metric-000000000112', 'metric-000000000113'])
  expect((await keys('points_boosts')).slice(-2)).toEqual(['boost-000000000124', 'boost-000000000125'])
  expect((await keys('webhooks')).slice(-2)).toEqual(['webhook-000000000136', 'webhook-000000000137'])
  expect((await keys('notification_templates')).slice(-2)).toEqual([
    'recap-push-000000000144',
    'recap-push-000000000145',
  ])
})
