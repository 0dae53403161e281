import { afterEach, describe, expect, test } from 'vitest'
import { takeDevices } from '../../src/store/users/devices.sql'
import { contextOfAccount } from '../helpers/worker/contexts'
import { allIn, countEach, LAST, moveBy, NAMES, settle, wake, weigh } from '../helpers/worker/databases-moves'
import { dueWork } from '../helpers/worker/due-work'
import { away } from '../helpers/worker/faulty'
import { at, newApp, newTenant, type TestTenant, until, userIn } from '../helpers/worker/harness'
import { ASLEEP } from '../helpers/worker/objects'

/* [U2, B3, B5] A device token belongs to the user who has sent it last, also with several databases. */

afterEach(() => weigh({}))

const tokensOf = async (tenant: TestTenant, id: string) =>
  at((await tenant.app('GET', `/users/${id}`)).body, 'deviceTokens')

/** The users who have the token `phone`. */
async function owners(tenant: TestTenant, ids: readonly string[]): Promise<string[]> {
  const lists = await Promise.all(ids.map((id) => tokensOf(tenant, id)))
  return ids.filter((_, nth) => String(lists[nth]).split(',').includes('phone'))
}

const send = async (tenant: TestTenant, id: string, deviceTokens: string[]) =>
  expect((await tenant.app('PUT', `/users/${id}`, { deviceTokens })).status).toBe(200)

/** Waits until no token is to be taken any more. */
const taken = (tenant: TestTenant) =>
  until(async () => {
    await wake(tenant)
    return (await dueWork({ tenant, kind: 'devices' })).length === 0
  })

describe('[U2] a device token of users in several databases', () => {
  test('goes back and forth between them', async () => {
    const tenant = await newTenant()
    const [first, second, third] = NAMES.map((name) => userIn(tenant, name))
    const ids = [first ?? '', second ?? '', third ?? '', userIn(tenant, LAST, 1)]
    for (const id of [...ids, ...ids.toReversed(), ...ids]) {
      await send(tenant, id, ['own', 'phone'].slice(id === ids[0] ? 0 : 1))
      await taken(tenant)
      expect([id, await owners(tenant, ids)]).toEqual([id, [id]])
    }
    expect(await tokensOf(tenant, ids[0] ?? '')).toEqual(['own'])
  })

  test('belongs to exactly one of them after all have sent it at the same time', async () => {
    const tenant = await newTenant()
    await tenant.metric('words')
    const ids = NAMES.flatMap((name) => [0, 1].map((nth) => userIn(tenant, name, nth)))
    for (const _ of [1, 2]) {
      await Promise.all(
        ids.map((id) => tenant.through(newApp()).event('words', { id, deviceTokens: ['phone'] }, 1)),
      )
      await taken(tenant)
      expect(await owners(tenant, ids)).toHaveLength(1)
    }
  })

  test('is taken later if a database could not be reached', async () => {
    const tenant = (await newTenant()).through(newApp({ TIMEKEEPER: ASLEEP }))
    const ids = [userIn(tenant, LAST), userIn(tenant, 'DB')]
    for (const id of ids) await send(tenant, id, ['phone'])
    expect(await owners(tenant, ids)).toEqual(ids)
    const { databases: reached } = contextOfAccount(away(LAST))
    await expect(takeDevices(reached, tenant.id, ids[1] ?? '')).rejects.toThrow()
    expect(await owners(tenant, ids)).toEqual(ids)
    await taken(tenant)
    expect(await owners(tenant, ids)).toEqual([ids[1]])
  })

  test('moves with its user, and is taken from users who have moved', async () => {
    const tenant = await newTenant()
    const ids = NAMES.map((name) => userIn(tenant, name))
    const [first = '', second = '', third = ''] = ids
    await send(tenant, first, ['phone'])
    await moveBy(tenant, allIn(LAST))
    await send(tenant, second, ['phone'])
    expect(await owners(tenant, ids)).toEqual([second])
    await moveBy(tenant, {})
    await send(tenant, third, ['phone'])
    await taken(tenant)
    expect(await owners(tenant, ids)).toEqual([third])
    await weigh(allIn('DB'))
    await settle(tenant)
    await send(tenant, first, ['phone'])
    expect(await owners(tenant, ids)).toEqual([first])
    const counts = await countEach('SELECT count(*) AS n FROM devices WHERE tenant_id = ?1', tenant.id)
    expect(counts).toEqual(allIn('DB'))
  })
})
