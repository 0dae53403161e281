import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { inboxStep } from '../../../src/features/events/batches/process'
import { systemNow } from '../../../src/lib/system-clock'
import type { Bindings } from '../../../src/platform/env'
import { Paused } from '../../../src/time/run'
import { failing } from '../../helpers/failing'
import { PATIENCE } from '../../helpers/patience'
import { number, readable } from '../../helpers/readable'
import { present } from '../../helpers/time'
import { boardsWith, DAY, forgetTime, moveTo, moveUnseen, NOON, queueWith } from '../../helpers/worker/boards'
import { contextOf, workUntil } from '../../helpers/worker/contexts'
import { forgetDueWork } from '../../helpers/worker/due-work'
import {
  answerLost,
  beforeFirst,
  behind,
  type Call,
  delayed,
  losing,
  lost,
  only,
} from '../../helpers/worker/faulty'
import {
  at,
  databases,
  newApp,
  newTenantInLast,
  rowsEverywhere,
  type TestTenant,
} from '../../helpers/worker/harness'
import {
  event,
  idOf,
  inboxWork,
  logOf,
  muted,
  post,
  processed,
  read,
  rowsOf,
  send,
  step,
} from '../../helpers/worker/inbox'
import { ASLEEP } from '../../helpers/worker/objects'
import { archive } from '../../helpers/worker/purge'
import { raiseVersion } from '../../helpers/worker/stored-tenants'
import { removeUsers } from '../../helpers/worker/stored-users'

/* Single steps of the inbox on the real database, with faults before, between and after its batches. */

const has = ({ texts }: Call, part: string) => texts.some((text) => text.includes(part))
/** The write of a step that stores the users' changes. */
const isStep = (batch: Call) => has(batch, "asked.value ->> 0), '') <> asked.value ->> 1")
/** The write of a step that stores its progress. With one database, it is the same. */
const isProgress = (batch: Call) => has(batch, 'UPDATE event_batches')
const isAccept = (batch: Call) => has(batch, 'INSERT INTO event_batches')
const isRead = (batch: Call) => has(batch, 'CROSS JOIN users u ON')

const isSeveral = databases().length > 1
const WRITES: [what: string, kind: (batch: Call) => boolean][] = isSeveral
  ? [
      ['the write of the users', isStep],
      ['the write of the progress', isProgress],
    ]
  : [['the write', isStep]]

/* The input, and the outcome */

/**
 * A tenant with 1 point for each 1 of a metric, and the id of a batch of these events, which stays in the inbox.
 * Its Timekeeper does not run.
 */
async function prepared(events: readonly unknown[] = []) {
  const tenant = await newTenantInLast(newApp({ TIMEKEEPER: ASLEEP }))
  const metric = await tenant.metric('words')
  const kind = await tenant.create('/attributes', { key: 'kind', name: 'Kind', type: 'event' })
  const system = await tenant.create('/points', {
    key: 'xp',
    name: 'XP',
    triggers: [{ type: 'metric', points: 1, status: 'active', metricId: metric, metricThreshold: 1 }],
  })
  const id = events.length > 0 ? await send(tenant, events) : ''
  return { tenant, metric, kind, system, id }
}

/** `many` events of `users` users in turn, with values from 1 up. */
const turns = (many: number, users: number) =>
  Array.from({ length: many }, (_, n) => event(`u${n % users}`, n + 1))

const counts = async (tenant: TestTenant, id: string) => (await read(tenant, id)).body

async function allSteps(tenant: TestTenant, bindings: Partial<Bindings> = {}): Promise<void> {
  while ((await step(tenant, bindings)) >= 0);
}

/** Values by user, each user's in order. */
function byUser(values: readonly { id: string; value: number }[]): Record<string, number[]> {
  const found: Record<string, number[]> = {}
  for (const { id, value } of values) found[id] = [...(found[id] ?? []), value]
  return found
}

/** Values in the log by user, each user's in order. */
const valuesOf = async (tenant: TestTenant) =>
  byUser((await logOf(tenant)).map(({ id, value }) => ({ id: String(id), value: Number(value) })))

/**
 * Checks that the log has exactly these values, each user's in this order, and that totals and awards are
 * their sums.
 */
async function holds(tenant: TestTenant, expected: Record<string, number[]>): Promise<void> {
  expect(await valuesOf(tenant)).toEqual(expected)
  const sums = Object.entries(expected).map(([id, values]) => ({
    id,
    total: values.reduce((sum, value) => sum + value, 0),
  }))
  const totals = await rowsOf(
    tenant,
    `SELECT id, metrics ->> '$[0][1]' / 1000000 AS total FROM users WHERE tenant_id = ?1 ORDER BY id`,
  )
  expect(totals).toEqual(sums)
  const awarded = await rowsOf(
    tenant,
    `SELECT u.id, sum(a.awarded) AS total FROM users u JOIN ${readable.awards} a ON a.user_iid = u.iid
     WHERE u.tenant_id = ?1 GROUP BY u.id ORDER BY u.id`,
  )
  expect(awarded).toEqual(sums)
}

