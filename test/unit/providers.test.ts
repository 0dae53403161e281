/**
 * The adapters of providers, against servers that behave as the providers' documentation says, over HTTP/1.1
 * (N4).
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { exportPKCS8, generateKeyPair, jwtVerify } from 'jose'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { cloudflareEmail, resendEmail } from '../../src/features/notifications/providers/email'
import {
  AccessTokenCache,
  apnsPush,
  expoPush,
  fcmPush,
  providerOf,
} from '../../src/features/notifications/providers/push'
import { listening, stop } from '../helpers/listening'
import { present, START } from '../helpers/time'

const LETTER = '018f0000-0000-7000-8000-000000000001'
const PUSH = { id: LETTER, title: 'Title "1"', body: 'Bödy' }
const { id: _of, ...SAID } = PUSH
const EMAIL = {
  ...{ id: LETTER, from: 'Laurel <hi@laurel.example>', to: 'ada@b.example' },
  ...{ subject: 'Sübject', html: '<p>Hi</p>', text: 'Hi' },
  headers: {
    'List-Unsubscribe': '<https://x.example>',
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  },
}

type Asked = { method: string; path: string; headers: IncomingMessage['headers']; body: string }
type Say = {
  status?: number
  json?: unknown
  text?: string
  headers?: Record<string, string>
  /** The body never ends. */
  isEndless?: boolean
}
/** The response of a server. Null for none. */
type Answer = (asked: Asked, count: number) => Say | null | Promise<Say | null>

/** The requests of the test. */
let asked: Asked[] = []
let answer: Answer = () => ({})
let url = ''

async function receive(request: IncomingMessage, response: ServerResponse, all: Asked[]): Promise<void> {
  const body = await text(request).catch(() => null)
  // The client has gone.
  if (body === null) return
  const { method = '', url: path = '', headers } = request
  const one = { method, path, headers, body }
  all.push(one)
  const said = await answer(one, all.length)
  if (said === null) return
  const told = said.text ?? (said.json === undefined ? '' : JSON.stringify(said.json))
  response.writeHead(said.status ?? 200, { 'content-type': 'application/json', ...said.headers })
  if (said.isEndless) response.write(told || '{')
  else response.end(told)
}

// Each test has its own server: a request that an earlier test gave up may still arrive.
let server: Server
beforeEach(async () => {
  const all: Asked[] = []
  asked = all
  answer = () => ({})
  server = createServer((request, response) => receive(request, response, all))
  url = await listening(server)
})
afterEach(() => stop(server))

const UNREACHED = 'the provider could not be reached: the connection was refused (ECONNREFUSED)'

/** An address on which no server listens. */
async function deadUrl(): Promise<string> {
  const other = createServer()
  const address = await listening(other)
  stop(other)
  await once(other, 'close')
  return address
}

