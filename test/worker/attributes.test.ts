import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it } from 'vitest'
import { Commands, messageOf } from '../../src/features/events/sent'
import { instant } from '../../src/lib/clock'
import { anotherUuid } from '../helpers/readable'
import { at, list, newApp, newTenant, type TestTenant } from '../helpers/worker/harness'

let tenant: TestTenant
let key: string

const attribute = (key: string, more: Record<string, unknown> = {}) =>
  tenant.create('/attributes', { key, name: key, type: 'user', ...more })

const attributesOf = async (id: string) => at((await tenant.app('GET', `/users/${id}`)).body, 'attributes')

beforeEach(async () => {
  tenant = await newTenant()
  key = await tenant.key('ada')
})

describe('[K7] `writableBy` in the admin interface', () => {
  it('is an issue for event attributes, which have none', async () => {
    const page = { key: 'page', name: 'Page', type: 'event' }
    const issue = { severity: 'error', message: expect.stringContaining('writableBy: only user attributes') }
    const made = await tenant.admin('POST', '/attributes', [{ ...page, writableBy: 'user' }, page])
    expect(made.body).toMatchObject({ created: [page], issues: [{ index: 0, ...issue }] })
    const [shown] = list(at(made.body, 'created'))
    expect(shown).not.toHaveProperty('writableBy')
    const id = at(shown, 'id')
    const changed = await tenant.admin('PATCH', '/attributes', [{ id, name: 'New', writableBy: 'admin' }])
    expect(changed.body).toMatchObject({ updated: [], issues: [{ id, ...issue }] })
    expect((await tenant.admin('GET', '/attributes/page')).body).toEqual(shown)
  })

  it('is `user` for attributes that are older than this field', async () => {
    const older = `INSERT INTO attributes (id, tenant_id, created, updated, type, key, name)
      VALUES (${anotherUuid('?1', '1')}, ?1, 0, 0, 'user', 'old', 'Old')`
    await env.DB.prepare(older).bind(tenant.id).run()
    expect((await tenant.admin('GET', '/attributes')).body).toMatchObject([{ writableBy: 'user' }])
    const { body } = await tenant.as(key, 'PUT', '/users/ada', { attributes: { old: 'a' } })
    expect(body).toMatchObject({ attributes: { old: 'a' } })
  })
})

