import { beforeEach, describe, expect, it } from 'vitest'
import { newInstance } from '../../src/configuration/configuration'
import { summariesOf } from '../../src/features/points/summaries.sql'
import { utf8Bytes } from '../../src/lib/packed'
import type { Instance } from '../../src/platform/context'
import { ScanTurns, SharedScans, scanTurnsOf } from '../../src/platform/scans'
import { anotherUuid } from '../helpers/readable'
import { behind } from '../helpers/worker/faulty'
import {
  at,
  databases,
  lastDatabase,
  newApp,
  newTenantInLast,
  pick,
  rowsEverywhere,
  type TestTenant,
} from '../helpers/worker/harness'
import { rangesOf as summaryOf } from '../oracle/points.oracle'

/** The most users that a statement may read (scans.ts), and the sizes of the first parts. */
const MOST = 20_000
const PART = 2_500

let tenant: TestTenant
let system: string
let plan: string

beforeEach(async () => {
  tenant = await newTenantInLast()
  plan = await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  const levels = [10, 1_000, 100_000].map((points) => ({ key: `l${points}`, name: 'L', points }))
  system = await tenant.create('/points', { key: 'xp', name: 'XP', levels })
})

type Bare = { id: string; points: number; plan: string | null; streak: number; created: number }

/** Stores users with these points, plans and streaks. */
async function fill(users: readonly Bare[], into = tenant, from = 0): Promise<void> {
  const rows = users.map(({ id, points, plan, streak, created }, n) => {
    return [id, points, plan, streak, created, from + n]
  })
  const { d1 } = lastDatabase()
  for (let next = 0; next < rows.length; next += 4_000) {
    const insert = d1.prepare(
      `INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes, control, created,
        updated, metrics,
         points, counters, streak, streak_due)
       SELECT ?1, value ->> 0, ${anotherUuid('?1', 'value ->> 5')}, 1, 0, 1,
         CASE WHEN value ->> 2 IS NULL THEN '{}' ELSE json_object(?3, value ->> 2) END, 0, value ->> 4, 0,
           '[]',
         CASE WHEN value ->> 1 = 0 THEN '{}' ELSE json_object(?2, value ->> 1) END, '[]',
         json_object('frequency', 'daily', 'run', json_object('started', 1, 'first', 1, 'last', 1, 'length',
           value ->> 3,
           'history', '1e', 'extended', 0)), 8000000000000000
       FROM json_each(?4)`,
    )
    await insert.bind(into.id, system, plan, JSON.stringify(rows.slice(next, next + 4_000))).run()
  }
}

/** An instance in which requests wait without a time limit, so that a slow machine does not matter. */
function patient(): Instance {
  const long = 3_600_000
  const scanTurns = new ScanTurns(long, long)
  const instance = newInstance()
  scanTurnsOf.put(instance, scanTurns)
  summariesOf.put(instance, new SharedScans(scanTurns, long))
  return instance
}

/**
 * Databases that observe statements that read users by ranges: how many at the same time, and of each, the
 * rows that it reads and the bytes of its answer. `hold` stops them.
 */
