import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { newInstance, presentState } from '../../src/configuration/configuration'
import { notificationAdapter } from '../../src/features/notifications/channel'
import { type Notification, notificationIn } from '../../src/features/notifications/notification'
import { instant } from '../../src/lib/clock'
import { newId } from '../../src/lib/new-id'
import { systemNow } from '../../src/lib/system-clock'
import { newContext } from '../../src/platform/context'
import type { Bindings } from '../../src/platform/env'
import { removeDeviceTokens } from '../../src/store/users/devices.sql'
import { parseUser, userStatement } from '../../src/store/users/users.sql.ts'
import { type Attempt, nameOf } from '../../src/webhooks/delivery/messages'
import { enqueueMessages } from '../../src/webhooks/delivery/queue'
import { channelTo } from '../../src/worker/jobs'
import { contextOfUsers } from '../helpers/worker/contexts'
import { lastAway } from '../helpers/worker/faulty'
import {
  at,
  newApp,
  newTenantInLast,
  nextPath,
  pagesFrom,
  pick,
  type TestTenant,
} from '../helpers/worker/harness'
import { stubbed } from '../helpers/worker/objects'

const EXPO = 'https://expo.example'
const FCM = JSON.stringify({ client_email: 'a@b.example', private_key: 'none', project_id: 'p' })

const APNS_TOKEN = 'ab'.repeat(32)

let tenant: TestTenant
let iid: string
beforeEach(async () => {
  tenant = await newTenantInLast()
  const deviceTokens = [...tokensOf('a', 'b', 'c', 'slow', 'big', 'gone'), APNS_TOKEN, 'fcm:x']
  await tenant.app('PUT', '/users/ada', { email: 'ada@b.example', deviceTokens })
  iid = (await userOf('ada')).iid
})
afterEach(() => vi.unstubAllGlobals())

const tokensOf = (...names: string[]) => names.map((name) => `ExponentPushToken[${name}]`)
const userOf = async (id: string) => {
  const { db } = contextOfUsers(tenant.id)
  const result = await db.run(userStatement(db, id, systemNow()))
  const user = parseUser(result)
  if (user === null) throw new Error(`no user has the id ${id}`)
  return user
}
const devices = async () => at((await tenant.app('GET', '/users/ada')).body, 'deviceTokens')

const common = () => ({
  ...{ userId: 'ada', iid, type: 'recap' as const, title: 'T', body: '<p>B</p>', headers: { a: 'b' } },
})
const email = (): Notification => ({ ...common(), channel: 'email', to: 'ada@b.example' })
const push = (tokens: string[], taken = 0): Notification => ({ ...common(), channel: 'push', tokens, taken })
/** The message of a notification, as a delivery queue has it. */
const messageOf = (notification: Notification, id: string, moment: number) => ({
  ...{ id, at: moment, seq: 0, subject: notification.iid, event: notification.type },
  body: JSON.stringify(notification),
})

const carrierOf = (channel: 'email' | 'push', bindings: Partial<Bindings> = {}) => {
  const context = newContext(newInstance(), { ...env, ...bindings }, () => undefined)
  return notificationAdapter({ ...context, db: context.db.of(tenant.id) }, channel)
}
const letterId = newId(instant(0))
const carried = (
  notification: Notification,
  bindings: Partial<Bindings> = {},
  { moment = 0, now = 0 } = {},
): Promise<Attempt> => {
  const message = messageOf(notification, letterId, moment)
  return carrierOf(notification.channel, bindings).attempt(message, instant(now))
}
/** An attempt that is refused without a request. */
const refusedAs = (error: string) => ({ kind: 'refused', status: null, error })
const DELIVERED = { kind: 'delivered', status: null }

/** An Expo that answers by the name of the token: `gone`, `slow`, `big`. It accepts all other tokens. */
function expo(meanwhile: () => Promise<unknown> = async () => undefined) {
  const asked: string[][] = []
  vi.stubGlobal('fetch', async (_url: string, { body }: { body: string }) => {
    const tokens: string[] = JSON.parse(body).map(({ to }: { to: string }) => to)
    asked.push(tokens)
    await meanwhile()
    const errors = { gone: 'DeviceNotRegistered', slow: 'MessageRateExceeded', big: 'MessageTooBig' }
    const ticketOf = (token: string) => {
      const [, code] = Object.entries(errors).find(([name]) => token.includes(name)) ?? []
      if (code === undefined) return { status: 'ok', id: token }
      return { status: 'error', message: code, details: { error: code } }
    }
    return Response.json({ data: tokens.map(ticketOf) })
  })
  return { asked, EXPO_URL: EXPO }
}

