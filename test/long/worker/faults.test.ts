import { evictDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { readable } from '../../helpers/readable'
import { gate } from '../../helpers/worker/boards'
import {
  answerLost,
  beforeFirst,
  type Call,
  delayed,
  losing,
  lost,
  type NumberedFault,
  only,
} from '../../helpers/worker/faulty'
import {
  ADMIN_KEY,
  at,
  newApp,
  newTenantInLast,
  pick,
  rowsEverywhere,
  type TestTenant,
} from '../../helpers/worker/harness'
import { stubbed } from '../../helpers/worker/objects'
import { raiseVersion } from '../../helpers/worker/stored-tenants'
import { disturbUsers, removeUsers } from '../../helpers/worker/stored-users'

/* The binding, with faults */

/** True if a batch stores data of a user. */
const writes = ({ texts }: Call) => texts.some((text) => text.includes('INSERT INTO users'))
/** True if it reads a user's state. */
const reads = ({ isWrite, texts }: Call) => !isWrite && texts.some((text) => text.includes(' users u '))

/** The batches that write meet a fault. */
const onWrites = (fault: NumberedFault<Call>) => only(writes, fault)

/* Requests and stored data */

/**
 * A tenant with a metric, and a points system with 2 points for each 1 of the metric, and 100 points for the
 * creation of the user.
 */
async function withPoints() {
  const tenant = await newTenantInLast()
  const metric = await tenant.metric('words')
  const kind = await tenant.create('/attributes', { key: 'kind', name: 'Kind', type: 'event' })
  const system = await tenant.create('/points', {
    key: 'xp',
    name: 'XP',
    triggers: [
      { type: 'metric', points: 2, status: 'active', metricId: metric, metricThreshold: 1 },
      { type: 'user_creation', points: 100, status: 'active' },
    ],
  })
  return { tenant, metric, system, kind }
}

type Setup = Awaited<ReturnType<typeof withPoints>>
type Sent = { status: number; body: unknown; requestId: string | null }
type Asked = { user?: string; value?: number; key?: string; kind?: string; apiKey?: string }

/** Sends an event. Unlike `call` of the harness, it accepts a 500. */
async function send(tenant: TestTenant, asked: Asked = {}): Promise<Sent> {
  const { user = 'ada', value = 1, key, kind, apiKey = ADMIN_KEY } = asked
  const response = await tenant.send(
    new Request('http://laurel.test/v1/metrics/words/event', {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'tenant-id': tenant.id,
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      body: JSON.stringify({ user: { id: user }, value, ...(kind && { attributes: { kind } }) }),
    }),
  )
  const body: unknown = await response.json()
  return { status: response.status, body, requestId: response.headers.get('x-request-id') }
}

const sendSeveral = (tenant: TestTenant, count: number, asked: (n: number) => Asked = () => ({})) =>
  Promise.all(Array.from({ length: count }, (_, n) => send(tenant, asked(n))))

const statuses = (responses: readonly Sent[]) => responses.map(({ status }) => status)
const totals = (responses: readonly Sent[]) =>
  responses
    .filter(({ status }) => status === 201)
    .map(({ body }) => Number(at(body, 'total')))
    .sort((a, b) => a - b)
const oneTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

/** All rows of a tenant's users in all databases. */
async function stored({ tenant, metric, system }: Setup) {
  const awards = `SELECT * FROM ${readable.awards} WHERE system_id = ?1 ORDER BY seq, position`
  const events = `SELECT * FROM ${readable.events} WHERE metric_id = ?1 ORDER BY seq`
  const keys = `SELECT * FROM ${readable.idempotency_keys} WHERE metric_id = ?1`
  type User = { id: string; iid: string; seq: number; metrics: string; points: string }
  return {
    users: await rowsEverywhere<User>('SELECT * FROM users WHERE tenant_id = ?1', tenant.id),
    events: await rowsEverywhere<{ user_iid: string; id: string; value: number }>(events, metric),
    awards: await rowsEverywhere<{ user_iid: string; id: string; awarded: number }>(awards, system),
    keys: await rowsEverywhere(keys, metric),
  }
}

/**
 * Expects a user's log to be exactly the events of these responses, once each, and all totals to match the
 * log.
 */
async function holdsExactly(setup: Setup, responses: readonly Sent[], user = 'ada'): Promise<void> {
  const { users, events, awards } = await stored(setup)
  const row = users.find(({ id }) => id === user)
  const own = events.filter(({ user_iid }) => user_iid === row?.iid)
  const accepted = responses.filter(({ status }) => status === 201)
  expect(own.map(({ id }) => id).sort()).toEqual(accepted.map(({ body }) => at(body, 'eventId')).sort())
  const sum = own.reduce((total, { value }) => total + value, 0)
  expect(at(JSON.parse(row?.metrics ?? '[]'), 0, 1)).toBe(sum)
  const ownAwards = awards.filter(({ user_iid }) => user_iid === row?.iid)
  const points = ownAwards.reduce((total, { awarded }) => total + awarded, 0)
  expect(points).toBe(100 + (2 * sum) / 1e6)
  expect(at(JSON.parse(row?.points ?? '{}'), setup.system)).toBe(points)
  const told = accepted.flatMap(({ body }) => pick(at(body, 'points', 'xp', 'awards'), 'id'))
  expect(told.sort()).toEqual(ownAwards.map(({ id }) => id).sort())
}

/** Expects an error that shows nothing internal (G2): a 500 that names the request, or a 503. */
function isFailure(status: 500 | 503, answer: Sent): void {
  expect(answer).toEqual({ status, body: { error: expect.any(String) }, requestId: expect.any(String) })
  const requestId = String(answer.requestId)
  expect(requestId).toMatch(/^[0-9a-f-]{36}$/)
  const error = String(at(answer.body, 'error'))
  expect(error).toContain(status === 500 ? requestId : 'idempotency key')
  expect(error.replace(requestId, '')).not.toMatch(/D1|SQL|lost|secret|Error|evicted|JSON|zod/i)
}
const isOpaque = (answer: Sent) => isFailure(500, answer)
const isUnavailable = (answer: Sent) => isFailure(503, answer)

describe('[E2] a failed write', () => {
  it('every time: a 503 after one attempt in a group and three alone, and nothing is stored', async () => {
    const setup = await withPoints()
    const { bindings, seen } = onWrites(() => Promise.reject(lost()))
    isUnavailable(await send(setup.tenant.through(newApp(bindings)), { key: 'once' }))
    expect(seen.count).toBe(4)
    expect(await stored(setup)).toEqual({ users: [], events: [], awards: [], keys: [] })
    const later = await send(setup.tenant, { key: 'once' })
    expect(later).toMatchObject({ status: 201, body: { total: 1, idempotentReplayed: false } })
    await holdsExactly(setup, [later])
  })

  it('once: the request succeeds, and the event counts once', async () => {
    const setup = await withPoints()
    const { bindings, seen } = onWrites(losing(0, false))
    const answer = await send(setup.tenant.through(newApp(bindings)))
    expect(answer).toMatchObject({ status: 201, body: { total: 1, points: { xp: { total: 102 } } } })
    expect(seen.count).toBe(2)
    await holdsExactly(setup, [answer])
  })
})

describe('[E2, E3] a write with a lost response', () => {
  it.each([1, Number.POSITIVE_INFINITY])(
    'counts once, and returns its own result (%d responses lost)',
    async (lostAnswers) => {
      const setup = await withPoints()
      const { bindings, seen } = onWrites((batch, n) => (n < lostAnswers ? answerLost(batch) : batch.run()))
      const tenant = setup.tenant.through(newApp(bindings))
      const first = await send(tenant, { value: 3, key: 'once' })
      expect(first).toMatchObject({
        status: 201,
        body: { total: 3, idempotentReplayed: false, points: { xp: { total: 106, added: 106 } } },
      })
      expect(seen.count).toBe(1)
      await holdsExactly(setup, [first])
      const again = await send(tenant, { value: 3, key: 'once' })
      expect(again).toMatchObject({ status: 202, body: { eventId: at(first.body, 'eventId'), total: 3 } })
      await holdsExactly(setup, [first])
    },
  )

  it('in a group of ten: each counts once and returns its own total', async () => {
    const setup = await withPoints()
    const { bindings, seen } = onWrites(answerLost)
    const responses = await sendSeveral(setup.tenant.through(newApp(bindings)), 10)
    expect(statuses(responses)).toEqual(Array(10).fill(201))
    expect(totals(responses)).toEqual(oneTo(10))
    expect(seen.count).toBe(2)
    await holdsExactly(setup, responses)
  })

  it('that arrives during the next attempt: counts once, and returns the stored result', async () => {
    const setup = await withPoints()
    const { fault, late } = delayed()
    const { bindings } = onWrites(async (batch, n) => {
      if (n === 1) await late()
      return fault(batch, n)
    })
    const responses = await sendSeveral(setup.tenant.through(newApp(bindings)), 5)
    expect(statuses(responses)).toEqual(Array(5).fill(201))
    expect(totals(responses)).toEqual(oneTo(5))
    await holdsExactly(setup, responses)
  })

  it('that arrives after another attempt succeeded: is refused, and changes nothing', async () => {
    const setup = await withPoints()
    const { fault, late } = delayed()
    const { bindings } = onWrites(fault)
    const answer = await send(setup.tenant.through(newApp(bindings)), { key: 'once' })
    expect(answer).toMatchObject({ status: 201, body: { total: 1 } })
    await expect(late()).rejects.toThrow('laurel-conflict')
    await holdsExactly(setup, [answer])
  })

  it("of a user's change returns the change", async () => {
    const setup = await withPoints()
    const { bindings } = onWrites(answerLost)
    const tenant = setup.tenant.through(newApp(bindings))
    const made = await tenant.app('PUT', '/users/ada', { name: 'Ada', tz: 'Europe/London' })
    expect(made).toMatchObject({ status: 200, body: { id: 'ada', name: 'Ada', tz: 'Europe/London' } })
    const { users, awards } = await stored(setup)
    expect(users).toHaveLength(1)
    expect(awards.map(({ awarded }) => awarded)).toEqual([100])
  })
})

describe('[E2] a failed read', () => {
  it('every time: a 503 after one attempt in a group and three alone, and nothing is stored', async () => {
    const setup = await withPoints()
    const { bindings, seen } = only(reads, () => Promise.reject(lost()))
    isUnavailable(await send(setup.tenant.through(newApp(bindings))))
    expect(seen.count).toBe(4)
    expect(await stored(setup)).toEqual({ users: [], events: [], awards: [], keys: [] })
  })

  it('once: the request succeeds', async () => {
    const setup = await withPoints()
    const { bindings, seen } = only(reads, losing(0, false))
    const answer = await send(setup.tenant.through(newApp(bindings)))
    expect(answer.status).toBe(201)
    expect(seen.count).toBe(2)
    await holdsExactly(setup, [answer])
  })
})

describe.concurrent('[E3] a leader that hangs', () => {
  it.each([
    ['before its write', false],
    ['after its write', true],
  ])('%s: the others are done within the lease, and each event counts once', async (_when, commits) => {
    const setup = await withPoints()
    const hung = gate()
    const { bindings } = onWrites(async (batch, n) => {
      if (n > 0) return batch.run()
      const results = commits ? await batch.run() : []
      await hung.opened
      return commits ? results : batch.run()
    })
    const tenant = setup.tenant.through(newApp(bindings))
    const dead = send(tenant)
    const others = await sendSeveral(tenant, 5)
    expect(statuses(others)).toEqual(Array(5).fill(201))
    expect(totals(others)).toEqual([2, 3, 4, 5, 6])
    expect((await stored(setup)).events).toHaveLength(6)
    hung.open()
    const first = await dead
    expect(first).toMatchObject({ status: 201, body: { total: 1 } })
    await holdsExactly(setup, [first, ...others])
  })

  it('because the lane is slow: events that the lane commits late are stored once', async () => {
    const setup = await withPoints()
    const slow = gate()
    const called = gate()
    const USER_LANE = laneWith(async (commit) => {
      called.open()
      await slow.opened
      return commit()
    })
    let contended = true
    const { bindings } = onWrites((batch) => (contended ? disturbed(setup, batch) : batch.run()))
    await send(setup.tenant)
    const tenant = setup.tenant.through(newApp({ ...bindings, USER_LANE }))
    const first = send(tenant, { value: 10 })
    await called.opened
    contended = false
    const second = await send(tenant, { value: 100 })
    expect(second.status).toBe(201)
    slow.open()
    expect((await first).status).toBe(201)
    const { events } = await stored(setup)
    expect(events.map(({ value }) => value / 1e6).sort((a, b) => a - b)).toEqual([1, 10, 100])
  })
})

describe('[E3] one bad event in a group', () => {
  it.each([
    [
      'that D1 refuses: only this event is a 500',
      500,
      'D1_ERROR: CHECK constraint failed: SQLITE_CONSTRAINT',
    ],
    [
      'for which the disk has no room: only this event is a 503',
      503,
      'D1_ERROR: database or disk is full: SQLITE_FULL',
    ],
  ])('%s, and the others count once each', async (_what, status, message) => {
    const setup = await withPoints()
    const { bindings } = onWrites((batch) =>
      JSON.stringify(batch.params).includes('poison') ? Promise.reject(new Error(message)) : batch.run(),
    )
    const tenant = setup.tenant.through(newApp(bindings))
    const responses = await sendSeveral(tenant, 10, (n) => (n === 5 ? { kind: 'poison' } : {}))
    expect(statuses(responses)).toEqual([...Array(5).fill(201), status, ...Array(4).fill(201)])
    expect(totals(responses)).toEqual(oneTo(9))
    for (const answer of responses) if (answer.status === 500) isOpaque(answer)
    await holdsExactly(setup, responses)
  })

  it('that the engine cannot decide: only this event is a 500, and the others count once each, in one batch', async () => {
    const setup = await withPoints()
    const other = await setup.tenant.create('/points', { key: 'other', name: 'Other' })
    const trigger = await setup.tenant.create(`/points/${other}/triggers`, {
      type: 'metric',
      points: 1,
      status: 'active',
      metricId: setup.metric,
      metricThreshold: 1_000,
      eventAttributes: [{ attributeId: setup.kind, attributeValue: 'poison' }],
    })
    const made = await send(setup.tenant)
    await setup.tenant.create(`/points/${other}/boosts`, { name: 'x', start: '2000-01-01', multiplier: 2 })
    // The points of this trigger are larger than any number, so the boost cannot multiply them.
    await rowsEverywhere(
      'UPDATE points_triggers SET metric_threshold = 1e-300, points = 1e300 WHERE id = ?1',
      trigger,
    )
    await raiseVersion(setup.tenant)
    const { bindings, seen } = onWrites((batch) => batch.run())
    const tenant = setup.tenant.through(newApp(bindings))
    const responses = await sendSeveral(tenant, 10, (n) => (n === 5 ? { kind: 'poison' } : {}))
    expect(statuses(responses)).toEqual([...Array(5).fill(201), 500, ...Array(4).fill(201)])
    for (const answer of responses) if (answer.status === 500) isOpaque(answer)
    expect(seen.count).toBe(2)
    await holdsExactly(setup, [made, ...responses])
  })
})

describe('[E4] a repeated key inside one group', () => {
  it('counts for the first event only, and the group needs one write', async () => {
    const setup = await withPoints()
    const { bindings, seen } = onWrites((batch) => batch.run())
    const tenant = setup.tenant.through(newApp(bindings))
    // The first event is committed alone. The others wait for it, and are then committed together.
    const responses = await sendSeveral(tenant, 11, (n) => (n === 0 ? {} : { key: 'once' }))
    expect(statuses(responses)).toEqual([201, 201, ...Array(9).fill(202)])
    expect(new Set(responses.slice(1).map(({ body }) => at(body, 'eventId'))).size).toBe(1)
    expect(seen.count).toBe(2)
    await holdsExactly(setup, responses)
  })
})

const beforeFirstWrite = (act: () => unknown) => onWrites(beforeFirst(act))

describe('[E2] a change between the read and the write', () => {
  it('of the configuration: the event is decided again with the new one', async () => {
    const setup = await withPoints()
    const { bindings, seen } = beforeFirstWrite(() =>
      setup.tenant.create(`/points/${setup.system}/triggers`, {
        type: 'metric',
        points: 1_000,
        status: 'active',
        metricId: setup.metric,
        metricThreshold: 1,
      }),
    )
    const answer = await send(setup.tenant.through(newApp(bindings)))
    expect(answer).toMatchObject({ status: 201, body: { points: { xp: { total: 1_102 } } } })
    expect(seen.count).toBe(2)
    expect((await stored(setup)).events).toHaveLength(1)
  })

  it('that deletes the metric: a 404, and nothing of the event is stored', async () => {
    const setup = await withPoints()
    const { bindings } = beforeFirstWrite(() => setup.tenant.admin('DELETE', `/metrics?ids=${setup.metric}`))
    const answer = await send(setup.tenant.through(newApp(bindings)), { key: 'once' })
    expect(answer.status).toBe(404)
    expect(await stored(setup)).toEqual({ users: [], events: [], awards: [], keys: [] })
  })

  it('that deletes the API key: this request succeeds, and the next one is a 401', async () => {
    const setup = await withPoints()
    const { body } = await setup.tenant.admin('POST', '/application-api-keys', [{ userId: 'ada' }])
    const [id, apiKey = ''] = ['id', 'key'].map((name) => String(at(body, 'created', 0, name)))
    const { bindings } = beforeFirstWrite(() =>
      setup.tenant.admin('DELETE', `/application-api-keys?ids=${id}`),
    )
    const tenant = setup.tenant.through(newApp(bindings))
    expect(statuses([await send(tenant, { apiKey }), await send(tenant, { apiKey })])).toEqual([201, 401])
    expect((await stored(setup)).events).toHaveLength(1)
  })

  it('[U8] that erases the user: the event creates a new one', async () => {
    const setup = await withPoints()
    await send(setup.tenant, { value: 50 })
    const old = (await stored(setup)).users[0]?.iid
    const { bindings } = beforeFirstWrite(() => removeUsers(setup.tenant, 'ada'))
    const answer = await send(setup.tenant.through(newApp(bindings)), { value: 3 })
    expect(answer).toMatchObject({ status: 201, body: { total: 3, points: { xp: { total: 106 } } } })
    expect((await stored(setup)).users.map(({ iid }) => iid)).not.toContain(old)
    await holdsExactly(setup, [answer])
  })

  it('[U8] that erases the user, who is created again with the same seq: the event belongs to the new one', async () => {
    const setup = await withPoints()
    await send(setup.tenant, { value: 50 })
    const before = await stored(setup)
    const { bindings, seen } = beforeFirstWrite(async () => {
      await removeUsers(setup.tenant, 'ada')
      await send(setup.tenant, { value: 4 })
      expect((await stored(setup)).users[0]?.seq).toBe(before.users[0]?.seq)
    })
    const answer = await send(setup.tenant.through(newApp(bindings)), { value: 3 })
    expect(answer).toMatchObject({ status: 201, body: { total: 7, points: { xp: { total: 114 } } } })
    expect(seen.count).toBe(2)
    const { events } = await stored(setup)
    expect(events.filter(({ user_iid }) => user_iid === before.users[0]?.iid)).toEqual(before.events)
  })
})

/** Runs a batch after a change by another isolate. */
async function disturbed({ tenant }: Setup, batch: Call): Promise<D1Result[]> {
  await disturbUsers(tenant)
  return batch.run()
}

/** The binding of the lanes with a fault; `commit` calls the real object. */
function laneWith(fault: (commit: () => Promise<string>, name: string) => Promise<string>) {
  return stubbed(env.USER_LANE, (lane) => {
    const stub = env.USER_LANE.getByName(lane)
    return { commit: (...args: Parameters<typeof stub.commit>) => fault(() => stub.commit(...args), lane) }
  })
}

/** An app whose writes all conflict, so that all requests go through the lane, which has a fault. */
function contending(setup: Setup, lane: Parameters<typeof laneWith>[0]): TestTenant {
  const { bindings } = onWrites((batch) => disturbed(setup, batch))
  return setup.tenant.through(newApp({ ...bindings, USER_LANE: laneWith(lane) }))
}

async function evictedAfter(commit: () => Promise<string>): Promise<never> {
  await commit()
  throw new Error('The object was evicted.')
}

describe('[E3, E4] the lane', () => {
  it('commits events that conflict too often, and loses nothing if it is evicted in between', async () => {
    const setup = await withPoints()
    const first = await send(setup.tenant)
    const lanes: string[] = []
    const tenant = contending(setup, (commit, name) => {
      lanes.push(name)
      return commit()
    })
    const before = await send(tenant, { value: 2, key: 'before' })
    await evictDurableObject(env.USER_LANE.getByName(lanes[0] ?? ''))
    const after = await send(tenant, { value: 3 })
    const replay = await send(tenant, { value: 2, key: 'before' })
    expect(statuses([before, after, replay])).toEqual([201, 201, 202])
    expect(lanes.length).toBe(2)
    expect(totals([first, before, after])).toEqual([1, 3, 6])
    await holdsExactly(setup, [first, before, after])
  })

  it('fails before the commit: an opaque 500, and a retry with the key counts once', async () => {
    const setup = await withPoints()
    await send(setup.tenant)
    const tenant = contending(setup, () => Promise.reject(new Error('The object was evicted.')))
    isOpaque(await send(tenant, { value: 2, key: 'once' }))
    expect((await stored(setup)).events).toHaveLength(1)
    const retry = await send(setup.tenant, { value: 2, key: 'once' })
    expect(retry).toMatchObject({ status: 201, body: { total: 3 } })
    expect((await stored(setup)).events).toHaveLength(2)
  })

  it('fails after the commit: counts at most once without a key, exactly once with one', async () => {
    const setup = await withPoints()
    await send(setup.tenant)
    const tenant = contending(setup, evictedAfter)
    isOpaque(await send(tenant, { value: 2, key: 'once' }))
    const retry = await send(setup.tenant, { value: 2, key: 'once' })
    expect(retry).toMatchObject({ status: 202, body: { total: 3, idempotentReplayed: true } })
    expect((await stored(setup)).events.map(({ value }) => value / 1e6)).toEqual([1, 2])
  })

  it('fails after the commit of a group: each event counts at most once', async () => {
    const setup = await withPoints()
    await send(setup.tenant)
    const tenant = contending(setup, evictedAfter)
    const responses = await sendSeveral(tenant, 4, (n) => ({ value: 10 ** (n + 1) }))
    const values = (await stored(setup)).events.map(({ value }) => value / 1e6)
    expect(values.sort((a, b) => a - b)).toEqual([1, 10, 100, 1_000, 10_000])
    for (const answer of responses) if (answer.status !== 201) isOpaque(answer)
  })

  it('runs after a late write arrived: that write counts, and the event counts once', async () => {
    const setup = await withPoints()
    const made = await send(setup.tenant)
    const { fault, late } = delayed()
    const { bindings } = onWrites(async (batch, n) => {
      if (n < 2) return disturbed(setup, batch)
      if (n === 3) await late()
      return fault(batch, n - 2)
    })
    const answer = await send(setup.tenant.through(newApp(bindings)), { value: 10 })
    expect(answer).toMatchObject({ status: 201, body: { total: 11 } })
    await holdsExactly(setup, [made, answer])
  })
})