describe("[K7] a user's own key", () => {
  it.each([
    ['PUT', '/users/ada', {}],
    ['POST', '/users', { id: 'ada' }],
    ['PATCH', '/users/ada', {}],
  ])(
    '%s %s answers 403 and changes nothing if it would change an attribute that only admins may set',
    async (method, path, body) => {
      for (const one of ['plan', 'tier']) await attribute(one)
      await attribute('team', { writableBy: 'user' })
      const set = (attributes: Record<string, string | null>, more = {}) =>
        tenant.as(key, method, path, { ...body, ...more, attributes })
      if (method === 'PATCH') await tenant.app('PUT', '/users/ada', {})
      const more = { name: 'Ada', signUpDate: '2020-01-01' }
      const refused = await set({ plan: 'premium', tier: 'x', team: 'red' }, more)
      const error =
        'Only an admin key may change these: plan, tier, signUpDate. Leave them out, or use an admin key.'
      expect([refused.status, refused.body]).toEqual([403, { error }])
      const found = await tenant.app('GET', '/users/ada')
      if (method === 'PATCH')
        expect(found.body).toMatchObject({ attributes: {}, name: null, signUpDate: null })
      else expect(found.status).toBe(404)
      // Null is the value of a missing attribute.
      expect((await set({ plan: null, team: 'red' })).body).toMatchObject({ attributes: { team: 'red' } })
      await tenant.app('PUT', '/users/ada', { attributes: { plan: 'premium' }, signUpDate: '2020-01-01' })
      for (const signUpDate of ['2020-01-02', null]) expect((await set({}, { signUpDate })).status).toBe(403)
      const all = { plan: 'premium', team: 'red' }
      expect((await set({ plan: 'premium' }, more)).body).toMatchObject({ attributes: all, name: 'Ada' })
      for (const plan of ['free', '', null]) expect((await set({ plan })).status).toBe(403)
      expect(await attributesOf('ada')).toEqual(all)
      // An unknown attribute is still a 422.
      expect((await set({ nope: 'x' })).status).toBe(422)
    },
  )

  it('an event drops such an attribute, counts, and has a warning; a replay has the same warning', async () => {
    const plan = await attribute('plan')
    await attribute('team', { writableBy: 'user' })
    const metricId = await tenant.metric('words')
    const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
    const trigger = { type: 'metric', points: 1, status: 'active', metricId, metricThreshold: 1 }
    await tenant.create(`/points/${system}/triggers`, trigger)
    const userAttributes = [{ attributeId: plan, attributeValue: 'premium' }]
    const boost = { name: 'premium', start: '2020-01-01', multiplier: 10, userAttributes }
    await tenant.create(`/points/${system}/boosts`, boost)
    const send = (attributes: Record<string, string | null>, idempotencyKey?: string, more = {}) => {
      const event = { user: { id: 'ada', name: 'Ada', attributes, ...more }, value: 1 }
      const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
      return tenant.as(key, 'POST', '/metrics/words/event', event, headers)
    }
    const warning = 'Left out, since only an admin key may set them: plan'
    // This event creates the user.
    const first = await send({ plan: 'premium', team: 'red' }, 'k')
    expect([first.status, first.headers.get('x-laurel-warning')]).toEqual([201, warning])
    expect(first.body).toMatchObject({ total: 1, points: { xp: { added: 1 } } })
    const stored = { attributes: { team: 'red' }, name: 'Ada' }
    expect((await tenant.app('GET', '/users/ada')).body).toMatchObject(stored)
    const replay = await send({ plan: 'premium', team: 'blue' }, 'k')
    expect([replay.status, replay.headers.get('x-laurel-warning')]).toEqual([202, warning])
    expect(replay.body).toMatchObject({ total: 1, idempotentReplayed: true })
    expect(await attributesOf('ada')).toEqual({ team: 'red' })

    await tenant.app('PUT', '/users/ada', { attributes: { plan: 'premium' } })
    const named = await send({ plan: 'premium' })
    expect([named.status, named.headers.get('x-laurel-warning')]).toEqual([201, null])
    expect(named.body).toMatchObject({ points: { xp: { added: 10 } } })
    const removed = await send({ plan: null })
    expect([removed.status, removed.headers.get('x-laurel-warning')]).toEqual([201, warning])
    expect(await attributesOf('ada')).toEqual({ plan: 'premium', team: 'red' })
    const dated = await send({}, undefined, { signUpDate: '2020-01-01' })
    expect(dated.headers.get('x-laurel-warning')).toBe(warning.replace('plan', 'signUpDate'))
    expect((await tenant.app('GET', '/users/ada')).body).toMatchObject({ signUpDate: null })
    // An unknown attribute still makes the event a 422.
    expect((await send({ plan: 'x', nope: 'y' })).status).toBe(422)
    const byAdmin = await tenant.event('words', { id: 'ada', attributes: { plan: null } }, 1)
    expect([byAdmin.status, byAdmin.headers.get('x-laurel-warning')]).toEqual([201, null])
    expect(await attributesOf('ada')).toEqual({ team: 'red' })
  })

  it('a completion drops such an attribute with a warning, also the second time', async () => {
    await attribute('plan')
    await attribute('team', { writableBy: 'user' })
    await tenant.create('/achievements', { key: 'done', name: 'Done', trigger: 'api', status: 'active' })
    const complete = async (attributes: Record<string, string>) => {
      const body = { user: { id: 'ada', attributes } }
      const { status, headers } = await tenant.as(key, 'POST', '/achievements/done/complete', body)
      return [status, headers.get('x-laurel-warning')]
    }
    const warned = [201, 'Left out, since only an admin key may set them: plan']
    expect(await complete({ plan: 'premium', team: 'red' })).toEqual(warned)
    expect(await attributesOf('ada')).toEqual({ team: 'red' })
    expect(await complete({ plan: 'premium' })).toEqual(warned)
    expect(await complete({ team: 'blue' })).toEqual([201, null])
    expect(await attributesOf('ada')).toEqual({ team: 'red' })
  })

  it('the warning names 20 attributes and the number of the others', async () => {
    const keys = Array.from({ length: 22 }, (_, n) => `a${n}`)
    for (const one of keys) await attribute(one)
    await tenant.metric('words')
    const attributes = Object.fromEntries(keys.map((one) => [one, 'x']))
    const event = { user: { id: 'ada', attributes }, value: 1 }
    const { headers } = await tenant.as(key, 'POST', '/metrics/words/event', event)
    const named = `${keys.slice(0, 20).join(', ')}, and 2 more`
    expect(headers.get('x-laurel-warning')).toBe(`Left out, since only an admin key may set them: ${named}`)
    expect(headers.get('access-control-expose-headers')).toContain('X-Laurel-Warning')
  })

  it("in parallel calls that create the user, only the admin's value is stored, whichever call is first", async () => {
    await attribute('plan')
    await tenant.metric('words')
    const other = tenant.through(newApp())
    const user = { id: 'ada', attributes: { plan: 'premium' } }
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, n) => {
        const through = n % 2 === 0 ? tenant : other
        return n === 5
          ? through.app('PUT', '/users/ada', { attributes: { plan: 'free' } })
          : through.as(key, 'POST', '/metrics/words/event', { user, value: 1 })
      }),
    )
    expect(responses.map(({ status }) => status)).toEqual(responses.map((_, n) => (n === 5 ? 200 : 201)))
    for (const [n, { headers }] of responses.entries())
      expect(headers.get('x-laurel-warning') !== null).toBe(n !== 5)
    expect((await tenant.app('GET', '/users/ada')).body).toMatchObject({ attributes: { plan: 'free' } })
    expect((await tenant.app('GET', '/users/ada/metrics/words')).body).toMatchObject({ current: 11 })
  })

  it('a message to another isolate says which kind of key sent it, and must do so', () => {
    const user = { attributes: new Map([['plan', 'premium']]) }
    const credential = { prefix: 'app_x', user: null, expires: null }
    const waiting = { arrived: instant(1), credential, tenantName: null, attempt: null }
    const commands = [
      { kind: 'upsert', user, by: 'user' },
      { kind: 'completion', completionId: 'c', achievementKey: 'a', userId: 'ada', user, by: 'user' },
    ] as const
    for (const command of commands) {
      const message: unknown = JSON.parse(JSON.stringify(messageOf({ command, ...waiting })))
      expect(Commands.parse([message])).toMatchObject([{ command: { kind: command.kind, by: 'user' } }])
      const old = { ...Object(message), by: undefined }
      expect(Commands.safeParse([old]).success).toBe(false)
    }
  })
})
