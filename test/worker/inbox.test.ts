import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { deleteBatchesBefore } from '../../src/features/events/batches/batches.sql'
import { instant } from '../../src/lib/clock'
import { newId } from '../../src/lib/new-id'
import { workOff } from '../../src/time/run'
import { JOBS } from '../../src/worker/jobs'
import { present } from '../helpers/time'
import { DAY, forgetTime, HOUR, moveTo, moveUnseen, NOON } from '../helpers/worker/boards'
import { contextOf, placesOf, worksOf } from '../helpers/worker/contexts'
import { dueWork, forgetDueWork } from '../helpers/worker/due-work'
import { cron } from '../helpers/worker/handlers'
import {
  ADMIN_KEY,
  account,
  at,
  call,
  databases,
  everything,
  expectBetween,
  newTenant,
  newTenantWith,
  rowsEverywhere,
  type TestTenant,
  toApp,
} from '../helpers/worker/harness'
import {
  done,
  event,
  idOf,
  inboxOf,
  logOf,
  muted,
  post,
  processed,
  read,
  send,
  step,
} from '../helpers/worker/inbox'

/* Invalid batches */

describe('a batch that is refused', () => {
  const prepared = async () => {
    const tenant = await newTenantWith('words')
    for (const [key, type] of Object.entries({ plan: 'user', kind: 'event' }))
      await tenant.create('/attributes', { key, name: key, type })
    return tenant
  }
  /** Checks that a batch is refused with this status and these problems, and that nothing of it is stored. */
  const refused = async (tenant: TestTenant, body: unknown, status: number, ...words: string[]) => {
    const before = await tenant.stored()
    const answer = await post(tenant, body)
    expect([answer.status, answer.headers.get('x-batch-id')]).toEqual([status, null])
    const error = String(at(answer.body, 'error'))
    for (const word of words) expect(error).toContain(word)
    expect(await tenant.stored()).toEqual(before)
    return error
  }

  it('[E9, G3] is not a list of 1–1,000 events', async () => {
    const tenant = await prepared()
    for (const body of [{}, 'x', 5, null, { events: [event('ada', 1)] }])
      await refused(tenant, body, 422, 'must be an array')
    await refused(tenant, [], 422, 'must have at least 1 item.')
    const many = (count: number) => Array.from({ length: count }, () => event('ada', 1))
    await refused(tenant, many(1_001), 422, 'must have at most 1000 items')
    // Nobody processes it, so that the next tests see no changes.
    expect((await post(muted(tenant), many(1_000))).status).toBe(202)
  })

  it('[G3] has field errors: each one of each event is named, by the event’s index', async () => {
    const tenant = await prepared()
    const faults: [item: unknown, path: string][] = [
      [event('ada', 1), ''],
      [null, '1: must be an object, not null'],
      ['x', '2: must be an object'],
      [{ key: 'words', value: 1 }, '3.user: must be an object, and is missing'],
      [event('', 1), '4.user.id: must have at least 1 character'],
      [event('ada', 1, { value: null }), '5.value: must be a number, not null'],
      [event('ada', 1_000_000_001), '6.value: must be 1000000000 or less'],
      [event('ada', 1, { user: { id: 'ada', tz: 'Mars/Base', email: 'x' } }), '7.user.tz: must be'],
      [event('ada', 1, { user: { id: '..', email: 'x' } }), '8.user.email: must be'],
      [event('ada', 1, { idempotencyKey: '' }), '9.idempotencyKey: must have at least 1 character'],
      [event('ada', 1, { idempotencyKey: 'k'.repeat(256) }), '10.idempotencyKey: must have at most 255'],
      [event('ada', 1, { idempotencyKey: 5 }), '11.idempotencyKey: must be a string'],
      [event('ada', 1, { attributes: [] }), '12.attributes: must be an object'],
      [event('ada', 1, { attributes: { kind: [] } }), '13.attributes.kind: must be a string'],
      [event('ada', 1, { key: 5 }), '14.key: must be a string'],
      [{ user: { id: 'ada' }, value: 1 }, '15.key: must be a string, and is missing'],
      [event('ada', 1, { idempotencyKey: 'k\ud800' }), '16.idempotencyKey: must have no unpaired surrogates'],
      [event('ada', 1, { idempotencyKey: 'k\ufffd' }), '17.idempotencyKey: must not contain U+FFFD'],
    ]
    const items = faults.map(([item]) => item)
    const error = await refused(tenant, items, 422, ...faults.map(([, path]) => path))
    expect(error).toContain('7.user.email')
    expect(error).toContain('8.user.id')
    expect(error).not.toMatch(/(^|; )0/)
  })

  it('[E7] has unknown metrics: 404 that names each with the index of its event, before any other error', async () => {
    const tenant = await prepared()
    const other = await newTenant()
    await other.metric('theirs')
    const keyed = (key: string, user = 'ada') => event(user, 1, { key })
    const items = [event('', 1), keyed('no'), keyed('theirs'), null, event('ada', 1), keyed('no', 'bob')]
    const named = ['1.key: no metric has the key "no"', '2.key: no metric has the key "theirs"', '5.key: no']
    const error = await refused(tenant, items, 404, ...named)
    expect(error).not.toMatch(/[034]\.key/)
    await refused(tenant, [event('ada', 1), keyed('')], 404, '1.key: no metric has the key ""')
    const gone = await tenant.metric('gone')
    await tenant.admin('DELETE', `/metrics?ids=${gone}`)
    await refused(tenant, [keyed('gone')], 404, '0.key: no metric has the key "gone"')
  })

  it('[U4] subscribes a user to emails before an address is known', async () => {
    const tenant = await prepared()
    await tenant.app('PUT', '/users/stored', { email: 's@example.com' })
    const user = (id: string, more: object) => event(id, 1, { user: { id, ...more } })
    const yes = { subscribeToEmails: true }
    const items = [
      ...[user('stored', yes), user('later', yes), user('earlier', { email: 'e@example.com' })],
      ...[user('earlier', yes), user('same', { ...yes, email: 'e@example.com' })],
      ...[user('later', { email: 'l@example.com' }), user('nowhere', yes)],
    ]
    const none = 'user.subscribeToEmails: this user has no email address'
    const error = await refused(tenant, items, 422, `1.${none}`, `; 6.${none}`)
    expect(error).not.toMatch(/[02345]\.user/)
    const fine = [
      user('stored', yes),
      user('earlier', { email: 'e@example.com' }),
      user('earlier', yes),
      user('nowhere', { subscribeToEmails: false }),
    ]
    expect(await done(tenant, await send(tenant, fine))).toEqual(processed(4))
    expect((await tenant.app('GET', '/users/nowhere')).body).toMatchObject({ subscribeToEmails: false })
  })

  it('[E9, G2] has very many events or unknown metrics, and the error is short; 4 MiB of text are not too many', async () => {
    const tenant = await prepared()
    const before = await tenant.stored()
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id }
    const postText = (raw: string) => call(toApp, 'POST', '/admin/v1/metrics/events', { raw, headers })
    // A batch with too many events is refused by their number, before validation.
    const many = await postText(`[${'{},'.repeat(1_000_000)}{}]`)
    expect([many.status, String(at(many.body, 'error')).length < 200]).toEqual([422, true])
    const keys = Array.from({ length: 1_000 }, (_, n) => event('ada', 1, { key: `no-${n}` }))
    const unknowns = await postText(JSON.stringify(keys))
    expect(unknowns).toMatchObject({ status: 404, body: { error: expect.stringContaining('and 980 more') } })
    const issue = { path: '999.key', message: 'no metric has the key "no-999"' }
    expect(at(unknowns.body, 'issues', 999)).toEqual(issue)
    expect(await tenant.stored()).toEqual(before)
    const text = JSON.stringify([event('ada', 1)])
    expect((await postText(text.padEnd(4 * 1_048_576))).status).toBe(202)
  })
})

