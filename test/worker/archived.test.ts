import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DAY, forgetTime, moveTo, NOON, withBoard } from '../helpers/worker/boards'
import { ADMIN_KEY, type Answer, at, call, everything, newApp, toApp } from '../helpers/worker/harness'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

const admin = (method: string, path: string, tenantId: string | null = null, send = toApp): Promise<Answer> =>
  call(send, method, `/admin/v1${path}`, {
    headers: { 'x-api-key': ADMIN_KEY, ...(tenantId !== null && { 'tenant-id': tenantId }) },
  })

const archive = async (id: string) =>
  expect(await admin('DELETE', `/tenants?ids=${id}`)).toMatchObject({
    status: 200,
    body: { deleted: [{ id }] },
  })

const named = (id: string) => `customer-${id}`

const nameOf = ({ id }: { id: string }, user: string) => `${user} of ${id}`

/** Creates a tenant with two users, and archives it. */
async function archived() {
  const setup = await withBoard()
  const { tenant } = setup
  for (const user of ['ada', 'bob']) await tenant.event('steps', { id: user, name: nameOf(tenant, user) }, 3)
  await archive(tenant.id)
  return setup
}

describe('[U8, T2] the users of an archived tenant', () => {
  it('can be exported and erased, in D1 and in leaderboard objects', async () => {
    const { tenant, board } = await archived()
    const { status, body } = await tenant.admin('GET', '/users/ada/export')
    expect([status, at(body, 'user', 'name'), at(body, 'events')]).toMatchObject([
      200,
      nameOf(tenant, 'ada'),
      [{ value: 3 }],
    ])
    expect(at(body, 'leaderboards', 0)).toMatchObject({ leaderboardId: board, value: 3 })
    expect(await tenant.admin('DELETE', '/users/ada')).toMatchObject({ status: 200, body: { id: 'ada' } })
    await moveTo(NOON + DAY)
    expect((await tenant.admin('GET', '/users/ada/export')).status).toBe(404)
    expect(JSON.stringify(await everything())).not.toContain(nameOf(tenant, 'ada'))
    const held = await env.LEADERBOARD.getByName(board).held({ userId: 'ada', iid: 'x', after: null })
    expect(held).toEqual({ runs: [], hasMore: false })
    expect(at((await tenant.admin('GET', '/users/bob/export')).body, 'user', 'id')).toBe('bob')
  })

  it('cannot be reached by any other request', async () => {
    const { tenant } = await archived()
    expect((await tenant.admin('GET', '/users')).status).toBe(404)
    expect((await tenant.admin('GET', '/users/ada/export/')).status).toBe(404)
    expect((await tenant.app('GET', '/users/ada')).status).toBe(404)
    expect((await tenant.event('steps', 'ada', 1)).status).toBe(404)
    expect((await tenant.admin('GET', '/metrics')).status).toBe(404)
  })

  it('[T2] an active tenant hides an archived one of the same name, also in an isolate that has cached it', async () => {
    const send = newApp()
    const { tenant } = await withBoard()
    await tenant.event('steps', 'ada', 3)
    // This isolate caches the name.
    expect((await admin('GET', '/users', named(tenant.id), send)).status).toBe(200)
    await archive(tenant.id)
    expect((await admin('GET', '/users/ada/export', named(tenant.id), send)).status).toBe(200)
    const created = await call(toApp, 'POST', '/admin/v1/tenants', {
      headers: { 'x-api-key': ADMIN_KEY },
      body: [{ customerId: named(tenant.id), name: 'Again' }],
    })
    const again = String(at(created.body, 'created', 0, 'id'))
    expect((await admin('GET', '/users/ada/export', named(tenant.id), send)).status).toBe(404)
    expect((await admin('DELETE', '/users/ada', named(tenant.id), send)).status).toBe(200)
    expect((await admin('GET', '/users/ada/export', tenant.id, send)).status).toBe(200)
    // If two archived tenants have the same name, the name matches neither.
    await archive(again)
    expect((await admin('GET', '/users/ada/export', named(tenant.id), send)).status).toBe(404)
    expect((await admin('GET', '/users/ada/export', tenant.id, send)).status).toBe(200)
    expect((await admin('GET', '/users/ada/export', again, send)).status).toBe(404)
  })
})
