import { afterEach, describe, expect, it } from 'vitest'
import { forgetTime, HOUR, moveTo, NOON } from '../helpers/worker/boards'
import {
  at,
  everything,
  newApp,
  newTenant,
  newTenantWith,
  type TestTenant,
  until,
} from '../helpers/worker/harness'
import { done, send as post } from '../helpers/worker/inbox'

/* [U2] A device token belongs to the user who has sent it last. */

afterEach(forgetTime)

const tokensOf = async (tenant: TestTenant, id: string) =>
  at((await tenant.app('GET', `/users/${id}`)).body, 'deviceTokens')

/** The users who have the token `phone`. */
async function owners(tenant: TestTenant, ids: readonly string[]): Promise<string[]> {
  const lists = await Promise.all(ids.map((id) => tokensOf(tenant, id)))
  return ids.filter((_, nth) => String(lists[nth]).split(',').includes('phone'))
}

const send = (tenant: TestTenant, id: string, deviceTokens: string[] | null) =>
  tenant.app('PUT', `/users/${id}`, { deviceTokens })

describe('a new device token', () => {
  it('[U2] is taken from the other user of the tenant who has it, back and forth', async () => {
    const [tenant, other] = [await newTenant(), await newTenant()]
    await send(other, 'ada', ['phone'])
    await send(tenant, 'ada', ['tablet', 'phone', 'watch'])
    await send(tenant, 'bob', ['phone', 'own'])
    expect(await tokensOf(tenant, 'ada')).toEqual(['tablet', 'watch'])
    expect(await tokensOf(tenant, 'bob')).toEqual(['phone', 'own'])
    await send(tenant, 'ada', ['tablet', 'phone'])
    expect(await tokensOf(tenant, 'ada')).toEqual(['tablet', 'phone'])
    expect(await tokensOf(tenant, 'bob')).toEqual(['own'])
    await send(tenant, 'ada', null)
    await send(tenant, 'bob', ['phone'])
    await send(tenant, 'eve', ['phone', 'phone'])
    expect(await owners(tenant, ['ada', 'bob', 'eve'])).toEqual(['eve'])
    expect(await tokensOf(tenant, 'bob')).toEqual([])
    expect(await tokensOf(other, 'ada')).toEqual(['phone'])
  })

  it('[U2] is taken whichever call sends it, also while a test clock stands still', async () => {
    await moveTo(NOON)
    const tenant = await newTenantWith('words')
    for (const key of ['a0', 'a1'])
      await tenant.create('/achievements', { key, name: key, status: 'active', trigger: 'api' })
    let round = 0
    const calls: Record<string, (user: { id: string; deviceTokens: string[] }) => Promise<unknown>> = {
      identify: ({ id, ...fields }) => tenant.app('PUT', `/users/${id}`, fields),
      create: (user) => tenant.app('POST', '/users', user),
      update: ({ id, ...fields }) => tenant.app('PATCH', `/users/${id}`, fields),
      event: (user) => tenant.event('words', user, 1),
      completion: (user) => tenant.app('POST', `/achievements/a${round}/complete`, { user }),
      batch: async (user) => done(tenant, await post(tenant, [{ key: 'words', user, value: 1 }])),
    }
    const ids = Object.keys(calls)
    for (const id of ids) await tenant.app('PUT', `/users/${id}`, {})
    for (; round < 2; round += 1) {
      for (const id of round === 0 ? ids : ids.toReversed()) {
        await calls[id]?.({ id, deviceTokens: ['phone'] })
        expect([id, await owners(tenant, ids)]).toEqual([id, [id]])
      }
    }
  })

  it('[U2, U3, X2] is a change of the user who loses it: `updated`, and an entry of the timeline', async () => {
    const tenant = await newTenant()
    await moveTo(NOON)
    await send(tenant, 'ada', ['tablet', 'phone'])
    await moveTo(NOON + HOUR)
    await send(tenant, 'bob', ['phone'])
    const { body } = await tenant.app('GET', '/users/ada')
    expect(at(body, 'updated')).toBe(new Date(NOON + HOUR).toISOString())
    const timeline = await tenant.admin('GET', '/users/ada/timeline?limit=1')
    expect(timeline.body).toMatchObject([
      { fields: { deviceTokens: { before: ['tablet', 'phone'], after: ['tablet'] } } },
    ])
  })

  it('[U2] belongs to exactly one user after many have sent it at the same time', async () => {
    const tenant = await newTenantWith('words')
    const ids = Array.from({ length: 12 }, (_, n) => `user-${n}`)
    // Each through an isolate of its own, and all in one, so that commits are alone and in groups.
    for (const apps of [ids.map(() => newApp()), ids.map(() => tenant.send)]) {
      const answers = await Promise.all(
        ids.map((id, nth) =>
          tenant.through(apps[nth] ?? tenant.send).event('words', { id, deviceTokens: ['phone'] }, 1),
        ),
      )
      expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 201))
      expect(await owners(tenant, ids)).toHaveLength(1)
    }
    // Nothing of the others was lost.
    for (const id of ids) {
      expect(at((await tenant.app('GET', `/users/${id}/metrics/words`)).body, 'current')).toBe(2)
    }
  })

  it('[U2] is written once, and a call without a new token writes nothing for it', async () => {
    const tenant = await newTenantWith('words')
    await tenant.event('words', { id: 'ada', deviceTokens: ['phone'] }, 1)
    const before = (await tenant.stored()).devices
    await tenant.event('words', { id: 'ada', deviceTokens: ['phone'] }, 1)
    await tenant.event('words', { id: 'ada', deviceTokens: [] }, 1)
    await tenant.event('words', { id: 'bob' }, 1)
    expect((await tenant.stored()).devices).toEqual(before)
  })

  it('[U8] of an erased user is taken from nobody, and leaves no row', async () => {
    const tenant = await newTenant()
    await send(tenant, 'ada', ['phone'])
    await tenant.admin('DELETE', '/users/ada')
    await until(async () => !JSON.stringify((await everything()).devices ?? []).includes(tenant.id))
    await send(tenant, 'ada', ['phone'])
    await send(tenant, 'bob', ['other'])
    expect(await owners(tenant, ['ada', 'bob'])).toEqual(['ada'])
  })
})