describe('a batch that is accepted', () => {
  it('[G3, U2, O4] unknown fields and nulls count as absent', async () => {
    const tenant = await newTenantWith('words')
    await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
    const named = { name: 'Ada', email: 'a@example.com' }
    const first = { id: 'ada', ...named, tz: 'Europe/Paris', attributes: { plan: 'a' } }
    const second = { id: 'ada', name: null, email: null, tz: null, attributes: { plan: null }, x: 1 }
    const nulls = { attributes: null, idempotencyKey: null, unknown: { deep: [1] } }
    const answer = await post(tenant, [
      event('ada', 1, { user: first, ...nulls }),
      event('ada', 2, { user: second, ...nulls, user_id: 5 }),
      event('bob', 3, { user: { id: 'bob', subscribeToEmails: null, deviceTokens: null, attributes: null } }),
    ])
    const warning = (index: number, message: string) => ({ index, severity: 'warning', message })
    const issues = [
      warning(0, 'Unknown field "unknown". It is ignored.'),
      warning(1, 'Unknown field "user.x". It is ignored.'),
      warning(1, 'Unknown field "unknown". It is ignored.'),
      warning(1, 'Unknown field "user_id". Did you mean "user"?'),
    ]
    expect([answer.status, answer.body]).toEqual([202, { accepted: 3, issues }])
    expect(await done(tenant, idOf(answer))).toEqual(processed(3))
    const { body } = await tenant.app('GET', '/users/ada')
    expect(body).toMatchObject({ ...named, tz: null, attributes: {} })
  })

  it('[E9, T3] is known by its id to its own tenant, and to no other', async () => {
    const [tenant, other] = [await newTenant(), await newTenant()]
    await tenant.metric('words')
    const id = await send(tenant, [event('ada', 1)])
    await done(tenant, id)
    expect((await read(tenant, id.toUpperCase())).status).toBe(200)
    expect((await read(other, id)).status).toBe(404)
    // An id of another form is 404, before any other error (G2).
    expect((await read(tenant, 'no-uuid')).status).toBe(404)
  })

  it('[E4] shares its idempotency keys with single events, by user and metric', async () => {
    const tenant = await newTenantWith('words')
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
  it('[E9] is that in which the events were sent, also if a step ends inside a batch; the remaining events stay as they were', async () => {
    const tenant = await newTenantWith('words')
    const batch = (from: number) => Array.from({ length: 200 }, (_, n) => event(`u${n % 3}`, from + n))
    const ids: string[] = []
    for (const from of [0, 200, 400]) ids.push(await send(muted(tenant), batch(from)))
    const counts = async () => {
      const bodies = await Promise.all(ids.map(async (id) => (await read(tenant, id)).body))
      return bodies.map((body) => `${at(body, 'status')} ${at(body, 'processed')}`)
    }
    expect(await counts()).toEqual(ids.map(() => 'pending 0'))
    expect(await step(tenant)).toBe(250)
    expect(await inboxOf(tenant)).toEqual([
      { count: 200, offset: 0, done: 50 },
      { count: 200, offset: 0, done: 0 },
    ])
    expect(await counts()).toEqual(['done 200', 'pending 50', 'pending 0'])
    expect(await step(tenant)).toBe(250)
    expect(await inboxOf(tenant)).toEqual([{ count: 200, offset: 0, done: 100 }])
    expect(await step(tenant)).toBe(100)
    expect(await step(tenant)).toBe(-1)
    expect(await counts()).toEqual(ids.map(() => 'done 200'))
    const log = (await logOf(tenant)).map(({ id, value }) => [id, value])
    const of = (user: number) =>
      Array.from({ length: 600 }, (_, n) => n).filter((n) => (n % 200) % 3 === user)
    expect(log).toEqual([0, 1, 2].flatMap((user) => of(user).map((n) => [`u${user}`, n])))
  })
})

/* The clock */

describe('the test clock', () => {
  beforeEach(() => moveTo(NOON))
  afterEach(forgetTime)
  /** The events, such as `3 at 1`: the value and the hours after noon. */
  const moments = async (tenant: TestTenant) =>
    (await logOf(tenant)).map(({ value, at: moment }) => `${value} at ${(Number(moment) - NOON) / HOUR}`)

  it('[C1] a move waits for pending events; they keep the time at which they were sent, before midnight', async () => {
    const tenant = await newTenantWith('words')
    await tenant.event('words', 'ada', 1)
    const late = Math.floor(NOON / DAY) * DAY + 2 * DAY - 60_000
    await moveTo(late)
    const events = Array.from({ length: 600 }, (_, n) => event('ada', n + 2))
    const id = await send(tenant, events)
    await moveTo(late + 2 * HOUR)
    expect((await read(tenant, id)).body).toMatchObject({ status: 'done', ...processed(600) })
    const sent = events.map(({ value }) => `${value} at ${(late - NOON) / HOUR}`)
    expect(await moments(tenant)).toEqual(['1 at 0', ...sent])
    expect((await tenant.app('GET', '/users/ada/streak')).body).toMatchObject({ length: 2 })
  })

  it('[C1] each batch has the time at which it was sent, though the clock has moved since', async () => {
    const tenant = await newTenantWith('words')
    const quiet = muted(tenant)
    const ids = [await send(quiet, [event('ada', 1), event('bob', 2)])]
    await moveUnseen(NOON + HOUR)
    ids.push(await send(quiet, [event('ada', 3)]))
    await moveUnseen(NOON + DAY)
    ids.push(await send(quiet, [event('ada', 4), event('bob', 5)]))
    await moveTo(NOON + 2 * DAY)
    for (const id of ids) expect((await read(tenant, id)).body).toMatchObject({ status: 'done', dropped: 0 })
    expect(await moments(tenant)).toEqual(['1 at 0', '3 at 1', '4 at 24', '2 at 0', '5 at 24'])
    expect((await tenant.app('GET', '/users/ada/streak')).body).toMatchObject({ length: 2 })
  })

  it("[P5, C1] points have the user's own boosts of that time, though it is over three days later", async () => {
    const tenant = await newTenant()
    const metricId = await tenant.metric('words')
    const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
    const trigger = { type: 'metric', metricId, metricThreshold: 1, points: 10, status: 'active' }
    await tenant.create(`/points/${system}/triggers`, trigger)
    await moveTo(NOON)
    await tenant.event('words', 'ada', 1)
    const day = new Date(NOON).toISOString().slice(0, 10)
    const boost = { name: 'B', start: day, end: day, multiplier: 2, userId: 'ada' }
    await tenant.create(`/points/${system}/boosts`, boost)
    await send(muted(tenant), [event('ada', 1)])
    await moveTo(NOON + 3 * DAY)
    expect((await tenant.app('GET', '/users/ada/points/xp')).body).toMatchObject({ total: 30 })
  })

  it('[S3] a streak that a batch extends is judged at its midnight', async () => {
    const tenant = await newTenantWith('words')
    await send(muted(tenant), [event('ada', 1), event('bob', 1, { user: { id: 'bob', tz: 'Asia/Tokyo' } })])
    expect(await step(tenant)).toBe(2)
    const due = await dueWork({ tenant, kind: 'streaks' })
    // The day after tomorrow begins first in Tokyo.
    const first = Math.min(...due.map(({ dueAt }) => dueAt))
    expect(first).toBe(Math.floor(NOON / DAY) * DAY + 2 * DAY - 9 * HOUR)
  })

  it('[C1, E3] a user’s changes do not go back in time if a live event overtakes while the clock moves', async () => {
    const tenant = await newTenantWith('words')
    await send(muted(tenant), [event('ada', 1), event('bob', 2)])
    await moveUnseen(NOON + HOUR)
    expect((await muted(tenant).event('words', 'ada', 3)).status).toBe(201)
    await moveTo(NOON + 2 * HOUR)
    expect(await moments(tenant)).toEqual(['3 at 1', '1 at 1', '2 at 0'])
  })

  it('[C1] without the clock, all events that were sent in its future are processed at once', async () => {
    const tenant = await newTenantWith('words')
    const events = Array.from({ length: 600 }, (_, n) => event('ada', n))
    const id = await send(muted(tenant), events)
    const began = present()
    expect((await account('DELETE', '/test-clock')).status).toBe(200)
    expect(await done(tenant, id)).toEqual(processed(600))
    for (const { at: moment } of await logOf(tenant)) expectBetween(began - 5_000, Number(moment), present())
  })
})

/* The price */

// With several databases, a step has round trips to each of them.
describe.skipIf(databases().length > 1)('the price', () => {
  it('of 1,000 events of 100 users, each with an award, a key and a leaderboard, after the day’s first event', async () => {
    const tenant = await newTenant()
    const metricId = await tenant.metric('words')
    const trigger = { type: 'metric', points: 1, status: 'active', metricId, metricThreshold: 1 }
    await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
    const board = { key: 'board', name: 'Board', status: 'active', rankBy: 'metric', metricId }
    await tenant.create('/leaderboards', board)
    // At a full hour, the leaderboard's upkeep would be counted too.
    await forgetDueWork({ tenant, kind: 'leaderboard' })
    const events = (many: number, key: string) =>
      Array.from({ length: many }, (_, n) => event(`user ${n % 100}`, 1, { idempotencyKey: `${key} ${n}` }))
    const grace = { first: DAY, finals: DAY }
    const cost = async (id: string) => {
      const context = contextOf(tenant.id)
      const due = await worksOf(contextOf(tenant.id))
      expect(due.some(({ kind }) => kind === 'inbox')).toBe(true)
      while (at((await read(tenant, id)).body, 'status') !== 'done') {
        const to = instant(present() + 1_000)
        await workOff(JOBS, placesOf(context), { to, steps: 1, mustAll: true, grace })
      }
      return { ...context.cost, objectRows: Number(context.notes.objectRows) }
    }
    await cost(await send(muted(tenant), events(100, 'first')))
    const spent = await cost(await send(muted(tenant), events(1_000, 'then')))
    // Single events would cost 2,000 round trips and 6,000 rows, 2,000 of them in the leaderboard, which
    // stores a user once a step. A step takes 250 events: an event, an award and a key for each, 100 users,
    // and one row each for the inbox, the batch and the due work.
    const { rowsRead, ...rest } = spent
    const expected = { roundTrips: 4 * 4 + 1, rowsWritten: 4 * (3 * 250 + 100 + 3), objectRows: 4 * 2 * 100 }
    expect(rest).toEqual(expected)
    expect(rowsRead).toBeLessThan(14_000)
  })
})

describe('[E9] batches older than BATCH_LOG_DAYS', () => {
  // The cron trigger would delete those of other tests too.
  beforeEach(async () => {
    for (const table of ['due_work', 'inbox', 'event_batches', 'parked_events'])
      await rowsEverywhere(`DELETE FROM ${table}`)
  })
  afterEach(forgetTime)

  const insert = (table: string, columns: string, values: string, ...params: unknown[]) =>
    env.DB.prepare(`INSERT INTO ${table} (tenant_id, ${columns}) VALUES (?1, ?2, ${values})`)
      .bind(...params)
      .run()
  const park = ({ id }: TestTenant, batch: string) =>
    insert('parked_events', 'batch_id, position, event, reason', "0, '{}', 'x'", id, batch)
  const parked = async () => (await everything()).parked_events?.length

  it('are deleted with their parked events if they are done; their events stay', async () => {
    const [tenant, other] = [await newTenant(), await newTenant()]
    await moveTo(NOON)
    for (const one of [tenant, other]) await one.metric('steps')
    const event = { key: 'steps', user: { id: 'ada' }, value: 1 }
    const [old, ofOther] = [await send(tenant, [event]), await send(other, [event])]
    await done(tenant, old)
    await park(tenant, old)
    await done(other, ofOther)
    await park(other, ofOther)
    await insert('event_batches', 'id, created, accepted', '?3, 1', tenant.id, newId(instant(NOON)), NOON)
    await moveTo(NOON + 10 * DAY)
    const recent = await send(tenant, [event])
    await done(tenant, recent)
    await park(tenant, recent)

    await cron()
    await cron({ BATCH_LOG_DAYS: '11' })
    expect((await read(tenant, old)).status).toBe(200)
    await cron({ BATCH_LOG_DAYS: '9' })
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