describe('[N4] the channels', () => {
  it('[N4] name the providers that are configured, and no provider that lacks a variable', async () => {
    const channels = async (variables: Record<string, string>) => {
      const { status, body } = await tenant.through(newApp(variables)).admin('GET', '/notifications/channels')
      expect(status).toBe(200)
      return body
    }
    expect(await channels({})).toEqual({ email: [], push: [] })
    expect(await channels({ RESEND_API_KEY: 'x', APNS_KEY: 'x' })).toEqual({ email: [], push: [] })
    const resend = { RESEND_API_KEY: 'x', EMAIL_FROM: 'a@b.example' }
    const both = await channels({ ...resend, EXPO_URL: EXPO, FCM_SERVICE_ACCOUNT: FCM })
    expect(both).toEqual({ email: ['resend'], push: ['expo', 'fcm'] })
  })
})

describe('[N4] without a provider', () => {
  const UNSENT = { kind: 'unsent', error: 'unsent: no provider' }

  it('[N4] nothing is sent, for any form of token and any partial configuration', async () => {
    vi.stubGlobal('fetch', () => {
      throw new Error('sent')
    })
    const EMAIL: SendEmail = { send: () => Promise.reject(new Error('sent')) }
    for (const bindings of [{}, { EMAIL }, { RESEND_API_KEY: 'x' }, { EMAIL_FROM: 'a@b.example' }])
      expect(await carried(email(), bindings)).toEqual(UNSENT)
    const apns = { APNS_KEY: 'x', APNS_KEY_ID: 'x', APNS_TEAM_ID: 'x' }
    for (const token of [...tokensOf('a'), APNS_TOKEN, 'fcm:x'])
      expect(await carried(push([token]), apns)).toEqual(UNSENT)
  })

  it('[N4] a notification that could not be rendered is refused with its error, also with a provider', async () => {
    const refused = refusedAs('body: no')
    expect(await carried({ ...email(), fault: 'body: no' })).toEqual(refused)
    expect(await carried({ ...push(['x']), fault: 'body: no' })).toEqual(refused)
  })
})

describe('[N4] email', () => {
  it('[N4] uses Resend if there is a key, else the binding; only Resend recognizes a repeated email by its id', async () => {
    const EMAIL_FROM = 'Laurel <hi@laurel.example>'
    const sent: unknown[] = []
    const EMAIL: SendEmail = { send: async (message: unknown) => ({ messageId: String(sent.push(message)) }) }
    expect(await carried(email(), { EMAIL, EMAIL_FROM })).toEqual(DELIVERED)
    const parts = { to: 'ada@b.example', subject: 'T', html: '<p>B</p>', text: 'B', headers: { a: 'b' } }
    expect(sent).toEqual([{ ...parts, from: { name: 'Laurel', email: 'hi@laurel.example' } }])
    const posted = vi.fn(async () => Response.json({ id: '1' }))
    vi.stubGlobal('fetch', posted)
    const attempt = await carried(email(), { EMAIL, EMAIL_FROM, RESEND_API_KEY: 're_1' })
    expect(attempt).toMatchObject({ kind: 'delivered' })
    const headers = expect.objectContaining({ 'idempotency-key': letterId })
    const init = expect.objectContaining({ headers })
    expect(posted).toHaveBeenCalledWith('https://api.resend.com/emails', init)
    expect(sent).toHaveLength(1)
    expect(carrierOf('email', { RESEND_API_KEY: 're_1', EMAIL_FROM }).mayRepeat).toBe(true)
    expect(carrierOf('email', { EMAIL, EMAIL_FROM }).mayRepeat).toBe(false)
    expect(carrierOf('email').mayRepeat).toBe(false)
  })
})

