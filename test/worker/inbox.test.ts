import { createExecutionContext, createScheduledController, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import process from 'node:process'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { deleteBatchesBefore } from '../../src/commands/batch/inbox.repository'
import { inboxStep } from '../../src/commands/batch/process.service'
import { nextWork, workOff } from '../../src/jobs/run.service'
import { instant } from '../../src/lib/clock'
import { newId } from '../../src/lib/new-id'
import { systemNow } from '../../src/lib/system-clock'
import type { TenantContext } from '../../src/runtime/context'
import worker from '../../src/worker/index'
import { JOBS } from '../../src/worker/jobs'
import { type Entry, type OracleSystem, recount } from '../oracle/points.oracle'
import { PATIENCE } from '../patience'
import { readable, readableTable } from '../readable'
import { DAY, forgetTime, HOUR, moveTo, NOON } from './boards'
import { contextOf } from './contexts'
import {
  ADMIN_KEY,
  type Answer,
  at,
  call,
  everything,
  newApp,
  newTenant,
  type TestTenant,
  toApp,
} from './harness'

/* The input, and the outcome */

const post = (tenant: TestTenant, events: unknown) => tenant.admin('POST', '/metrics/events', events)
const idOf = ({ headers }: Answer) => String(headers.get('x-batch-id'))
const read = (tenant: TestTenant, id: string) => tenant.admin('GET', `/metrics/events/batches/${id}`)

/** Sends a valid batch. Returns its id. */
async function send(tenant: TestTenant, events: readonly unknown[]): Promise<string> {
  const answer = await post(tenant, events)
  expect([answer.status, answer.body]).toEqual([202, { accepted: events.length }])
  return idOf(answer)
}

/** Waits until a batch is done. Returns its counts. */
async function done(tenant: TestTenant, id: string): Promise<unknown> {
  await expect
    .poll(async () => at((await read(tenant, id)).body, 'status'), { timeout: PATIENCE, interval: 20 })
    .toBe('done')
  const { id: own, status, ...counts } = z.looseObject({}).parse((await read(tenant, id)).body)
  expect([own, status]).toEqual([id, 'done'])
  return counts
}

const processed = (count: number) => ({ accepted: count, processed: count, dropped: 0, parked: 0 })

/** The tenant through a Worker whose Timekeepers can't be woken, so that its events stay in the inbox. */
const muted = (tenant: TestTenant) =>
  tenant.through(
    newApp({
      TIMEKEEPER: new Proxy(env.TIMEKEEPER, { get: () => () => ({ wake: async () => undefined }) }),
    }),
  )

const Rows = z.array(z.record(z.string(), z.union([z.string(), z.number(), z.null()])))
const rowsOf = async ({ id }: TestTenant, sql: string) =>
  Rows.parse((await env.DB.prepare(sql).bind(id).all()).results)

/** The events of a tenant's log, each user's in order: user, value in units, moment. */
const logOf = async (tenant: TestTenant) =>
  rowsOf(
    tenant,
    `SELECT u.id, e.value / 1e6 AS value, e.at FROM users u JOIN ${readable.events} e ON e.user_iid = u.iid
     WHERE u.tenant_id = ?1 ORDER BY u.id, e.seq`,
  )

const inboxOf = (tenant: TestTenant) =>
  rowsOf(tenant, 'SELECT count, "offset", done FROM inbox WHERE tenant_id = ?1 ORDER BY no')

/** Does one step of a tenant's inbox. Returns the number of users' changes, or -1 if nothing is due. */
async function step(tenant: TestTenant, context: TenantContext = contextOf(tenant.id)): Promise<number> {
  const work = (await nextWork(contextOf(tenant.id), JOBS)).find(({ kind }) => kind === 'inbox')
  if (work === undefined) return -1
  return (await inboxStep(context, work, systemNow()))?.changes.length ?? 0
}

const event = (user: string, value: number, more: object = {}) => ({
  key: 'words',
  user: { id: user },
  value,
  ...more,
})

/* Invalid batches */

describe('a batch that is refused', () => {
  const prepared = async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
    await tenant.create('/attributes', { key: 'kind', name: 'Kind', type: 'event' })
    return tenant
  }
  /** Checks that a batch is refused with this status and these problems, and that nothing of it is stored. */
  const refused = async (tenant: TestTenant, body: unknown, status: number, ...words: string[]) => {
    const before = await everything()
    const answer = await post(tenant, body)
    expect([answer.status, answer.headers.get('x-batch-id')]).toEqual([status, null])
    const error = String(at(answer.body, 'error'))
    for (const word of words) expect(error).toContain(word)
    expect(await everything()).toEqual(before)
    return error
  }

  it('[E9, G3] is not a list of 1–1,000 events', async () => {
    const tenant = await prepared()
    for (const body of [{}, 'x', 5, null, { events: [event('ada', 1)] }])
      await refused(tenant, body, 422, 'must be an array')
    await refused(tenant, [], 422, 'must have at least 1 item.')
    const many = (count: number) => Array.from({ length: count }, () => event('ada', 1))
    await refused(tenant, many(1_001), 422, 'must have at most 1000 items')
    expect((await post(tenant, many(1_000))).status).toBe(202)
  })

  it('[G3] has field errors: each one of each event is named, by the event’s index', async () => {
    const tenant = await prepared()
    const faults: [item: unknown, path: string][] = [
      [event('ada', 1), ''],
      [null, '1: must be an object, not null'],
      ['x', '2: must be an object'],
      [{ key: 'words', value: 1 }, '3.user: must be an object, and is missing'],
      [event('', 1), '4.user.id: must have at least 1 character'],
      [event('ada', 1, { value: undefined }), '5.value: must be a number, and is missing'],
      [event('ada', 1, { value: null }), '6.value: must be a number, not null'],
      [event('ada', 1_000_000_001), '7.value: must be 1000000000 or less'],
      [event('ada', 1, { value: '1' }), '8.value: must be a number'],
      [event('ada', 1, { user: { id: 'ada', tz: 'Mars/Base', email: 'x' } }), '9.user.tz: must be'],
      [event('ada', 1, { user: { id: '..', email: 'x' } }), '10.user.email: must be'],
      [event('ada', 1, { idempotencyKey: '' }), '11.idempotencyKey: must have at least 1 character'],
      [event('ada', 1, { idempotencyKey: 'k'.repeat(256) }), '12.idempotencyKey: must have at most 255'],
      [event('ada', 1, { idempotencyKey: 5 }), '13.idempotencyKey: must be a string'],
      [event('ada', 1, { attributes: [] }), '14.attributes: must be an object'],
      [event('ada', 1, { attributes: { kind: [] } }), '15.attributes.kind: must be a string'],
      [
        event('ada', 1, { user: { id: 'ada', attributes: { plan: {} } } }),
        '16.user.attributes.plan: must be',
      ],
      [event('ada', 1, { user: { id: 'ada', subscribeToEmails: 'no' } }), '17.user.subscribeToEmails: must'],
      [event('ada', 1, { user: { id: 'ada', deviceTokens: 'x' } }), '18.user.deviceTokens: must be an array'],
      [event('ada', 1, { key: 5 }), '19.key: must be a string'],
      [{ user: { id: 'ada' }, value: 1 }, '20.key: must be a string, and is missing'],
      [event('ada', 1, { idempotencyKey: 'k\ud800' }), '21.idempotencyKey: must have no unpaired surrogates'],
      [event('ada', 1, { idempotencyKey: 'k\ufffd' }), '22.idempotencyKey: must not contain U+FFFD'],
    ]
    const items = faults.map(([item]) => item)
    const error = await refused(tenant, items, 422, ...faults.map(([, path]) => path))
    expect(error).toContain('9.user.email')
    expect(error).toContain('10.user.id')
    expect(error).not.toMatch(/(^|; )0/)
  })

  it('[E6, U4] has unknown attributes of events and users: all of them are named', async () => {
    const tenant = await prepared()
    const error = await refused(
      tenant,
      [
        event('ada', 1, { attributes: { kind: 'a' }, user: { id: 'ada', attributes: { plan: 'a' } } }),
        event('ada', 1, { attributes: { plan: 'a', x: 'b' } }),
        event('bob', 1, { user: { id: 'bob', attributes: { kind: null, plan: null } } }),
      ],
      422,
      '1: Invalid attribute keys: plan, x. Attribute keys must match those configured for events',
      '2: Invalid attribute keys: kind. Attribute keys must match those configured for users.',
    )
    expect(error).not.toMatch(/\.;|\.\./)
  })

  it('[E7] has unknown metrics: 404 that names each with the index of its event, before any other error', async () => {
    const tenant = await prepared()
    const other = await newTenant()
    await other.metric('theirs')
    const items = [
      event('', 1),
      event('ada', 1, { key: 'no' }),
      event('ada', 1, { key: 'theirs' }),
      null,
      event('ada', 1),
      event('bob', 1, { key: 'no' }),
    ]
    const named = ['1.key: no metric has the key "no"', '2.key: no metric has the key "theirs"', '5.key: no']
    const error = await refused(tenant, items, 404, ...named)
    expect(error).not.toMatch(/[034]\.key/)
    await refused(
      tenant,
      [event('ada', 1), event('ada', 1, { key: '' })],
      404,
      '1.key: no metric has the key ""',
    )
    const gone = await tenant.metric('gone')
    await tenant.admin('DELETE', `/metrics?ids=${gone}`)
    await refused(tenant, [event('ada', 1, { key: 'gone' })], 404, '0.key: no metric has the key "gone"')
  })

  it('[U4] subscribes a user to emails before an address is known', async () => {
    const tenant = await prepared()
    await tenant.app('PUT', '/users/stored', { email: 's@example.com' })
    const user = (id: string, more: object) => event(id, 1, { user: { id, ...more } })
    const yes = { subscribeToEmails: true }
    await refused(
      tenant,
      [
        user('stored', yes),
        user('later', yes),
        user('earlier', { email: 'e@example.com' }),
        user('earlier', yes),
        user('same', { ...yes, email: 'e@example.com' }),
        user('later', { email: 'l@example.com' }),
        user('nowhere', yes),
      ],
      422,
      '1.user.subscribeToEmails: this user has no email address',
      '; 6.user.subscribeToEmails: this user has no email address',
    ).then((error) => expect(error).not.toMatch(/[02345]\.user/))
    const fine = [
      user('stored', yes),
      user('earlier', { email: 'e@example.com' }),
      user('earlier', yes),
      user('nowhere', { subscribeToEmails: false }),
    ]
    expect(await done(tenant, await send(tenant, fine))).toEqual(processed(4))
    expect((await tenant.app('GET', '/users/nowhere')).body).toMatchObject({ subscribeToEmails: false })
  })

  it('[G2] is too large, is not JSON, or comes with the wrong key or tenant', async () => {
    const tenant = await prepared()
    const key = await tenant.key('ada')
    const before = await everything()
    const path = '/admin/v1/metrics/events'
    const own = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id }
    const raw = async (body: BodyInit, headers: Record<string, string> = own) =>
      (await call(toApp, 'POST', path, { raw: body, headers })).status
    expect(await raw(' '.repeat(4 * 1_048_576 + 1))).toBe(413)
    expect(await raw('[{')).toBe(400)
    expect(await raw('')).toBe(400)
    // A batch with too many events is refused by their number, before validation.
    const many = await call(toApp, 'POST', path, { raw: `[${'{},'.repeat(1_000_000)}{}]`, headers: own })
    expect([many.status, String(at(many.body, 'error')).length < 200]).toEqual([422, true])
    const keys = Array.from({ length: 1_000 }, (_, n) => event('ada', 1, { key: `no-${n}` }))
    const unknowns = await call(toApp, 'POST', path, { body: keys, headers: own })
    expect(unknowns).toMatchObject({ status: 404, body: { error: expect.stringContaining('and 980 more') } })
    const unknown = JSON.stringify([event('ada', 1, { key: 'no' })])
    expect(await raw(unknown, { 'x-api-key': key })).toBe(403)
    expect(await raw('[{', { 'x-api-key': key })).toBe(403)
    expect(await raw(unknown, {})).toBe(401)
    expect(await raw(unknown, { 'x-api-key': ADMIN_KEY })).toBe(422)
    expect(await raw(unknown, { ...own, 'tenant-id': crypto.randomUUID() })).toBe(404)
    expect(await everything()).toEqual(before)
    const text = JSON.stringify([event('ada', 1)])
    expect(await raw(text.padEnd(4 * 1_048_576))).toBe(202)
  })
})

