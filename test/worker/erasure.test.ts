import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import type { LeaderboardObject } from '../../src/leaderboards/object/board.object'
import { instant } from '../../src/lib/clock'
import type { Bindings } from '../../src/platform/env'
import { hasTables } from '../../src/platform/objects'
import { bytes, number, numbered, readable } from '../helpers/readable'
import { inTurn } from '../helpers/runs'
import {
  agrees,
  arrive,
  DAY,
  dateAt,
  forgetTime,
  HOUR,
  moveTo,
  moveUnseen,
  NOON,
  ranking,
  type Setup,
  through,
  withBoard,
} from '../helpers/worker/boards'
import { workUntil } from '../helpers/worker/contexts'
import { makeDueAt } from '../helpers/worker/due-work'
import { beforeFirst, faultyAll, losing, lost } from '../helpers/worker/faulty'
import { cron } from '../helpers/worker/handlers'
import { at, newApp, newTenant, rowsEverywhere, type TestTenant } from '../helpers/worker/harness'
import { stubbed, UNREACHED } from '../helpers/worker/objects'
import { tablesWith } from '../helpers/worker/purge'
import { iidOf } from '../helpers/worker/stored-users'

afterEach(forgetTime)

/** The moment at which the run of the first day becomes final (L8). */
const FINAL = NOON - (NOON % DAY) + DAY + 12 * HOUR
const [FIRST, SECOND] = [dateAt(NOON), dateAt(NOON + DAY)]

/* Erased users and the data that is left */

/** A user's id with characters that need escapes in JSON and in paths. `mark` is a unique part of it. */
function newUser(): { id: string; mark: string; path: string } {
  const mark = crypto.randomUUID()
  const id = `ada "ü\\/%_${mark}`
  return { id, mark, path: `/users/${encodeURIComponent(id)}` }
}

const BOARD_TABLES = ['scores', 'finals', 'standings', 'history', 'sent_lists', 'outbox', 'notes']

/** All rows of a leaderboard's object, as JSON. */
function boardRows(board: string): Promise<string> {
  return runInDurableObject(env.LEADERBOARD.getByName(board), (_, { storage }) =>
    JSON.stringify(
      BOARD_TABLES.filter(() => hasTables(storage.sql)).map((table) =>
        storage.sql.exec(`SELECT * FROM ${table}`).toArray(),
      ),
    ),
  )
}

/** The places that still contain one of these texts: tables of D1, leaderboards, KV. */
async function traces(boards: readonly string[], ...texts: string[]): Promise<string[]> {
  const places: [name: string, text: string][] = []
  for (const board of boards) places.push([`board ${board}`, await boardRows(board)])
  for (const { name } of (await env.KEYS.list()).keys) places.push(['kv', (await env.KEYS.get(name)) ?? ''])
  const others = places.filter(([, place]) => texts.some((text) => place.includes(text)))
  return [...(await tablesWith(texts)), ...others.map(([name]) => name)]
}

/** Erases a user, and expects the response to confirm it. */
async function erase(tenant: TestTenant, { id, path }: { id: string; path: string }): Promise<void> {
  expect(await tenant.admin('DELETE', path)).toMatchObject({ status: 200, body: { id } })
}

/** The binding of the leaderboards; the first `times` calls of `erase` fail. */
function failing(times: number): typeof env.LEADERBOARD {
  let left = times
  return stubbed(env.LEADERBOARD, (id) => ({
    erase: async (request: Parameters<LeaderboardObject['erase']>[0]) => {
      left -= 1
      if (left >= 0) throw lost()
      await env.LEADERBOARD.getByName(id).erase(request)
    },
  }))
}

/* Data to erase */

/** A tenant with all resources that can hold data of a user. */
async function withEverything(): Promise<Setup & { points: string; boards: string[] }> {
  const setup = await withBoard({ runUnit: 'day', runInterval: 1 })
  const { tenant, metric, system, board } = setup
  const points = await tenant.create('/leaderboards', {
    key: 'points',
    name: 'Points',
    status: 'active',
    rankBy: 'points',
    pointsSystemId: system,
  })
  const welcome = { type: 'user_creation', points: 5, status: 'active' }
  await tenant.create(`/points/${system}/triggers`, welcome)
  await tenant.create('/achievements', {
    key: 'first',
    name: 'First',
    trigger: 'metric',
    metricId: metric,
    metricValue: 1,
    status: 'active',
  })
  const never = await tenant.create('/leaderboards', {
    key: 'never',
    name: 'Never active',
    rankBy: 'metric',
    metricId: metric,
  })
  await tenant.admin('PATCH', '/streaks/settings', { freezes: { startCount: 1, maxCount: 3 } })
  return { ...setup, points, boards: [board, points, never] }
}