describe('Resend', () => {
  const port = (more: object = {}) => resendEmail({ key: 're_secret', url, ...more })

  it('[N4] an email is posted as documented, with the id of its message as its key', async () => {
    answer = () => ({ json: { id: '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794' } })
    expect(await port().send(EMAIL)).toEqual({ kind: 'delivered', status: 200 })
    const { id: _id, to, ...rest } = EMAIL
    const headers = { authorization: 'Bearer re_secret', 'content-type': 'application/json' }
    expect(asked).toMatchObject([
      { method: 'POST', path: '/emails', headers: { ...headers, 'idempotency-key': LETTER } },
    ])
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ ...rest, to: [to] })
    expect(port().mayRepeat).toBe(true)
  })

  it.each([
    [429, 'rate_limit_exceeded', 'Too many requests.', 'postponed', '7', 7_000],
    [429, 'rate_limit_exceeded', 'Too many.', 'postponed', '0', 1_000],
    [500, 'application_error', 'Later.', 'failed', '6.5', 6_500],
    [429, 'daily_quota_exceeded', 'You have reached it.', 'failed'],
    [409, 'concurrent_idempotent_requests', 'Wait.', 'failed'],
    [409, 'invalid_idempotent_request', 'Another.', 'refused'],
    [422, 'validation_error', 'Invalid `to` field.', 'refused'],
    [400, 'validation_error', 'No.', 'refused'],
    [403, 'invalid_api_key', 'API key is invalid.', 'refused'],
    [401, 'missing_api_key', 'Missing.', 'failed'],
    [500, 'application_error', 'Oops.', 'failed'],
    [503, '<html>', undefined, 'failed'],
    [302, undefined, undefined, 'failed'],
  ] as const)(
    '[N4] %i %s %j is %s',
    async (status, name, message, kind, wait?: string, retryAfter?: number) => {
      const location = { location: `${url}/elsewhere` }
      const headers = { ...(status === 302 && location), ...(wait && { 'retry-after': wait }) }
      answer = () => ({ status, json: message ? { name, message } : name, headers })
      const error = message ? `answered ${status}: ${message}` : expect.stringContaining(`answered ${status}`)
      const waits = retryAfter !== undefined && { retryAfter }
      expect(await port().send(EMAIL)).toEqual({ kind, status, error, ...waits })
      expect(asked).toHaveLength(1)
    },
  )

  it('[N4] Retry-After may be a date', async () => {
    const httpDate = (ms: number) => new Date(START + ms).toUTCString()
    answer = () => ({ status: 503, headers: { date: httpDate(0), 'retry-after': httpDate(90_000) } })
    const attempt = await port().send(EMAIL)
    expect(attempt.kind === 'failed' && attempt.retryAfter).toBeGreaterThan(80_000)
    answer = () => ({ status: 429, headers: { 'retry-after': '99999999999' } })
    expect(await port().send(EMAIL)).toMatchObject({ retryAfter: 86_400_000 })
    answer = () => ({ status: 429, headers: { 'retry-after': 'soon' } })
    expect(await port().send(EMAIL)).not.toHaveProperty('retryAfter')
  })

  it('[N4] silence, a broken connection and an endless response fail, and the error names no address and no key', async () => {
    answer = () => null
    const failed = { kind: 'failed', status: null }
    expect(await port({ patience: 100 }).send(EMAIL)).toEqual({ ...failed, error: 'no answer within 0.1 s' })
    expect(await port({ url: await deadUrl() }).send(EMAIL)).toEqual({ ...failed, error: UNREACHED })
    answer = () => ({ status: 500, text: 'x'.repeat(1_000_000) })
    expect(await port().send(EMAIL)).toEqual({ kind: 'failed', status: 500, error: 'answered 500' })
  })
})

it('[N4] a provider that answers and never ends its body has answered: its status counts', async () => {
  const port = resendEmail({ key: 're_secret', url, patience: 1_000 })
  answer = () => ({ isEndless: true })
  expect(await port.send(EMAIL)).toEqual({ kind: 'delivered', status: 200 })
  answer = () => ({ status: 422, isEndless: true })
  expect(await port.send(EMAIL)).toEqual({ kind: 'refused', status: 422, error: 'answered 422' })
})

describe('the send_email binding', () => {
  const bound = (send: (message: unknown) => Promise<EmailSendResult>): SendEmail => ({ send })

  it('[N4] takes an email by its parts', async () => {
    const sent: unknown[] = []
    const port = cloudflareEmail(bound(async (message) => ({ messageId: String(sent.push(message)) })))
    expect(await port.send(EMAIL)).toEqual({ kind: 'delivered', status: null })
    const { id: _id, ...parts } = EMAIL
    expect(sent).toEqual([{ ...parts, from: { name: 'Laurel', email: 'hi@laurel.example' } }])
    for (const from of ['hi@laurel.example', ' <hi@laurel.example> ', '"A, B" <a@b.example>'])
      await port.send({ ...EMAIL, from })
    const plain = { from: 'hi@laurel.example' }
    expect(sent.slice(1)).toMatchObject([plain, plain, { from: { name: 'A, B', email: 'a@b.example' } }])
    expect(port.mayRepeat).toBe(false)
  })

  it.each([
    ['E_RATE_LIMIT_EXCEEDED', 'postponed'],
    ['E_DAILY_LIMIT_EXCEEDED', 'postponed'],
    ['E_VALIDATION_ERROR', 'refused'],
    ['E_RECIPIENT_SUPPRESSED', 'refused'],
    [undefined, 'refused'],
  ])('[N4] %s is %s', async (code, kind) => {
    const port = cloudflareEmail(
      bound(async () => Promise.reject(Object.assign(new Error('no'), code && { code }))),
    )
    const wait = kind === 'postponed' && { retryAfter: 1_000 }
    const error = code ? `${code}: no` : 'no'
    expect(await port.send(EMAIL)).toEqual({ kind, status: null, error, ...wait })
  })
})