describe('[N1, N2, U8] changes since a notification was made', () => {
  const [UNWANTED, GONE] = [refusedAs('the user does not want this any more'), refusedAs('the user is gone')]

  /** A binding for emails that accepts everything. */
  function box() {
    const sent: string[] = []
    const EMAIL: SendEmail = {
      send: async (message: unknown) => ({ messageId: String(sent.push(String(at(message, 'to')))) }),
    }
    return { sent, EMAIL, EMAIL_FROM: 'hi@laurel.example' }
  }
  /** The adapter for emails by the present configuration. */
  async function presentAdapter(bindings: Partial<Bindings>) {
    const context = newContext(newInstance(), { ...env, ...bindings }, () => undefined)
    const own = { ...context, db: context.db.of(tenant.id) }
    const { config } = await presentState(own)
    const adapter = config && channelTo(own, config, { kind: 'email', tenantId: tenant.id })
    if (adapter === null || typeof adapter === 'string') throw new Error('nothing is sent')
    return adapter
  }
  const prefer = (recap: string[]) =>
    tenant.app('PATCH', '/users/ada/preferences', { notifications: { recap } })

  it('[N1] a user who has unsubscribed, or turned that type off, gets no email', async () => {
    const { sent, ...bindings } = box()
    const { asked, ...expos } = expo()
    expect((await prefer(['push'])).status).toBe(200)
    expect(await carried(email(), bindings)).toEqual(UNWANTED)
    expect(await carried({ ...email(), type: 'reactivation' }, bindings)).toEqual(DELIVERED)
    await prefer(['email'])
    expect(await carried(push(tokensOf('a')), expos)).toEqual(UNWANTED)
    expect(await carried(email(), bindings)).toEqual(DELIVERED)
    await tenant.app('PATCH', '/users/ada', { subscribeToEmails: false })
    expect(await carried(email(), bindings)).toEqual(UNWANTED)
    expect(sent).toHaveLength(2)
    expect(asked).toEqual([])
  })

  it('[N1] an email goes to the present address, a push message to devices that the user still has', async () => {
    const { sent, ...bindings } = box()
    const { asked, ...expos } = expo()
    await tenant.app('PATCH', '/users/ada', { email: 'new@b.example', deviceTokens: tokensOf('b', 'd') })
    await carried(email(), bindings)
    expect(sent).toEqual(['new@b.example'])
    await carried(push(tokensOf('a', 'b')), expos)
    expect(asked).toEqual([tokensOf('b')])
    const none = refusedAs('the user has none of these devices any more')
    expect(await carried(push(tokensOf('a', 'c')), expos)).toEqual(none)
    expect(asked).toHaveLength(1)
  })

  it('[U8] an erased user gets nothing, nor does a new user with the same id', async () => {
    const { sent, ...bindings } = box()
    const { asked, ...expos } = expo()
    await tenant.admin('DELETE', '/users/ada')
    expect(await carried(email(), bindings)).toEqual(GONE)
    await tenant.app('PUT', '/users/ada', { email: 'ada@b.example', deviceTokens: tokensOf('a') })
    expect(await carried(email(), bindings)).toEqual(GONE)
    expect(await carried(push(tokensOf('a')), expos)).toEqual(GONE)
    expect([...sent, ...asked]).toEqual([])
  })

  it('[N2] a reminder is sent only on its day, by the user’s date; other notifications also later', async () => {
    const { sent, ...bindings } = box()
    await tenant.app('PATCH', '/users/ada', { tz: 'Asia/Kathmandu' })
    const hours = (n: number) => n * 3_600_000
    // 20:00 in Kathmandu. The day there ends four hours later.
    const moment = hours(20_000 * 24 + 14.25)
    const reminder: Notification = { ...email(), type: 'streak_reminder' }
    expect(await carried(reminder, bindings, { moment, now: moment + hours(4) - 1 })).toEqual(DELIVERED)
    const late = { moment, now: moment + hours(4) }
    expect(await carried(reminder, bindings, late)).toEqual(refusedAs('too late'))
    expect(await carried(email(), bindings, late)).toEqual(DELIVERED)
    expect(sent).toHaveLength(2)
  })

  it('[N2] a reminder of a weekly streak is sent until the week ends', async () => {
    const { sent, ...bindings } = box()
    await tenant.metric('m')
    await tenant.admin('PATCH', '/streaks/settings', { frequency: 'weekly' })
    await tenant.event('m', 'ada', 1)
    const reminder: Notification = { ...email(), type: 'streak_reminder' }
    // 1970-01-02 is a Friday.
    const day = 86_400_000
    const friday = { moment: day + day / 2, now: 0 }
    expect(await carried(reminder, bindings, { ...friday, now: 4 * day - 1 })).toEqual(DELIVERED)
    const over = await carried(reminder, bindings, { ...friday, now: 4 * day })
    expect(over).toMatchObject({ error: 'too late' })
    expect(sent).toHaveLength(1)
  })

  it('[N2] a reminder that failed is not sent any more once the streak is extended', async () => {
    const { sent, ...bindings } = box()
    await tenant.metric('m')
    await tenant.event('m', 'ada', 1)
    const adapter = await presentAdapter(bindings)
    const reminder: Notification = { ...email(), type: 'streak_reminder' }
    const triedAt = (ms: number) => adapter.attempt(messageOf(reminder, letterId, ms - 60_000), instant(ms))
    const now = systemNow()
    expect(await triedAt(now)).toEqual(refusedAs('the streak is not in danger any more'))
    expect(await triedAt(now + 86_400_000)).toEqual(DELIVERED)
    expect(sent).toHaveLength(1)
  })

  it('[N2] a reactivation is not sent any more once the user has come back', async () => {
    const { sent, ...bindings } = box()
    await tenant.metric('m')
    const adapter = await presentAdapter(bindings)
    const reactivation = messageOf({ ...email(), type: 'reactivation' }, letterId, systemNow())
    const tried = () => adapter.attempt(reactivation, instant(systemNow() + 3_600_000))
    expect(await tried()).toEqual(DELIVERED)
    await tenant.event('m', 'ada', 1)
    expect(await tried()).toEqual(refusedAs('the user has come back'))
    expect(sent).toHaveLength(1)
  })

  it('an email is tried again if the user cannot be read', async () => {
    const { sent, ...bindings } = box()
    const failed = { kind: 'failed', status: null, error: 'the user could not be read' }
    expect(await carried(email(), { ...bindings, ...lastAway() })).toEqual(failed)
    expect(sent).toEqual([])
  })
})