/** Gives a user data of every kind. */
async function furnish({ tenant, system }: Setup, id: string): Promise<void> {
  const path = `/users/${encodeURIComponent(id)}`
  const done = [
    await tenant.event('steps', { id, name: id, tz: 'Europe/Paris' }, 3, { idempotencyKey: 'once' }),
    await tenant.app('PATCH', `${path}/preferences`, { notifications: { recap: ['email'] } }),
    await tenant.admin('POST', `/points/${system}/boosts`, [
      { userId: id, name: 'Own', start: FIRST, multiplier: 2 },
      { userId: id, name: 'Other', start: FIRST, multiplier: 2 },
    ]),
    await tenant.admin('POST', '/streaks/pauses', {
      pauses: [{ userId: id, start: dateAt(NOON + 5 * DAY), end: dateAt(NOON + 6 * DAY) }],
    }),
    await tenant.admin('POST', `/points/${system}/adjustments`, [
      { userId: id, amount: 3, idempotencyKey: 'prize' },
    ]),
  ]
  expect(done.map(({ status }) => status)).toEqual([201, 200, 201, 201, 201])
  const { body: wrong } = await tenant.event('words', id, 1)
  expect((await tenant.admin('POST', `${path}/events/${at(wrong, 'eventId')}/void`, {})).status).toBe(200)
  const boosts = z.array(z.object({ id: z.string() })).parse(at(done[2]?.body, 'created'))
  await tenant.admin('DELETE', `/points/${system}/boosts?ids=${boosts[1]?.id}`)
}

