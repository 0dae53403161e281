import { afterEach, describe, expect, test } from 'vitest'
import * as clocks from '../../src/access/clock.sql'
import { settleCopy } from '../../src/configuration/copies'
import { START } from '../helpers/time'
import { contextOfAccount } from '../helpers/worker/contexts'
import { away, behind, lost } from '../helpers/worker/faulty'
import {
  account,
  at,
  d1Of,
  databases,
  newApp,
  newTenantWith,
  rowsEverywhere,
  type Send,
  toApp,
  until,
  userIn,
} from '../helpers/worker/harness'

/* The test clock with three databases. Each test returns to real time at its end. */

const HOUR = 3_600_000

const clock = (send: Send, method: string, body?: unknown) => account(method, '/test-clock', body, send)

const iso = (ms: number) => new Date(ms).toISOString()

/** The clock of each database that has one. */
const all = () => rowsEverywhere('SELECT now, changing FROM test_clock')

const isOfClock = (text: string) => /^\s*(INSERT INTO|UPDATE|DELETE FROM) test_clock/.test(text)

afterEach(async () => {
  await clock(toApp, 'DELETE')
  expect(await all()).toEqual([])
})

describe('[C1, B4] a change of the test clock', () => {
  test('is in all databases, also if several requests move it at once', async () => {
    const start = START + HOUR
    await clock(toApp, 'PUT', { now: iso(start) })
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => clock(newApp(), 'PUT', { advance: 'PT1H' })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await all()).toEqual(databases().map(() => ({ now: start + 4 * HOUR, changing: null })))
  })

  test('takes effect nowhere while a database is away, and stops nobody', async () => {
    const start = START + HOUR
    await clock(toApp, 'PUT', { now: iso(start) })
    expect((await clock(newApp(away('DB_3')), 'PUT', { advance: 'PT1H' })).status).toBe(503)
    expect(await all()).toEqual(databases().map(() => ({ now: start, changing: null })))
  })

  test('is not undone by a copy of an earlier change that arrives late', async () => {
    const [earlier, later] = [START + HOUR, START + 2 * HOUR]
    const late = Promise.withResolvers<void>()
    let writes = 0
    const slow = newApp(
      behind(async ({ database, texts, run }) => {
        if (database === 'DB_2' && texts.some(isOfClock)) {
          writes += 1
          // The first one prepares the change.
          if (writes === 2) await late.promise
        }
        return run()
      }),
    )
    const first = clock(slow, 'PUT', { now: iso(earlier) })
    await until(() => writes === 2)
    // As if the time of this change was over.
    await d1Of('DB_2').prepare('UPDATE test_clock SET changing = 0').run()
    expect((await clock(toApp, 'PUT', { now: iso(later) })).status).toBe(200)
    late.resolve()
    await first
    expect(await all()).toEqual(databases().map(() => ({ now: later, changing: null })))
  })

  test('that was left under way does not stop a deployment without a test clock', async () => {
    const tenant = await newTenantWith('words')
    const user = userIn(tenant, 'DB_2')
    expect((await tenant.event('words', user, 1)).status).toBe(201)
    await d1Of('DB_2').prepare('INSERT INTO test_clock (id, now, changing) VALUES (1, 5, 0)').run()
    const context = contextOfAccount({ TEST_CLOCK: 'off' })
    expect(await settleCopy(context.databases, tenant.id, 'DB_2')).toBe('settled')
    expect(await all()).toEqual([])
    expect((await tenant.through(newApp({ TEST_CLOCK: 'off' })).event('words', user, 1)).status).toBe(201)
  })

  test('does not make a database forget a change of the configuration', async () => {
    const tenant = await newTenantWith('words')
    const system = await tenant.create('/points', { key: 'xp', name: 'XP', maxPoints: null })
    const user = userIn(tenant, 'DB_2')
    await tenant.event('words', user, 1)
    const commit = Promise.withResolvers<void>()
    let [isHeld, isStored] = [false, false]
    const slow = newApp(
      behind(async ({ database, texts, run }) => {
        if (database === 'DB_2' && isStored) throw lost()
        const isCommit = texts.some((text) => text.includes('config_version = config_version + 1'))
        if (database !== 'DB' || !isCommit) return run()
        isHeld = true
        await commit.promise
        const results = await run()
        isStored = true
        return results
      }),
    )
    const refused = { reset: 0, event: 0 }
    const counting = (what: 'reset' | 'event') =>
      newApp(
        behind(({ database, run }) =>
          run().catch((error: unknown) => {
            if (database === 'DB_2') refused[what] += 1
            throw error
          }),
        ),
      )
    const change = tenant
      .through(slow)
      .admin('POST', `/points/${system}/triggers`, [
        { type: 'metric', metricKey: 'words', metricThreshold: 1, points: 9, status: 'active' },
      ])
    await until(() => isHeld)
    const done = { reset: false, event: false }
    const reset = clock(counting('reset'), 'DELETE').finally(() => {
      done.reset = true
    })
    await until(() => done.reset || refused.reset > 0)
    const early = tenant
      .through(counting('event'))
      .event('words', user, 1)
      .finally(() => {
        done.event = true
      })
    await until(() => done.event || refused.event > 1)
    // The second database is lost before it has the change.
    commit.resolve()
    expect((await change).status).toBe(201)
    expect([(await reset).status, (await early).status]).toEqual([200, 201])
    const { body } = await tenant.event('words', user, 1)
    expect(at(body, 'points', 'xp', 'added')).toBe(9)
  })
})

describe('[C1, B3] a database that is added', () => {
  const compare = () => clocks.compareClock(contextOfAccount().databases, 'DB_2')
  const store = (now: number, changing: number | null = null) =>
    d1Of('DB_2')
      .prepare('INSERT OR REPLACE INTO test_clock (id, now, changing) VALUES (1, ?1, ?2)')
      .bind(now, changing)
      .run()

  test('gets the clock of the first one, whatever it has', async () => {
    const now = START + HOUR
    await clock(toApp, 'PUT', { now: iso(now) })
    const wanted = databases().map(() => ({ now, changing: null }))
    await d1Of('DB_2').prepare('DELETE FROM test_clock').run()
    expect(await compare()).toBe('settled')
    expect(await all()).toEqual(wanted)
    await store(now - HOUR)
    expect(await compare()).toBe('settled')
    expect(await all()).toEqual(wanted)
    await clock(toApp, 'DELETE')
    await store(now)
    expect(await compare()).toBe('settled')
    expect(await all()).toEqual([])
  })

  test('waits for a change that is under way', async () => {
    await store(0, START + HOUR)
    expect(await compare()).toBe('changing')
    await store(0, 0)
    expect(await compare()).toBe('settled')
    expect(await all()).toEqual([])
  })
})