describe('a batch that is accepted', () => {
  it('[G3, U2, O4] unknown fields and nulls count as absent', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
    const first = {
      id: 'ada',
      name: 'Ada',
      email: 'a@example.com',
      tz: 'Europe/Paris',
      attributes: { plan: 'a' },
    }
    const second = { id: 'ada', name: null, email: null, tz: null, attributes: { plan: null }, x: 1 }
    const nulls = { attributes: null, idempotencyKey: null, unknown: { deep: [1] } }
    const answer = await post(tenant, [
      event('ada', 1, { user: first, ...nulls }),
      event('ada', 2, { user: second, ...nulls, user_id: 5 }),
      event('bob', 3, { user: { id: 'bob', subscribeToEmails: null, deviceTokens: null, attributes: null } }),
    ])
    const warning = (index: number, message: string) => ({ index, severity: 'warning', message })
    expect([answer.status, answer.body]).toEqual([
      202,
      {
        accepted: 3,
        issues: [
          warning(0, 'Unknown field "unknown". It is ignored.'),
          warning(1, 'Unknown field "user.x". It is ignored.'),
          warning(1, 'Unknown field "unknown". It is ignored.'),
          warning(1, 'Unknown field "user_id". Did you mean "user"?'),
        ],
      },
    ])
    const id = idOf(answer)
    expect(await done(tenant, id)).toEqual(processed(3))
    expect((await tenant.app('GET', '/users/ada')).body).toMatchObject({
      name: 'Ada',
      email: 'a@example.com',
      tz: null,
      attributes: {},
    })
  })

  it('[U1] an empty email or tz counts as absent, and numbers and booleans become the text of attributes', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
    await tenant.create('/attributes', { key: 'kind', name: 'Kind', type: 'event' })
    const known = { id: 'ada', email: 'a@example.com', tz: 'Europe/Paris' }
    const empty = { id: 'ada', email: '', tz: '', attributes: { plan: 7 } }
    const id = await send(tenant, [
      event('ada', 1, { user: known }),
      event('ada', 2, { user: empty, attributes: { kind: true } }),
    ])
    expect(await done(tenant, id)).toEqual(processed(2))
    const { body } = await tenant.admin('GET', '/users/ada/export')
    expect(at(body, 'user')).toMatchObject({ ...known, attributes: { plan: '7' } })
    expect(at(body, 'events', 1, 'attributes', 0)).toMatchObject({ value: 'true' })
    const subscribing = { id: 'bob', email: '', subscribeToEmails: true }
    const { status } = await post(tenant, [event('bob', 1, { user: subscribing })])
    expect(status).toBe(422)
  })

  it('[G2] may have 3.9 MiB, and all of it is processed', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    const tokens = ['ä'.repeat(950), '"'.repeat(950)]
    const events = Array.from({ length: 1_000 }, (_, n) =>
      event(`user ${n}`, n, { user: { id: `user ${n % 900}`, deviceTokens: tokens } }),
    )
    const size = new TextEncoder().encode(JSON.stringify(events)).length / 1_048_576
    expect(size).toBeGreaterThan(3.6)
    expect(size).toBeLessThan(4)
    expect(await done(tenant, await send(tenant, events))).toEqual(processed(1_000))
    const log = await logOf(tenant)
    expect(log.map(({ value }) => Number(value)).sort((a, b) => a - b)).toEqual(events.map((_, n) => n))
    expect((await tenant.app('GET', '/users/user%20899')).body).toMatchObject({ deviceTokens: tokens })
  })

  it('[E9, T3] is known by its id to its own tenant, and to no other', async () => {
    const [tenant, other] = [await newTenant(), await newTenant()]
    await tenant.metric('words')
    const id = await send(tenant, [event('ada', 1)])
    await done(tenant, id)
    expect((await read(tenant, id.toUpperCase())).status).toBe(200)
    expect((await read(other, id)).status).toBe(404)
    expect((await read(tenant, crypto.randomUUID())).status).toBe(404)
    // An id of another form is 404, before any other error (G2).
    expect((await read(tenant, 'no-uuid')).status).toBe(404)
    const key = await tenant.key('ada')
    const path = `/admin/v1/metrics/events/batches/${id}`
    expect((await call(toApp, 'GET', path, { headers: { 'x-api-key': key } })).status).toBe(403)
  })

  it('[E4] shares its idempotency keys with single events, by user and metric', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    await tenant.metric('pages')
    await tenant.event('words', 'ada', 1, { idempotencyKey: 'k' })
    const keyed = (user: string, value: number, key: string, more = {}) =>
      event(user, value, { idempotencyKey: key, ...more })
    const id = await send(tenant, [
      keyed('ada', 10, 'k', { user: { id: 'ada', name: 'Not stored' } }),
      keyed('ada', 100, 'k', { key: 'pages' }),
      keyed('bob', 1_000, 'k'),
      keyed('bob', 10_000, 'k'),
      keyed('ada', 100_000, 'l'),
    ])
    expect(await done(tenant, id)).toEqual({ accepted: 5, processed: 3, dropped: 2, parked: 0 })
    const again = await send(tenant, [keyed('ada', 7, 'l'), keyed('bob', 7, 'k'), keyed('ada', 7, 'm')])
    expect(await done(tenant, again)).toMatchObject({ processed: 1, dropped: 2 })
    expect((await tenant.event('words', 'ada', 5, { idempotencyKey: 'l' })).status).toBe(202)
    expect((await logOf(tenant)).map(({ id: user, value }) => [user, value])).toEqual([
      ['ada', 1],
      ['ada', 100],
      ['ada', 100_000],
      ['ada', 7],
      ['bob', 1_000],
    ])
    expect((await tenant.app('GET', '/users/ada')).body).toMatchObject({ name: null })
  })
})

