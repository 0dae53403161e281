import { applyD1Migrations } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { databaseWith, earlier } from './earlier-versions'
import { at, newApp, TestTenant } from './harness'

/* A database of an earlier version is migrated, and then serves. */

const DAY = 86_400_000
const today = Math.floor(Date.now() / DAY)

const migrate = () => applyD1Migrations(env.DB, env.MIGRATIONS)
const run = (sql: string, ...values: (string | number)[]) =>
  env.DB.prepare(sql)
    .bind(...values)
    .run()
const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results

test.each(earlier)('a database with the first %i migrations is migrated, and serves', async (number) => {
  await databaseWith(number)
  await migrate()
  const tenant = new TestTenant(newApp())
  await run(
    'INSERT INTO tenants (id, customer_id, name, created, updated) VALUES (?1, ?1, ?1, 0, 0)',
    tenant.id,
  )
  const metric = { key: 'steps', name: 'Steps', unitType: 'number', units: 'steps' }
  expect((await tenant.admin('POST', '/metrics', [metric])).status).toBe(201)
  const { status, body } = await tenant.event('steps', 'ada', 3)
  expect([status, at(body, 'total')]).toEqual([201, 3])
  const streak = await tenant.app('GET', '/users/ada/streak')
  expect(at(streak.body, 'length')).toBe(1)
})

test('migration 0011 keeps what the renamed tables and columns had', async () => {
  const tenant = new TestTenant(newApp())
  await databaseWith(11)
  const streak = {
    frequency: 'daily',
    run: { started: today - 4, first: today - 4, last: today, marks: '5e', length: 5, extended: today * DAY },
    told: today - 9,
  }
  await run(
    'INSERT INTO tenants (id, customer_id, name, created, updated) VALUES (?1, ?1, ?1, 0, 0)',
    tenant.id,
  )
  await run(
    `INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes, control, created,
      updated,
       metrics, points, counters, touched, streak)
     VALUES (?1, 'ada', 'i', 7, 1, 1, '{}', 0, 1, 1, '[]', '{}', '[]', '{"streak":7}', ?2)`,
    tenant.id,
    JSON.stringify(streak),
  )
  await run("INSERT INTO streak_runs VALUES ('i', ?1, ?2, ?1, '3e', 3)", today - 20, today - 18)
  await run("INSERT INTO points_told VALUES ('i', 's', ?1, 'ada', 7, 1, 20, 5, NULL)", tenant.id)
  await run("INSERT INTO notices VALUES (?1, 9, 'c', 'ada', 'i', 'a')", tenant.id)
  await run("INSERT INTO tallies VALUES (?1, 'users', 1)", tenant.id)
  await run("INSERT INTO change_spreads VALUES (?1, '2026 built', '', '{}')", tenant.id)
  await run(
    `INSERT INTO points_boosts (id, tenant_id, created, updated, system_id, name, start, "end", multiplier,
      rounding,
       user_attributes, told)
     VALUES ('b', ?1, 1, 1, 's', 'b', '2026-01-01', '2026-01-02', 2, 'down', '[]', 'finished')`,
    tenant.id,
  )
  const due = 'INSERT INTO due_work (tenant_id, kind, subject, due_at, progress) VALUES (?1, ?2, ?3, ?4, ?5)'
  const FAR = Date.now() + DAY
  await run(due, tenant.id, 'courier', 'webhook:w', FAR, '')
  await run(due, tenant.id, 'notices', '', FAR, '')
  await run(due, tenant.id, 'spreads', '2026', FAR, JSON.stringify({ after: 'ada', began: 5 }))
  const progress = { through: 5, pass: { to: 6, after: null, skipped: [] } }
  await run(due, tenant.id, 'ticks', '', FAR, JSON.stringify(progress))
  await migrate()

  expect(await rows('SELECT seq, last_seq_by_input FROM users')).toEqual([
    { seq: 7, last_seq_by_input: '{"streak":7}' },
  ])
  const [user] = await rows('SELECT streak FROM users')
  const { run: live, told, ...rest } = streak
  const { marks, ...kept } = live
  expect(JSON.parse(String(user?.streak))).toEqual({
    ...rest,
    run: { ...kept, history: marks },
    notified: told,
  })
  expect(await rows('SELECT history, length FROM streak_runs')).toEqual([{ history: '3e', length: 3 }])
  expect(await rows('SELECT seq, total, until FROM points_notifications')).toEqual([
    { seq: 7, total: 20, until: 5 },
  ])
  expect(await rows('SELECT id, due_at FROM pending_notifications')).toEqual([{ id: 'c', due_at: 9 }])
  expect(await rows('SELECT name, count FROM tenant_counters')).toEqual([{ name: 'users', count: 1 }])
  expect(await rows('SELECT * FROM change_distributions')).toEqual([])
  expect(await rows('SELECT notified FROM points_boosts')).toEqual([{ notified: 'finished' }])
  expect(
    await rows(
      "SELECT kind, subject, due_at, progress FROM due_work WHERE kind <> 'analytics' ORDER BY kind",
    ),
  ).toEqual([
    { kind: 'completions', subject: '', due_at: FAR, progress: '' },
    { kind: 'delivery', subject: 'webhook:w', due_at: FAR, progress: '' },
    // The counts of the build are gone, so it begins again, and at once.
    { kind: 'distributions', subject: '2026', due_at: 0, progress: null },
    {
      kind: 'ticks',
      subject: '',
      due_at: FAR,
      progress: JSON.stringify({ through: 5, sweep: { to: 6, after: null, skipped: [] } }),
    },
  ])

  // The state is read as before: the run that is alive and the one that has ended.
  const { body } = await tenant.app('GET', '/users/ada/streak?historyPeriods=25')
  expect(body).toMatchObject({ length: 5, frequency: 'daily' })
  const { body: exported } = await tenant.admin('GET', '/users/ada/export')
  expect(JSON.stringify(at(exported, 'streak'))).toMatch(
    /"periods":"3e".*"periods":"5e"|"periods":"5e".*"periods":"3e"/,
  )
})