/** The values in the log after `turns`. */
const afterTurns = (many: number, users: number) =>
  byUser(turns(many, users).map(({ user, value }) => ({ id: user.id, value })))

const done = (count: number, more: object = {}) => ({ status: 'done', ...processed(count), ...more })

/** Checks the counts of a batch, and what is stored. See `holds`. */
async function ends(tenant: TestTenant, id: string, expected: object, values: Record<string, number[]>) {
  expect(await counts(tenant, id)).toMatchObject(expected)
  await holds(tenant, values)
}

/** The logged lines, parsed. */
function linesOf(level: 'error' | 'warn') {
  const lines: unknown[] = []
  vi.spyOn(console, level).mockImplementation((line: unknown) => void lines.push(JSON.parse(String(line))))
  return lines
}
afterEach(() => vi.restoreAllMocks())

const live = (tenant: TestTenant, user: string, value: number) => tenant.event('words', user, value)

describe('accepting a batch, when D1’s answer is lost', () => {
  it.each([
    ['before the write', false],
    ['after the write', true],
  ])('%s: answers 202, and each event counts once', async (_when, stores) => {
    const { tenant } = await prepared()
    const { bindings, seen } = only(isAccept, losing(0, stores))
    const answer = await post(muted(tenant, bindings), turns(300, 3))
    expect([answer.status, answer.body]).toEqual([202, { accepted: 300 }])
    expect(seen.count).toBe(stores ? 1 : 2)
    await allSteps(tenant)
    expect(await counts(tenant, idOf(answer))).toMatchObject(done(300))
    await holds(tenant, afterTurns(300, 3))
  })

  it('after the write, and the question after it fails too: answers 202, and each event counts once', async () => {
    const { tenant } = await prepared()
    const isAsked = (call: Call) => isAccept(call) || has(call, 'FROM event_batches WHERE')
    const { bindings } = only(isAsked, (call, n) =>
      n === 0 ? answerLost(call) : n === 1 ? Promise.reject(lost()) : call.run(),
    )
    const answer = await post(muted(tenant, bindings), turns(4, 2))
    expect(answer.status).toBe(202)
    await allSteps(tenant)
    await holds(tenant, afterTurns(4, 2))
  })

  it('and the write arrives late, after the retry: each event counts once', async () => {
    const { tenant } = await prepared()
    const { fault, late } = delayed()
    const { bindings, seen } = only(isAccept, async (batch, n) => {
      if (n > 0) await late()
      return fault(batch, n)
    })
    const answer = await post(muted(tenant, bindings), turns(4, 2))
    expect([answer.status, seen.count]).toEqual([202, 2])
    await allSteps(tenant)
    await holds(tenant, afterTurns(4, 2))
  })

  it('at every attempt: answers 503 and stores nothing', async () => {
    const { tenant } = await prepared()
    const before = await tenant.stored()
    const { bindings, seen } = only(isAccept, () => Promise.reject(lost()))
    const answer = await post(muted(tenant, bindings), turns(4, 2))
    expect([answer.status, answer.headers.get('x-batch-id')]).toEqual([503, null])
    expect(at(answer.body, 'error')).not.toMatch(/D1|lost/)
    expect(seen.count).toBe(3)
    expect(await tenant.stored()).toEqual(before)
  })
})