/* The order */

describe('the order', () => {
  it('[E9] is the order in which the events were sent, for each user, within a batch and between batches', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    const batch = (from: number) =>
      Array.from({ length: 1_000 }, (_, n) => event(`user ${(from + n * n) % 7}`, from + n))
    const ids = [
      await send(tenant, batch(0)),
      await send(tenant, batch(1_000)),
      await send(tenant, batch(2_000)),
    ]
    for (const id of ids) expect(await done(tenant, id)).toEqual(processed(1_000))
    const log = await logOf(tenant)
    expect(log).toHaveLength(3_000)
    for (let user = 0; user < 7; user += 1) {
      const values = log.filter(({ id }) => id === `user ${user}`).map(({ value }) => Number(value))
      expect(values).toEqual(values.toSorted((a, b) => a - b))
    }
    expect(await inboxOf(tenant)).toEqual([])
    const due = await rowsOf(tenant, "SELECT kind FROM due_work WHERE tenant_id = ?1 AND kind = 'inbox'")
    expect(due).toEqual([])
  })

  it('[E9] holds if a step ends inside a batch; the remaining events stay as they were', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    const batch = (from: number) => Array.from({ length: 200 }, (_, n) => event(`u${n % 3}`, from + n))
    const ids: string[] = []
    for (const from of [0, 200, 400]) ids.push(await send(muted(tenant), batch(from)))
    const counts = async () =>
      Promise.all(
        ids.map(async (id) => {
          const { body } = await read(tenant, id)
          return [at(body, 'status'), at(body, 'processed')]
        }),
      )
    expect(await counts()).toEqual(ids.map(() => ['pending', 0]))
    expect(await step(tenant)).toBe(250)
    expect(await inboxOf(tenant)).toEqual([
      { count: 200, offset: 0, done: 50 },
      { count: 200, offset: 0, done: 0 },
    ])
    expect(await counts()).toEqual([
      ['done', 200],
      ['pending', 50],
      ['pending', 0],
    ])
    expect(await step(tenant)).toBe(250)
    expect(await inboxOf(tenant)).toEqual([{ count: 200, offset: 0, done: 100 }])
    expect(await step(tenant)).toBe(100)
    expect(await step(tenant)).toBe(-1)
    expect(await counts()).toEqual(ids.map(() => ['done', 200]))
    const log = await logOf(tenant)
    expect(log.map(({ id, value }) => [id, value])).toEqual(
      [0, 1, 2].flatMap((user) =>
        Array.from({ length: 600 }, (_, n) => n)
          .filter((n) => (n % 200) % 3 === user)
          .map((n) => [`u${user}`, n]),
      ),
    )
  })
})

