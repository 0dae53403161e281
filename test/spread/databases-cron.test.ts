import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { noteMoment } from '../../src/access/restores.sql'
import { noteBound } from '../../src/features/databases/databases.routes'
import { type Instant, instant } from '../../src/lib/clock'
import { BUCKETS } from '../../src/lib/ids'
import type { Bindings } from '../../src/platform/env'
import { Timekeeper } from '../../src/worker/index'
import { contextOfAccount } from '../helpers/worker/contexts'
import { deleteData } from '../helpers/worker/delete-data'
import { addDueWork, dueWork } from '../helpers/worker/due-work'
import { awayAfter, beforeEachCall, faulty, intercepted, lost } from '../helpers/worker/faulty'
import { handOver } from '../helpers/worker/handlers'
import { d1Of, databases, newTenant, rowsEverywhere, userIn } from '../helpers/worker/harness'

/* The notes of the cron trigger in several databases. */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
let now: Instant = instant(Date.UTC(2026, 10, 23, 12))

/** Runs the next run of the cron trigger, five minutes later. Returns its moment. */
async function tick(bindings: Partial<Bindings> = {}): Promise<Instant> {
  now = instant(now + 5 * MINUTE)
  await noteMoment(contextOfAccount(bindings).databases, now)
  return now
}

/** The moments of the databases, the first one first. */
const moments = async () =>
  (await rowsEverywhere('SELECT moment FROM restores')).map((row) => Object(row).moment)

const confirmedIn = (d1: D1Database) => d1.prepare('SELECT confirmed FROM restores').first('confirmed')

/** Brings databases back to an earlier moment, by their numbers. */
async function bringBack(moment: Instant | null, ...numbers: number[]): Promise<void> {
  const rows = databases().filter((_, index) => numbers.includes(index + 1))
  for (const { d1 } of rows) {
    const confirmed = moment === null ? null : Math.min(moment, Number((await confirmedIn(d1)) ?? moment))
    await d1.prepare('UPDATE restores SET moment = ?1, confirmed = ?2').bind(moment, confirmed).run()
  }
}

/** A database that is replaced, by its number. */
function replacedBy(number: number, replacement: (d1: D1Database) => D1Database): Record<string, D1Database> {
  const { name, d1 } = databases()[number - 1] ?? { name: 'DB', d1: env.DB }
  return { [name]: replacement(d1) }
}

/** A database that can't be reached. */
const unreachable = (number: number) => replacedBy(number, (d1) => awayAfter(0, undefined, d1))

/** A database that is read, but where no write arrives after the first ones. */
const failing = (number: number, after = 0) =>
  replacedBy(
    number,
    (d1) => faulty(({ run }, write) => (write < after ? run() : Promise.reject(lost())), d1).DB,
  )

const errors = vi.spyOn(console, 'error')
afterEach(() => errors.mockClear())