describe('[U8] erasing a user', () => {
  beforeEach(() => moveTo(NOON))

  it('leaves no data of the user, and does not move other users', async () => {
    const setup = await withEverything()
    const { tenant, boards } = setup
    const ada = newUser()
    for (const [id, value] of [
      ['bob', 9],
      [ada.id, 5],
      ['cai', 1],
    ] as const) {
      await furnish(setup, id)
      await tenant.event('steps', id, value)
    }
    await moveTo(FINAL)
    for (const id of ['bob', ada.id, 'cai']) await tenant.event('steps', id, 2)
    await moveTo(FINAL + 3 * DAY)
    for (const id of ['cai', ada.id]) await tenant.event('steps', id, 1)
    const iid = await iidOf(tenant, ada.id)
    const other = await newTenant()
    await other.metric('steps')
    await other.event('steps', ada.id, 7)

    // Two isolates have cached the key.
    const [key, kept] = [await tenant.key(ada.id), await tenant.key('bob')]
    const elsewhere = tenant.through(newApp())
    for (const one of [tenant, elsewhere]) expect((await one.as(key, 'GET', ada.path)).status).toBe(200)
    // Nothing calls the Timekeeper, so these events wait.
    const batch = await tenant.through(newApp({ TIMEKEEPER: UNREACHED })).admin('POST', '/metrics/events', [
      { key: 'steps', user: { id: 'bob' }, value: 1 },
      { key: 'steps', user: { id: ada.id, name: ada.id }, value: 1 },
      { key: 'steps', user: { id: `zed "${ada.mark.slice(9)}` }, value: 1 },
      { key: 'steps', user: { id: ada.id }, value: 1, idempotencyKey: ada.mark },
    ])
    const batchId = batch.headers.get('x-batch-id')
    await env.DB.prepare('INSERT INTO parked_events VALUES (?1, ?2, 0, ?3, ?4), (?1, ?2, 1, ?5, ?4)')
      .bind(
        tenant.id,
        crypto.randomUUID(),
        JSON.stringify({ body: { user: { id: ada.id } } }),
        'why',
        JSON.stringify({ body: { user: { id: 'bob', name: ada.id.slice(0, 9) } } }),
      )
      .run()
    const rarity = async () => {
      const { body } = await tenant.app('GET', '/achievements')
      return [at(body, 0, 'completions'), at(body, 0, 'rarity')]
    }
    expect(await rarity()).toEqual([3, 100])
    const held = await traces(boards, iid, ada.mark)
    expect(held.toSorted()).toEqual(
      [
        'adjustment_keys',
        'api_keys',
        'audit_log',
        'awards',
        ...boards.slice(0, 2).map((id) => `board ${id}`),
        'counted_users',
        'day_sums',
        'events',
        'idempotency_keys',
        'inbox',
        'kv',
        'parked_events',
        'points_boosts',
        'streak_pauses',
        'streak_runs',
        'user_changes',
        'users',
        'voided_events',
      ].toSorted(),
    )

    await erase(tenant, ada)
    for (const one of [elsewhere, tenant]) expect((await one.as(key, 'GET', ada.path)).status).toBe(401)
    expect((await tenant.as(kept, 'GET', '/users/bob')).status).toBe(200)
    // A user of the other tenant has the same id.
    const theirs = await traces(boards, ada.mark)
    expect(theirs).toEqual(['users'])
    expect((await other.app('GET', `${ada.path}/metrics/steps`)).body).toMatchObject({ current: 7 })
    await erase(other, ada)
    expect(await traces(boards, iid, ada.mark)).toEqual([])

    expect(await ranking(setup, { run: FIRST })).toEqual([
      { userId: 'bob', rank: 1, value: 12 },
      { userId: 'cai', rank: 3, value: 4 },
    ])
    const second = await ranking(setup, { run: SECOND })
    expect(second.map(({ userId }) => userId).toSorted()).toEqual(['bob', 'cai'])
    // The batch continued without the erased user's events. All three users have 1 at the same moment, so the
    // ids decide the order.
    const today = await ranking(setup)
    expect(today.map(({ userId, rank }) => [userId.slice(0, 3), rank])).toEqual([
      ['bob', 1],
      ['cai', 2],
      ['zed', 3],
    ])
    expect((await tenant.admin('GET', `/metrics/events/batches/${batchId}`)).body).toMatchObject({
      status: 'done',
      processed: 2,
      dropped: 2,
    })
    expect(await rarity()).toEqual([3, 100])
    expect((await tenant.app('GET', ada.path)).status).toBe(404)
    expect((await tenant.admin('GET', `${ada.path}/export`)).status).toBe(404)

    const before = await tenant.stored()
    await erase(tenant, ada)
    await erase(tenant, newUser())
    expect(await tenant.stored()).toEqual(before)

    const again = await tenant.event('steps', ada.id, 1, { idempotencyKey: 'once' })
    expect(again).toMatchObject({ status: 201, body: { idempotentReplayed: false, total: 1 } })
    // 5 for the creation, 10 for the step. The old boost is gone.
    expect(at(again.body, 'points', 'xp', 'total')).toBe(15)
    expect(at(again.body, 'currentStreak', 'length')).toBe(1)
    expect(await iidOf(tenant, ada.id)).not.toBe(iid)
  })

  it('deletes keys and waiting events of a user who was never created', async () => {
    const { tenant } = await withBoard()
    const ada = newUser()
    const key = await tenant.key(ada.id)
    await tenant
      .through(newApp({ TIMEKEEPER: UNREACHED }))
      .admin('POST', '/metrics/events', [{ key: 'steps', user: { id: ada.id }, value: 1 }])
    await erase(tenant, ada)
    expect((await tenant.as(key, 'PUT', ada.path, {})).status).toBe(401)
    expect(await traces([], ada.mark)).toEqual([])
  })

  it('[U1] refuses an invalid id', async () => {
    const tenant = await newTenant()
    expect((await tenant.admin('DELETE', `/users/${'a'.repeat(256)}`)).status).toBe(422)
    expect((await tenant.admin('DELETE', '/users/%01')).status).toBe(422)
  })

  it('deletes rows in parts, in any number', async () => {
    const setup = await withBoard()
    const { tenant, metric, board } = setup
    const ada = newUser()
    await tenant.event('steps', ada.id, 1)
    const iid = await iidOf(tenant, ada.id)
    await rowsEverywhere(
      `INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
       SELECT ${bytes('?1')}, ${number('metrics', '?2')}, i, 0, ${numbered('i')}, 1, 0 FROM n
       WHERE EXISTS (SELECT 1 FROM users WHERE iid = ?1)`,
      iid,
      metric,
    )
    await erase(tenant, ada)
    expect(await traces([board], iid, ada.mark)).toEqual([])
  })
})