/* The clock */

describe('the test clock', () => {
  beforeEach(() => moveTo(NOON))
  afterEach(forgetTime)
  const stealthily = (ms: number) => env.DB.prepare('UPDATE test_clock SET now = ?1').bind(ms).run()
  const moments = async (tenant: TestTenant) =>
    (await logOf(tenant)).map(({ value, at: moment }) => [value, moment])

  it('[C1] a move waits for pending events; they keep the time at which they were sent, before midnight', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    await tenant.event('words', 'ada', 1)
    const late = Math.floor(NOON / DAY) * DAY + 2 * DAY - 60_000
    await moveTo(late)
    const events = Array.from({ length: 600 }, (_, n) => event('ada', n + 2))
    const id = await send(tenant, events)
    await moveTo(late + 2 * HOUR)
    expect((await read(tenant, id)).body).toMatchObject({ status: 'done', ...processed(600) })
    expect(await moments(tenant)).toEqual([[1, NOON], ...events.map(({ value }) => [value, late])])
    expect((await tenant.app('GET', '/users/ada/streak')).body).toMatchObject({ length: 2 })
  })

  it('[C1] each batch has the time at which it was sent, though the clock has moved since', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    const quiet = muted(tenant)
    const ids = [await send(quiet, [event('ada', 1), event('bob', 2)])]
    await stealthily(NOON + HOUR)
    ids.push(await send(quiet, [event('ada', 3)]))
    await stealthily(NOON + DAY)
    ids.push(await send(quiet, [event('ada', 4), event('bob', 5)]))
    await moveTo(NOON + 2 * DAY)
    for (const id of ids) expect((await read(tenant, id)).body).toMatchObject({ status: 'done', dropped: 0 })
    expect(await moments(tenant)).toEqual([
      [1, NOON],
      [3, NOON + HOUR],
      [4, NOON + DAY],
      [2, NOON],
      [5, NOON + DAY],
    ])
    expect((await tenant.app('GET', '/users/ada/streak')).body).toMatchObject({ length: 2 })
  })

  it('[S3] a streak that a batch extends is judged at its midnight', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    await send(muted(tenant), [event('ada', 1), event('bob', 1, { user: { id: 'bob', tz: 'Asia/Tokyo' } })])
    expect(await step(tenant)).toBe(2)
    const due = await rowsOf(tenant, "SELECT due_at FROM due_work WHERE tenant_id = ?1 AND kind = 'streaks'")
    // The day after tomorrow begins first in Tokyo.
    expect(due).toEqual([{ due_at: Math.floor(NOON / DAY) * DAY + 2 * DAY - 9 * HOUR }])
  })

  it('[C1, E3] a user’s changes do not go back in time if a live event overtakes while the clock moves', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    await send(muted(tenant), [event('ada', 1), event('bob', 2)])
    await stealthily(NOON + HOUR)
    expect((await muted(tenant).event('words', 'ada', 3)).status).toBe(201)
    await moveTo(NOON + 2 * HOUR)
    expect(await moments(tenant)).toEqual([
      [3, NOON + HOUR],
      [1, NOON + HOUR],
      [2, NOON],
    ])
  })

  it('[C1] without the clock, all events that were sent in its future are processed at once', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    const id = await send(
      muted(tenant),
      Array.from({ length: 600 }, (_, n) => event('ada', n)),
    )
    const began = Date.now()
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id }
    expect((await call(toApp, 'DELETE', '/admin/v1/test-clock', { headers })).status).toBe(200)
    expect(await done(tenant, id)).toEqual(processed(600))
    for (const { at: moment } of await logOf(tenant)) {
      expect(Number(moment)).toBeGreaterThanOrEqual(began - 5_000)
      expect(Number(moment)).toBeLessThanOrEqual(Date.now())
    }
  })
})