describe('[N4, N6] push', () => {
  it('[N4] one device is enough; retries go only to devices that may still be reached', async () => {
    const { asked, ...bindings } = expo()
    expect(await carried(push(tokensOf('a', 'b')), bindings)).toEqual({ kind: 'delivered', status: 200 })
    const attempt = await carried(push(tokensOf('a', 'slow', 'big')), bindings)
    expect(attempt).toMatchObject({ kind: 'failed', status: 200, error: 'MessageRateExceeded' })
    const body = attempt.kind === 'failed' ? (attempt.body ?? '') : ''
    const rest = notificationIn({ body })
    expect(rest).toEqual({ ...push(tokensOf('slow')), taken: 1 })
    // If that device is refused in the end, another one already has the message.
    expect(await carried(push(tokensOf('big'), 1), bindings)).toEqual(DELIVERED)
    const neither = await carried(push(tokensOf('big', 'gone')), bindings)
    expect(neither).toMatchObject({ kind: 'refused', error: 'MessageTooBig' })
    expect(asked).toHaveLength(4)
  })

  it('[N4] each token goes to its provider, and a missing provider does not affect the others', async () => {
    const { asked, ...bindings } = expo()
    const tokens = [...tokensOf('a'), APNS_TOKEN, 'fcm:x']
    expect(await carried(push(tokens), bindings)).toEqual({ kind: 'delivered', status: 200 })
    expect(asked).toEqual([tokensOf('a')])
    expect(await carried(push(tokens), { ...bindings, FCM_SERVICE_ACCOUNT: FCM })).toMatchObject({
      kind: 'failed',
      error: 'the private_key in FCM_SERVICE_ACCOUNT is not a private key',
      body: expect.stringContaining('"tokens":["fcm:x"],"taken":1'),
    })
  })

  it('[N6, X2] a token that is gone is removed from the user, and no other', async () => {
    await tenant.app('PUT', '/users/ada', { deviceTokens: tokensOf('a', 'gone', 'b', 'gone') })
    const before = await userOf('ada')
    const attempt = await carried(push(tokensOf('a', 'gone')), expo())
    expect(attempt).toEqual({ kind: 'delivered', status: 200 })
    expect(await devices()).toEqual(tokensOf('a', 'b'))
    const after = await userOf('ada')
    expect([after.seq, after.updated >= before.updated]).toEqual([before.seq + 1, true])
    const { db } = contextOfUsers(tenant.id)
    await removeDeviceTokens(db, { userId: 'ada', iid }, tokensOf('gone'))
    expect((await userOf('ada')).seq).toBe(after.seq)
    const { body } = await tenant.admin('GET', '/users/ada/timeline?types=change&limit=1')
    const deviceTokens = { before: tokensOf('a', 'gone', 'b', 'gone'), after: tokensOf('a', 'b') }
    expect(body).toMatchObject([{ fields: { deviceTokens } }])
    await tenant.app('PUT', '/users/ada', { deviceTokens: tokensOf('gone') })
    const gone = await carried(push(tokensOf('gone')), expo())
    expect(gone).toMatchObject({ kind: 'refused', error: 'DeviceNotRegistered' })
  })

  it('[N6] concurrent changes of the user are not lost', async () => {
    const change = { deviceTokens: tokensOf('new', 'gone'), name: 'Ada' }
    await carried(
      push(tokensOf('a', 'gone')),
      expo(() => tenant.app('PUT', '/users/ada', change)),
    )
    const { body } = await tenant.app('GET', '/users/ada')
    expect(body).toMatchObject({ name: 'Ada', deviceTokens: tokensOf('new') })
  })

  it('[N6] several removals at once, next to events and changes, all count', async () => {
    await tenant.metric('words')
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    await tenant.app('PUT', '/users/ada', { deviceTokens: tokensOf(...names, 'stays') })
    const { db } = contextOfUsers(tenant.id)
    const responses = await Promise.all(
      names.map(async (name, n) => {
        const other = tenant.through(newApp())
        const [event, change] = await Promise.all([
          other.event('words', 'ada', 1),
          other.app('PATCH', '/users/ada', { name: `Ada ${n}` }),
          removeDeviceTokens(db, { userId: 'ada', iid }, tokensOf(name)),
        ])
        return [event.status, change.status]
      }),
    )
    expect(responses).toEqual(names.map(() => [201, 200]))
    expect(await devices()).toEqual(tokensOf('stays'))
    expect(at((await tenant.app('GET', '/users/ada/metrics/words')).body, 'current')).toBe(6)
  })

  it('[N6, T3] another tenant’s user, and a new user with the same id, keep their tokens', async () => {
    const other = await newTenantInLast()
    await other.app('PUT', '/users/ada', { deviceTokens: tokensOf('gone') })
    await tenant.admin('DELETE', '/users/ada')
    await tenant.app('PUT', '/users/ada', { deviceTokens: tokensOf('gone') })
    await carried(push(tokensOf('gone')), expo())
    expect(await devices()).toEqual(tokensOf('gone'))
    expect(at((await other.app('GET', '/users/ada')).body, 'deviceTokens')).toEqual(tokensOf('gone'))
  })
})