describe('a decision from before an erasure is not stored after it', () => {
  beforeEach(() => moveTo(NOON))

  const late = (userId: string) => ({ userId, name: 'Late', start: FIRST, multiplier: 2 })
  type User = ReturnType<typeof newUser>
  const calls: [
    string,
    number,
    (tenant: TestTenant, user: User, system: string) => Promise<{ status: number }>,
  ][] = [
    ['an event', 201, (tenant, { id }) => tenant.event('steps', id, 2, { idempotencyKey: 'k' })],
    ['a change', 404, (tenant, { path }) => tenant.app('PATCH', path, { name: 'X' })],
    [
      'preferences',
      404,
      (tenant, { path }) => tenant.app('PATCH', `${path}/preferences`, { notifications: { recap: [] } }),
    ],
    [
      'a boost',
      200,
      (tenant, { id }, system) => tenant.admin('POST', `/points/${system}/boosts`, [late(id)]),
    ],
    [
      'a points system with a boost',
      200,
      (tenant, { id }) =>
        tenant.admin('POST', '/points', [{ key: 'late', name: 'Late', boosts: [late(id)] }]),
    ],
    [
      'a pause',
      200,
      (tenant, { id: userId }) =>
        tenant.admin('POST', '/streaks/pauses', { pauses: [{ userId, start: SECOND, end: SECOND }] }),
    ],
    [
      'a freeze',
      200,
      (tenant, { id: userId }) => tenant.admin('POST', '/streaks/freezes', { freezes: [{ userId }] }),
    ],
  ]

  it.each(calls)('[U8] %s', async (_what, expected, callIt) => {
    const setup = await withEverything()
    const ada = newUser()
    await furnish(setup, ada.id)
    const iid = await iidOf(setup.tenant, ada.id)
    const { bindings } = faultyAll(beforeFirst(() => erase(setup.tenant, ada)))
    const { status } = await callIt(setup.tenant.through(newApp(bindings)), ada, setup.system)
    expect(status).toBe(expected)
    expect(await traces(setup.boards, iid)).toEqual([])
    expect(await agrees(setup, { query: { run: FIRST } })).toEqual(expected === 201 ? [`${ada.id} 2`] : [])
    const events = await rowsEverywhere(
      `SELECT e.id FROM ${readable.events} e JOIN users u ON u.iid = e.user_iid WHERE u.tenant_id = ?1`,
      setup.tenant.id,
    )
    expect(events).toHaveLength(expected === 201 ? 1 : 0)
  })

  it.each(['ticks', 'streaks', 'backdate', 'recount', 'inbox'])('[U8] due work: %s', async (kind) => {
    const setup = await withEverything()
    const { tenant, system, metric, boards } = setup
    const ada = newUser()
    await furnish(setup, ada.id)
    const lame = tenant.through(newApp({ TIMEKEEPER: UNREACHED }))
    const hourly = { type: 'time', points: 1, status: 'active', timeUnit: 'hours', timeInterval: 1 }
    await lame.create(`/points/${system}/triggers`, hourly)
    const late = { key: 'late', name: 'Late', trigger: 'metric', metricId: metric, metricValue: 1 }
    await lame.create('/achievements', { ...late, status: 'active' })
    await lame.admin('PATCH', '/streaks/settings', { frequency: 'weekly' })
    await lame.admin('POST', '/metrics/events', [{ key: 'steps', user: { id: ada.id }, value: 1 }])
    await rowsEverywhere('DELETE FROM due_work WHERE tenant_id = ?1 AND kind <> ?2', tenant.id, kind)
    if (kind === 'streaks') await lame.admin('PATCH', '/streaks/settings', { frequency: 'daily' })
    const to = instant(NOON + 9 * DAY + HOUR / 2)
    await moveUnseen(to)

    // Before the first write, the user that the work has read is erased and created again. The work must not
    // change the new user.
    const iid = await iidOf(tenant, ada.id)
    const meanwhile = async () => {
      await lame.admin('DELETE', ada.path)
      await lame.app('PUT', ada.path, {})
    }
    const { bindings, seen } = faultyAll(beforeFirst(meanwhile))
    await workUntil(tenant, to, { bindings })
    expect(seen.writes).toBeGreaterThan(0)
    expect(await rowsEverywhere('SELECT seq, points FROM users WHERE tenant_id = ?1', tenant.id)).toEqual([
      { seq: 1, points: JSON.stringify({ [system]: 5 }) },
    ])
    expect(await traces(boards, iid)).toEqual([])
  })
})