describe('a step, when D1’s answer is lost', () => {
  // A step reads the inbox, then the configuration (a new isolate has no cache), then the users, then it
  // writes. With several databases, it also reads the directory before the users, and the inbox again after
  // them. Then it writes the users, and then its progress.
  const batches = Array.from({ length: isSeveral ? 7 : 4 }, (_, n) => n)
  it.each(batches.flatMap((n) => [[n, 'before'] as const, [n, 'after'] as const]))(
    'at batch %d, %s its execution: each event counts once',
    async (number, when) => {
      const { tenant, id } = await prepared(turns(600, 7))
      const kinds: string[] = []
      const { bindings } = only(
        () => true,
        (batch, n) => {
          if (isStep(batch)) kinds[n] = 'users'
          if (isProgress(batch)) kinds[n] = 'progress'
          return losing(number, when === 'after')(batch, n)
        },
      )
      const changes = await step(tenant, bindings)
      // If the progress is stored, the step continues with the next events. If only the changes of users are,
      // it finds them in the log.
      const isLostProgress = kinds[number] === 'progress' && when === 'after'
      const isLostChange = kinds[number] === 'users' && when === 'after'
      expect(number < batches.length - 1 || kinds[number] === 'progress').toBe(true)
      expect(changes).toBe(isLostChange ? 0 : isSeveral && isLostProgress ? 500 : 250)
      expect(await counts(tenant, id)).toMatchObject({
        status: 'pending',
        processed: isLostProgress ? 500 : 250,
      })
      await allSteps(tenant)
      await ends(tenant, id, done(600), afterTurns(600, 7))
    },
  )

  it.each(WRITES)(
    'and %s arrives late, after the retry: its guard refuses it, and it changes nothing',
    async (_what, kind) => {
      const { tenant, id } = await prepared(turns(300, 3))
      const { fault, late } = delayed()
      expect(await step(tenant, only(kind, fault).bindings)).toBe(250)
      await expect(late()).rejects.toThrow('laurel-conflict')
      await allSteps(tenant)
      await ends(tenant, id, done(300), afterTurns(300, 3))
    },
  )

  it.each([
    'Network connection lost.',
    'D1 DB is overloaded. Requests queued for too long.',
    'D1 DB storage operation exceeded timeout which caused object to be reset.',
  ])('for a while (%s): it gives up and parks nothing, and a later step does the work', async (message) => {
    const failure = failing(message)
    const { tenant, id } = await prepared(turns(300, 3))
    for (const kind of [isStep, isProgress, isRead, () => true]) {
      const { bindings, seen } = only(kind, () => Promise.reject(failure()))
      await expect(step(tenant, bindings)).rejects.toThrow(message)
      expect(seen.count).toBe(9)
    }
    expect(await counts(tenant, id)).toMatchObject({ processed: 0, dropped: 0, parked: 0 })
    await allSteps(tenant)
    await ends(tenant, id, done(300), afterTurns(300, 3))
  })

  it('[C2] the Timekeeper tries again after a minute, and does other due work', async () => {
    const { tenant, id } = await prepared(turns(4, 2))
    const lines = linesOf('error')
    const { bindings } = only(isStep, () => Promise.reject(lost()))
    const { dueAt } = (await inboxWork(tenant)) ?? expect.fail('nothing is due')
    const run = { steps: 5, mustAll: false, paused: new Paused() }
    const to = present() + 1_000
    await workUntil(tenant, to, { ...run, bindings })
    expect(lines).toMatchObject([{ level: 'error', tenant: tenant.id, work: 'inbox' }])
    await workUntil(tenant, to, run)
    expect(await inboxWork(tenant)).toMatchObject({ dueAt })
    vi.spyOn(Date, 'now').mockReturnValue(to + 60_000)
    await workUntil(tenant, to + 60_000, run)
    expect(await counts(tenant, id)).toMatchObject(done(4))
  })
})

describe('concurrent steps', () => {
  it('[E9] six at once, and one afterwards: each event counts once', async () => {
    const { tenant, id } = await prepared(turns(700, 9))
    const work = await inboxWork(tenant)
    if (work === undefined) throw new Error('nothing is due')
    const made = await Promise.all(
      Array.from({ length: 6 }, () => inboxStep(contextOf(tenant.id), work, systemNow())),
    )
    const changes = made.flatMap((one) => one?.changes ?? [])
    expect(new Set(changes.map(({ event: made }) => made?.id)).size).toBe(changes.length)
    await inboxStep(contextOf(tenant.id), work, systemNow())
    await allSteps(tenant)
    await ends(tenant, id, done(700), afterTurns(700, 9))
  })

  it('[E9] a batch that arrives while the last event is processed is not forgotten', async () => {
    const { tenant } = await prepared()
    await send(tenant, [event('u0', 1)])
    const ids: string[] = []
    const { bindings } = only(isProgress, async (batch) => {
      ids.push(await send(tenant, [event('u0', 2)]))
      return batch.run()
    })
    expect(await step(tenant, bindings)).toBe(1)
    expect(await step(tenant)).toBe(1)
    expect(await step(tenant)).toBe(-1)
    expect(await counts(tenant, ids[0] ?? '')).toMatchObject(done(1))
    await holds(tenant, { u0: [1, 2] })
  })

  it('[E9] two steps over events that are all dropped: each event is counted as dropped once', async () => {
    const { tenant, metric, id } = await prepared(turns(200, 3))
    await tenant.admin('DELETE', `/metrics?ids=${metric}`)
    linesOf('warn')
    // The first step tries again with half of the events, since the configuration has changed. Before that
    // write, the other step has read the same events.
    const seen = { count: 0 }
    const bindings = behind(async (batch) => {
      if (isStep(batch)) seen.count += 1
      if (isStep(batch) && seen.count === 1) {
        await tenant.metric('another')
        return batch.run()
      }
      if (!isProgress(batch)) return batch.run()
      let results: D1Result[] = []
      const other = only(isProgress, async (late, m) => {
        if (m === 0) results = await batch.run()
        return late.run()
      })
      await step(tenant, other.bindings)
      expect(other.seen.count).toBe(2)
      return results
    })
    expect(await step(tenant, bindings)).toBe(0)
    expect(seen.count).toBe(2)
    expect(await counts(tenant, id)).toMatchObject(done(200, { processed: 0, dropped: 200 }))
  })
})