it('[N4] the form of a token says its provider', () => {
  const tokens = {
    expo: ['ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]', 'ExpoPushToken[a]'],
    apns: ['a1'.repeat(32), 'A1'.repeat(50)],
    fcm: ['a1'.repeat(31), 'dXyZ:APA91bH-x_y', ''],
  }
  for (const [provider, all] of Object.entries(tokens))
    expect(all.map(providerOf)).toEqual(all.map(() => provider))
})

describe('Expo', () => {
  const TOKENS = ['ExponentPushToken[a]', 'ExponentPushToken[b]', 'ExponentPushToken[c]']
  const port = (more: object = {}) => expoPush({ url, accessToken: 'expo-secret', ...more })
  const failure = (message: string, error: string) => ({ status: 'error', message, details: { error } })
  const GONE = failure('"ExponentPushToken[b]" is not registered', 'DeviceNotRegistered')

  it('[N4, N6] tickets belong to their tokens, in order', async () => {
    const data = [{ status: 'ok', id: '1' }, GONE, failure('slow', 'MessageRateExceeded')]
    answer = () => ({ json: { data } })
    expect(await port().send(PUSH, TOKENS)).toMatchObject([
      { kind: 'taken' },
      { kind: 'gone', error: 'DeviceNotRegistered' },
      { kind: 'failed', error: 'MessageRateExceeded' },
    ])
    expect(asked).toMatchObject([
      { method: 'POST', path: '/--/api/v2/push/send', headers: { authorization: 'Bearer expo-secret' } },
    ])
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual(TOKENS.map((to) => ({ to, ...SAID, sound: 'default' })))
    await port({ accessToken: undefined }).send(PUSH, TOKENS)
    expect(asked[1]?.headers).not.toHaveProperty('authorization')
  })

  it.each([
    [200, { data: [failure('big', 'MessageTooBig')] }, 'refused'],
    [200, { data: [{ status: 'error', message: 'no' }] }, 'refused'],
    [200, { data: [] }, 'failed'],
    [200, undefined, 'failed'],
    [400, { errors: [{ code: 'API_ERROR', message: 'bad' }] }, 'refused'],
    [401, { errors: [{ code: 'UNAUTHORIZED', message: 'token' }] }, 'failed'],
    [429, { errors: [{ code: 'TOO_MANY_REQUESTS', message: 'slow' }] }, 'failed'],
    [502, undefined, 'failed'],
  ])('[N4] %i %j becomes %s', async (status, json, kind) => {
    answer = () => ({ status, json, headers: { 'retry-after': '3' } })
    const [result] = await port().send(PUSH, TOKENS.slice(0, 1))
    expect(result).toMatchObject({ kind, status })
    if (status === 429) expect(result).toMatchObject({ retryAfter: 3_000, error: 'answered 429: slow' })
  })

  it('[N4] tokens of several projects, which Expo refuses together, are sent one by one', async () => {
    const mixed = { errors: [{ code: 'PUSH_TOO_MANY_EXPERIENCE_IDS', message: 'All must be for one.' }] }
    answer = ({ body }) => {
      const [{ to }, ...others] = JSON.parse(body)
      if (others.length > 0) return { status: 400, json: mixed }
      return { json: { data: [to === TOKENS[1] ? GONE : { status: 'ok', id: '1' }] } }
    }
    const kinds = (await port().send(PUSH, TOKENS)).map(({ kind }) => kind)
    expect(kinds).toEqual(['taken', 'gone', 'taken'])
    expect(asked).toHaveLength(4)
  })

  it('[N4] silence is a failure for each token', async () => {
    answer = () => null
    const failed = { kind: 'failed', status: null, error: 'no answer within 0.05 s' }
    expect(await port({ patience: 50 }).send(PUSH, TOKENS)).toEqual([failed, failed, failed])
  })
})

