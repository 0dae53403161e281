import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { backdateJob } from '../../src/features/achievements/backdate'
import { TickProgress, tickStep } from '../../src/features/points/ticks'
import { instant } from '../../src/lib/clock'
import { BUCKETS } from '../../src/lib/ids'
import type { TenantContext } from '../../src/platform/context'
import type { Bindings } from '../../src/platform/env'
import { DueRow, workOf } from '../../src/time/due-work.sql.ts'
import { workOffKind } from '../../src/time/run'
import { JOBS } from '../../src/worker/jobs'
import { readable } from '../helpers/readable'
import { present, TODAY } from '../helpers/time'
import { DAY, dateAt, forgetTime, moveTo, moveUnseen } from '../helpers/worker/boards'
import { contextOfAccount, whenBy, workUntil, workWith } from '../helpers/worker/contexts'
import { LAST, moveBy, NAMES, usersByDatabase, wake, weigh } from '../helpers/worker/databases-moves'
import { forgetDueWork } from '../helpers/worker/due-work'
import { away, behind, type Call, lost } from '../helpers/worker/faulty'
import {
  ADMIN_KEY,
  at,
  call,
  d1Of,
  databases,
  firstBucket,
  newApp,
  newTenant,
  rowsEverywhere,
  type TestTenant,
  toApp,
  userIn,
} from '../helpers/worker/harness'
import { event, read, send } from '../helpers/worker/inbox'
import { ASLEEP } from '../helpers/worker/objects'

/* [A4, P4, B4] Each database does the due work on its own users, while the configuration is changed. */

const MINUTE = 60_000

/** A Timekeeper that does nothing, so that a test does the work of one database after another. */
const idle = () => newApp({ TIMEKEEPER: ASLEEP })

/** The context of work in one database, in an isolate without memory. */
async function contextIn({ id }: TestTenant, name: string, bindings: Bindings = env): Promise<TenantContext> {
  const context = contextOfAccount(bindings)
  const place = (await context.databases.usersOf(id).holders()).find((one) => one.name === name)
  return { ...context, db: place?.db ?? expect.fail(`${name} holds no users`) }
}

/** Does the next step of completing an achievement in one database. Returns false if nothing is due there. */
async function backdate(tenant: TestTenant, name: string, id: string, bindings?: Bindings): Promise<boolean> {
  const row = await d1Of(name)
    .prepare(
      `SELECT kind, subject, due_at AS dueAt, asked, progress FROM due_work
      WHERE tenant_id = ?1 AND kind = 'backdate' AND subject = ?2`,
    )
    .bind(tenant.id, id)
    .first()
  if (row === null) return false
  const context = await contextIn(tenant, name, bindings)
  await backdateJob.run(context, DueRow.parse(row), whenBy(now()))
  return true
}

const Copy = z.object({ version: z.number(), changing: z.string().nullable(), counted: z.string() })

/** For each database: the version of the configuration, and for each achievement whether it is counted. */
const copies = async ({ id }: TestTenant) =>
  z.array(Copy).parse(
    await rowsEverywhere(
      `SELECT config_version AS version, changing, (
        SELECT json_group_array(counted ORDER BY no) FROM achievements WHERE tenant_id = ?1) AS counted
      FROM tenants WHERE id = ?1`,
      id,
    ),
  )

const PAGE = { attributes: { genre: 'novel' } }

/**
 * A tenant with a user in each of these databases, each with three events that an achievement will count. The
 * last of these databases holds all other users.
 */
async function readers(names: readonly string[] = NAMES) {
  const tenant = (await newTenant()).through(idle())
  const places = names.map((name, index) => [firstBucket(index), name])
  await env.DB.prepare('UPDATE directory SET places = ?2 WHERE tenant_id = ?1')
    .bind(tenant.id, JSON.stringify(places))
    .run()
  await tenant.metric('pages')
  const genre = await tenant.create('/attributes', { key: 'genre', name: 'Genre', type: 'event' })
  const users = names.map((name) => userIn(tenant, name))
  for (const user of users) for (const _ of [1, 2, 3]) await tenant.event('pages', user, 1, PAGE)
  const achieve = (key: string) =>
    tenant.create('/achievements', {
      ...{ key, name: key, trigger: 'metric', metricKey: 'pages', metricValue: 4, status: 'active' },
      eventAttributes: [{ attributeId: genre, attributeValue: 'novel' }],
    })
  const completed = async (user: string) => {
    const { body } = await tenant.app('GET', `/users/${user}/achievements`)
    return z
      .array(z.object({ key: z.string() }))
      .parse(body)
      .map(({ key }) => key)
      .sort()
  }
  return { tenant, users, achieve, completed }
}

afterEach(() => weigh({}))