function watched() {
  const seen = { statements: 0, together: 0, most: 0, rows: [] as number[], bytes: [] as number[] }
  let open: Promise<unknown> = Promise.resolve()
  let [reached, looked]: (() => unknown)[] = []
  const isScan = (text: string) => /\bLIMIT \?\d+/.test(text) && /\bFROM users\b/.test(text)
  const isLook = (text: string) => /FROM points_summaries/.test(text)
  const bindings = behind(async ({ texts, run }) => {
    const scans = texts.filter(isScan)
    if (scans.length === 0) {
      const results = await run()
      if (texts.some(isLook)) looked?.()
      return results
    }
    seen.statements += 1
    seen.together += 1
    seen.most = Math.max(seen.most, seen.together)
    // A transaction with two scans would block others for as long as both take.
    expect(scans).toHaveLength(1)
    reached?.()
    await open
    const results = await run()
    seen.together -= 1
    seen.rows.push(results.reduce((sum, { meta }) => sum + meta.rows_read, 0))
    seen.bytes.push(utf8Bytes(JSON.stringify(results.map(({ results: rows }) => rows))))
    return results
  })
  /** A function, and a promise that resolves after that many calls of it. */
  const counter = (count: number) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let left = count
    const call = () => {
      left -= 1
      if (left === 0) resolve()
    }
    return [call, promise] as const
  }
  /** Stops scans from now on. `begun` resolves after `count` scans have been requested. */
  const hold = (count: number) => {
    const gate = Promise.withResolvers<void>()
    open = gate.promise
    const [call, begun] = counter(count)
    reached = call
    return { begun, release: gate.resolve }
  }
  /** Resolves after `count` requests have looked for a stored summary. */
  const looks = (count: number) => {
    const [call, promise] = counter(count)
    looked = call
    return promise
  }
  return { bindings, seen, hold, looks }
}

/** How many users are in each range of P11, computed in one piece from the users that were stored. */
const rangesOf = (users: readonly Bare[]) =>
  summaryOf(users.map(({ points }) => points)).map((range) => range.users)

const usersIn = (body: unknown) => (Array.isArray(body) ? body.map((row) => Number(at(row, 'users'))) : body)

/** Ids whose order is not that of UTF-16. Some of them are at the ends of parts. */
const idOf = (n: number) =>
  `${n % 3 === 0 ? '\u{1f600}' : n % 3 === 1 ? '\uffee' : 'z'}${String(n).padStart(6, '0')}`

const POINTS = [0, 1, 9, 10, 11, 99, 100, 101, 1_000, 1_001, 999_999, 1_000_000, 1_000_001, 2_147_483_647]
const bare = (n: number): Bare => ({
  id: idOf(n),
  points: POINTS[n % 7] ?? 0,
  plan: n % 5 === 0 ? null : n % 5 === 1 ? 'pro' : 'free',
  streak: n % 997,
  created: Math.floor(n / 10),
})
const many = Array.from({ length: 10_001 }, (_, n) => bare(n))
const byBytes = (a: Bare, b: Bare) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))