// In order: users come later.
describe('[M1] the moment that is noted in all databases', { shuffle: false }, () => {
  beforeAll(deleteData)

  test('is the same in all of them, also in one without users that was bound again', async () => {
    expect(await moments()).toEqual([null, null, null])
    const first = await tick()
    expect(await moments()).toEqual([first, first, first])
    await tick()
    await bringBack(first, 3)
    const third = await tick()
    expect(await moments()).toEqual([third, third, third])
    expect(errors).not.toHaveBeenCalled()
  })

  test('comes to a new database that has users already', async () => {
    await bringBack(null, 3)
    const tenant = await newTenant()
    for (const name of ['DB', 'DB_2', 'DB_3']) await tenant.app('PUT', `/users/${userIn(tenant, name)}`, {})
    const first = await tick()
    expect(await moments()).toEqual([first, first, first])
    // It was seen after that moment.
    await env.DB.prepare("INSERT INTO known_databases (name, since) VALUES ('DB_2', 0), ('DB_3', ?1)")
      .bind(first + 1)
      .run()
    await bringBack(null, 3)
    const second = await tick()
    expect(await moments()).toEqual([second, second, second])
    expect(errors).not.toHaveBeenCalled()
    // It was seen long ago, so it was restored alone.
    await bringBack(null, 3)
    await tick()
    expect(await moments()).toEqual([second, second, null])
    expect(JSON.stringify(errors.mock.calls)).toContain('DB_3 is not at the moment of DB')
    await bringBack(second, 3)
  })

  test('is not noted while a database cannot be reached, and later where a write has failed', async () => {
    const before = await tick()
    await expect(tick(unreachable(2))).rejects.toThrow()
    expect(await moments()).toEqual([before, before, before])
    await expect(tick(failing(3))).rejects.toThrow()
    expect(await moments()).toEqual([now, now, before])
    const after = await tick()
    expect(await moments()).toEqual([after, after, after])
    expect(errors).not.toHaveBeenCalled()
  })

  test('reaches all, if the run before ended after the first database had it', async () => {
    const before = await tick()
    for (let times = 0; times < 2; times += 1) {
      await expect(tick({ ...failing(1, 1), ...failing(2), ...failing(3) })).rejects.toThrow()
      expect(await moments()).toEqual([now, before, before])
    }
    // One of them is restored meanwhile, to a moment before the last one that all have had.
    await bringBack(instant(before - MINUTE), 2)
    const last = now
    await tick()
    expect(await moments()).toEqual([last, before - MINUTE, before])
    expect(JSON.stringify(errors.mock.calls)).toContain('DB_2 is not at the moment of DB')
    errors.mockClear()
    await bringBack(before, 2)
    const after = await tick()
    expect(await moments()).toEqual([after, after, after])
    expect(errors).not.toHaveBeenCalled()
  })

  test('is confirmed only if every database has taken it', async () => {
    const before = await tick()
    expect(await confirmedIn(env.DB)).toBe(before)
    // The moment of the second one changes between the read and the write.
    const change = () => bringBack(instant(before - MINUTE), 2)
    const changing = replacedBy(2, (d1) => faulty(beforeEachCall(change), d1).DB)
    const last = await tick(changing)
    expect(await moments()).toEqual([last, before - MINUTE, last])
    expect(await confirmedIn(env.DB)).toBe(before)
    await bringBack(before, 2)
    const after = await tick()
    expect([await moments(), await confirmedIn(env.DB)]).toEqual([[after, after, after], after])
  })

  test('is noted by one of two runs at once, and by the next one', async () => {
    await Promise.all([tick(), tick()])
    const after = await tick()
    expect(await moments()).toEqual([after, after, after])
    expect(errors).not.toHaveBeenCalled()
  })

  test.each([
    ['the second one', [2], [1, 3]],
    ['the first one', [1], [2, 3]],
    ['all but the third one', [1, 2], [3]],
  ])('is not noted after only %s was brought back, until the others are', async (_, numbers, rest) => {
    const before = await tick()
    const last = await tick()
    await bringBack(before, ...numbers)
    const moment = (number: number) => (numbers.includes(number) ? before : last)
    for (let times = 0; times < 2; times += 1) {
      await tick()
      expect(await moments()).toEqual([1, 2, 3].map(moment))
      expect(JSON.stringify(errors.mock.calls)).toContain('is not at the moment of DB')
    }
    await bringBack(before, ...rest)
    errors.mockClear()
    const after = await tick()
    expect(await moments()).toEqual([after, after, after])
    expect(errors).not.toHaveBeenCalled()
  })

  test.each([
    ['an earlier moment', -HOUR],
    ['no moment', null],
  ])(
    'is noted in none if only the first one was brought back to %s before the first confirmation',
    async (_, by) => {
      const last = await tick()
      const moment = by === null ? null : instant(last + by)
      await bringBack(moment, 1)
      await env.DB.prepare('UPDATE restores SET confirmed = NULL').run()
      await tick()
      expect(await moments()).toEqual([moment, last, last])
      await bringBack(last, 1, 2, 3)
    },
  )
})