/* The price */

describe('the price', () => {
  it('of 1,000 events of 100 users, each with an award, a key and a leaderboard, after the day’s first event', async () => {
    const tenant = await newTenant()
    const metricId = await tenant.metric('words')
    const trigger = { type: 'metric', points: 1, status: 'active', metricId, metricThreshold: 1 }
    await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
    const board = { key: 'board', name: 'Board', status: 'active', rankBy: 'metric', metricId }
    await tenant.create('/leaderboards', board)
    // At a full hour, the leaderboard's upkeep would be counted too.
    const upkeep = "DELETE FROM due_work WHERE tenant_id = ?1 AND kind = 'leaderboard'"
    await env.DB.prepare(upkeep).bind(tenant.id).run()
    const events = (many: number, key: string) =>
      Array.from({ length: many }, (_, n) => event(`user ${n % 100}`, 1, { idempotencyKey: `${key} ${n}` }))
    const cost = async (id: string) => {
      const context = contextOf(tenant.id)
      const due = await nextWork(contextOf(tenant.id), JOBS)
      expect(due.some(({ kind }) => kind === 'inbox')).toBe(true)
      while (at((await read(tenant, id)).body, 'status') !== 'done') {
        const to = instant(Date.now() + 1_000)
        await workOff(JOBS, context, { to, steps: 1, mustAll: true, grace: { first: DAY, finals: DAY } })
      }
      return { ...context.cost, objectRows: Number(context.notes.objectRows) }
    }
    await cost(await send(muted(tenant), events(100, 'first')))
    const spent = await cost(await send(muted(tenant), events(1_000, 'then')))
    // Single events would cost 2,000 round trips and 6,000 rows, 2,000 of them in the leaderboard, which
    // stores a user once a step. A step takes 250 events: an event, an award and a key for each, 100 users,
    // and one row each for the inbox, the batch and the due work.
    const { rowsRead, ...rest } = spent
    expect(rest).toEqual({
      roundTrips: 4 * 4 + 1,
      rowsWritten: 4 * (3 * 250 + 100 + 3),
      objectRows: 4 * 2 * 100,
    })
    expect(rowsRead).toBeLessThan(14_000)
  })
})

