import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { forgetTime, moveTo, NOON } from '../../helpers/worker/boards'
import { losing, lost, onWrites } from '../../helpers/worker/faulty'
import { newApp, type TestTenant } from '../../helpers/worker/harness'
import { stubbed, UNREACHED } from '../../helpers/worker/objects'
import {
  accepted,
  archive,
  beforeFirst,
  type Furnished,
  failingOnce,
  furnished,
  isGone,
  namesOf,
  purge,
  stopAlarms,
  work,
} from '../../helpers/worker/purge'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

describe('[U8] the erasure of a tenant, interrupted', () => {
  it.each([false, true])('when it is accepted, with the write done: %s', async (isDone) => {
    const one = await furnished()
    const names = await namesOf(one)
    await archive(one.tenant.id)
    const { bindings } = onWrites(losing(0, isDone))
    expect((await purge(one.tenant.id, newApp({ ...bindings, TIMEKEEPER: UNREACHED }))).status).toBe(503)
    expect((await purge(one.tenant.id)).status).toBe(202)
    await isGone(one, names)
  })

  it.each([false, true])('at each of its writes, with the write done: %s', async (isDone) => {
    const one = await furnished()
    const names = await namesOf(one)
    // An alarm from before would do the erasure of the user.
    await stopAlarms(one.tenant)
    await one.tenant.through(newApp({ TIMEKEEPER: UNREACHED })).admin('DELETE', `/users/${one.users[0]}`)
    await accepted(one)
    const { bindings, failed } = failingOnce(isDone)
    for (let time = 0; time < 40; time += 1) await work(one.tenant.id, 40, bindings).catch(() => undefined)
    // The writes of objects (two), of a user's erasure, of keys and users, of ten configuration tables and
    // others, and of the end.
    expect(failed.size).toBeGreaterThan(14)
    await isGone(one, names)
  })

  it.each(['LEADERBOARD', 'DELIVERY_QUEUE'] as const)(
    'while an object of %s is unreachable, before it is emptied or after',
    async (name) => {
      for (const isDone of [false, true]) {
        const one = await furnished()
        const names = await namesOf(one)
        await accepted(one)
        const last = (name === 'LEADERBOARD' ? one.boards : one.deliveryQueues).at(-1)
        const objects = stubbed(env[name], (id) => ({
          purge: async () => {
            if (id !== last || isDone) await env[name].getByName(id).purge()
            if (id === last) throw lost()
          },
        }))
        await work(one.tenant.id, 20, { [name]: objects })
        await isGone(one, names)
      }
    },
  )

  it('while KV is unreachable', async () => {
    const one = await furnished()
    const names = await namesOf(one)
    await accepted(one)
    let left = 2
    const KEYS = new Proxy(env.KEYS, {
      get(target, name) {
        if (name !== 'delete') return Reflect.get(target, name).bind(target)
        return async (key: string) => {
          left -= 1
          if (left >= 0) throw lost()
          await target.delete(key)
        }
      },
    })
    for (let time = 0; time < 3; time += 1) {
      await work(one.tenant.id, 20, { KEYS })
    }
    expect(left).toBeLessThan(0)
    await isGone(one, names)
  })
})

describe('work in progress when a tenant is erased', () => {
  const existing = ({ users }: Furnished) => users[0] ?? ''
  it.each<[what: string, send: (tenant: TestTenant, one: Furnished) => Promise<{ status: number }>]>([
    ['an event', (tenant) => tenant.event('steps', 'new', 1)],
    ['an event of an existing user', (tenant, one) => tenant.event('steps', existing(one), 1)],
    [
      'a batch of events',
      (tenant) => tenant.admin('POST', '/metrics/events', [{ key: 'steps', user: { id: 'x' }, value: 1 }]),
    ],
    ['a new key', (tenant) => tenant.admin('POST', '/application-api-keys', [{ userId: 'x' }])],
    [
      'a change of the configuration',
      (tenant) => tenant.admin('POST', '/metrics', [{ key: 'new', name: 'New' }]),
    ],
    [
      'a pause',
      (tenant, one) => tenant.admin('POST', '/streaks/freezes', { freezes: [{ userId: existing(one) }] }),
    ],
    ['the erasure of a user', (tenant, one) => tenant.admin('DELETE', `/users/${existing(one)}`)],
  ])('%s that was decided before the erasure is not stored after it', async (_what, send) => {
    for (const isDone of [false, true]) {
      const one = await furnished()
      const names = await namesOf(one)
      const bindings = beforeFirst(async () => {
        await accepted(one)
        // The erasure of the tenant is in progress, or done.
        if (isDone) await work(one.tenant.id, 100)
      })
      const { status } = await send(one.tenant.through(newApp(bindings)), one)
      expect([404, 200]).toContain(status)
      await isGone(one, names)
    }
  })
})