describe('[B3] databases that are bound', () => {
  test('are known, and one that is not bound any more loses its weight', async () => {
    const store = env.DB.prepare('INSERT INTO database_weights (name, weight) VALUES (?1, 0.5)')
    await env.DB.batch(['DB_2', 'DB_3'].map((name) => store.bind(name)))
    const without: Record<string, undefined> = { DB_3: undefined }
    await noteBound(contextOfAccount(without))
    const { results } = await env.DB.prepare('SELECT name FROM database_weights').all()
    expect(results).toEqual([{ name: 'DB_2' }])
  })
})

describe('[C2, B1] a hundred databases', () => {
  const names = Array.from({ length: 100 }, (_, n) => (n === 0 ? 'DB' : `DB_${n + 1}`))
  /** A hundred databases, of which the last ones are the same. `sent` counts the batches to all of them. */
  function hundred() {
    const sent = { batches: 0 }
    const last = databases().at(-1)?.d1 ?? env.DB
    const bindings = names.map((name, n) => {
      const d1 = databases()[n]?.d1 ?? last
      const counted = intercepted(d1, ({ run }) => {
        sent.batches += 1
        return run()
      })
      return [name, counted] as const
    })
    return { sent, bindings: Object.fromEntries(bindings) }
  }

  /** A tenant with users in all of them. */
  async function wide() {
    const tenant = await newTenant()
    for (const name of ['DB', 'DB_2', 'DB_3']) await tenant.app('PUT', `/users/${userIn(tenant, name)}`, {})
    const places = names.map((name, n) => [Math.floor((n * BUCKETS) / names.length), name])
    await env.DB.prepare('UPDATE directory SET places = ?2, version = version + 1 WHERE tenant_id = ?1')
      .bind(tenant.id, JSON.stringify(places))
      .run()
    return tenant
  }

  test('an alarm of the Timekeeper does as many steps as D1 accepts, and the next ones do the rest', async () => {
    const tenant = await wide()
    const stub = env.TIMEKEEPER.getByName(tenant.id)
    await stub.wake(tenant.id, 0)
    await runInDurableObject(stub, (_instance, state) => state.storage.deleteAlarm())
    const second = d1Of('DB_2')
    // Walks for achievements that do not exist end at once.
    for (let n = 0; n < 20; n += 1)
      await addDueWork(tenant, 'backdate', { dueAt: 0, subject: `walk-${n}`, d1: second })
    const left = async () => (await dueWork({ tenant, kind: 'backdate' })).length
    const alarms: number[] = []
    while ((await left()) !== 0 && alarms.length < 20) {
      const { sent, bindings } = hundred()
      await runInDurableObject(stub, async (_instance, state) => {
        await new Timekeeper(state, { ...env, ...bindings }).alarm()
        // The object itself must not go on with three databases.
        await state.storage.deleteAlarm()
      })
      alarms.push(sent.batches)
    }
    expect(await left()).toBe(0)
    expect(alarms.length).toBeGreaterThan(1)
    expect(Math.max(...alarms)).toBeLessThanOrEqual(1_000)
  })

  test('the queue of the outbox drains as many tenants as D1 accepts, and gets the others again', async () => {
    const tenants = await Promise.all([wide(), wide(), wide(), wide()])
    const { sent, bindings } = hundred()
    const asked: unknown[] = []
    const OUTBOX = new Proxy(env.OUTBOX, {
      get: (target, key) =>
        key === 'send' ? async (body: unknown) => asked.push(body) : Reflect.get(target, key),
    })
    const bodies = tenants.map(({ id }) => ({ tenantId: id }))
    const { acks } = await handOver('laurel-outbox', bodies, { ...bindings, OUTBOX })
    expect([acks.length, asked.length]).toEqual([4, 3])
    expect(sent.batches).toBeLessThanOrEqual(1_000)
  })
})