describe('[A2, A4] an achievement that counts the log', () => {
  test('counts it for all users, if the walk of one database ends before that of another', async () => {
    const { tenant, users, achieve, completed } = await readers()
    const id = await achieve('four')
    expect(await backdate(tenant, 'DB', id)).toBe(true)
    // Any other change of the configuration brings the copies up to date.
    await tenant.metric('words')
    for (const user of users) await tenant.event('pages', user, 1, PAGE)
    await wake(tenant)
    for (const user of users) expect([user, await completed(user)]).toEqual([user, ['four']])
    const [first, ...others] = await copies(tenant)
    expect(first).toMatchObject({ changing: null, counted: '[1]' })
    for (const copy of others) expect(copy).toEqual(first)
  })

  test('does so, if the walks of two achievements end in opposite order', async () => {
    const { tenant, users, achieve, completed } = await readers()
    const [one, two] = [await achieve('one'), await achieve('two')]
    await backdate(tenant, 'DB', one)
    await backdate(tenant, 'DB_2', two)
    // All events are in one isolate, which remembers one configuration of each version.
    for (const user of users) await tenant.event('pages', user, 1, PAGE)
    for (const name of NAMES) {
      for (const id of [two, one]) while (await backdate(tenant, name, id)) {}
      const [first, ...others] = await copies(tenant)
      for (const copy of others) expect(copy).toEqual(first)
    }
    for (const user of users) expect([user, await completed(user)]).toEqual([user, ['one', 'two']])
    expect((await copies(tenant)).map(({ counted }) => counted)).toEqual(NAMES.map(() => '[1,1]'))
    // A user who comes after that begins with no counter.
    for (const _ of [1, 2, 3, 4]) await tenant.event('pages', 'late', 1, PAGE)
    expect(await completed('late')).toEqual(['one', 'two'])
  })

  test('is noted as counted later, if another database is away at the end of the last walk', async () => {
    const { tenant, achieve } = await readers()
    const id = await achieve('four')
    for (const name of ['DB', 'DB_2']) while (await backdate(tenant, name, id)) {}
    const before = await copies(tenant)
    await expect(backdate(tenant, 'DB_3', id, { ...env, ...away('DB_2') })).rejects.toThrow()
    expect(await copies(tenant)).toEqual(before)
    // The answer of the commit is lost, but it was stored.
    const isCommit = ({ texts }: Call) => texts.some((text) => text.includes('SET counted = 1'))
    const losing = behind(async (call) => {
      const results = await call.run()
      if (isCommit(call)) throw lost()
      return results
    })
    await expect(backdate(tenant, 'DB_3', id, { ...env, ...losing })).rejects.toThrow()
    while (await backdate(tenant, 'DB_3', id)) {}
    const [first, ...others] = await copies(tenant)
    expect(first).toMatchObject({ changing: null, counted: '[1]' })
    for (const copy of others) expect(copy).toEqual(first)
  })

  test('counts users who move to a new database before another walk ends', async () => {
    const { tenant, users, achieve, completed } = await readers(['DB', 'DB_2'])
    const id = await achieve('four')
    while (await backdate(tenant, 'DB', id)) {}
    // All users of the first database move to a database that held none. Those of the other one stay.
    const held = firstBucket(1)
    await moveBy(tenant, { DB: 0, DB_2: BUCKETS - held, DB_3: held })
    expect(await usersByDatabase(tenant)).toEqual({ DB: 0, DB_2: 1, DB_3: 1 })
    for (const user of [...users, 'late']) await tenant.event('pages', user, 1, PAGE)
    await wake(tenant)
    for (const user of users) expect([user, await completed(user)]).toEqual([user, ['four']])
    for (const _ of [1, 2, 3]) await tenant.event('pages', 'late', 1, PAGE)
    expect(await completed('late')).toEqual(['four'])
  })
})

/** A tenant with an hourly trigger, and two users in each database. */
async function ticking() {
  const tenant = (await newTenant()).through(idle())
  await tenant.metric('words')
  const trigger = { type: 'time', points: 5, timeUnit: 'hours', timeInterval: 1, status: 'active' }
  const { body } = await tenant.admin('POST', '/points', [{ key: 'xp', name: 'XP', triggers: [trigger] }])
  const path = `/points/${at(body, 'created', 0, 'id')}/triggers`
  const id = String(at(body, 'created', 0, 'triggers', 0, 'id'))
  const users = NAMES.flatMap((name) => [userIn(tenant, name), userIn(tenant, name, 1)])
  for (const user of users) await tenant.event('words', user, 1)
  return { tenant, path, id, users }
}