/**
 * Does something else between a step's read and its write. Checks that the step reads and writes again. Returns
 * the number of its changes.
 */
async function interrupted(tenant: TestTenant, act: () => Promise<unknown>) {
  const { bindings, seen } = only(isStep, beforeFirst(act))
  const changes = await step(tenant, bindings)
  expect(seen.count).toBe(2)
  return changes
}

describe('live events between a step’s read and its write', () => {
  it('[E9] the step halves its events at each conflict, and all events count once', async () => {
    const { tenant, id } = await prepared(turns(300, 3))
    const { bindings, seen } = only(isStep, async (batch, n) => {
      if (n < 2) expect((await live(tenant, 'u0', 1_000 + n)).status).toBe(201)
      return batch.run()
    })
    expect(await step(tenant, bindings)).toBe(62)
    expect(seen.count).toBe(3)
    expect(await counts(tenant, id)).toMatchObject({ status: 'pending', processed: 62 })
    await allSteps(tenant)
    expect(await counts(tenant, id)).toMatchObject(done(300))
    const { u0 = [], ...others } = afterTurns(300, 3)
    await holds(tenant, { u0: [1_000, 1_001, ...u0], ...others })
  })

  it('[E9] a live event creates a user who did not exist at the read: conflict, and all events count once', async () => {
    const { tenant, id } = await prepared([event('u0', 2), event('u1', 3)])
    expect(await interrupted(tenant, () => live(tenant, 'u0', 1))).toBe(2)
    await ends(tenant, id, done(2), { u0: [1, 2], u1: [3] })
    const users = "SELECT count FROM tenant_counters WHERE tenant_id = ?1 AND name = 'users'"
    expect(await rowsOf(tenant, users)).toEqual([{ count: 2 }])
  })

  it('[E9, E4] a live event uses the idempotency key of an event in the step', async () => {
    const { tenant, id } = await prepared([event('u0', 2, { idempotencyKey: 'k' }), event('u0', 3)])
    const live = () => tenant.event('words', 'u0', 1, { idempotencyKey: 'k' })
    expect(await interrupted(tenant, live)).toBe(1)
    await ends(tenant, id, done(2, { processed: 1, dropped: 1 }), { u0: [1, 3] })
  })

  it('[E4] a key that occurs twice in a batch needs no second attempt', async () => {
    const { tenant } = await prepared()
    const keyed = (value: number) => event('u0', value, { idempotencyKey: 'k' })
    const id = await send(tenant, [keyed(1), keyed(2), event('u0', 3), keyed(4)])
    const { bindings, seen } = only(isStep, (batch) => batch.run())
    expect([await step(tenant, bindings), seen.count]).toEqual([2, 1])
    await ends(tenant, id, done(4, { processed: 2, dropped: 2 }), { u0: [1, 3] })
  })

  it('[E9] endless live events make the step give up after a while, without harm', async () => {
    const { tenant, id } = await prepared([event('u0', 1_000)])
    const { bindings, seen } = only(isStep, async (batch) => {
      await live(tenant, 'u0', 1)
      return batch.run()
    })
    await expect(step(tenant, bindings)).rejects.toThrow('laurel-conflict')
    expect(seen.count).toBe(12)
    expect(await counts(tenant, id)).toMatchObject({ status: 'pending', processed: 0, parked: 0 })
    await allSteps(tenant)
    await holds(tenant, { u0: [...Array<number>(12).fill(1), 1_000] })
  })
})

