import { env } from 'cloudflare:workers'
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EVENT_TYPES } from '../../src/configuration/enumerations'
import { instant } from '../../src/lib/clock'
import { type Bindings, VARIABLES, variables } from '../../src/platform/env'
import { webhookAdapter } from '../../src/webhooks/channel'
import type { QueuedMessage } from '../../src/webhooks/delivery/messages'
import { sampleOf, WEBHOOKS } from '../../src/webhooks/events'
import { present } from '../helpers/time'
import { forgetTime, MINUTE, moveTo, NOON } from '../helpers/worker/boards'
import { hand, log, logged, message, withHook } from '../helpers/worker/delivery-queues'
import { at, NOBODY, newApp, newTenant, nextPath } from '../helpers/worker/harness'
import { Hook } from '../helpers/worker/receiver'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

const SECRET = 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ='

/** Attempts of a channel adapter with a time limit in seconds, at a hook. */
const attemptsAt = (hook: { url: string }, limit = 30, more: object = {}) => {
  const given = { variables: { ...variables(env), WEBHOOK_TIMEOUT: limit, ...more } }
  const webhook = { url: hook.url, secret: SECRET, previous: null }
  const adapter = webhookAdapter(given, webhook, async () => undefined)
  return (one: QueuedMessage = message(NOON)) => adapter.attempt(one, instant(NOON))
}

