import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { casesOf } from '../helpers/runs'
import { TODAY } from '../helpers/time'
import { DAY, dateAt, forgetTime, moveTo } from '../helpers/worker/boards'
import {
  allIn,
  countEach,
  expectTotals,
  hurry,
  iidsOf,
  LAST,
  moveAll,
  moveBy,
  moveWith,
  NAMES,
  newUsers,
  newWorld,
  rebalance,
  rowsOf,
  settle,
  stepWith,
  usersByDatabase,
  wake,
  weigh,
} from '../helpers/worker/databases-moves'
import { behind, lost } from '../helpers/worker/faulty'
import {
  account,
  at,
  lastDatabase,
  newApp,
  newTenant,
  pick,
  rowsEverywhere,
  toApp,
  until,
  userIn,
} from '../helpers/worker/harness'
import { keepTold, toldOf } from '../helpers/worker/received'
import { Hook } from '../helpers/worker/receiver'

/* Moves, beside new tenants, work on users, and users who came while there was one database. */

beforeAll(keepTold)
afterEach(() => weigh({}))

describe('Moves of buckets [B3]', () => {
  test('find users who came while there was one database, also if users had moved before', async () => {
    const tenant = await newWorld()
    const totals = await newUsers(tenant, 12)
    await moveBy(tenant, allIn('DB'))
    expect((await usersByDatabase(tenant)).DB).toBe(12)
    const alone = Object.fromEntries(NAMES.filter((name) => name !== 'DB').map((name) => [name, undefined]))
    const through = tenant.through(newApp(alone))
    for (let nth = 0; nth < 20; nth += 1) {
      const { status } = await through.event('words', `late-${nth}`, 4)
      expect(status).toBe(201)
      totals.set(`late-${nth}`, 4)
    }
    expect(
      await countEach('SELECT count(*) AS n FROM users WHERE tenant_id = ?1 AND bucket IS NULL', tenant.id),
    ).toMatchObject({ DB: 20 })
    await rebalance()
    await moveAll(tenant)
    for (const count of Object.values(await usersByDatabase(tenant))) expect(count).toBeGreaterThan(0)
    await expectTotals(tenant, totals)
    for (const id of totals.keys()) expect((await tenant.app('GET', `/users/${id}`)).status).toBe(200)
  })

  test('[B2] leave a tenant whole that was never spread, in the one database that the weights have chosen', async () => {
    const made = async (count: number) => {
      const ids = Array.from({ length: count }, () => crypto.randomUUID())
      const items = ids.map((id) => ({ customerId: id, name: id }))
      return pick(at((await account('POST', '/tenants', items)).body, 'created'), 'id')
    }
    const placesOf = async (ids: readonly unknown[]) => {
      const sql =
        'SELECT tenant_id AS id, places FROM directory WHERE tenant_id IN (SELECT value FROM json_each(?1))'
      return (await env.DB.prepare(sql).bind(JSON.stringify(ids)).all()).results
    }
    // A tenant in the first database has no row.
    const elsewhere = await placesOf(await made(30))
    expect(elsewhere.length).toBeLessThan(30)
    const whole = NAMES.slice(1).map((name) => JSON.stringify([[0, name]]))
    expect(new Set(pick(elsewhere, 'places'))).toEqual(new Set(whole))
    const id = String(at(elsewhere, 0, 'id'))
    const tenant = Object.assign((await newTenant()).through(toApp), { id })
    await tenant.metric('words')
    await newUsers(tenant, 6)
    expect(await stepWith({}, tenant)).toBeNull()
    expect(await placesOf([id])).toEqual(elsewhere.slice(0, 1))
    expect(Object.values(await usersByDatabase(tenant)).toSorted()).toEqual([0, 0, 6])
    await weigh(allIn(LAST))
    expect(pick(await placesOf(await made(1)), 'places')).toEqual([JSON.stringify([[0, LAST]])])
  })

  test('[I1] leave the figures and their moment as they are, also in a database without users before', async () => {
    const [hour, minute] = [3_600_000, 60_000]
    const start = Date.parse('2027-02-03T00:00:00Z')
    const day = '2027-02-03'
    await moveTo(start)
    const tenant = await newWorld()
    const overview = async () => {
      const { body } = await tenant.admin('GET', `/analytics/overview?from=${day}&to=${day}`)
      return { updated: at(body, 'updated'), events: at(body, 'series', 0, 'events') }
    }
    const iso = (ms: number) => new Date(ms).toISOString()
    expect(await overview()).toEqual({ updated: null, events: 0 })
    const [someone] = (await newUsers(tenant, 12)).keys()
    await moveBy(tenant, allIn('DB'))
    await moveTo(start + 2 * hour)
    const counted = { updated: iso(start + 2 * hour), events: 24 }
    expect(await overview()).toEqual(counted)
    // The next pass comes a minute after a change, or when the clock is set again.
    await moveTo(start + 2 * hour + 10 * minute)
    await tenant.event('words', someone ?? '', 1)
    await rowsEverywhere('UPDATE test_clock SET now = now + ?1', minute / 2)
    const uncounted = { updated: iso(start + 2 * hour + 10 * minute), events: 24 }
    expect(await overview()).toEqual(uncounted)
    for (const weights of casesOf(2, [allIn(LAST), { DB: 0 }, {}, allIn('DB')])) {
      await moveBy(tenant, weights)
      expect([weights, await overview()]).toEqual([weights, uncounted])
    }
    await moveTo(start + 4 * hour)
    expect(await overview()).toEqual({ updated: iso(start + 4 * hour), events: 25 })
    // All changes are counted. Then a database gets its first user.
    const other = await newTenant()
    await other.metric('words')
    await other.event('words', userIn(other, 'DB'), 1)
    await moveTo(start + 5 * hour)
    await other.event('words', userIn(other, LAST), 1)
    const { body } = await other.admin('GET', `/analytics/overview?from=${day}&to=${day}`)
    expect([at(body, 'updated'), at(body, 'series', 0, 'events')]).toEqual([iso(start + 5 * hour), 1])
    await forgetTime()
  })

  test('delete the rows that users leave behind in small parts', async () => {
    const tenant = await newWorld()
    const totals = await newUsers(tenant, 12)
    // The last of them is in the last database.
    const user = [...totals.keys()].at(-1)
    const { d1 } = lastDatabase()
    const many =
      '(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700) SELECT i FROM n)'
    await d1.batch([
      d1
        .prepare(
          `INSERT INTO outbox (tenant_id, at, seq, id, user_iid, messages)
            SELECT ?1, 1, i, iid || i, iid, '[]' FROM ${many}, users WHERE tenant_id = ?1 AND id = ?2`,
        )
        .bind(tenant.id, user),
      d1
        .prepare(
          `INSERT INTO pending_notifications (tenant_id, due_at, id, user_id, user_iid, achievement_id)
            SELECT ?1, 4000000000000, iid || i, id, iid, '' FROM ${many}, users
            WHERE tenant_id = ?1 AND id = ?2`,
        )
        .bind(tenant.id, user),
    ])
    const before = await rowsOf(await iidsOf(tenant))
    expect(before.rows.outbox).toHaveLength(700)
    await weigh({ [LAST]: 0 })
    const deleted: number[] = []
    const faulty = behind(async ({ database, texts, run }) => {
      const results = await run()
      if (database === LAST)
        deleted.push(
          ...results.flatMap(({ meta }, n) => (/^\s*DELETE/.test(texts[n] ?? '') ? [meta.changes] : [])),
        )
      return results
    })
    do await hurry()
    while ((await stepWith(faulty, tenant)) !== null)
    expect(Math.max(...deleted)).toBeLessThanOrEqual(500)
    expect(deleted.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(1_400)
    const { rows, places } = await rowsOf(await iidsOf(tenant))
    expect([rows, places[LAST]]).toEqual([before.rows, undefined])
    await expectTotals(tenant, totals)
  })

  test('[W6] announce boosts for everyone once, whether or not the first database has users', async () => {
    const start = (TODAY + 5) * DAY
    await moveTo(start)
    const tenant = await newTenant()
    await tenant.metric('words')
    await tenant.create('/webhooks', { url: new Hook().url, events: ['points.boost_started'] })
    await tenant.create('/points', { key: 'xp', name: 'XP' })
    await newUsers(tenant, 9)
    const boost = (name: string, day: number) =>
      tenant.create('/points/xp/boosts', { name, start: dateAt(start + day * DAY), multiplier: 2 })
    await boost('while empty', 2)
    await boost('later', 4)
    await moveBy(tenant, { DB: 0 })
    await moveTo(start + 3 * DAY)
    await moveBy(tenant, {})
    expect((await usersByDatabase(tenant)).DB).toBeGreaterThan(0)
    await moveTo(start + 6 * DAY)
    const told = (await toldOf(tenant, 'points.boost_')).map(({ body }) => at(body, 'boost', 'name'))
    expect(told).toEqual(['while empty', 'later'])
    await forgetTime()
  })

  test('[A4, B4] take along the work that a change begins at any moment, also if its Worker is lost', async () => {
    const tenant = await newWorld()
    const totals = await newUsers(tenant, 9)
    let isDone = false
    for (let nth = 0; !isDone; nth += 1) {
      await moveBy(tenant, allIn(LAST))
      await weigh(allIn(nth % 2 === 0 ? 'DB' : (NAMES[1] ?? '')))
      const key = `at-${nth}`
      isDone = !(await moveWith(tenant, nth, () => [begin(key)]))
      if (isDone) break
      await settle(tenant)
      await until(async () => {
        await wake(tenant, 50)
        const all = [...totals.keys()].map((id) => tenant.app('GET', `/users/${id}/achievements`))
        return (await Promise.all(all)).every(({ body }) => JSON.stringify(body).includes(`"${key}"`))
      })
    }

    /** Creates an achievement that all users have reached. After its commit, no other database answers. */
    async function begin(key: string): Promise<void> {
      let isStored = false
      const faulty = behind(async ({ database, isWrite, run }) => {
        if (isStored && database !== 'DB') throw lost()
        const results = await run()
        if (database === 'DB' && isWrite) isStored = true
        return results
      })
      const through = tenant.through(newApp(faulty))
      const { status } = await through.admin('POST', '/achievements', [
        { key, name: key, trigger: 'metric', metricKey: 'words', metricValue: 1, status: 'active' },
      ])
      expect(status).toBe(201)
    }
  })
})