describe('messages of an erased user to leaderboards', () => {
  it('[U8] the second run, a minute later, removes one that arrived after the first run; an even later one counts nothing', async () => {
    const setup = await withBoard()
    const ada = newUser()
    const { tenant, calls } = through(setup.tenant)
    await tenant.event('steps', ada.id, 4)
    const iid = await iidOf(tenant, ada.id)
    const [message] = calls
    if (message === undefined) throw new Error('no message')
    await erase(setup.tenant, ada)
    expect(await traces([setup.board], iid)).toEqual(['due_work'])
    await arrive(message)
    expect(await boardRows(setup.board)).toContain(iid)
    await makeDueAt({ tenant: setup.tenant, kind: 'erasure' }, 0)
    await env.TIMEKEEPER.getByName(setup.tenant.id).wake(setup.tenant.id, 20)
    expect(await traces([setup.board], iid, ada.mark)).toEqual([])
    await arrive({ ...message, at: instant(message.at - 31_000) })
    expect(await traces([setup.board], iid, ada.mark)).toEqual([])
    expect(await ranking(setup)).toEqual([])
  })

  it('[L12] a late one of an existing user counts', async () => {
    const setup = await withBoard()
    const { tenant, calls } = through(setup.tenant)
    await tenant.event('steps', 'ada', 4)
    await arrive(...calls.map((message) => ({ ...message, at: instant(message.at - 31_000) })))
    expect(await agrees(setup)).toEqual(['ada 4'])
  })
})