/* The meaning: a batch equals its events, sent one after another */

const { VITE_WORLDS: WORLDS, VITE_WORLDS_SEED: SEED, VITE_WORLDS_PATH: PATH } = process.env

/** An event to send. `cut` ends a batch after it; `alone` sends it as a single event. */
type Asked = { sent: z.infer<typeof Sent>; cut: boolean; alone: boolean }
const Sent = z.object({
  key: z.string(),
  user: z.looseObject({ id: z.string() }),
  value: z.number(),
  idempotencyKey: z.string().optional(),
  attributes: z.record(z.string(), z.string()).optional(),
})
type World = { events: Asked[]; hours: number }[]

const maybe = <T>(arbitrary: fc.Arbitrary<T>, freq = 2) => fc.option(arbitrary, { nil: undefined, freq })
const asked: fc.Arbitrary<Asked> = fc
  .record({
    id: fc.constantFrom('ada', '__proto__', 'grâce/1', 'bob'),
    name: maybe(fc.constantFrom('Ada "the" Count', 'Bob')),
    tz: maybe(fc.constantFrom('Pacific/Kiritimati', 'America/New_York', null)),
    plan: maybe(fc.constantFrom('a', 'b', null)),
    key: fc.constantFrom('words', 'words', 'pages'),
    cents: fc.oneof(fc.integer({ min: -400, max: 1_200 }), fc.constantFrom(0, 1_000)),
    idempotencyKey: maybe(fc.constantFrom('k1', 'k2', 'k3')),
    kind: maybe(fc.constantFrom('a', 'b'), 1),
    cut: fc.nat(3).map((n) => n === 0),
    alone: fc.nat(4).map((n) => n === 0),
  })
  .map(({ id, name, tz, plan, key, cents, idempotencyKey, kind, cut, alone }) => {
    const user = {
      id,
      ...(name !== undefined && { name }),
      ...(tz !== undefined && { tz }),
      ...(plan !== undefined && { attributes: { plan } }),
    }
    const attributes = kind === undefined ? undefined : { kind }
    return { sent: { key, user, value: cents / 100, idempotencyKey, attributes }, cut, alone }
  })
const world: fc.Arbitrary<World> = fc.array(
  fc.record({
    events: fc.array(asked, { minLength: 2, maxLength: 12, size: 'max' }),
    hours: fc.integer({ min: 1, max: 40 }),
  }),
  { minLength: 2, maxLength: 4, size: 'max' },
)

/** Points for the oracle: prizes, a price that may block, a cap, and a boost for all users. */
const XP: OracleSystem = {
  id: 'xp',
  max: 90,
  levels: [],
  triggers: [
    { id: 'welcome', on: 'creation', metric: '', threshold: 1, points: 7 },
    { id: 'words', on: 'event', metric: 'words', threshold: 3, points: 5 },
    { id: 'pages', on: 'event', metric: 'pages', threshold: 4, points: -6 },
  ].map(({ on, ...rest }) => ({
    ...rest,
    on: on === 'creation' ? 'creation' : 'event',
    active: true,
    user: [],
    event: [],
    blocks: rest.points < 0,
  })),
  boosts: [{ id: 'b', start: '2020-01-01', end: null, multiplier: '1.15', rounding: 'nearest', user: [] }],
}

/** A tenant with one of everything that an event can change. */
async function configured() {
  const tenant = await newTenant()
  const metrics = { words: await tenant.metric('words'), pages: await tenant.metric('pages') }
  const plan = await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  const kind = await tenant.create('/attributes', { key: 'kind', name: 'Kind', type: 'event' })
  const freezes = { initial: 1, max: 2, autoEarnInterval: 2, autoEarnAmount: 1 }
  const streaks = { metrics: [{ key: 'words', threshold: 4 }], freezes }
  expect((await tenant.admin('PATCH', '/streaks/settings', streaks)).status).toBe(200)
  const has = { attributeId: kind, attributeValue: 'a' }
  const common = { status: 'active' }
  const long = { ...common, key: 'long', name: 'Long', trigger: 'streak', streakLength: 2 }
  const much = {
    ...common,
    key: 'much',
    name: 'Much',
    trigger: 'metric',
    metricId: metrics.words,
    metricValue: 15,
    eventAttributes: [has],
  }
  const parts = [await tenant.create('/achievements', long), await tenant.create('/achievements', much)]
  const both = { ...common, key: 'both', name: 'Both', trigger: 'achievement', achievementIds: parts }
  const composite = await tenant.create('/achievements', both)
  const xp = await tenant.create('/points', { key: 'xp', name: 'XP', maxPoints: XP.max })
  const triggers = new Map<string, string>()
  for (const { id, on, metric, threshold, points, blocks } of XP.triggers) {
    const by = { metricId: metric === 'words' ? metrics.words : metrics.pages, metricThreshold: threshold }
    const type = on === 'creation' ? 'user_creation' : 'metric'
    const item = { ...common, type, points, ...(on === 'event' && { ...by, blockIfOutOfPoints: blocks }) }
    triggers.set(await tenant.create(`/points/${xp}/triggers`, item), id)
  }
  const boost = { name: 'Boost', start: '2020-01-01', multiplier: 1.15, rounding: 'nearest' }
  await tenant.create(`/points/${xp}/boosts`, boost)
  const gems = await tenant.create('/points', { key: 'gems', name: 'Gems' })
  for (const item of [
    { type: 'streak', points: 3, streakLength: 2 },
    { type: 'achievement', points: 50, achievementId: composite },
    { type: 'achievement', points: 20, achievementId: parts[1] },
    { type: 'metric', points: 1, metricId: metrics.words, metricThreshold: 2, eventAttributes: [has] },
  ])
    await tenant.create(`/points/${gems}/triggers`, { ...common, ...item })
  for (const item of [
    { key: 'daily', rankBy: 'metric', metricId: metrics.words, runUnit: 'day', runInterval: 1 },
    { key: 'points', rankBy: 'points', pointsSystemId: xp, breakdownAttributes: [plan] },
    { key: 'streaks', rankBy: 'streak' },
  ])
    await tenant.create('/leaderboards', { ...common, name: item.key, ...item })
  return { tenant, metrics, xp, triggers }
}