describe('[W3, W4] one attempt', () => {
  it('posts the body unchanged, signed in both ways, with the real time', async () => {
    const hook = new Hook()
    const body = '{"type": "streak.lost",  "name":"Zoë \\u2028"}'
    const one = message(NOON, null, { body })
    expect(await attemptsAt(hook)(one)).toEqual({ kind: 'delivered', status: 200 })
    const [seen] = await hook.seen(1)
    const headers = seen?.headers ?? {}
    expect(seen).toMatchObject({ method: 'POST', body })
    const own = { 'content-type': 'application/json', 'user-agent': 'Laurel', 'webhook-id': one.id }
    expect(headers).toMatchObject(own)
    expect(Math.abs(Number(headers['webhook-timestamp']) * 1_000 - present())).toBeLessThan(60_000)
    expect(new Webhook(SECRET).verify(seen?.body ?? '', headers)).toMatchObject({ type: 'streak.lost' })
    expect(headers['x-trophy-signature']).toBe(createHmac('sha256', SECRET).update(body).digest('base64'))
  })

  it('every 2xx is a success; all else is a failure, and redirects are not followed', async () => {
    const hook = new Hook()
    const elsewhere = new Hook()
    await hook.plan(
      { status: 202 },
      { status: 204 },
      ...[301, 302, 303, 307, 308].map((status) => ({ status, headers: { location: elsewhere.url } })),
      { status: 304 },
      { status: 410, body: 'gone' },
      { status: 429, headers: { 'retry-after': '7200' } },
      { status: 429 },
      { status: 503 },
      // Two servers on the way have added the same header.
      { status: 503, headers: { 'retry-after': '120, 120' } },
    )
    const attempt = attemptsAt(hook)
    for (const status of [202, 204]) expect(await attempt()).toEqual({ kind: 'delivered', status })
    for (const status of [301, 302, 303, 307, 308, 304])
      expect(await attempt()).toEqual({ kind: 'failed', status, error: `answered ${status}` })
    expect(await attempt()).toEqual({ kind: 'postponed', status: 410, error: 'answered 410: gone' })
    const slowDown = { kind: 'failed', status: 429, error: 'answered 429', isForAll: true }
    expect(await attempt()).toEqual({ ...slowDown, retryAfter: 3_600_000 })
    expect(await elsewhere.seen()).toEqual([])
    expect(await attempt()).toMatchObject({ retryAfter: 1_000, isForAll: true })
    expect(await attempt()).not.toHaveProperty('retryAfter')
    expect(await attempt()).toMatchObject({ retryAfter: 120_000, isForAll: true })
  })

  it('at most one kilobyte of a response is kept, and a body that never ends holds nothing up', async () => {
    const hook = new Hook()
    const endless = { status: 500, body: 'x'.repeat(2_000), stall: true }
    await hook.plan({ status: 500, body: 'é'.repeat(100_000) }, endless)
    // The test would fail by its own time limit if an attempt waited for the end of a body.
    const attempt = attemptsAt(hook, 300)
    const error = `answered 500: ${'é'.repeat(512)}`
    expect(await attempt()).toEqual({ kind: 'failed', status: 500, error })
    expect(await attempt()).toMatchObject({ error: `answered 500: ${'x'.repeat(1_024)}` })
    const halved = async (status: number) => {
      const own = new Hook()
      await own.plan({ status, body: 'half', stall: true })
      const wanted = status === 200 ? { kind: 'delivered' } : { error: `answered ${status}: half` }
      expect(await attemptsAt(own, 300)()).toMatchObject({ status, ...wanted })
    }
    await Promise.all([200, 302, 404, 410, 429, 500, 503].map(halved))
  })

  it('a late response, a broken connection and a missing server are failures with a reason', async () => {
    const hook = new Hook()
    await hook.plan({ hold: true }, { drop: true })
    const url = `${hook.url}?token=very-secret`
    const attempt = attemptsAt({ url }, 1)
    expect(await attempt()).toEqual({ kind: 'failed', status: null, error: 'no answer within 1 second' })
    await hook.release()
    const cut = await attempt()
    const nobody = await attemptsAt({ url: 'http://127.0.0.1:9/?token=very-secret' })()
    for (const came of [cut, nobody]) {
      expect(came).toMatchObject({ kind: 'failed', status: null })
      expect(at(came, 'error')).toMatch(/^no answer: ./)
      expect(at(came, 'error')).not.toContain('very-secret')
    }
  })

  it('[W1] a URL that is no longer allowed is refused and not called', async () => {
    const hook = new Hook()
    const came = await attemptsAt(hook, 5, { TEST_CLOCK: 'off' })()
    expect(came).toMatchObject({ kind: 'refused', error: expect.stringContaining('public address') })
    expect(await hook.seen()).toEqual([])
  })

  it('[W1] a host in WEBHOOK_ALLOW is called, also by http', async () => {
    const hook = new Hook()
    const { host } = new URL(hook.url)
    const attempt = (WEBHOOK_ALLOW: string) =>
      attemptsAt(hook, 5, variables({ ...env, TEST_CLOCK: 'off', WEBHOOK_ALLOW }))()
    expect(await attempt(host)).toEqual({ kind: 'delivered', status: 200 })
    expect(await attempt(` nas.lan:80 , ${host}`)).toEqual({ kind: 'delivered', status: 200 })
    expect(await attempt('nas.lan:80')).toMatchObject({ kind: 'refused' })
    expect(await hook.seen()).toHaveLength(2)
    expect(variables({ ...env, WEBHOOK_ALLOW: '' }).WEBHOOK_ALLOW).toEqual(new Set())
  })

  it('WEBHOOK_TIMEOUT is 60 by default, and DELIVERY_LOG_DAYS 30', () => {
    expect(variables({ ...env }).WEBHOOK_TIMEOUT).toBe(60)
    expect(variables({ ...env, WEBHOOK_TIMEOUT: '300' }).WEBHOOK_TIMEOUT).toBe(300)
    expect(variables({ ...env }).DELIVERY_LOG_DAYS).toBe(30)
  })

  it('an empty variable counts as absent, and no request fails because of it', async () => {
    const without: Bindings = { ...env }
    for (const name of VARIABLES) Reflect.deleteProperty(without, name)
    const empty = Object.fromEntries(VARIABLES.map((name) => [name, '']))
    expect(variables({ ...without, ...empty })).toEqual(variables(without))
    const tenant = await newTenant()
    const own = tenant.through(newApp({ RESEND_API_KEY: '', EXPO_URL: '' }))
    expect((await own.admin('GET', '/settings')).status).toBe(200)
  })
})