describe('an interrupted erasure', () => {
  beforeEach(() => moveTo(NOON))

  /** A user with data of every kind, in an own tenant. */
  async function someone() {
    const setup = await withEverything()
    const ada = newUser()
    await furnish(setup, ada.id)
    await setup.tenant.key(ada.id)
    const iid = await iidOf(setup.tenant, ada.id)
    const left = () => traces(setup.boards, iid, ada.mark)
    return { ...setup, ada, left, lame: (more: Partial<Bindings>) => setup.tenant.through(newApp(more)) }
  }

  /** Runs the cron trigger and the alarm that it sets. */
  async function cronAndAlarm({ id }: TestTenant): Promise<void> {
    await cron()
    await runDurableObjectAlarm(env.TIMEKEEPER.getByName(id))
    await env.TIMEKEEPER.getByName(id).wake(id, 0)
  }

  it('[U8] before anything is stored: changes nothing, and can be repeated', async () => {
    const { ada, left, lame, tenant } = await someone()
    const { bindings, seen } = faultyAll(() => Promise.reject(lost()))
    const before = await tenant.stored()
    expect((await lame(bindings).admin('DELETE', ada.path)).status).toBe(503)
    expect(seen.writes).toBe(3)
    expect(await tenant.stored()).toEqual(before)
    await erase(tenant, ada)
    expect(await left()).toEqual([])
  })

  it.each([
    ['D1’s response is lost', true],
    ['D1 is unavailable for a moment', false],
  ])('[U8] %s', async (_what, isStored) => {
    const { ada, left, lame } = await someone()
    const { bindings } = faultyAll(losing(0, isStored))
    await erase(lame(bindings), ada)
    expect(await left()).toEqual([])
  })

  it('[U8, C2] after the keys are deleted, before the user is: the cron trigger does the rest', async () => {
    const { ada, left, lame, tenant } = await someone()
    const { bindings } = faultyAll(({ run }, write) => (write === 0 ? run() : Promise.reject(lost())))
    expect((await lame(bindings).admin('DELETE', ada.path)).status).toBe(503)
    const keys = `/application-api-keys?userId=${encodeURIComponent(ada.id)}`
    expect((await tenant.admin('GET', keys)).body).toEqual([])
    expect((await tenant.app('GET', ada.path)).status).toBe(200)
    await cronAndAlarm(tenant)
    expect((await tenant.app('GET', ada.path)).status).toBe(404)
    expect(await left()).toEqual([])
  })

  it('[U8, C2] after the user is deleted: the cron trigger does the rest', async () => {
    const { ada, left, lame, tenant } = await someone()
    await erase(lame({ TIMEKEEPER: UNREACHED }), ada)
    expect((await tenant.app('GET', ada.path)).status).toBe(404)
    expect(await left()).not.toEqual([])
    await cronAndAlarm(tenant)
    expect(await left()).toEqual([])
  })

  it('[U8] at each write of its steps, before and after the write', async () => {
    const { tenant, lame, ada, left, ...setup } = await someone()
    let writes = 0
    for (let broken = 0; broken <= writes; broken += 1) {
      for (const isStored of inTurn(1, [false, true], broken)) {
        await erase(lame({ TIMEKEEPER: UNREACHED }), ada)
        const { bindings, seen } = faultyAll(losing(broken, isStored))
        await workUntil(tenant, NOON, { bindings }).catch(() => undefined)
        writes = Math.max(writes, seen.writes)
        await workUntil(tenant, NOON)
        expect([broken, isStored, await left()]).toEqual([broken, isStored, []])
        await furnish({ tenant, ...setup }, ada.id)
      }
    }
    expect(writes).toBeGreaterThan(5)
  })

  it('[U8] an unavailable leaderboard does not delay the rest, and is called until it responds', async () => {
    const { ada, left, lame, tenant, board } = await someone()
    await erase(lame({ TIMEKEEPER: UNREACHED }), ada)
    const work = (times: number, mustAll: boolean) =>
      workUntil(tenant, NOON, { bindings: { LEADERBOARD: failing(times) }, mustAll })
    await expect(work(9, true)).rejects.toThrow('Network connection lost')
    // The records of keys go first, so none is left when the leaderboard fails.
    const hidden = (await left()).filter((place) => !place.startsWith('board'))
    expect(hidden).toEqual(['due_work'])
    expect(await left()).toContain(`board ${board}`)
    await work(3, false)
    expect(await left()).toContain('due_work')
    expect(await left()).not.toContain('kv')
    await moveTo(NOON + 2 * 60_000)
    expect(await left()).toEqual([])
  })

  it('[E3, U8] parallel events and erasures: the user is gone, or is a new one with correct data', async () => {
    const setup = await withBoard()
    const { tenant } = setup
    const ada = newUser()
    const apps = [tenant, tenant.through(newApp()), tenant.through(newApp())]
    const app = (n: number) => apps[n % apps.length] ?? tenant
    const responses = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        n % 12 === 5
          ? app(n).admin('DELETE', ada.path)
          : app(n).event('steps', n % 7 === 0 ? 'bob' : ada.id, 1, { idempotencyKey: `k${n % 40}` }),
      ),
    )
    expect(responses.filter(({ status }) => ![200, 201, 202].includes(status))).toEqual([])
    await agrees(setup)
    const rows = await rowsEverywhere<{ users: number; tallied: number; due: number }>(
      `SELECT (SELECT count(*) FROM users WHERE tenant_id = ?1) AS users,
         coalesce((SELECT count FROM tenant_counters WHERE tenant_id = ?1 AND name = 'users'), 0) AS tallied,
         (SELECT count(*) FROM due_work WHERE kind = 'erasure') AS due`,
      tenant.id,
    )
    for (const { users, tallied, due } of rows) expect([due, users]).toEqual([0, tallied])
    const orphans = await rowsEverywhere(
      `SELECT id FROM ${readable.events} WHERE metric_id = ?1 AND user_iid NOT IN (SELECT iid FROM users)`,
      setup.metric,
    )
    expect(orphans).toEqual([])
    await erase(tenant, ada)
    expect(await traces([setup.board], ada.mark)).toEqual([])
  })
})