/**
 * The whole state of a tenant's users. Ids that differ between twins are numbered in the order of appearance.
 */
async function stateOf({ tenant }: { tenant: TestTenant }): Promise<unknown> {
  const users = await rowsOf(tenant, 'SELECT * FROM users WHERE tenant_id = ?1 ORDER BY id')
  const of = (table: string, order: string) =>
    rowsOf(
      tenant,
      `SELECT u.id AS of, t.* FROM users u JOIN ${readableTable(table)} t ON t.user_iid = u.iid
        WHERE u.tenant_id = ?1
       ORDER BY u.id, ${order}`,
    )
  const responses: unknown[] = []
  const paths = [
    '/leaderboards/daily',
    '/leaderboards/streaks',
    '/leaderboards/points?userAttributes=plan:a',
    '/leaderboards/points?userAttributes=plan:b',
    ...users.flatMap(({ id }) => {
      const user = `/users/${encodeURIComponent(String(id))}`
      return [
        `${user}/metrics`,
        `${user}/points/xp?awards=100`,
        `${user}/streak?historyPeriods=9`,
        `${user}/achievements?includeIncomplete=true`,
        `${user}/leaderboards/daily`,
      ]
    }),
  ]
  for (const path of paths) responses.push([path, (await tenant.app('GET', path)).body])
  const state = {
    users,
    events: await of('events', 't.seq'),
    awards: await of('awards', 't.seq, t.position'),
    keys: await of('idempotency_keys', 't.key, (SELECT key FROM metrics WHERE id = t.metric_id)'),
    runs: await of('streak_runs', 't.first'),
    tenantCounters: (await rowsOf(tenant, 'SELECT count FROM tenant_counters WHERE tenant_id = ?1')).map(
      ({ count }) => Number(count),
    ),
    responses,
  }
  state.tenantCounters.sort((a, b) => a - b)
  const names = new Map<string, string>()
  const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
  const named = JSON.stringify(state).replaceAll(uuid, (id) => {
    const name = names.get(id) ?? `#${names.size}`
    names.set(id, name)
    return name
  })
  return JSON.parse(named)
}

const EventRow = z.object({ of: z.string(), metric_id: z.string(), seq: z.number(), value: z.number() })

/** Checks P: awards of batches equal the awards that the oracle computes from the log. */
async function holdsPoints({ tenant, metrics, xp, triggers }: Awaited<ReturnType<typeof configured>>) {
  const events = z.array(EventRow).parse(
    await rowsOf(
      tenant,
      `SELECT u.id AS of, e.metric_id, e.seq, e.value FROM users u JOIN ${readable.events} e
        ON e.user_iid = u.iid
       WHERE u.tenant_id = ?1 ORDER BY u.id, e.seq`,
    ),
  )
  const awards = await rowsOf(
    tenant,
    `SELECT u.id AS of, a.seq, a.trigger_id, a.awarded, a.total, a.system_id FROM users u
     JOIN ${readable.awards} a ON a.user_iid = u.iid WHERE u.tenant_id = ?1 ORDER BY u.id, a.seq, a.position`,
  )
  for (const own of Map.groupBy(events, ({ of }) => of).values()) {
    const entries = own.map(
      ({ metric_id, value }): Entry => ({
        systems: [XP],
        own: {},
        now: NOON,
        attributes: {},
        event: {
          metric: metric_id === metrics.words ? 'words' : 'pages',
          value: `${value}e-6`,
          attributes: {},
        },
      }),
    )
    const expected = recount(entries).flatMap((outcome, index) => {
      if (outcome.refused) throw new Error(`event ${index} should have been refused`)
      return outcome.awards.map(({ trigger, awarded, total }) => [own[index]?.seq, trigger, awarded, total])
    })
    expect(
      awards
        .filter(({ of, system_id }) => of === own[0]?.of && system_id === xp)
        .map(({ seq, trigger_id, awarded, total }) => [
          seq,
          triggers.get(String(trigger_id)),
          awarded,
          total,
        ]),
    ).toEqual(expected)
  }
}

const seen = { events: 0, batches: 0, dropped: 0 }

/**
 * Plays a world to twins: to one as single events, to the other as batches with single events between them.
 */
