import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { noteDeletions, repeatDeletedKeys } from '../../src/access/deleted-keys'
import { IMPLICIT_TENANT_ID } from '../../src/access/tenants.sql'
import { settleCopy } from '../../src/configuration/copies'
import { present, START } from '../helpers/time'
import { DAY, dateAt } from '../helpers/worker/boards'
import { contextOfAccount } from '../helpers/worker/contexts'
import { away, behind, type Call, faultyAll, losing, lost, only } from '../helpers/worker/faulty'
import { cron } from '../helpers/worker/handlers'
import {
  ADMIN_KEY,
  account,
  at,
  call,
  databases,
  list,
  NOBODY,
  newApp,
  newTenant,
  newTenantInFirst,
  pagesFrom,
  pick,
  rowsEverywhere,
  spread,
  type TestTenant,
  toApp,
  userIn,
} from '../helpers/worker/harness'
import { ASLEEP } from '../helpers/worker/objects'
import { backup, bringBack, restored } from '../helpers/worker/restore'

/* Admin operations with users in three databases. */

const NAMES = ['DB', 'DB_2', 'DB_3'] as const
type Name = (typeof NAMES)[number]

/** The bindings, with something that runs before each batch of one database, and may throw. */
const watched = (name: Name, before: (texts: string[]) => void) =>
  behind(async ({ database, texts, run }) => {
    if (database === name) before(texts)
    return run()
  })

/** The bindings with which a database is lost as soon as it gets a statement with this text. */
const lostAt = (name: Name, part: string) =>
  watched(name, (texts) => {
    if (texts.some((text) => text.includes(part))) throw lost()
  })

let tenant: TestTenant

/** The users, one in each database. */
let users: string[]

beforeEach(async () => {
  tenant = await newTenant()
  await tenant.metric('words')
  users = NAMES.map((name) => userIn(tenant, name))
  for (const user of users) await tenant.app('PUT', `/users/${user}`, { tz: 'UTC' })
})

/** A field of the items of a list in an answer. */
const ids = (body: unknown, list: string, field = 'userId') => pick(at(body, list), field)

