import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Board } from '../../src/leaderboards/object/board'
import { present } from '../helpers/time'
import {
  agrees,
  arrive,
  DAY,
  events,
  forgetTime,
  HOUR,
  moveTo,
  NOON,
  patch,
  ranking,
  through,
  withBoard,
} from '../helpers/worker/boards'
import { cron } from '../helpers/worker/handlers'
import { at, newApp, newTenantWith, rowsEverywhere, untilHeld } from '../helpers/worker/harness'
import { stubbed } from '../helpers/worker/objects'
import { archive, purge, tenants } from '../helpers/worker/purge'
import { backup, bringBack, restored } from '../helpers/worker/restore'
import { iidOf } from '../helpers/worker/stored-users'

afterEach(forgetTime)

describe('[M1, M2] after a restore, a leaderboard', () => {
  beforeEach(() => moveTo(NOON))

  it('has them at the first event, in its answer too', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 20], ['bob', 5])
    const before = await backup()
    await events(setup.tenant, ['ada', 500], ['bob', 100], ['cai', 50])
    await bringBack(before)
    await restored()
    expect(await events(setup.tenant, ['bob', 1])).toMatchObject([{ rank: 2 }])
    expect(await events(setup.tenant, ['bob', 20])).toMatchObject([{ rank: 1, previousRank: 2 }])
    expect(await agrees(setup)).toEqual(['bob 26', 'ada 20'])
  })

  it('puts a user back into the group of that moment, and forgets scores of users without any', async () => {
    const setup = await withBoard({ breakdown: ['team'] })
    const { tenant, team } = setup
    await events(tenant, ['ada', 20, { team: 'red' }], ['bob', 5, { team: 'red' }])
    await tenant.app('PUT', '/users/cai', { attributes: { team: 'red' } })
    const before = await backup()
    await events(tenant, ['ada', 1, { team: 'blue' }], ['cai', 9])
    await bringBack(before)
    await restored()
    expect(await agrees(setup, { group: { [team]: 'red' } })).toEqual(['ada 20', 'bob 5'])
    expect(await agrees(setup, { group: { [team]: 'blue' } })).toEqual([])
  })

  it('counts a change from before that arrives late by the log only', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 20])
    const before = await backup()
    const { tenant, calls } = through(setup.tenant)
    // The change of the board that gets lost is the next one of this user.
    await events(tenant, ['ada', 500])
    await bringBack(before)
    await restored()
    expect(await agrees(setup)).toEqual(['ada 20'])
    await arrive(...calls)
    expect(await agrees(setup)).toEqual(['ada 20'])
    await events(setup.tenant, ['ada', 1])
    await arrive(...calls)
    expect(await agrees(setup)).toEqual(['ada 21'])
  })

  it('is filled although its object is evicted in the middle', async () => {
    const setup = await withBoard()
    const users = Array.from({ length: 30 }, (_, n) => `user-${n + 10}`)
    for (const user of users) await events(setup.tenant, [user, 1])
    const before = await backup()
    for (const user of users.slice(10)) await events(setup.tenant, [user, 7])
    await bringBack(before)
    await restored()
    const stub = env.LEADERBOARD.getByName(setup.board)
    // As after the first part: the refill has begun, and some users are compared.
    expect(await agrees(setup)).toHaveLength(30)
    await runInDurableObject(stub, (_, { storage }) => {
      const sql = storage.sql
      sql.exec('UPDATE scores SET score = 8000000, cursor = -1, grouped = -1 WHERE user_id > ?', 'user-20')
      const [row] = sql.exec<{ value: string }>("SELECT value FROM notes WHERE name = 'progress'")
      const comparison = { since: 0, began: NOON, after: 'user-20' }
      const begun = { isRefilling: true, mustCompareAll: true, comparison }
      const progress = { ...JSON.parse(row?.value ?? '{}'), ...begun }
      sql.exec("UPDATE notes SET value = ? WHERE name = 'progress'", JSON.stringify(progress))
    })
    await evictDurableObject(stub)
    expect(new Set((await ranking(setup)).map(({ value }) => value))).toEqual(new Set([1]))
    await agrees(setup)
  })

  it('is there again if it was deleted, and filled again', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 20])
    const before = await backup()
    await setup.tenant.admin('DELETE', `/leaderboards?ids=${setup.board}`)
    await untilHeld(() =>
      runInDurableObject(env.LEADERBOARD.getByName(setup.board), (_, { storage }) => {
        expect(storage.sql.exec("SELECT 1 FROM notes WHERE name = 'deleted'").toArray()).toHaveLength(1)
      }),
    )
    await bringBack(before)
    await restored()
    await events(setup.tenant, ['bob', 1])
    expect(await agrees(setup)).toEqual(['ada 20', 'bob 1'])
  })
})