describe('[N4] the log', () => {
  /** Adds notifications to the tenant's delivery queue, each with its moment, and runs the due ones. */
  async function told(channel: 'email' | 'push', messages: { at: number; notification: Notification }[]) {
    const destination = { kind: channel, tenantId: tenant.id }
    const now = systemNow()
    const list = messages.map(({ at: moment, notification }) =>
      messageOf(notification, newId(instant(moment)), moment),
    )
    await enqueueMessages({ env }, destination, list, { now, epoch: 0 })
    await env.DELIVERY_QUEUE.getByName(nameOf(destination)).runDue({ now, wait: true })
    return list.map(({ id }) => id)
  }
  const read = async (query = '') => {
    const { status, body } = await tenant.admin('GET', `/notifications/log${query}`)
    expect(status).toBe(200)
    return z.array(z.record(z.string(), z.unknown())).parse(body)
  }

  it('[N4] has notifications that would have been sent, with user and channel, newest first', async () => {
    const began = systemNow() - 10_000
    const [id] = await told('email', [{ at: began, notification: email() }])
    await told('push', [
      { at: began + 2, notification: push(tokensOf('a')) },
      { at: began + 1, notification: { ...push([]), fault: 'body: no' } },
    ])
    const unsent = 'unsent: no provider'
    const log = await read()
    expect(log).toMatchObject([
      { channel: 'push', status: unsent },
      { channel: 'push', status: 'failed', body: 'The template could not be rendered. body: no.' },
      { channel: 'email', status: unsent },
    ])
    const { iid: _iid, ...shown } = common()
    const created = new Date(began).toISOString()
    expect(log[2]).toEqual({ ...shown, id, channel: 'email', status: unsent, created })
  })

  it('[N4] shows each outcome', async () => {
    let place = 9
    const row = (status: string, notification: Notification) => {
      place -= 1
      const id = `${letterId}${place}`
      const times = { created: 0, nextAttempt: null, place: { at: 0, seq: place, id } }
      const last = { attempts: 1, lastStatus: null, lastError: null }
      return { id, event: 'recap', status, ...times, ...last, body: JSON.stringify(notification) }
    }
    const emails = [row('delivered', email()), row('pending', email())]
    const pushes = [row('dead', push(['x'], 1)), row('dead', push(['x'])), row('pending', push(['x'], 1))]
    const DELIVERY_QUEUE = stubbed(env.DELIVERY_QUEUE, (of) => {
      const messages = of === `push:${tenant.id}` ? pushes : emails
      return { list: () => ({ deliveries: messages }), log: () => ({ messages, hasMore: false }) }
    })
    const { body } = await tenant.through(newApp({ DELIVERY_QUEUE })).admin('GET', '/notifications/log')
    const statuses = Array.isArray(body) ? body.map(({ status }) => status) : body
    expect(statuses).toEqual(['sent', 'pending', 'sent', 'failed', 'pending'])
  })

  it('[N4] each page is that part of both channels, newest first', async () => {
    const began = systemNow() - 100_000
    // Each has another moment, since the order within one moment is not defined.
    const some = (count: number, notification: Notification) => {
      const [step, first] = notification.channel === 'email' ? [66, 0] : [100, 51]
      return Array.from({ length: count }, (_, n) => ({ at: began + n * step + first, notification }))
    }
    for (const [emails, pushes] of [
      [0, 3],
      [40, 25],
      [3, 60],
    ] as const) {
      tenant = await newTenantInLast()
      const messages = { email: some(emails, email()), push: some(pushes, push([])) }
      await told('email', messages.email)
      await told('push', messages.push)
      const all = [...messages.email, ...messages.push].map(({ at: moment }) => moment).sort((a, b) => b - a)
      const isThatPart = async (limit: number, skip: number) => {
        const times = pick(await read(`?limit=${limit}&skip=${skip}`), 'created')
        expect(times.map((time) => Date.parse(String(time)))).toEqual(all.slice(skip, skip + limit))
      }
      const page = [fc.integer({ min: 1, max: 20 }), fc.nat(all.length + 2)] as const
      await fc.assert(fc.asyncProperty(...page, isThatPart), { numRuns: 15 })
    }
    expect((await tenant.admin('GET', '/notifications/log?skip=100001')).status).toBe(422)
  })

  it('[O3] pages by a cursor, which stays exact while notifications come and go', async () => {
    const began = systemNow() - 60_000
    const sent = (channel: 'email' | 'push', moments: number[]) => {
      const notification = channel === 'email' ? email() : push(['x'])
      return told(
        channel,
        moments.map((moment) => ({ at: began + moment, notification })),
      )
    }
    const emails = await sent('email', [0, 2, 4, 4, 6, 20, 21])
    const pushes = await sent('push', [1, 4, 5, 7, 8])
    const all = pick(await read('?limit=100'), 'id')
    expect(new Set(all)).toEqual(new Set([...emails, ...pushes]))
    for (const limit of [1, 2, 5, 11]) {
      const pages = await pagesFrom(tenant, `/notifications/log?limit=${limit}`)
      for (const [n, page] of pages.entries())
        expect(pick(page, 'id')).toEqual(all.slice(n * limit, (n + 1) * limit))
      expect(pages).toHaveLength(Math.ceil(all.length / limit))
    }
    // A newer notification does not move the next page.
    const { headers } = await tenant.admin('GET', '/notifications/log?limit=3')
    await sent('email', [30])
    const { body } = await tenant.admin('GET', nextPath(headers) ?? '')
    expect(body).toMatchObject(all.slice(3, 6).map((id) => ({ id })))
    // The old paging also links to its next page.
    const old = await tenant.admin('GET', '/notifications/log?limit=2&skip=4')
    expect(old.body).toMatchObject(all.slice(3, 5).map((id) => ({ id })))
    const after = await tenant.admin('GET', nextPath(old.headers) ?? '')
    expect(after.body).toMatchObject(all.slice(5, 7).map((id) => ({ id })))
    expect((await tenant.admin('GET', '/notifications/log?skip=11')).headers.get('link')).toBeNull()
  })
})