describe('[S7, S8, B1] several users in one request', () => {
  beforeEach(() => tenant.admin('PATCH', '/streaks/settings', { freezes: { startCount: 0, maxCount: 2 } }))
  const freezesOf = async (user: string) =>
    at((await tenant.app('GET', `/users/${user}/streak`)).body, 'freezes')

  test('freezes are granted in each database, and issues are in the order of the request', async () => {
    const [a = '', b = '', c = ''] = users
    const asked = [c, 'nobody', a, b, c, 'no-one', c, a].map((userId) => ({ userId }))
    const { status, body } = await tenant.admin('POST', '/streaks/freezes', { freezes: asked })
    expect([status, ids(body, 'issues'), ids(body, 'issues', 'index')]).toEqual([
      201,
      ['nobody', 'no-one', c],
      [1, 5, 6],
    ])
    expect(await Promise.all(users.map(freezesOf))).toEqual([2, 1, 2])
  })

  test('pauses are created, listed and deleted in the order of the request', async () => {
    const [a = '', b = '', c = ''] = users
    const [start, end] = [dateAt(START + 5 * DAY), dateAt(START + 6 * DAY)]
    const asked = [c, a, 'nobody', b, a].map((userId) => ({ userId, start, end }))
    const made = await tenant.admin('POST', '/streaks/pauses', { pauses: asked })
    expect([ids(made.body, 'created'), ids(made.body, 'issues', 'index')]).toEqual([[c, a, b, a], [2]])
    const listed = await tenant.admin('GET', `/streaks/pauses?userId=${a}`)
    expect(listed.body).toHaveLength(2)
    const pauses = ids(made.body, 'created', 'id') ?? []
    const unknown = crypto.randomUUID()
    const gone = await tenant.admin('DELETE', `/streaks/pauses?ids=${[unknown, ...pauses].join()}`)
    expect([ids(gone.body, 'deleted', 'id'), ids(gone.body, 'issues', 'id')]).toEqual([pauses, [unknown]])
    expect((await tenant.admin('GET', `/streaks/pauses?userId=${a}`)).body).toEqual([])
  })

  test.each(NAMES.slice(1))(
    'with %s away nothing is granted, so that the request can be sent again',
    async (name) => {
      const freezes = users.map((userId) => ({ userId }))
      const through = tenant.through(newApp(away(name)))
      expect((await through.admin('POST', '/streaks/freezes', { freezes })).status).toBe(503)
      expect(await Promise.all(users.map(freezesOf))).toEqual([0, 0, 0])
      const others = freezes.filter(({ userId }) => userId !== userIn(tenant, name))
      expect((await through.admin('POST', '/streaks/freezes', { freezes: others })).status).toBe(201)
    },
  )

  test('a database that is lost after the others have stored their part is named by issues', async () => {
    const through = tenant.through(newApp(lostAt('DB_2', 'INTO audit_log')))
    const freezes = users.map((userId) => ({ userId }))
    const { status, body } = await through.admin('POST', '/streaks/freezes', { freezes })
    expect([status, ids(body, 'issues')]).toEqual([201, [users[1]]])
    expect(await Promise.all(users.map(freezesOf))).toEqual([1, 0, 1])
  })

  test('[S7, E3] a user who keeps changing after the others are stored is named by an issue', async () => {
    const [, b = ''] = users
    const disturb = () =>
      rowsEverywhere('UPDATE users SET seq = seq + 1 WHERE tenant_id = ?1 AND id = ?2', tenant.id, b)
    const bindings = behind(async ({ database, isWrite, run }) => {
      if (database === 'DB_2' && isWrite) await disturb()
      return run()
    })
    const freezes = users.map((userId) => ({ userId }))
    const through = tenant.through(newApp(bindings))
    const { status, body } = await through.admin('POST', '/streaks/freezes', { freezes })
    expect([status, ids(body, 'issues')]).toEqual([201, [b]])
    expect(await Promise.all(users.map(freezesOf))).toEqual([1, 0, 1])
  })

  test('[V1] adjustments count once for each user, also with the same idempotency keys again', async () => {
    await tenant.create('/points', { key: 'xp', name: 'XP', maxPoints: null })
    const asked = users.map((userId, n) => ({ userId, amount: n + 1, idempotencyKey: 'k' }))
    const first = await tenant.admin('POST', '/points/xp/adjustments', asked)
    expect([first.status, ids(first.body, 'created')]).toEqual([201, users])
    const again = await tenant.admin('POST', '/points/xp/adjustments', asked.toReversed())
    expect([again.status, ids(again.body, 'created')]).toEqual([200, users.toReversed()])
    for (const [n, user] of users.entries())
      expect(at((await tenant.app('GET', `/users/${user}/points/xp`)).body, 'total')).toBe(n + 1)
  })
})