async function play(world: World): Promise<void> {
  await moveTo(NOON)
  const [one, other] = [await configured(), await configured()]
  let now = NOON
  for (const { events, hours } of world) {
    const batches: string[] = []
    let recorded = 0
    let waiting: unknown[] = []
    const flush = async () => {
      if (waiting.length > 0) batches.push(await send(other.tenant, waiting))
      waiting = []
    }
    for (const { sent, cut, alone } of events) {
      const { key, user, value, idempotencyKey, attributes } = sent
      const options = { ...(idempotencyKey && { idempotencyKey }), ...(attributes && { attributes }) }
      const { status } = await one.tenant.event(key, user, value, options)
      if (alone) {
        await flush()
        await moveTo(now)
        expect((await other.tenant.event(key, user, value, options)).status).toBe(status)
        continue
      }
      recorded += status === 201 ? 1 : 0
      waiting.push(sent)
      if (cut) await flush()
    }
    await flush()
    now += hours * HOUR
    await moveTo(now)
    const counts = await Promise.all(batches.map(async (id) => (await read(other.tenant, id)).body))
    const sum = (name: string) => counts.reduce<number>((all, body) => all + Number(at(body, name)), 0)
    expect([sum('processed'), sum('parked')]).toEqual([recorded, 0])
    for (const body of counts) expect(at(body, 'status')).toBe('done')
    expect(await stateOf(other)).toEqual(await stateOf(one))
    seen.events += sum('accepted')
    seen.batches += counts.length
    seen.dropped += sum('dropped')
  }
  await holdsPoints(other)
}

it('[E9] a batch leaves the same state as its events sent one after another', async () => {
  const playAndForget = (given: World) => play(given).finally(forgetTime)
  // This world is the same in each run. It has every case that this test is about.
  for (const given of fc.sample(world, { numRuns: 1, seed: 1 })) await playAndForget(given)
  expect(Math.min(seen.batches, seen.events, seen.dropped), JSON.stringify(seen)).toBeGreaterThan(0)
  await fc.assert(fc.asyncProperty(world, playAndForget), {
    numRuns: Number(WORLDS ?? 1),
    // A world takes seconds, so a failing world is made smaller only on request.
    endOnFailure: WORLDS === undefined,
    ...(SEED !== undefined && { seed: Number(SEED) }),
    ...(PATH !== undefined && { path: String(PATH) }),
  })
  console.log(seen)
}, 3_600_000)

describe('[E9] batches older than BATCH_LOG_DAYS', () => {
  afterEach(forgetTime)

  /** Runs the cron trigger of a deployment with this variable. */
  async function cron(days: string | undefined): Promise<void> {
    const ctx = createExecutionContext()
    await worker.scheduled(
      createScheduledController(),
      { ...env, ...(days !== undefined && { BATCH_LOG_DAYS: days }) },
      ctx,
    )
    await waitOnExecutionContext(ctx)
  }
  const park = (tenant: TestTenant, id: string) =>
    env.DB.prepare(
      "INSERT INTO parked_events (tenant_id, batch_id, position, event, reason) VALUES (?1, ?2, 0, '{}', 'x')",
    )
      .bind(tenant.id, id)
      .run()
  const parked = async () => (await everything()).parked_events?.length

  it('are deleted with their parked events if they are done; their events stay', async () => {
    const [tenant, other] = [await newTenant(), await newTenant()]
    await moveTo(NOON)
    for (const one of [tenant, other]) await one.metric('steps')
    const event = { key: 'steps', user: { id: 'ada' }, value: 1 }
    const [old, ofOther] = [await send(tenant, [event]), await send(other, [event])]
    for (const [one, id] of [
      [tenant, old],
      [other, ofOther],
    ] as const) {
      await done(one, id)
      await park(one, id)
    }
    await env.DB.prepare(
      'INSERT INTO event_batches (tenant_id, id, created, accepted) VALUES (?1, ?2, ?3, 1)',
    )
      .bind(tenant.id, newId(instant(NOON)), NOON)
      .run()
    await moveTo(NOON + 10 * DAY)
    const recent = await send(tenant, [event])
    await done(tenant, recent)
    await park(tenant, recent)

    await cron(undefined)
    await cron('11')
    expect((await read(tenant, old)).status).toBe(200)
    await cron('9')
    expect((await read(tenant, old)).status).toBe(404)
    expect((await read(other, ofOther)).status).toBe(404)
    expect((await read(tenant, recent)).status).toBe(200)
    const { event_batches: batches = [] } = await everything()
    expect(batches.filter((row) => row.includes(tenant.id))).toHaveLength(2)
    expect(await parked()).toBe(1)
    expect((await tenant.app('GET', '/users/ada/metrics/steps')).body).toMatchObject({ current: 2 })
  })

  it('are found without reading later ones', async () => {
    const tenant = await newTenant()
    await env.DB.prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
       INSERT INTO event_batches (tenant_id, id, created, accepted) SELECT ?1, ?2 || i, 0, 0 FROM n`,
    )
      .bind(tenant.id, newId(instant(NOON)))
      .run()
    const context = contextOf(tenant.id)
    await deleteBatchesBefore(context.db, instant(NOON))
    expect(context.cost.rowsRead).toBeLessThan(200)
    expect(context.cost.rowsWritten).toBe(0)
    await deleteBatchesBefore(context.db, instant(NOON + 1))
    expect(context.cost.rowsWritten).toBe(1_000)
  })
})