describe('[M2] without `npm run restored`, a leaderboard that is ahead of the database', () => {
  beforeEach(() => moveTo(NOON))

  it('is filled again by the comparison that finds a user with an earlier change', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 20], ['bob', 5], ['ada', 0.5])
    const before = await backup()
    for (let n = 0; n < 5; n += 1) await events(setup.tenant, ['ada', 100], ['bob', 100])
    await bringBack(before)
    await events(setup.tenant, ['ada', 1])
    expect((await ranking(setup)).map(({ value }) => value)).toEqual([520, 505])
    await moveTo(NOON + HOUR)
    expect(await agrees(setup)).toEqual(['ada 21', 'bob 5'])
  })

  it('is filled again when it becomes active', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 20])
    const before = await backup()
    await events(setup.tenant, ['ada', 500])
    await bringBack(before)
    await patch(setup, { status: 'inactive' }, { status: 'active' })
    await moveTo(NOON + HOUR)
    expect(await agrees(setup)).toEqual(['ada 20'])
  })

  it('is filled again when the database has forgotten an upkeep, even if no user has changed', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 20])
    await moveTo(NOON + HOUR)
    const before = await backup()
    await events(setup.tenant, ['ada', 500])
    await moveTo(NOON + 3 * HOUR)
    await bringBack(before)
    await moveTo(NOON + 5 * HOUR)
    expect(await agrees(setup)).toEqual(['ada 20'])
  })

  it('is not filled again for a change that arrives while the comparison reads', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 20])
    const reopen = vi.spyOn(Board.prototype, 'reopen')
    await Promise.all([moveTo(NOON + HOUR), events(setup.tenant, ['ada', 1], ['bob', 2], ['ada', 3])])
    await moveTo(NOON + 2 * HOUR)
    expect(await agrees(setup)).toEqual(['ada 24', 'bob 2'])
    expect(reopen).not.toHaveBeenCalled()
  })
})

describe('[M1] after a restore, the configuration', () => {
  it('of a version that was used again is not taken from the memory of another isolate', async () => {
    const tenant = await newTenantWith('steps')
    const before = await backup()
    const elsewhere = tenant.through(newApp())
    // Both isolates know this version, with this metric.
    await tenant.metric('lost')
    expect((await elsewhere.event('lost', 'ada', 1)).status).toBe(201)
    await bringBack(before)
    await restored()
    await tenant.metric('found')
    expect((await elsewhere.event('lost', 'ada', 1)).status).toBe(404)
    expect((await elsewhere.event('found', 'ada', 1)).status).toBe(201)
  })

  it('gets versions that were never used, also after two restores of the same backup', async () => {
    const tenant = await newTenantWith('steps')
    const before = await backup()
    const stored = env.DB.prepare('SELECT config_version AS version FROM tenants WHERE id = ?1')
    const version = () => stored.bind(tenant.id).first<number>('version')
    const seen: (number | null)[] = [await version()]
    for (const name of ['one', 'two', 'three']) {
      await bringBack(before)
      await restored()
      seen.push(await version())
      await tenant.metric(name)
      seen.push(await version())
    }
    expect(seen).toEqual(seen.toSorted((a, b) => Number(a) - Number(b)))
    expect(new Set(seen).size).toBe(seen.length)
  })
})