/** Makes the triggers, the users and the due ticks of a tenant older. The configuration keeps its version. */
async function age({ id }: TestTenant, minutes: number): Promise<void> {
  const sql = [
    'UPDATE points_triggers SET anchor = anchor - ?2 WHERE tenant_id = ?1',
    'UPDATE users SET created = created - ?2, changed = changed - ?2 WHERE tenant_id = ?1',
    "UPDATE due_work SET due_at = due_at - ?2 WHERE tenant_id = ?1 AND kind = 'ticks'",
  ]
  for (const { d1 } of databases())
    await d1.batch(sql.map((text) => d1.prepare(text).bind(id, minutes * MINUTE)))
}

const now = () => instant(present())

/** Grants all ticks that are due in one database. */
async function tick(tenant: TestTenant, name: string): Promise<void> {
  await workOffKind([{ context: await contextIn(tenant, name), list: JOBS.list }], 'ticks', now())
}

/** Begins a sweep in the second database, in which one of the two users is left for the next step. */
async function tickHalf(tenant: TestTenant): Promise<void> {
  const bindings = behind(async ({ database, texts, run }) => {
    if (database === 'DB_2' && texts.some((text) => text.includes('UPDATE due_work')))
      await tenant.event('words', userIn(tenant, 'DB_2'), 1)
    return run()
  })
  const context = await contextIn(tenant, 'DB_2', { ...env, ...bindings })
  const work = (await workOf(context.db, 'ticks')) ?? expect.fail('no tick is due')
  const { changes, progress } = await tickStep(context, workWith(context, work, TickProgress), now())
  expect([changes.length, progress?.sweep?.skipped]).toEqual([1, [userIn(tenant, 'DB_2')]])
}

/** The text of the batch that prepares a change of the configuration in a copy. */
const isPreparing = ({ texts }: Call) =>
  texts.some((text) => text.includes('changing IS NULL AND config_version'))

/** An app that does something once, right before a change is prepared in the second database. */
const appWith = (meanwhile: (times: number) => Promise<void>) => {
  let times = 0
  return newApp(
    behind(async (call) => {
      if (call.database === 'DB_2' && isPreparing(call)) {
        times += 1
        await meanwhile(times)
      }
      return call.run()
    }),
  )
}

/** The points of all awards of a trigger, by user. */
async function awardsOf({ id }: TestTenant, triggerId: string): Promise<Record<string, number[]>> {
  const awards: Record<string, number[]> = {}
  const rows = await rowsEverywhere<{ user: string; awarded: number }>(
    `SELECT u.id AS user, a.awarded FROM ${readable.awards} a JOIN users u ON u.iid = a.user_iid
      WHERE u.tenant_id = ?1 AND a.trigger_id = ?2 ORDER BY u.id, a.seq`,
    id,
    triggerId,
  )
  for (const { user, awarded } of rows) awards[user] = [...(awards[user] ?? []), awarded]
  return awards
}