describe('changes before an event is processed', () => {
  it('[E9] to the configuration: the new configuration decides the events', async () => {
    const { tenant, system, metric, id } = await prepared(turns(4, 2))
    const trigger = { type: 'metric', points: 100, status: 'active', metricId: metric, metricThreshold: 3 }
    const change = () => tenant.create(`/points/${system}/triggers`, trigger)
    expect(await interrupted(tenant, change)).toBe(4)
    expect(await counts(tenant, id)).toMatchObject(done(4))
    // 1 + 3 and 2 + 4, and 100 for each 3.
    for (const [id, total] of Object.entries({ u0: 104, u1: 206 }))
      expect((await tenant.app('GET', `/users/${id}/points/xp`)).body).toMatchObject({ total })
  })

  it('[E9] the metric is deleted: its events are dropped and logged, the others count', async () => {
    const { tenant, metric } = await prepared()
    await tenant.metric('pages')
    const id = await send(tenant, [event('u0', 1), event('u0', 2, { key: 'pages' }), event('u1', 3)])
    const lines = linesOf('warn')
    expect(await interrupted(tenant, () => tenant.admin('DELETE', `/metrics?ids=${metric}`))).toBe(1)
    expect(await counts(tenant, id)).toMatchObject(done(3, { processed: 1, dropped: 2 }))
    expect(await valuesOf(tenant)).toEqual({ u0: [2] })
    const dropped = expect.stringContaining('The metric "words"')
    expect(lines).toEqual([
      { level: 'warn', tenant: tenant.id, batch: id, position: 0, dropped },
      { level: 'warn', tenant: tenant.id, batch: id, position: 2, dropped },
    ])
  })

  it('[E9] an event that is no longer valid is dropped and logged: unaffordable, unknown attribute, total too large', async () => {
    const { tenant, kind, system, metric } = await prepared()
    const price = { type: 'metric', points: -10, status: 'active', metricId: metric, metricThreshold: 5 }
    await tenant.create(`/points/${system}/triggers`, { ...price, blockIfOutOfPoints: true })
    const big = Array.from({ length: 10 }, () => event('big', -1e9))
    const id = await send(tenant, [
      event('poor', 4),
      event('poor', 5),
      event('poor', 0.5),
      event('kind', 1, { attributes: { kind: 'a' } }),
      ...big,
    ])
    await tenant.admin('DELETE', `/attributes?ids=${kind}`)
    const lines = linesOf('warn')
    await allSteps(tenant)
    expect(await counts(tenant, id)).toMatchObject(done(14, { processed: 11, dropped: 3 }))
    expect(await valuesOf(tenant)).toEqual({ poor: [4, 0.5], big: Array(9).fill(-1e9) })
    expect(lines).toMatchObject([
      { position: 1, dropped: expect.stringContaining('points') },
      { position: 3, dropped: expect.stringContaining('Invalid attribute keys: kind') },
      { position: 13, dropped: expect.stringContaining('total') },
    ])
  })

  it('[E9] the streaks’ frequency changes twice during the reads: streaks are counted again, and the step ends', async () => {
    const { tenant } = await prepared()
    const set = (frequency: string) => tenant.admin('PATCH', '/streaks/settings', { frequency })
    await live(tenant, 'u0', 1)
    const id = await send(tenant, [event('u0', 2), event('u1', 3)])
    const { bindings, seen } = only(isRead, async (batch, n) => {
      if (n < 2) await set(n === 0 ? 'weekly' : 'monthly')
      return batch.run()
    })
    expect(await step(tenant, bindings)).toBe(2)
    expect(seen.count).toBeGreaterThan(1)
    await ends(tenant, id, done(2), { u0: [1, 2], u1: [3] })
    const { body } = await tenant.app('GET', '/users/u0/streak')
    expect(body).toMatchObject({ frequency: 'monthly', length: 1 })
  })

  it('[U8] the user is erased: their events are dropped, also between read and write', async () => {
    const { tenant, id } = await prepared([event('u0', 1), event('u1', 2), event('u0', 3), event('u1', 4)])
    const lines = [linesOf('warn'), linesOf('error')]
    const erase = () => tenant.admin('DELETE', '/users/u0')
    expect(await interrupted(tenant, erase)).toBe(2)
    await ends(tenant, id, done(4, { processed: 2, dropped: 2 }), { u1: [2, 4] })
    expect(lines.flat()).toEqual([])
  })

  it('[U8] the user is erased between read and write: the same id is then a new user', async () => {
    const { tenant } = await prepared()
    await live(tenant, 'u0', 10)
    const id = await send(tenant, [event('u0', 1), event('u1', 2)])
    expect(await interrupted(tenant, () => removeUsers(tenant, 'u0'))).toBe(2)
    await ends(tenant, id, done(2), { u0: [1], u1: [2] })
  })

  it('[T3] the tenant is archived: its inbox is no longer due', async () => {
    const { tenant, id } = await prepared([event('u0', 1)])
    const work = await inboxWork(tenant)
    if (work === undefined) throw new Error('nothing is due')
    await archive(tenant.id)
    expect(await inboxWork(tenant)).toBeUndefined()
    await expect(inboxStep(contextOf(tenant.id), work, systemNow())).rejects.toThrow('the tenant is gone')
    await env.TIMEKEEPER.getByName(tenant.id).wake(tenant.id, 5)
    expect(await valuesOf(tenant)).toEqual({})
    const [row] = await rowsOf(tenant, 'SELECT id, processed, parked FROM event_batches WHERE tenant_id = ?1')
    expect(row).toEqual({ id, processed: 0, parked: 0 })
  })

  it('[E9] a step that is too much for D1 is split into smaller steps, and nothing is parked', async () => {
    const { tenant, id } = await prepared(turns(250, 10))
    const limit = new Error('D1_ERROR: D1 DB exceeded its CPU time limit and was reset.')
    const small = behind(async (batch) => {
      if (isStep(batch) && batch.params.flat().join('').length > 20_000) throw limit
      return batch.run()
    })
    for (let steps = 0; steps < 100 && (await inboxWork(tenant)) !== undefined; steps += 1) {
      await step(tenant, small)
    }
    expect(await counts(tenant, id)).toMatchObject(done(250))
  })

  describe('the test clock', () => {
    afterEach(forgetTime)
    const moment = async (tenant: TestTenant) =>
      rowsOf(
        tenant,
        `SELECT e.at FROM users u JOIN ${readable.events} e ON e.user_iid = u.iid WHERE u.tenant_id = ?1`,
      )

    it('[C1] is moved between read and write: conflict, and the event keeps the time at which it was sent', async () => {
      await moveTo(NOON)
      const { tenant } = await prepared()
      await send(tenant, [event('u0', 1)])
      expect(await interrupted(tenant, () => moveUnseen(NOON + DAY))).toBe(1)
      expect(await moment(tenant)).toEqual([{ at: NOON }])
    })

    it('[C1] is moved while a batch is accepted: the batch gets the time at which it is stored', async () => {
      await moveTo(NOON)
      const { tenant } = await prepared()
      const { bindings } = only(
        isAccept,
        beforeFirst(() => moveUnseen(NOON + DAY)),
      )
      const answer = await post(muted(tenant, bindings), [event('u0', 1)])
      expect(answer.status).toBe(202)
      await allSteps(tenant)
      expect(await moment(tenant)).toEqual([{ at: NOON + DAY }])
    })

    it('[S9] streaks of another frequency are counted again first', async () => {
      await moveTo(NOON)
      const { tenant } = await prepared()
      await live(tenant, 'u0', 1)
      await moveTo(NOON + 7 * DAY)
      await tenant.admin('PATCH', '/streaks/settings', { frequency: 'weekly' })
      await send(tenant, [event('u0', 2)])
      expect(await step(tenant)).toBe(1)
      const streak = "SELECT streak ->> '$.run.length' AS length FROM users WHERE tenant_id = ?1"
      expect(await rowsOf(tenant, streak)).toEqual([{ length: 2 }])
    })

    it('[C1] is set between read and write: the event is not earlier than the user’s other changes', async () => {
      const { tenant } = await prepared()
      await send(tenant, [event('u0', 1)])
      const set = () => rowsEverywhere('INSERT INTO test_clock (id, now) VALUES (1, ?1)', NOON)
      expect(await interrupted(tenant, set)).toBe(1)
    })
  })
})

