import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { noteMoment } from '../../src/access/restores/moments.service'
import { noteBound } from '../../src/features/databases/databases.service'
import { type Instant, instant } from '../../src/lib/clock'
import { newContext } from '../../src/runtime/context'
import type { Bindings } from '../../src/runtime/env'
import { Instance } from '../../src/runtime/instance'
import { awayAfter, faulty, lost } from './faulty'
import { databases, newTenant, rowsEverywhere, userIn } from './harness'

/* The notes of the cron trigger in several databases. The tests depend on their order: users come later. */

const contextWith = (bindings: Partial<Bindings> = {}) =>
  newContext(new Instance(), { ...env, ...bindings }, () => undefined)

const MINUTE = 60_000
let now: Instant = instant(Date.UTC(2026, 10, 23, 12))

/** Runs the next run of the cron trigger, five minutes later. Returns its moment. */
async function tick(bindings: Partial<Bindings> = {}): Promise<Instant> {
  now = instant(now + 5 * MINUTE)
  await noteMoment(contextWith(bindings).databases, now)
  return now
}

/** The moments of the databases, the first one first. */
const moments = async () =>
  (await rowsEverywhere('SELECT moment FROM restores')).map((row) => Object(row).moment)

/** Brings databases back to an earlier moment, by their numbers. */
async function bringBack(moment: Instant, ...numbers: number[]): Promise<void> {
  const rows = databases().filter((_, index) => numbers.includes(index + 1))
  for (const { d1 } of rows) await d1.prepare('UPDATE restores SET moment = ?1').bind(moment).run()
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
  replacedBy(number, (d1) => faulty((run, write) => (write < after ? run() : Promise.reject(lost())), d1).DB)

const errors = vi.spyOn(console, 'error')
afterEach(() => errors.mockClear())

describe('[M1] the moment that is noted in all databases', () => {
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

  test('reaches a database later that could not be reached, or whose write has failed', async () => {
    const tenant = await newTenant()
    for (const name of ['DB', 'DB_2', 'DB_3']) await tenant.app('PUT', `/users/${userIn(tenant, name)}`, {})
    const before = await tick()
    const without = await tick(unreachable(2))
    expect(await moments()).toEqual([without, before, without])
    const failed = await tick(failing(3))
    expect(await moments()).toEqual([failed, failed, without])
    const after = await tick()
    expect(await moments()).toEqual([after, after, after])
    expect(errors).not.toHaveBeenCalled()
  })

  test('reaches all, if the run before ended after the first database had it', async () => {
    const before = await tick()
    await expect(tick({ ...failing(1, 1), ...failing(2), ...failing(3) })).rejects.toThrow()
    expect(await moments()).toEqual([now, before, before])
    const after = await tick()
    expect(await moments()).toEqual([after, after, after])
  })

  test.each([
    ['the second one', [2]],
    ['the first one', [1]],
    ['all but the third one', [1, 2]],
  ])('stays different after only %s was brought back, until all are', async (_, numbers) => {
    const before = await tick()
    const last = await tick()
    await bringBack(before, ...numbers)
    const later = [await tick(), await tick()]
    const isWithFirst = (number: number) => numbers.includes(number) === numbers.includes(1)
    const stays = (number: number) => (numbers.includes(number) ? before : last)
    expect(await moments()).toEqual(
      [1, 2, 3].map((number) => (isWithFirst(number) ? later[1] : stays(number))),
    )
    expect(JSON.stringify(errors.mock.calls)).toContain('is not at the moment of DB')
    await bringBack(before, 1, 2, 3)
    errors.mockClear()
    const after = await tick()
    expect(await moments()).toEqual([after, after, after])
    expect(errors).not.toHaveBeenCalled()
  })
})

describe('[B3] databases that are bound', () => {
  test('are known, and one that is not bound any more loses its weight', async () => {
    const store = env.DB.prepare('INSERT INTO database_weights (name, weight) VALUES (?1, 0.5)')
    await env.DB.batch(['DB_2', 'DB_3'].map((name) => store.bind(name)))
    const without: Record<string, undefined> = { DB_3: undefined }
    await noteBound(contextWith(without))
    const { results } = await env.DB.prepare('SELECT name FROM database_weights').all()
    expect(results).toEqual([{ name: 'DB_2' }])
  })

  test('raise the oldest version that can serve, as soon as users live in others than the first', async () => {
    const oldest = () => env.DB.prepare('SELECT oldest FROM schema_version').first('oldest')
    // The tests before have spread a tenant.
    expect(await oldest()).toBe(20)
    await env.DB.batch([
      env.DB.prepare('UPDATE schema_version SET oldest = 15'),
      env.DB.prepare('DELETE FROM held_databases'),
      env.DB.prepare(
        `INSERT INTO directory (tenant_id, version, places, placements) VALUES ('a', 1, '[[0,"DB"]]', '{}')`,
      ),
    ])
    expect(await oldest()).toBe(15)
    await env.DB.prepare(`UPDATE directory SET places = '[[0,"DB"],[9,"DB_2"]]' WHERE tenant_id = 'a'`).run()
    expect(await oldest()).toBe(20)
  })
})