describe('[K2, B4] deleted keys', () => {
  beforeEach(() => rowsEverywhere('DELETE FROM deleted_keys'))

  const read = (key: string, user: string, through = tenant) => through.as(key, 'GET', `/users/${user}`)
  const deleteKey = async (key: string, through = tenant) => {
    const { body } = await tenant.admin('GET', '/application-api-keys?limit=100')
    const found = list(body).find((one) => key.startsWith(String(at(one, 'prefix'))))
    return through.admin('DELETE', `/application-api-keys?ids=${at(found, 'id')}`)
  }

  test('are refused in every database from the next request on, also by isolates that remember them', async () => {
    const warm = tenant.through(newApp())
    for (const user of users) {
      const key = await tenant.key(user)
      const send = () => warm.as(key, 'POST', '/metrics/words/event', { user: { id: user }, value: 1 })
      expect([(await read(key, user, warm)).status, (await send()).status]).toEqual([200, 201])
      expect((await deleteKey(key)).status).toBe(200)
      expect([(await read(key, user, warm)).status, (await send()).status]).toEqual([401, 401])
      expect((await tenant.app('GET', `/users/${user}/metrics/words`)).body).toMatchObject({ current: 1 })
    }
  })

  test('a rotated admin key is refused in every database', async () => {
    const send = newApp()
    const made = await account('POST', '/admin-api-keys', [{ name: 'Robot' }], send)
    const [id, key] = [String(at(made.body, 'created', 0, 'id')), String(at(made.body, 'created', 0, 'key'))]
    const headers = { 'x-api-key': key, 'tenant-id': tenant.id }
    const reads = () =>
      Promise.all(
        users.map(async (user) => (await call(send, 'GET', `/v1/users/${user}`, { headers })).status),
      )
    expect(await reads()).toEqual([200, 200, 200])
    // A change of a user is noted with the name of the key, in each database.
    const freezes = users.map((userId) => ({ userId }))
    await tenant.admin('PATCH', '/streaks/settings', { freezes: { startCount: 0, maxCount: 2 } })
    await call(send, 'POST', '/admin/v1/streaks/freezes', { headers, body: { freezes } })
    const log = await tenant.admin('GET', '/audit-log?kind=streak_freezes')
    expect(pick(pick(log.body, 'actor'), 'name')).toEqual(Array(3).fill('Robot'))
    const rotated = await account('POST', `/admin-api-keys/${id}/rotate`)
    expect(rotated.status).toBe(200)
    expect(await reads()).toEqual([401, 401, 401])
  })

  test('a key is refused in every database if the answer to its deletion is lost', async () => {
    const deletes = ({ texts }: Call) => texts.some((text) => /^delete from "api_keys"/.test(text))
    for (const userId of users) {
      const { id, key } = await tenant.made('/application-api-keys', { userId })
      const warm = tenant.through(newApp())
      expect((await read(key, userId, warm)).status).toBe(200)
      const { bindings, seen } = only(deletes, losing(0, true))
      const send = tenant.through(newApp(bindings))
      // Clients send a DELETE again after a 503.
      const sent = () => send.admin('DELETE', `/application-api-keys?ids=${id}`)
      if ((await sent()).status === 503) await sent()
      expect(seen.count).toBeGreaterThan(0)
      expect([userId, (await read(key, userId, warm)).status]).toEqual([userId, 401])
    }
  })

  test('[M3] keys that were made or replaced after the restored moment do not work in any database', async () => {
    const { id } = await tenant.made('/admin-api-keys', { name: 'Robot' })
    await Promise.all(users.map((user) => tenant.app('PUT', `/users/${user}`, {})))
    const before = await backup()
    const own = await Promise.all(users.map((user) => tenant.key(user)))
    const { key: made } = await tenant.made('/admin-api-keys', { name: 'New' })
    const rotated = String(at((await account('POST', `/admin-api-keys/${id}/rotate`)).body, 'key'))
    await bringBack(before)
    await restored()
    // KV lists two records at a time, and a tenant is erased after each of the first pages.
    let pages = 0
    const begun: number[] = []
    const KEYS: typeof env.KEYS = new Proxy(env.KEYS, {
      get: (target, name) =>
        name === 'list'
          ? async (options: KVNamespaceListOptions) => {
              pages += 1
              if (options.cursor === undefined) begun.push(pages)
              if (pages < 3) await noteDeletions(contextOfAccount(), [{ kind: 'tenant', tenantId: NOBODY }])
              return target.list({ ...options, limit: 2 })
            }
          : Reflect.get(target, name, target).bind(target),
    })
    await cron({ KEYS })
    expect([begun, pages > 2]).toEqual([[1], true])
    const statuses = await Promise.all(
      users.map(async (user, nth) => {
        const asAdmin = (key: string) =>
          call(newApp(), 'GET', `/v1/users/${user}`, {
            headers: { 'x-api-key': key, 'tenant-id': tenant.id },
          })
        const answers = [await read(own[nth] ?? '', user), await asAdmin(made), await asAdmin(rotated)]
        return answers.map(({ status }) => status)
      }),
    )
    expect(statuses).toEqual(users.map(() => [401, 401, 401]))
  })

  test('a deletion does not wait for a database that is away, which learns of it later', async () => {
    const user = users[1] ?? ''
    const key = await tenant.key(user)
    const warm = tenant.through(newApp())
    expect((await read(key, user, warm)).status).toBe(200)
    expect((await deleteKey(key, tenant.through(newApp(away('DB_2'))))).status).toBe(200)
    // Nothing has told this database yet.
    expect((await read(key, user, warm)).status).toBe(200)
    await repeatDeletedKeys(contextOfAccount())
    expect((await read(key, user, warm)).status).toBe(401)
    const prefix = key.slice(0, key.indexOf('.'))
    const rows = await rowsEverywhere('SELECT at FROM deleted_keys WHERE prefix = ?1', prefix)
    expect(rows).toHaveLength(3)
  })

  /** KV that deletes nothing. */
  const keeping = (deletion: () => Promise<void>) =>
    new Proxy(env.KEYS, {
      get: (target, name) => {
        if (name === 'delete') return deletion
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  const failing = keeping(() => Promise.reject(new Error('KV is unreachable')))

  test('are forgotten after a month, if no cache can have their record any more', async () => {
    const user = users[1] ?? ''
    const key = await tenant.key(user)
    const prefix = key.slice(0, key.indexOf('.'))
    const repeat = (KEYS = env.KEYS) => repeatDeletedKeys(contextOfAccount({ KEYS }))
    const known = () => rowsEverywhere('SELECT at FROM deleted_keys WHERE prefix = ?1', prefix)
    expect((await deleteKey(key, tenant.through(newApp({ KEYS: failing })))).status).toBe(200)
    await rowsEverywhere('UPDATE deleted_keys SET at = at - ?1', 32 * DAY)
    // The record is still in KV. It is deleted before the key is forgotten.
    for (const KEYS of [failing, env.KEYS]) {
      await repeat(KEYS)
      expect((await read(key, user, tenant.through(newApp()))).status).toBe(401)
      expect(await env.KEYS.get(`key:${prefix}`)).toEqual(KEYS === failing ? expect.any(String) : null)
      expect(await known()).toHaveLength(3)
    }
    await rowsEverywhere('UPDATE deleted_keys SET dropped = dropped - ?1', 2 * DAY)
    await repeat()
    expect(await known()).toHaveLength(3)
    await rowsEverywhere('UPDATE deleted_keys SET dropped = dropped - ?1', 2 * DAY)
    await repeat()
    expect(await known()).toEqual([])
  })

  test('are found by their age, so the cron trigger reads no others', async () => {
    const list = JSON.stringify(Array.from({ length: 500 }, () => `app_${crypto.randomUUID()}`))
    const note = (at: number, dropped: number | null) =>
      env.DB.prepare(
        'INSERT INTO deleted_keys (prefix, at, dropped) SELECT value || ?2, ?2, ?3 FROM json_each(?1)',
      )
        .bind(list, at, dropped)
        .run()
    const now = present()
    await note(now - 2 * DAY, null)
    await note(now - 33 * DAY, now - DAY)
    const repeat = async () => {
      const { bindings, seen } = faultyAll(({ run }) => run())
      await repeatDeletedKeys(contextOfAccount(bindings))
      return seen.rowsRead
    }
    // The first call gives the other databases the keys that they lack.
    await repeat()
    expect(await repeat()).toBeLessThan(100)
  })

  test('from the time of one database are refused in one that is added, also those of an erased user', async () => {
    const alone: Record<string, undefined> = { DB_2: undefined, DB_3: undefined }
    const added = await newTenantInFirst()
    const KEYS = keeping(async () => undefined)
    const through = added.through(newApp({ ...alone, KEYS, TIMEKEEPER: ASLEEP }))
    const [user, erased] = [userIn(added, 'DB_2'), userIn(added, 'DB_2', 1)]
    const keys = [await through.key(user), await through.key(erased)]
    const listed = await through.admin('GET', `/application-api-keys?userId=${user}`)
    const path = `/application-api-keys?ids=${at(listed.body, 0, 'id')}`
    expect((await through.admin('DELETE', path)).status).toBe(200)
    expect((await through.admin('DELETE', `/users/${erased}`)).status).toBe(200)
    await spread(added.id)
    const later = added.through(newApp({ TIMEKEEPER: ASLEEP }))
    for (const [n, id] of [user, erased].entries()) {
      expect((await later.app('PUT', `/users/${id}`, {})).status).toBe(200)
      expect((await read(keys[n] ?? '', id, later)).status).toBe(401)
    }
  })

  test('are known in a database that has the row of the only tenant, before it has a copy', async () => {
    const prefix = `app_${crypto.randomUUID()}`
    await rowsEverywhere('UPDATE tenants SET is_copy = 0 WHERE id = ?1', IMPLICIT_TENANT_ID)
    await env.DB.prepare('INSERT INTO deleted_keys (prefix, at) VALUES (?1, ?2)')
      .bind(prefix, present())
      .run()
    const context = contextOfAccount()
    expect(await settleCopy(context.databases, IMPLICIT_TENANT_ID, 'DB_3')).toBe('settled')
    const rows = await rowsEverywhere('SELECT at FROM deleted_keys WHERE prefix = ?1', prefix)
    expect(rows).toHaveLength(2)
  })

  test('[K6] a token of a user in another database is made and confirmed there', async () => {
    for (const user of users) {
      const { status, body } = await tenant.admin('POST', '/user-tokens', { userId: user })
      expect(status).toBe(201)
      expect((await tenant.as(String(at(body, 'token')), 'GET', `/users/${user}`)).status).toBe(200)
    }
    expect((await tenant.admin('POST', '/user-tokens', { userId: 'nobody' })).status).toBe(404)
  })
})

describe('[P5, B4] users’ own boosts', () => {
  const today = dateAt(START)
  const boostOf = (userId: string, more = {}) => ({
    ...{ name: `Of ${userId}`, start: dateAt(START - 2 * DAY), multiplier: 3, userId, ...more },
  })
  const boosts = () => users.map((user) => boostOf(user))
  let path: string
  beforeEach(async () => {
    const system = await tenant.create('/points', { key: 'xp', name: 'XP', maxPoints: null })
    const trigger = { type: 'metric', metricKey: 'words', metricThreshold: 1, points: 10, status: 'active' }
    await tenant.create(`/points/${system}/triggers`, trigger)
    path = `/points/${system}/boosts`
  })
  const added = async (user: string) =>
    at((await tenant.event('words', user, 1)).body, 'points', 'xp', 'added')
  const all = () => Promise.all(users.map(added))

  test('count from the answer on, in each database, and until they are deleted', async () => {
    const made = await tenant.admin('POST', path, boosts())
    expect([made.status, at(made.body, 'issues')]).toEqual([201, []])
    expect(await all()).toEqual([30, 30, 30])
    const created = ids(made.body, 'created', 'id')
    await tenant.admin('PATCH', path, [
      { id: created[1], multiplier: 2 },
      { id: created[2], end: today, start: today, name: 'B' },
    ])
    expect(await all()).toEqual([30, 20, 30])
    await tenant.admin('DELETE', `${path}?ids=${created.slice(0, 2).join()}`)
    expect(await all()).toEqual([10, 10, 30])
    const { body } = await tenant.admin('GET', path)
    expect(pick(body, 'id')).toEqual([created[2]])
  })

  test('have keys that are unique in all databases, and may exchange them', async () => {
    const [a = '', b = '', c = ''] = users
    const made = await tenant.admin('POST', path, [
      boostOf(a, { key: 'x' }),
      boostOf(b, { key: 'y' }),
      boostOf(c, { key: 'x' }),
    ])
    expect([ids(made.body, 'created', 'key'), ids(made.body, 'issues', 'index')]).toEqual([['x', 'y'], [2]])
    const general = { ...boostOf(''), userId: undefined, key: 'z' }
    const all = await tenant.create(path, { ...general, name: 'All' })
    const [first, second] = ids(made.body, 'created', 'id') ?? []
    const changed = await tenant.admin('PATCH', path, [
      { id: all, key: 'w' },
      { id: second, key: 'z' },
      { id: first, key: 'y' },
      { id: all, key: 'x' },
    ])
    expect([changed.status, at(changed.body, 'issues')]).toEqual([200, []])
    const { body } = await tenant.admin('GET', path)
    expect(pick(body, 'key')).toEqual(['y', 'z', 'x'])
    const keys = await rowsEverywhere('SELECT key FROM points_boosts WHERE id = ?1', second)
    expect(keys).toEqual([{ key: 'z' }, { key: 'z' }])
    expect(await Promise.all(users.map((user) => added(user)))).toEqual([90, 90, 30])
  })

  test('go with their points system', async () => {
    await tenant.admin('POST', path, boosts())
    await tenant.admin('DELETE', `/points?ids=${path.split('/')[2]}`)
    expect(
      await rowsEverywhere('SELECT 1 FROM points_boosts WHERE tenant_id = ?1 AND deleted IS NULL', tenant.id),
    ).toEqual([])
  })

  test('are refused with 503 and take effect nowhere while a database is away', async () => {
    const through = tenant.through(newApp(away('DB_2')))
    expect((await through.admin('POST', path, boosts())).status).toBe(503)
    expect((await tenant.admin('GET', path)).body).toEqual([])
    expect(await all()).toEqual([10, 10, 10])
  })

  test('that were stored count in a database that was lost before it had them', async () => {
    const through = tenant.through(newApp(lostAt('DB_2', 'INTO points_boosts')))
    expect((await through.admin('POST', path, [boostOf(users[1] ?? '')])).status).toBe(201)
    expect(await all()).toEqual([10, 30, 10])
  })

  test('[U8] a user who was erased meanwhile gets none', async () => {
    const user = users[1] ?? ''
    let isErased = false
    const through = tenant.through(
      newApp(
        watched('DB_2', (texts) => {
          if (isErased || !texts.some((text) => text.includes("json_object('change'"))) return
          isErased = true
          throw lost()
        }),
      ),
    )
    // The first attempt ends with 503, and the user is gone before the next one.
    expect((await through.admin('POST', path, [boostOf(user)])).status).toBe(503)
    await tenant.admin('DELETE', `/users/${user}`)
    const { body } = await through.admin('POST', path, [boostOf(user)])
    expect([at(body, 'created'), ids(body, 'issues', 'index')]).toEqual([[], [0]])
  })
})

describe('[Z1, B1] the audit log', () => {
  test('is merged from all databases, newest first, and paged without gaps', async () => {
    await tenant.admin('PATCH', '/streaks/settings', { freezes: { startCount: 0, maxCount: 20 } })
    for (let n = 0; n < 4; n += 1) {
      for (const user of users)
        await tenant.admin('POST', '/streaks/freezes', { freezes: [{ userId: user }] })
      await tenant.metric(`m${n}`)
    }
    const whole = await tenant.admin('GET', '/audit-log?limit=100')
    const entries = pick(whole.body, 'id').map(String)
    expect(entries).toHaveLength(18)
    expect(entries).toEqual(entries.toSorted().toReversed())
    for (const query of ['limit=1', 'limit=4', 'limit=17', 'limit=3&kind=streak_freezes']) {
      const found = pick((await pagesFrom(tenant, `/audit-log?${query}`)).flat(), 'id').map(String)
      const wanted = query.includes('kind') ? 12 : 18
      expect([query, found.length]).toEqual([query, wanted])
      expect(found).toEqual(entries.filter((id) => found.includes(id)))
    }
    const one = entries[5]
    expect((await tenant.admin('GET', `/audit-log?id=${one}`)).body).toMatchObject([{ id: one }])
    expect((await tenant.through(newApp(away('DB_3'))).admin('GET', '/audit-log')).status).toBe(503)
  })
})

describe('[B3] the databases', () => {
  const known = { users: expect.any(Number), events: expect.any(Number), bytes: expect.any(Number) }
  const unknown = { users: null, events: null, bytes: null }

  test('are listed, and can be rebalanced, while another one than the first is away', async () => {
    const through = newApp(away('DB_2'))
    const wanted = [known, unknown, known].map((sizes, nth) => ({
      ...{ name: NAMES[nth], buckets: expect.any(Number), state: 'active' },
      ...sizes,
    }))
    expect(await account('GET', '/databases', undefined, through)).toMatchObject({
      status: 200,
      body: wanted,
    })
    const rebalanced = await account('POST', '/databases/rebalance', { weights: {} }, through)
    // Tenants of other tests may have users to move.
    const moving = wanted.map((one) => ({ ...one, state: expect.stringMatching(/^(active|filling)$/) }))
    expect(rebalanced).toMatchObject({ status: 202, body: { databases: moving } })
    expect((await account('GET', '/databases', undefined, newApp(away('DB')))).status).toBe(503)
  })
})

describe('[T2, T3, B4] a tenant', () => {
  const named = (name: string, user: string) =>
    call(toApp, 'GET', `/v1/users/${user}`, { headers: { 'x-api-key': ADMIN_KEY, 'tenant-id': name } })

  test('has its new name in every database when the change is answered, or nowhere', async () => {
    const customerId = `new-${tenant.id}`
    const change = (send = toApp) => account('PATCH', '/tenants', [{ id: tenant.id, customerId }], send)
    expect((await change(newApp(away('DB_3')))).status).toBe(503)
    for (const user of users) expect((await named(`customer-${tenant.id}`, user)).status).toBe(200)
    expect((await change()).status).toBe(200)
    for (const user of users) {
      expect((await named(customerId, user)).status).toBe(200)
      expect((await named(`customer-${tenant.id}`, user)).status).toBe(404)
    }
  })

  test('is changed or archived in every database, together with the others of the request, or none of them is', async () => {
    const near = await newTenantInFirst()
    // An isolate that knows the tenant and its directory.
    const elsewhere = tenant.through(newApp())
    for (const user of users) expect((await elsewhere.event('words', user, 1)).status).toBe(201)
    const both = [near.id, tenant.id]
    const stored = async () => {
      const rows = await env.DB.prepare(
        'SELECT name, status FROM tenants WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id = ?2',
      )
        .bind(JSON.stringify(both), tenant.id)
        .all<{ name: string; status: string }>()
      return rows.results
    }
    const before = await stored()
    const named = both.map((id, n) => ({ id, name: `Name ${n}` }))
    const path = `/tenants?ids=${both.join()}`
    const lame = newApp(away('DB_3'))
    expect((await account('PATCH', '/tenants', named, lame)).status).toBe(503)
    expect((await account('DELETE', path, undefined, lame)).status).toBe(503)
    expect(await stored()).toEqual(before)
    for (const user of users) expect((await elsewhere.event('words', user, 1)).status).toBe(201)

    const changed = await account('PATCH', '/tenants', named)
    expect([changed.status, ids(changed.body, 'updated', 'name')]).toEqual([200, ['Name 0', 'Name 1']])
    const gone = await account('DELETE', path)
    expect([gone.status, ids(gone.body, 'deleted', 'id')]).toEqual([200, both])
    expect(await stored()).toEqual(['Name 0', 'Name 1'].map((name) => ({ name, status: 'archived' })))
    const statuses = await rowsEverywhere('SELECT status FROM tenants WHERE id = ?1', tenant.id)
    expect(statuses).toEqual(databases().map(() => ({ status: 'archived' })))
    for (const user of users) expect((await elsewhere.event('words', user, 1)).status).toBe(404)
  })

  test('may be changed by several requests at once, which name several tenants', async () => {
    const all = [tenant, await newTenant(), await newTenant()].map(({ id }) => id)
    const answers = await Promise.all(
      ['A', 'B', 'C', 'D'].map((name, n) => {
        const order = n % 2 === 0 ? all : all.toReversed()
        return account(
          'PATCH',
          '/tenants',
          order.map((id) => ({ id, name })),
          newApp(),
        )
      }),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const asked = JSON.stringify(all)
    const { results } = await env.DB.prepare(
      'SELECT DISTINCT name FROM tenants WHERE id IN (SELECT value FROM json_each(?1))',
    )
      .bind(asked)
      .all()
    expect(results).toHaveLength(1)
  })
})