describe('an event that cannot be processed', () => {
  const Parked = z.array(
    z.object({
      position: z.number(),
      event: z.string().transform((text): unknown => JSON.parse(text)),
      reason: z.string(),
    }),
  )
  const PARKED = 'SELECT position, event, reason FROM parked_events WHERE tenant_id = ?1 ORDER BY position'
  const parkedOf = async (tenant: TestTenant) => Parked.parse(await rowsOf(tenant, PARKED))

  /** Checks that exactly these events of a batch are parked for this reason, and that the log says so. */
  async function putAside(
    tenant: TestTenant,
    id: string,
    positions: number[],
    reason: RegExp,
    lines: unknown[],
  ) {
    const rows = await parkedOf(tenant)
    expect(rows.map(({ position }) => position)).toEqual(positions)
    for (const row of rows) expect(row.reason).toMatch(reason)
    expect(lines).toEqual(
      positions.map((position) => ({
        level: 'error',
        tenant: tenant.id,
        batch: id,
        position,
        parked: expect.stringMatching(reason),
      })),
    )
    expect(await inboxWork(tenant)).toBeUndefined()
  }

  it('[E9] is parked if it cannot be read; its neighbours count', async () => {
    const { tenant, id } = await prepared(turns(6, 2))
    await env.DB.prepare(
      "UPDATE inbox SET events = json_set(events, '$[1].body.value', 'x', '$[2].kind', 'upsert', '$[4]', 5) WHERE tenant_id = ?1",
    )
      .bind(tenant.id)
      .run()
    const lines = linesOf('error')
    await allSteps(tenant)
    expect(await counts(tenant, id)).toMatchObject(done(6, { processed: 3, parked: 3 }))
    await putAside(tenant, id, [1, 2, 4], /value|It is not an event|invalid/i, lines)
    expect((await parkedOf(tenant))[0]?.event).toMatchObject({ kind: 'event', body: { value: 'x' } })
    await holds(tenant, { u0: [1], u1: [4, 6] })
  })

  it('[E9] is parked if its whole inbox row cannot be read or is too short; other rows count', async () => {
    const { tenant } = await prepared()
    const ids = [
      await send(tenant, turns(2, 1)),
      await send(tenant, turns(2, 1)),
      await send(tenant, turns(2, 1)),
    ]
    for (const [id, text] of [
      [ids[0], '[{'],
      [ids[1], '[]'],
    ])
      await env.DB.prepare('UPDATE inbox SET events = ?2 WHERE batch_id = ?1').bind(id, text).run()
    linesOf('error')
    await allSteps(tenant)
    for (const id of ids.slice(0, 2))
      expect(await counts(tenant, id)).toMatchObject(done(2, { processed: 0, parked: 2 }))
    expect(await counts(tenant, ids[2] ?? '')).toMatchObject(done(2))
    await holds(tenant, { u0: [1, 2] })
  })

  it('[E9] is parked if its evaluation fails; its neighbours count', async () => {
    const { tenant, metric, kind } = await prepared()
    const other = await tenant.create('/points', { key: 'other', name: 'Other' })
    const eventAttributes = [{ attributeId: kind, attributeValue: 'poison' }]
    const common = { type: 'metric', points: 1, status: 'active', metricId: metric, metricThreshold: 1_000 }
    const trigger = await tenant.create(`/points/${other}/triggers`, { ...common, eventAttributes })
    await tenant.create(`/points/${other}/boosts`, { name: 'x', start: '2000-01-01', multiplier: 2 })
    // Too many points for a number, so that no boost can multiply them.
    await rowsEverywhere(
      'UPDATE points_triggers SET metric_threshold = 1e-300, points = 1e300 WHERE id = ?1',
      trigger,
    )
    await raiseVersion(tenant)
    const events = turns(6, 2).map((one, n) => (n === 3 ? { ...one, attributes: { kind: 'poison' } } : one))
    const id = await send(tenant, events)
    const lines = linesOf('error')
    expect(await step(tenant)).toBe(5)
    expect(await counts(tenant, id)).toMatchObject(done(6, { processed: 5, parked: 1 }))
    await putAside(tenant, id, [3], /./, lines)
    await holds(tenant, { u0: [1, 3, 5], u1: [2, 6] })
  })

  it('[E9] is parked if its user’s row is corrupt; events of other users count', async () => {
    const { tenant } = await prepared()
    await live(tenant, 'u1', 10)
    const spoil = (points: string) =>
      rowsEverywhere("UPDATE users SET points = ?2 WHERE tenant_id = ?1 AND id = 'u1'", tenant.id, points)
    const [was] = await rowsOf(tenant, "SELECT points FROM users WHERE tenant_id = ?1 AND id = 'u1'")
    await spoil('no JSON')
    const id = await send(tenant, turns(6, 2))
    const lines = linesOf('error')
    await allSteps(tenant)
    await spoil(String(was?.points))
    expect(await counts(tenant, id)).toMatchObject(done(6, { processed: 3, parked: 3 }))
    await putAside(tenant, id, [1, 3, 5], /JSON/, lines)
    await holds(tenant, { u0: [1, 3, 5], u1: [10] })
  })

  /** Makes the database refuse the event at that position, by its idempotency key. */
  async function blocked(
    tenant: TestTenant,
    metric: string,
    many: number,
    position: number,
  ): Promise<string> {
    await live(tenant, 'u0', 1_000)
    const id = await send(
      tenant,
      turns(many, 1).map((one, n) => (n === position ? { ...one, idempotencyKey: 'k' } : one)),
    )
    await rowsEverywhere(
      `CREATE TRIGGER refuse_${metric.replaceAll('-', '')} BEFORE INSERT ON idempotency_keys
        WHEN NEW.metric_no = ${number('metrics', `'${metric}'`)}
       BEGIN SELECT RAISE(ABORT, 'refused'); END`,
    )
    return id
  }
  const unblock = (metric: string) => rowsEverywhere(`DROP TRIGGER refuse_${metric.replaceAll('-', '')}`)

  it.each([0, 57, 299])(
    '[E9] is parked if SQLite refuses it (at %d of 300); its neighbours count, in order',
    async (position) => {
      const { tenant, metric } = await prepared()
      const id = await blocked(tenant, metric, 300, position)
      const lines = linesOf('error')
      await allSteps(tenant)
      await unblock(metric)
      expect(await counts(tenant, id)).toMatchObject(done(300, { processed: 299, parked: 1 }))
      await putAside(tenant, id, [position], /SQLITE_CONSTRAINT/, lines)
      const values = turns(300, 1).flatMap(({ value }, n) => (n === position ? [] : value))
      await holds(tenant, { u0: [1_000, ...values] })
      expect((await parkedOf(tenant))[0]?.event).toMatchObject({
        idempotencyKey: 'k',
        body: { value: position + 1 },
      })
    },
  )

  it('[E9] is parked once if two steps find it at once; the event after it is not parked', async () => {
    const { tenant, metric } = await prepared()
    const id = await blocked(tenant, metric, 4, 1)
    linesOf('error')
    const isParking = (batch: Call) => has(batch, 'INSERT INTO parked_events')
    const { bindings, seen } = only(
      isParking,
      beforeFirst(() => allSteps(tenant)),
    )
    await allSteps(tenant, bindings)
    await unblock(metric)
    expect(seen.count).toBe(1)
    await ends(tenant, id, done(4, { processed: 3, parked: 1 }), { u0: [1_000, 1, 3, 4] })
  })

  it('[E9] that another step has parked leaves the next event to this step', async () => {
    const { tenant, metric } = await prepared()
    const id = await blocked(tenant, metric, 4, 0)
    linesOf('error')
    const isParking = (batch: Call) => has(batch, 'INSERT INTO parked_events')
    const other = async () => expect(await step(tenant)).toBe(0)
    const { bindings, seen } = only(isParking, beforeFirst(other))
    expect(await step(tenant, bindings)).toBe(1)
    expect(seen.count).toBe(1)
    await allSteps(tenant)
    await unblock(metric)
    await ends(tenant, id, done(4, { processed: 3, parked: 1 }), { u0: [1_000, 2, 3, 4] })
  })
})