describe('[P4] ticks that were due before a change of their trigger', () => {
  const changes = [
    [
      'a change',
      (tenant: TestTenant, path: string, id: string) => tenant.admin('PATCH', path, [{ id, points: 50 }]),
    ],
    [
      'a deletion',
      (tenant: TestTenant, path: string, id: string) => tenant.admin('DELETE', `${path}?ids=${id}`),
    ],
    [
      'a deletion of the system',
      (tenant: TestTenant, path: string) => tenant.admin('DELETE', `/points?ids=${path.split('/')[2]}`),
    ],
  ] as const

  test.each(changes)('are granted first, if %s comes in the middle of a sweep', async (_, change) => {
    const { tenant, path, id, users } = await ticking()
    const app = appWith(async (times) => {
      if (times > 1) return
      await age(tenant, 61)
      await tick(tenant, 'DB')
      await tickHalf(tenant)
    })
    const { status, body } = await change(tenant.through(app), path, id)
    expect([status, at(body, 'issues') ?? []]).toEqual([200, []])
    await wake(tenant)
    expect(await awardsOf(tenant, id)).toEqual(Object.fromEntries(users.map((user) => [user, [5]])))
  })

  test('are granted first, if only the first database has granted them', async () => {
    const { tenant, path, id, users } = await ticking()
    const app = appWith(async (times) => {
      if (times > 1) return
      await age(tenant, 61)
      await tick(tenant, 'DB')
    })
    const { status } = await tenant.through(app).admin('PATCH', path, [{ id, points: 50 }])
    expect(status).toBe(200)
    await wake(tenant)
    expect(await awardsOf(tenant, id)).toEqual(Object.fromEntries(users.map((user) => [user, [5]])))
  })

  test('a new trigger is not stored while any database has passed its first tick', async () => {
    const { tenant, path } = await ticking()
    const set = (progress: string | null) =>
      d1Of('DB_2')
        .prepare("UPDATE due_work SET progress = ?2 WHERE tenant_id = ?1 AND kind = 'ticks'")
        .bind(tenant.id, progress)
        .run()
    const attempts: number[] = []
    const app = appWith(async (times) => {
      attempts.push(times)
      await set(times > 1 ? null : JSON.stringify({ through: present() + 90 * MINUTE, sweep: null }))
    })
    const item = { type: 'time', points: 1, timeUnit: 'hours', timeInterval: 1, status: 'active' }
    const { status, body } = await tenant.through(app).admin('POST', path, [item])
    expect([status, at(body, 'issues'), attempts]).toEqual([201, [], [1, 2]])
  })

  test('[C1] are granted once, if one database is ahead of the others when the test clock is removed', async () => {
    const { tenant, id, users } = await ticking()
    await age(tenant, 61)
    for (const name of NAMES) await tick(tenant, name)
    await moveTo(present() + 10 * MINUTE)
    const through = JSON.stringify({ through: present() + 5 * MINUTE, sweep: null })
    await d1Of('DB_3')
      .prepare("UPDATE due_work SET progress = ?2 WHERE tenant_id = ?1 AND kind = 'ticks'")
      .bind(tenant.id, through)
      .run()
    const headers = { 'x-api-key': ADMIN_KEY }
    expect((await call(toApp, 'DELETE', '/admin/v1/test-clock', { headers })).status).toBe(200)
    for (const name of NAMES) await tick(tenant, name)
    expect(await awardsOf(tenant, id)).toEqual(Object.fromEntries(users.map((user) => [user, [5]])))
    const [first, ...others] = await copies(tenant)
    for (const copy of others) expect(copy).toEqual(first)
    const anchors = await rowsEverywhere('SELECT anchor FROM points_triggers WHERE id = ?1', id)
    expect(new Set(anchors.map((row) => at(row, 'anchor'))).size).toBe(1)
  })

  test('grants the ticks of many hours in a few steps, as with one database', async () => {
    await forgetDueWork()
    const start = (TODAY + 1) * DAY
    await moveTo(start)
    const tenant = await newTenant()
    await tenant.metric('words')
    const hourly = { type: 'time', timeUnit: 'hours', timeInterval: 1, points: 1, status: 'active' }
    await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [hourly] })
    const users = NAMES.map((name) => userIn(tenant, name))
    for (const user of users) await tenant.event('words', user, 1)
    await moveUnseen(start + 100 * 60 * MINUTE)
    await wake(tenant, 30)
    for (const user of users) {
      const { body } = await tenant.app('GET', `/users/${user}/points/xp`)
      expect([user, at(body, 'total')]).toEqual([user, 100])
    }
    await forgetTime()
  })
})

describe('[L8] a run becomes final', () => {
  test('once each database has granted its ticks, also if the work of one was not read at first', async () => {
    const midday = (TODAY + 1) * DAY + DAY / 2
    await moveTo(midday - 30 * MINUTE)
    const tenant = (await newTenant()).through(idle())
    await tenant.metric('words')
    const hourly = { type: 'time', timeUnit: 'hours', timeInterval: 1, points: 1, status: 'active' }
    const pointsSystemId = await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [hourly] })
    const daily = { status: 'active', runUnit: 'day', runInterval: 1, rankBy: 'points', pointsSystemId }
    const boards = ['one', 'two', 'three']
    for (const key of boards) await tenant.create('/leaderboards', { key, name: key, ...daily })
    const end = midday + DAY
    await moveTo(end - 90 * MINUTE)
    // In their zone, it is the day before until the run is final.
    const users = NAMES.map((name) => userIn(tenant, name))
    for (const id of users) await tenant.event('words', { id, tz: 'Etc/GMT+12' }, 1)
    await moveUnseen(end)
    const batch = await send(tenant, [event(userIn(tenant, 'DB'), 1)])
    const isDue = ({ texts }: Call) => texts.some((text) => text.includes('FROM due_work'))
    const silent = behind((call) =>
      call.database === LAST && isDue(call) ? Promise.reject(lost()) : call.run(),
    )
    const alarm = { mustAll: false, isClockSet: true }
    await workUntil(tenant, end, { ...alarm, bindings: silent })
    // The leaderboards wait, and other work goes on.
    expect((await read(tenant, batch)).body).toMatchObject({ status: 'done' })
    await workUntil(tenant, end, alarm)
    for (const key of boards) {
      const { body } = await tenant.app('GET', `/leaderboards/${key}?run=${dateAt(midday)}`)
      const ranked = users.map((userId) => expect.objectContaining({ userId, value: 1 }))
      expect(at(body, 'rankings')).toEqual(expect.arrayContaining(ranked))
    }
    await forgetTime()
  })
})