describe('APNs', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const key = await exportPKCS8(privateKey)
  const DEVICE = 'ab'.repeat(32)
  const app = { keyId: 'KEY1234567', teamId: 'TEAM123456', topic: 'example.laurel.app' }
  const port = (tokens = new AccessTokenCache(), more: object = {}) =>
    apnsPush({ url, key, ...app, ...more }, tokens)

  it('[N4] a message is posted as documented, with a token that Apple can verify', async () => {
    const before = Math.floor(present() / 1_000)
    expect(await port().send(PUSH, [DEVICE])).toEqual([{ kind: 'taken', status: 200 }])
    const after = present() / 1_000
    const [one] = asked
    expect(one).toMatchObject({
      method: 'POST',
      path: `/3/device/${DEVICE}`,
      headers: { 'apns-topic': 'example.laurel.app', 'apns-push-type': 'alert', 'apns-collapse-id': LETTER },
    })
    expect(one?.headers['apns-id']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    expect(JSON.parse(one?.body ?? '')).toMatchObject({ aps: { alert: SAID } })
    const [scheme, token = ''] = String(one?.headers.authorization).split(' ')
    const { payload, protectedHeader } = await jwtVerify(token, publicKey, { issuer: 'TEAM123456' })
    expect([scheme, protectedHeader]).toEqual(['bearer', { alg: 'ES256', kid: 'KEY1234567' }])
    expect(payload.iat).toBeGreaterThanOrEqual(before)
    expect(payload.iat).toBeLessThanOrEqual(after)
    // The same message has the same id on a retry. Another device's message has another id.
    await port().send(PUSH, [DEVICE, 'cd'.repeat(32)])
    const again = asked.slice(1).find(({ path }) => path === one?.path)
    const other = asked.slice(1).find(({ path }) => path !== one?.path)
    expect(again?.headers['apns-id']).toBe(one?.headers['apns-id'])
    expect(other?.headers['apns-id']).not.toBe(one?.headers['apns-id'])
    expect(other?.headers.authorization).toBe(again?.headers.authorization)
  })

  it('[N4] the token is kept for 50 minutes, and a key in one line is accepted', async () => {
    const tokens = new AccessTokenCache()
    const line = key.replaceAll('\n', '\\n')
    const tokenAt = async (minutes: number) => {
      vi.useFakeTimers({ toFake: ['Date'], now: present() + minutes * 60_000 })
      try {
        await port(tokens, { key: line }).send(PUSH, [DEVICE])
      } finally {
        vi.useRealTimers()
      }
      return asked.at(-1)?.headers.authorization
    }
    const first = await tokenAt(0)
    expect(await tokenAt(49)).toBe(first)
    expect(await tokenAt(51)).not.toBe(first)
  })

  it.each([
    [410, 'Unregistered', 'gone'],
    [410, 'ExpiredToken', 'gone'],
    [400, 'BadDeviceToken', 'refused', ': the token is not valid, or not for this APNS_URL'],
    [400, 'DeviceTokenNotForTopic', 'refused'],
    [413, 'PayloadTooLarge', 'refused'],
    [403, 'InvalidProviderToken', 'failed'],
    [429, 'TooManyRequests', 'failed'],
    [500, 'InternalServerError', 'failed'],
    [503, 'ServiceUnavailable', 'failed'],
    [418, undefined, 'refused'],
  ])('[N4, N6] %i %s is %s', async (status, reason, kind, hint = '') => {
    answer = () => ({ status, ...(reason && { json: { reason } }), headers: { 'retry-after': '9' } })
    const error = reason ? reason + hint : `answered ${status}`
    const retryAfter = kind === 'failed' && { retryAfter: 9_000 }
    expect(await port().send(PUSH, [DEVICE])).toEqual([{ kind, status, error, ...retryAfter }])
  })

  it('[N4] a token that is too old for Apple is made again, once', async () => {
    const expired = { status: 403, json: { reason: 'ExpiredProviderToken' } }
    answer = (_one, count) => (count === 1 ? expired : {})
    expect(await port().send(PUSH, [DEVICE])).toEqual([{ kind: 'taken', status: 200 }])
    asked.length = 0
    answer = () => expired
    const [result] = await port().send(PUSH, [DEVICE])
    expect(result).toMatchObject({ kind: 'failed', error: 'ExpiredProviderToken' })
    expect(asked).toHaveLength(2)
  })

  it('[N4] an invalid key, and silence, fail; the errors name neither the key nor the device', async () => {
    const [result] = await port(new AccessTokenCache(), { key: 'se-cret' }).send(PUSH, [DEVICE])
    expect(result).toEqual({ kind: 'failed', status: null, error: 'APNS_KEY is not the text of a .p8 key' })
    const unreached = await port(new AccessTokenCache(), { url: await deadUrl() }).send(PUSH, [DEVICE])
    expect(unreached).toEqual([{ kind: 'failed', status: null, error: UNREACHED }])
    answer = () => null
    const [silent] = await port(new AccessTokenCache(), { patience: 50 }).send(PUSH, [DEVICE])
    expect(silent).toMatchObject({ kind: 'failed' })
  })
})