describe('a leaderboard that cannot be reached during a step', () => {
  /** A tenant with a leaderboard, without its due upkeep, which would count all users again. */
  async function withBoard(): Promise<TestTenant> {
    const { tenant, metric } = await prepared()
    const board = { key: 'board', name: 'Board', status: 'active', rankBy: 'metric', metricId: metric }
    await tenant.create('/leaderboards', board)
    await forgetDueWork({ tenant, kind: 'leaderboard' })
    return tenant
  }

  it('[L11, L12] the step succeeds, and the repair corrects the leaderboard', async () => {
    const tenant = await withBoard()
    const id = await send(tenant, turns(300, 3))
    linesOf('warn')
    const repairs: { leaderboardId: string; userIds: string[] }[] = []
    const LEADERBOARD = boardsWith(() => Promise.reject(lost()))
    const REPAIRS = queueWith(async (message) => void repairs.push(message))
    await workUntil(tenant, present() + 1_000, { bindings: { LEADERBOARD, REPAIRS }, steps: 5 })
    expect(await counts(tenant, id)).toMatchObject(done(300))
    expect(repairs.map(({ userIds }) => userIds.toSorted().join(' '))).toEqual(['u0 u1 u2', 'u0 u1 u2'])
    for (const message of repairs) await env.REPAIRS.send({ ...message, tenantId: tenant.id })
    const rankings = async () => {
      const { body } = await tenant.app('GET', '/leaderboards/board')
      return z.array(z.object({ userId: z.string(), value: z.number() })).parse(at(body, 'rankings'))
    }
    const expected = Object.entries(afterTurns(300, 3))
      .map(([userId, values]) => ({ userId, value: values.reduce((sum, value) => sum + value, 0) }))
      .sort((a, b) => b.value - a.value)
    await expect.poll(rankings, { timeout: PATIENCE, interval: 50 }).toEqual(expected)
  })

  it('[L12] a step whose answer was lost does not update the board: the user’s next change corrects it', async () => {
    const tenant = await withBoard()
    await send(tenant, turns(4, 2))
    const { bindings } = only(isStep, losing(0, true))
    await workUntil(tenant, present() + 1_000, { bindings, steps: 5 })
    const first = await live(tenant, 'u0', 10)
    expect(first.body).toMatchObject({ total: 14, leaderboards: { board: { rank: 1 } } })
    expect((await live(tenant, 'u1', 1)).body).toMatchObject({ leaderboards: { board: { rank: 2 } } })
    expect((await tenant.app('GET', '/leaderboards/board')).body).toMatchObject({
      rankings: [
        { userId: 'u0', value: 14 },
        { userId: 'u1', value: 7 },
      ],
    })
  })
})