describe('[M3] after a restore, deletions are done again', () => {
  it('of users by their internal id, and of keys', async () => {
    const setup = await withBoard()
    const { tenant } = setup
    await events(tenant, ['ada', 20], ['bob', 5], ['cai', 3])
    const [adas, bobs, zeds] = [await tenant.key('ada'), await tenant.key('bob'), await tenant.key('zed')]
    const { body } = await tenant.admin('GET', '/application-api-keys')
    const keyOf = (user: string) =>
      at(
        [body].flat().find((one) => at(one, 'userId') === user),
        'id',
      )
    const before = await backup()
    const [ada, bob] = [await iidOf(tenant, 'ada'), await iidOf(tenant, 'bob')]
    // Ada comes back as a new user. Of zed there is only a key.
    for (const user of ['ada', 'zed']) await tenant.admin('DELETE', `/users/${user}`)
    await events(tenant, ['ada', 1])
    await tenant.admin('DELETE', `/application-api-keys?ids=${keyOf('bob')}`)
    expect((await tenant.as(bobs, 'GET', '/users/bob')).status).toBe(401)
    const late = await backup()

    await bringBack(before)
    await restored()
    expect(await iidOf(tenant, 'ada')).toBe(ada)
    await cron()
    expect(await iidOf(tenant, 'ada')).toBe('')
    expect(await iidOf(tenant, 'bob')).toBe(bob)
    for (const [user, key] of Object.entries({ ada: adas, bob: bobs, zed: zeds }))
      expect((await tenant.as(key, 'GET', `/users/${user}`)).status, user).toBe(401)
    await untilHeld(async () => expect(await agrees(setup)).toEqual(['bob 5', 'cai 3']))
    const events_ = 'SELECT id FROM events WHERE user_iid = unhex(?1, ?2)'
    await untilHeld(async () => expect(await rowsEverywhere(events_, ada, '-')).toEqual([]))

    // Later the new Ada exists, and stays.
    await bringBack(late)
    await restored()
    const again = await iidOf(tenant, 'ada')
    expect(again).not.toBe(ada)
    await cron()
    expect(await iidOf(tenant, 'ada')).toBe(again)
    expect(await env.DB.prepare('SELECT redone - epoch AS left FROM restores').first('left')).toBe(0)
  })

  it('of whole tenants', async () => {
    const setup = await withBoard()
    const { tenant } = setup
    await events(tenant, ['ada', 20])
    const before = await backup()
    await archive(tenant.id)
    expect((await purge(tenant.id)).status).toBe(202)
    const itself = expect.objectContaining({ id: tenant.id })
    const listed = async () => (await tenants('GET', '?limit=100')).body
    await untilHeld(async () => expect(await listed()).not.toContainEqual(itself))
    await bringBack(before)
    await restored()
    expect((await tenant.app('GET', '/users/ada')).status).toBe(200)
    await cron()
    expect((await tenant.app('GET', '/users/ada')).status).toBe(404)
    const users = 'SELECT id FROM users WHERE tenant_id = ?1'
    await untilHeld(async () => expect(await rowsEverywhere(users, tenant.id)).toEqual([]))
  })

  it('and do not depend on the list: without it they happen, and the rest of an erasure notes the user', async () => {
    const tenant = await newTenantWith('steps')
    await tenant.event('steps', 'ada', 1)
    const iid = await iidOf(tenant, 'ada')
    const DELETIONS = stubbed(env.DELETIONS, () => ({ note: () => Promise.reject(new Error('lost')) }))
    const { status } = await tenant.through(newApp({ DELETIONS })).admin('DELETE', '/users/ada')
    expect(status).toBe(200)
    await untilHeld(async () => {
      const { deletions } = await env.DELETIONS.getByName('account').page({ after: null, limit: 1000 })
      expect(deletions).toContainEqual({ kind: 'user', tenantId: tenant.id, iid })
    })
  })

  it('and the list forgets what no backup has any more', async () => {
    const stub = env.DELETIONS.getByName('account')
    const old = crypto.randomUUID()
    await runInDurableObject(stub, (_, { storage }) => {
      const name = JSON.stringify({ kind: 'key', prefix: old })
      storage.sql.exec('INSERT INTO deletions VALUES (?, ?)', present() - 32 * DAY, name)
    })
    await stub.note({ deletions: [{ kind: 'key', prefix: 'new' }] })
    const { deletions } = await stub.page({ after: null, limit: 1000 })
    expect(deletions).not.toContainEqual({ kind: 'key', prefix: old })
    expect(deletions).toContainEqual({ kind: 'key', prefix: 'new' })
  })
})