describe('[W4] the log', () => {
  it('a sample of each type can be sent, also to webhooks without that type, and follows the contract', async () => {
    const { tenant, hook, webhookId, ...setup } = await withHook({ events: ['streak.lost'] })
    const ids: unknown[] = []
    for (const type of EVENT_TYPES) {
      const sent = await tenant.admin('POST', `/webhooks/${webhookId}/test`, { type })
      expect([sent.status, sent.body]).toEqual([
        202,
        {
          ...{ id: expect.any(String), event: type, status: 'delivered', attempts: 1, lastStatus: 200 },
          ...{ lastError: null, created: new Date(NOON).toISOString(), nextAttempt: null },
          response: { status: 200, milliseconds: expect.any(Number), body: '' },
        },
      ])
      ids.push(at(sent.body, 'id'))
    }
    await moveTo(NOON)
    const seen = await hook.seen(EVENT_TYPES.length)
    expect(seen.map(({ headers }) => headers['webhook-id']).toSorted()).toEqual(ids.toSorted())
    for (const { body } of seen) {
      const payload = JSON.parse(body)
      const schema = WEBHOOKS[payload.type]
      // No field is missing, and none is unknown to the schema.
      expect(schema?.parse(payload)).toEqual(payload)
      expect(body).toContain('ample')
    }
    expect(new Set(seen.map(({ body }) => JSON.parse(body).type))).toEqual(new Set(EVENT_TYPES))
    expect((await log(setup)).every(({ status }) => status === 'delivered')).toBe(true)
    // One delivery can be read with the body that was sent.
    const path = `/webhooks/${webhookId}/deliveries`
    const listed = Object([(await tenant.admin('GET', path)).body].flat()[0])
    const sent = seen.find(({ headers }) => headers['webhook-id'] === listed.id)
    const read = await tenant.admin('GET', `${path}/${listed.id}`)
    expect([read.status, read.body]).toEqual([200, { ...listed, body: JSON.parse(sent?.body ?? '') }])
    expect(sampleOf('streak.lost', instant(NOON))).toMatchObject({ user: { id: 'sample-user' }, length: 2 })
  })

  it('[O3] lists by a cursor, which stays exact while deliveries come', async () => {
    const { tenant, webhookId, destination } = await withHook({ status: 'inactive' })
    const messages = Array.from({ length: 12 }, (_, n) => message(NOON - 100 + Math.floor(n / 2), 'ada'))
    await hand(destination, NOON, ...messages)
    const page = async (path: string) => {
      const { status, body, headers } = await tenant.admin('GET', path)
      expect(status).toBe(200)
      return { ids: [body].flat().map((one) => at(one, 'id')), next: nextPath(headers) }
    }
    const base = `/webhooks/${webhookId}/deliveries`
    const all = (await page(`${base}?limit=100`)).ids
    expect(all).toHaveLength(12)
    const first = await page(`${base}?limit=5`)
    await hand(destination, NOON, message(NOON, 'bob'))
    const second = await page(first.next ?? '')
    const third = await page(second.next ?? '')
    expect([...first.ids, ...second.ids, ...third.ids]).toEqual(all)
    expect(third.next).toBeNull()
    expect((await page(`${base}?limit=13`)).next).toBeNull()
    expect((await page(`${base}?skip=11&limit=1`)).next).not.toBeNull()
    const refusal = async (path: string, error: string) =>
      expect(await tenant.admin('GET', path), path).toMatchObject({
        ...{ status: 422, body: { error: expect.stringContaining(error) } },
      })
    await refusal(`${first.next}&skip=1`, 'skip: must be left')
    for (const after of ['x', '', 'W10', 'WzEsMl0'])
      await refusal(`${base}?after=${after}`, 'after: must be the cursor')
  })

  it('a delivered, a failed or a pending delivery can be sent again, with all attempts, under the same id', async () => {
    const setup = await withHook()
    const { tenant, hook, webhookId } = setup
    const again = (id: string) => tenant.admin('POST', `/webhooks/${webhookId}/deliveries/${id}/redeliver`)
    const one = message(NOON)
    await hand(setup.destination, NOON, one)
    await moveTo(NOON + 1)
    expect(await logged(setup, one)).toMatchObject({ status: 'delivered' })
    await hook.plan({ status: 500, always: true })
    const first = await again(one.id.toUpperCase())
    expect(first).toMatchObject({
      status: 200,
      body: { id: one.id, status: 'pending', attempts: 1, nextAttempt: new Date(NOON + 1).toISOString() },
    })
    await moveTo(NOON + 30 * 60 * MINUTE)
    expect(await logged(setup, one)).toMatchObject({ status: 'dead', attempts: 8 })
    expect((await again(one.id)).status).toBe(200)
    await moveTo(NOON + 30 * 60 * MINUTE + 1)
    expect(await logged(setup, one)).toMatchObject({ status: 'pending', attempts: 9 })
    await hook.plan()
    expect((await again(one.id)).status).toBe(200)
    await moveTo(NOON + 30 * 60 * MINUTE + 2)
    expect(await logged(setup, one)).toMatchObject({ status: 'delivered', attempts: 10, lastError: null })
    expect(new Set(await hook.ids(10))).toEqual(new Set([one.id]))
  })

  it('unknown deliveries are 404, also of another webhook or tenant; wrong types are named', async () => {
    const { tenant, webhookId, destination } = await withHook({ status: 'inactive' })
    const other = await withHook({ status: 'inactive' })
    const one = message(NOON)
    await hand(destination, NOON, one)
    const paths = [
      `/webhooks/${webhookId}/deliveries/${NOBODY}/redeliver`,
      `/webhooks/${webhookId}/deliveries/nonsense/redeliver`,
      `/webhooks/${NOBODY}/deliveries/${one.id}/redeliver`,
      `/webhooks/${NOBODY}/test`,
    ]
    for (const path of paths)
      expect((await tenant.admin('POST', path, { type: 'nonsense' })).status, path).toBe(404)
    for (const [method, path] of [
      ['GET', `/webhooks/${webhookId}/deliveries`],
      ['POST', `/webhooks/${webhookId}/deliveries/${one.id}/redeliver`],
      ['POST', `/webhooks/${other.webhookId}/deliveries/${one.id}/redeliver`],
    ] as const)
      expect((await other.tenant.admin(method, path)).status, path).toBe(404)
    for (const [from, webhook, id] of [
      [tenant, webhookId, NOBODY],
      [tenant, webhookId, 'nonsense'],
      [other.tenant, webhookId, one.id],
      [other.tenant, other.webhookId, one.id],
    ] as const)
      expect((await from.admin('GET', `/webhooks/${webhook}/deliveries/${id}`)).status).toBe(404)
    for (const body of [{ type: 'points.gone' }, {}, { type: null }]) {
      const refused = await tenant.admin('POST', `/webhooks/${webhookId}/test`, body)
      const both = expect.stringMatching(/type: must be .*The webhook is inactive/)
      expect([refused.status, at(refused.body, 'error')]).toEqual([422, both])
    }
    const inactive = await tenant.admin('POST', `/webhooks/${webhookId}/test`, { type: 'streak.lost' })
    expect([inactive.status, at(inactive.body, 'error')]).toEqual([422, expect.stringContaining('inactive')])
  })

  it('a secret that is rotated in the middle of a run signs the rest of it', async () => {
    const { tenant, hook, webhookId, destination } = await withHook()
    await hook.plan({ hold: true })
    await hand(destination, NOON, message(NOON - 2, 'ada'), message(NOON - 1, 'ada'))
    await hook.seen(1)
    const rotated = await tenant.admin('POST', `/webhooks/${webhookId}/rotate-secret`)
    await hook.release()
    const [, second] = await hook.seen(2)
    const secret = String(at(rotated.body, 'secret'))
    expect(new Webhook(secret).verify(second?.body ?? '', second?.headers ?? {})).toBeTruthy()
  })
})