describe('FCM', async () => {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
  const private_key = await exportPKCS8(privateKey)
  const DEVICE = 'dXyZ:APA91bH'
  const SEND = '/v1/projects/laurel-1/messages:send'
  const account = (more: object = {}) =>
    JSON.stringify({
      ...{ type: 'service_account', project_id: 'laurel-1', client_email: 'push@laurel-1.example' },
      ...{ private_key, token_uri: `${url}/token`, ...more },
    })
  const port = (tokens = new AccessTokenCache(), more: object = {}) =>
    fcmPush({ url, account: account(), ...more }, tokens)
  const sends = () => asked.filter(({ path }) => path === SEND)
  const grants = () => asked.filter(({ path }) => path === '/token')
  /** Google grants tokens for an hour, and responds to messages as `messages` says. */
  const google =
    (messages: Answer, grant: Say = {}): Answer =>
    (one, count) => {
      if (one.path !== '/token') return messages(one, count)
      const json = { access_token: `ya29.${count}`, expires_in: 3_600, token_type: 'Bearer' }
      return { json, ...grant }
    }
  const TYPE = 'type.googleapis.com/google.firebase.fcm.v1.FcmError'
  const fault = (code: number, status: string, errorCode?: string, message = 'm') => {
    const details = errorCode ? [{ '@type': TYPE, errorCode }] : []
    return { status: code, json: { error: { code, message, status, details } } }
  }
  const invalid = (message: string) => fault(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT', message)

  it('[N4] a message is posted as documented, with a token that the service account got by its key', async () => {
    answer = google(() => ({ json: { name: 'projects/laurel-1/messages/1' } }))
    expect(await port().send(PUSH, [DEVICE])).toEqual([{ kind: 'taken', status: 200 }])
    const [grant] = grants()
    expect(grant?.headers['content-type']).toBe('application/x-www-form-urlencoded')
    const form = new URLSearchParams(grant?.body)
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
    const { payload } = await jwtVerify(form.get('assertion') ?? '', publicKey, {
      issuer: 'push@laurel-1.example',
      audience: `${url}/token`,
      algorithms: ['RS256'],
    })
    expect(payload).toMatchObject({ scope: 'https://www.googleapis.com/auth/firebase.messaging' })
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(3_600)
    const [one] = sends()
    expect(one?.headers.authorization).toBe('Bearer ya29.1')
    expect(JSON.parse(one?.body ?? '')).toMatchObject({ message: { token: DEVICE, notification: SAID } })
  })

  it('[N4] the token is fetched once for many messages, and again a minute before its end', async () => {
    answer = google(() => ({}))
    const tokens = new AccessTokenCache()
    await port(tokens).send(PUSH, [DEVICE, 'b', 'c'])
    await port(tokens).send(PUSH, [DEVICE])
    expect([grants().length, sends().length]).toEqual([1, 4])
    for (const [seconds, count] of Object.entries({ 3530: 1, 3545: 2 })) {
      vi.useFakeTimers({ toFake: ['Date'], now: present() + Number(seconds) * 1_000 })
      await port(tokens).send(PUSH, [DEVICE])
      vi.useRealTimers()
      expect(grants()).toHaveLength(count)
    }
  })

  it.each([
    [fault(404, 'NOT_FOUND', 'UNREGISTERED'), 'gone', 'UNREGISTERED'],
    [fault(404, 'NOT_FOUND'), 'gone', 'NOT_FOUND'],
    [{ status: 404, text: '<html>' }, 'refused', 'answered 404'],
    [invalid('The registration token is not a valid FCM registration token'), 'gone', 'INVALID_ARGUMENT'],
    [invalid('Android message is too big'), 'refused', 'INVALID_ARGUMENT'],
    [fault(400, 'INVALID_ARGUMENT'), 'refused', 'INVALID_ARGUMENT'],
    [fault(403, 'PERMISSION_DENIED', 'SENDER_ID_MISMATCH'), 'refused', 'SENDER_ID_MISMATCH'],
    [fault(500, 'INTERNAL', 'INTERNAL'), 'failed', 'INTERNAL'],
    [fault(503, 'UNAVAILABLE', 'UNAVAILABLE'), 'failed', 'UNAVAILABLE'],
  ])('[N4, N6] %j is %s', async (said, kind, error) => {
    answer = google(() => said)
    expect(await port().send(PUSH, [DEVICE])).toEqual([{ kind, status: said.status, error }])
  })

  it('[N4] a used-up quota waits as long as Google says, or else a minute', async () => {
    const quota = fault(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED')
    answer = google(() => quota)
    expect(await port().send(PUSH, [DEVICE])).toMatchObject([{ kind: 'failed', retryAfter: 60_000 }])
    answer = google(() => ({ ...quota, headers: { 'retry-after': '120' } }))
    expect(await port().send(PUSH, [DEVICE])).toMatchObject([{ kind: 'failed', retryAfter: 120_000 }])
  })

  it('[N4] a refused token is fetched again, once', async () => {
    const refused = fault(401, 'UNAUTHENTICATED')
    answer = google((one) => (one.headers.authorization === 'Bearer ya29.1' ? refused : {}))
    expect(await port().send(PUSH, [DEVICE])).toEqual([{ kind: 'taken', status: 200 }])
    answer = google(() => refused)
    asked.length = 0
    expect(await port().send(PUSH, [DEVICE])).toMatchObject([{ kind: 'failed', status: 401 }])
    expect([grants().length, sends().length]).toEqual([2, 2])
  })

  it('[N4] without a token nothing is sent, and a retry follows; errors name no secrets', async () => {
    answer = google(() => ({}), { status: 503, json: {}, headers: { 'retry-after': '5' } })
    const tokens = new AccessTokenCache()
    expect(await port(tokens).send(PUSH, [DEVICE])).toEqual([
      { kind: 'failed', status: 503, error: 'no access token: answered 503', retryAfter: 5_000 },
    ])
    answer = google(() => ({}), { status: 400, json: { error: 'invalid_grant' } })
    expect(await port(tokens).send(PUSH, [DEVICE])).toMatchObject([{ kind: 'failed', status: 400 }])
    answer = google(() => ({}), { json: { nothing: true } })
    expect(await port(tokens).send(PUSH, [DEVICE])).toMatchObject([{ kind: 'failed', status: 200 }])
    expect(sends()).toEqual([])
    for (const text of ['{', '{}', account({ private_key: 'se-cret' })]) {
      const [result] = await port(tokens, { account: text }).send(PUSH, [DEVICE])
      const error = expect.stringContaining('FCM_SERVICE_ACCOUNT')
      expect(result).toMatchObject({ kind: 'failed', status: null, error })
      expect(JSON.stringify(result)).not.toContain('se-cret')
    }
    answer = google(() => ({}))
    expect(await port(tokens).send(PUSH, [DEVICE])).toEqual([{ kind: 'taken', status: 200 }])
  })
})