describe('[P11] reads of all users of a tenant', () => {
  it('counts ranges and levels in parts of at most 20,000 users, each in one round trip, with the exact result', async () => {
    await fill(many)
    const { bindings, seen } = watched()
    const own = tenant.through(newApp(bindings))
    const summary = async (kind: string, query = '') =>
      usersIn((await own.app('GET', `/points/xp/${kind}${query}`)).body)
    expect(await summary('summary')).toEqual(rangesOf(many))
    const pro = many.filter((user) => user.plan === 'pro')
    expect(await summary('summary', '?userAttributes=plan:pro')).toEqual(rangesOf(pro))
    const BEGINS = [10, 1_000, 100_000, Number.POSITIVE_INFINITY]
    const levels = (users: readonly Bare[]) =>
      BEGINS.slice(0, 3).map((from, n) => {
        return users.filter(({ points }) => points >= from && points < (BEGINS[n + 1] ?? 0)).length
      })
    expect(await summary('level-summary')).toEqual(levels(many))
    expect(await summary('level-summary', '?userAttributes=plan:pro')).toEqual(levels(pro))
    expect(seen.statements).toBe(4 * 5)
    expect(seen.most).toBe(1)
    // Each user once by the key, and once for the sort; with filters, the list of filters as well.
    expect(Math.max(...seen.rows)).toBeLessThan(3 * PART + 100)
  })

  it('ranks streaks and searches users in such parts', async () => {
    const users = Array.from({ length: MOST + 101 }, (_, n) => bare(n))
    await fill(users)
    const { bindings, seen } = watched()
    const own = tenant.through(newApp(bindings))
    const best = users.toSorted((a, b) => b.streak - a.streak || byBytes(a, b)).slice(0, 100)
    for (const type of ['active', 'longest']) {
      const { body } = await own.app('GET', `/streaks/rankings?limit=100&type=${type}`)
      const ranked = best.map(({ id, streak }) => ({ userId: id, name: null, streakLength: streak }))
      expect(body).toEqual(ranked)
    }
    const byAge = users.toSorted((a, b) => a.created - b.created || byBytes(a, b)).map(({ id }) => id)
    const ids = async (query: string) => pick((await own.admin('GET', `/users?${query}`)).body, 'id')
    const found = (text: string, skip: number, limit: number) =>
      byAge.filter((id) => id.includes(text)).slice(skip, skip + limit)
    for (const [text, skip, limit] of [
      ['9', 0, 100],
      ['99', 300, 50],
      ['20099', 0, 10],
      ['nobody', 0, 10],
    ] as const)
      expect(await ids(`search=${text}&skip=${skip}&limit=${limit}`)).toEqual(found(text, skip, limit))
    for (const skip of [0, 19_895, 19_995, 20_000, 20_095, 20_101, 2_000_000_000])
      expect(await ids(`skip=${skip}`)).toEqual(found('', skip, 10))
    expect(seen.most).toBe(1)
    expect(Math.max(...seen.rows)).toBeLessThanOrEqual(2 * MOST + 100)
  })

  it('[U8, B5] a part of a search answers with a few megabytes, and with no more users than the page needs', async () => {
    const users = Array.from({ length: 6_000 }, (_, n) => {
      return { ...bare(n), id: `a${String(n).padStart(6, '0')}` }
    })
    await fill(users)
    const { bindings, seen } = watched()
    const own = tenant.through(newApp(bindings))
    const ids = async (query: string) => pick((await own.admin('GET', `/users?${query}`)).body, 'id')
    const order = users.map(({ id }) => id)
    for (const query of ['search=A', 'search=A0&userAttributes=plan:pro', 'userAttributes=plan:pro']) {
      const wanted = order.filter((_, n) => !query.includes('plan') || users[n]?.plan === 'pro')
      expect(await ids(`${query}&limit=10`), query).toEqual(wanted.slice(0, 10))
      expect(await ids(`${query}&limit=10&skip=100`), query).toEqual(wanted.slice(100, 110))
      expect(Math.max(...seen.bytes)).toBeLessThan(20_000)
    }
    // Three texts of the largest length. SQLite decides about every seventh user.
    const lengthen = `UPDATE users SET name = ?2 || iif(id GLOB '*77', 'Ж', '国'), email = ?3
      WHERE tenant_id = ?1 AND substr(id, 2) % 7 > 0`
    const longest = ['中'.repeat(254), `${'中'.repeat(306)}@example.co.jp`]
    await rowsEverywhere(lengthen, tenant.id, ...longest)
    const fitting = order.filter((_, n) => n % 100 === 77 && n % 7 > 0)
    expect(await ids('search=ж&limit=100')).toEqual(fitting)
    expect(await ids('search=ж&limit=10&skip=45')).toEqual(fitting.slice(45))
    const nines = order.filter((id) => id.includes('9'))
    expect(await ids('search=9&limit=100&skip=500')).toEqual(nines.slice(500, 600))
    expect(await ids('search=a&limit=3&skip=5900')).toEqual(order.slice(5_900, 5_903))
    // Several databases share the bytes.
    const most = Math.max(...seen.bytes) * databases().length
    expect(most).toBeGreaterThan(3_000_000)
    expect(most).toBeLessThan(4_500_000)
  })

  it('identical requests share a scan, different ones run two at a time, and other tenants do not wait', async () => {
    await fill(many)
    const other = await newTenantInLast()
    await other.metric('words')
    const { bindings, seen, hold, looks } = watched()
    const app = newApp(bindings, patient())
    const [own, beside] = [tenant.through(app), other.through(app)]
    const { begun, release } = hold(2)
    const allLooked = looks(30)
    const planOf = (n: number) => ['pro', 'free'][n % 6] ?? `z${n % 6}`
    const requests = Array.from({ length: 30 }, (_, n) =>
      own.app('GET', `/points/xp/summary?userAttributes=plan:${planOf(n)}`),
    )
    await Promise.all([begun, allLooked])
    expect((await beside.event('words', 'ada', 1)).status).toBe(201)
    expect(seen.statements).toBe(2)
    release()
    const responses = await Promise.all(requests)
    for (const [n, { status, body }] of responses.entries()) {
      const wanted = rangesOf(many.filter((user) => user.plan === planOf(n)))
      expect([status, usersIn(body)]).toEqual([200, wanted])
    }
    expect(seen.statements).toBe(6 * 5)
    expect(seen.most).toBe(2)
  })

  it('429 with Retry-After if too many wait', async () => {
    const instance = newInstance()
    const turns = Array.from({ length: 102 }, () => scanTurnsOf(instance).join(tenant.id))
    const own = tenant.through(newApp({}, instance))
    for (const path of ['/points/xp/summary', '/points/xp/level-summary', '/streaks/rankings']) {
      const { status, headers, body } = await own.app('GET', path)
      expect([status, headers.get('retry-after')], path).toEqual([429, '10'])
      const error = 'Too many requests are reading all users of this tenant. Try again in 10 seconds.'
      expect(at(body, 'error'), path).toBe(error)
    }
    const lists = ['/users?search=a', '/users', `/application-api-keys`, `/points/${system}/boosts`]
    const far = (path: string) => `${path}${path.includes('?') ? '&' : '?'}skip=20000`
    for (const path of lists.map(far)) expect((await own.admin('GET', path)).status, path).toBe(429)
    // The year of a user with a long log waits as well, and the year of another user does not.
    for (const [user, seq, wanted] of [
      ['ada', 20_000, 429],
      ['bob', 19_999, 200],
    ] as const) {
      await tenant.app('PUT', `/users/${user}`, {})
      await rowsEverywhere('UPDATE users SET seq = ?3 WHERE tenant_id = ?1 AND id = ?2', tenant.id, user, seq)
      expect([user, (await own.app('GET', `/users/${user}/wrapped`)).status]).toEqual([user, wanted])
    }
    // A page that one statement finds does not wait, and neither do requests of other tenants.
    for (const path of lists.slice(1))
      for (const skip of [0, 19_900])
        expect((await own.admin('GET', `${path}?skip=${skip}`)).status, `${path} ${skip}`).toBe(200)
    const other = (await newTenantInLast()).through(newApp({}, instance))
    expect((await other.app('GET', '/streaks/rankings')).status).toBe(200)
    for (const turn of turns) scanTurnsOf(instance).leave(turn)
    expect((await own.app('GET', '/points/xp/summary')).status).toBe(200)
    expect((await own.app('GET', '/users/ada/wrapped')).status).toBe(200)
    for (const path of lists.map(far)) expect((await own.admin('GET', path)).body).toEqual([])
  })

  it('counts each user once if rows are changed, added or erased between two parts', async () => {
    await fill(many)
    const { bindings, hold } = watched()
    const own = tenant.through(newApp(bindings, patient()))
    const first = hold(1)
    const request = own.app('GET', '/points/xp/summary')
    await first.begun
    const second = hold(1)
    first.release()
    await second.begun
    // The first part has been read. A user who is added there is not counted. A user in a later part counts
    // with the changed row.
    await fill([{ ...bare(0), id: 'a new one', points: 5 }], tenant, many.length)
    const change =
      "UPDATE users SET points = json_object(?2, 7), seq = seq + 1 WHERE tenant_id = ?1 AND points <> '{}'"
    await rowsEverywhere(change, tenant.id, system)
    second.release()
    const expected = many
      .toSorted(byBytes)
      .map((user, n) => (n >= PART && user.points > 0 ? { ...user, points: 7 } : user))
    const counts = usersIn((await request).body)
    expect(counts).toEqual(rangesOf(expected))
    expect(rangesOf(expected).reduce((a, b) => a + b, 0)).toBe(many.length)
  })
})
