/** Test messages: a message by a template to a real user, now and once (N4). */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Bindings } from '../../src/platform/env'
import { at, newApp, newTenant, pick, type TestTenant } from '../helpers/worker/harness'

const PATH = '/notifications/templates'
const EMAIL = { type: 'recap', channel: 'email', subject: 'Hi {{ user.name }}', body: '<p>Go on</p>' }
const PUSH = { type: 'recap', channel: 'push', title: 'Hi {{ user.name }}', body: 'Go on' }
const RESEND = {
  RESEND_API_KEY: 'the key',
  RESEND_URL: 'https://resend.example',
  EMAIL_FROM: 'Laurel <hi@laurel.example>',
}
const EXPO = { EXPO_URL: 'https://expo.example' }
const FCM = JSON.stringify({ client_email: 'a@b.example', private_key: 'none', project_id: 'p' })
const tokenOf = (name: string) => `ExponentPushToken[${name}]`

let tenant: TestTenant
beforeEach(async () => {
  tenant = await newTenant()
  await tenant.app('PUT', '/users/wyn', {
    name: 'Wyn',
    email: 'wyn@b.example',
    deviceTokens: [tokenOf('good'), tokenOf('gone')],
  })
})
afterEach(() => vi.unstubAllGlobals())

/** Sends a test through a Worker with these variables. */
const test = (variables: Partial<Bindings>, id: string, userId = 'wyn') =>
  tenant.through(newApp(variables)).admin('POST', `${PATH}/${id}/test`, { userId })

/** A provider that keeps the requests and gives these answers. */
function provider(answer: (body: unknown) => Response) {
  const asked: { url: string; body: unknown }[] = []
  vi.stubGlobal('fetch', async (url: string, { body }: { body: string }) => {
    asked.push({ url, body: JSON.parse(body) })
    return answer(JSON.parse(body))
  })
  return asked
}

const nothingIsSent = () =>
  vi.stubGlobal('fetch', () => {
    throw new Error('sent')
  })

/** The entries of the audit log about tests. */
async function logged() {
  const { body } = await tenant.admin('GET', '/audit-log?limit=100')
  return Array.isArray(body) ? body.filter(({ action }) => action === 'send_sample') : []
}

describe('[N4] a test of a template', () => {
  it('[N4, Z1] sends an email of an inactive template to the user once; the audit log has it, the log of messages has not', async () => {
    const id = await tenant.create(PATH, EMAIL)
    const asked = provider(() => Response.json({ id: 'x' }))
    const { status, body } = await test(RESEND, id)
    expect([status, body]).toEqual([200, { channel: 'email', status: 'sent', reason: null }])
    expect(asked).toEqual([
      {
        url: 'https://resend.example/emails',
        body: expect.objectContaining({
          from: RESEND.EMAIL_FROM,
          to: ['wyn@b.example'],
          subject: 'Hi Wyn',
          headers: expect.objectContaining({ 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
        }),
      },
    ])
    expect(await logged()).toMatchObject([
      {
        kind: 'notification_template',
        resourceId: id,
        key: 'recap-email',
        fields: { user: { before: null, after: expect.any(String) }, channel: { after: 'email' } },
      },
    ])
    // No id, in hexadecimal digits, contains this name.
    expect(JSON.stringify(await logged())).not.toMatch(/wyn/i)
    expect((await tenant.admin('GET', '/notifications/log')).body).toEqual([])
  })

  it('[N4] says why the provider did not take it, and does not try again', async () => {
    const id = await tenant.create(PATH, EMAIL)
    const refusing = provider(() =>
      Response.json({ name: 'validation_error', message: 'The domain is not verified' }, { status: 403 }),
    )
    expect((await test(RESEND, 'recap-email')).body).toEqual({
      channel: 'email',
      status: 'failed',
      reason: 'answered 403: The domain is not verified',
    })
    expect(refusing.length).toBe(1)
    const failing = provider(() => new Response('', { status: 500 }))
    expect((await test(RESEND, id)).body).toMatchObject({ status: 'failed', reason: 'answered 500' })
    expect(failing.length).toBe(1)
    const EMAIL_BINDING: SendEmail = { send: () => Promise.reject(new Error('no such sender')) }
    const variables = { EMAIL: EMAIL_BINDING, EMAIL_FROM: RESEND.EMAIL_FROM }
    expect((await test(variables, id)).body).toMatchObject({ status: 'failed', reason: 'no such sender' })
  })

  it('[N4, N6] sends a push message to each device, and removes tokens that are gone', async () => {
    const id = await tenant.create(PATH, PUSH)
    const tickets = {
      good: { status: 'ok', id: 'x' },
      gone: { status: 'error', message: 'gone', details: { error: 'DeviceNotRegistered' } },
      slow: { status: 'error', message: 'slow', details: { error: 'MessageRateExceeded' } },
    }
    provider((body) => {
      const named = Object.entries(tickets)
      const ticketOf = (to: unknown) => named.find(([name]) => to === tokenOf(name))?.[1]
      return Response.json({ data: pick(body, 'to').map(ticketOf) })
    })
    expect((await test(EXPO, id)).body).toEqual({ channel: 'push', status: 'sent', reason: null })
    expect(at((await tenant.app('GET', '/users/wyn')).body, 'deviceTokens')).toEqual([tokenOf('good')])
    await tenant.app('PUT', '/users/wyn', { deviceTokens: [tokenOf('good'), tokenOf('slow')] })
    expect((await test(EXPO, id)).body).toMatchObject({
      status: 'sent',
      reason: expect.stringMatching(/slow|MessageRate/),
    })
    await tenant.app('PUT', '/users/wyn', { deviceTokens: [tokenOf('slow')] })
    expect((await test(EXPO, id)).body).toMatchObject({ status: 'failed' })
  })

  it('[N4] says which variables to set if there is no provider', async () => {
    nothingIsSent()
    const [email, push] = [await tenant.create(PATH, EMAIL), await tenant.create(PATH, PUSH)]
    expect((await test({}, email)).body).toEqual({
      channel: 'email',
      status: 'unsent: no provider',
      reason: expect.stringContaining('EMAIL_FROM and RESEND_API_KEY'),
    })
    await tenant.app('PUT', '/users/wyn', { deviceTokens: [tokenOf('good'), 'fcm:x', 'ab'.repeat(32)] })
    const { body } = await test({}, push)
    expect(body).toMatchObject({ status: 'unsent: no provider' })
    for (const name of ['EXPO_ACCESS_TOKEN', 'FCM_SERVICE_ACCOUNT', 'APNS_TOPIC'])
      expect(at(body, 'reason')).toContain(name)
    await tenant.app('PUT', '/users/wyn', { deviceTokens: [tokenOf('good')] })
    const other = await test({ FCM_SERVICE_ACCOUNT: FCM }, push)
    expect(at(other.body, 'reason')).toMatch(/Set EXPO_ACCESS_TOKEN or EXPO_URL\.$/)
  })

  it('[N1, U5] refuses a user who can’t get such messages, with the reason; nothing is sent or logged', async () => {
    nothingIsSent()
    const [email, push] = [await tenant.create(PATH, EMAIL), await tenant.create(PATH, PUSH)]
    const users = {
      nomail: {},
      left: { email: 'l@b.example', subscribeToEmails: false, deviceTokens: [] },
      unwilling: { email: 'u@b.example', deviceTokens: [tokenOf('u')] },
    }
    for (const [id, user] of Object.entries(users)) await tenant.app('PUT', `/users/${id}`, user)
    await tenant.app('PATCH', '/users/unwilling/preferences', { notifications: { recap: [] } })
    await tenant.admin('PATCH', '/settings', { experimentation: { controlRatio: 100 } })
    await tenant.app('PUT', '/users/control', { email: 'c@b.example' })
    const told = async (id: string, userId: string) => {
      const { status, body } = await test({ ...RESEND, ...EXPO }, id, userId)
      return [status, at(body, 'error')]
    }
    expect(await told(email, 'nobody')).toEqual([422, 'userId: must be the id of an existing user.'])
    expect(await told(email, 'nomail')).toEqual([422, 'userId: must be a user with an email address.'])
    expect(await told(email, 'left')).toEqual([
      422,
      'userId: must be a user who has not unsubscribed from emails.',
    ])
    expect(await told(push, 'left')).toEqual([422, 'userId: must be a user with a device token.'])
    expect(await told(push, 'unwilling')).toEqual([
      422,
      'userId: must be a user whose preferences allow recap by push.',
    ])
    expect(await told(email, 'control')).toEqual([
      422,
      'userId: must be a user outside the control group, which gets no messages.',
    ])
    expect(await told('nothing', 'ada')).toEqual([404, expect.any(String)])
    expect(await logged()).toEqual([])
  })

  it('[N4] is limited for each tenant; beyond the limit nothing is sent', async () => {
    const id = await tenant.create(PATH, EMAIL)
    const asked = provider(() => Response.json({ id: 'x' }))
    const keys: string[] = []
    const ALLOWING: RateLimit = { limit: async () => ({ success: true }) }
    const ADDRESS_LIMIT: RateLimit = { limit: async ({ key }) => ({ success: keys.push(key) < 2 }) }
    const limited = { ...RESEND, RATE_LIMITS: 'on', ADDRESS_LIMIT, ADMIN_LIMIT: ALLOWING }
    expect((await test(limited, id)).status).toBe(200)
    const refused = await test(limited, id)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
    expect(keys).toEqual(Array(2).fill(`test messages of ${tenant.id}`))
    expect(asked.length).toBe(1)
    expect((await logged()).length).toBe(1)
  })
})
