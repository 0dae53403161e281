/**
 * Webhooks to a real receiver over HTTP: the requests, and the outcome if the receiver fails, is slow, or
 * cuts the connection.
 */
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Receiver, type Step } from '../../helpers/receiver'
import { type Server, startServer } from '../../helpers/server/harness'
import { SERVER_START } from '../../helpers/time'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

let server: Server
let url: string
const receiver = new Receiver()
/** Each test moves it forward. */
let now = SERVER_START

beforeAll(async () => {
  url = await receiver.start()
  // An attempt waits for two seconds, as `npm start` sets it.
  server = await startServer({ clock: SERVER_START })
})
afterAll(async () => {
  receiver.stop()
  await server.stop()
})

const send = (method: string, path: string, body?: unknown) => server.ask(method, `/admin/v1${path}`, body)

const move = async (ms: number) => {
  now = ms
  expect(await send('PUT', '/test-clock', { now: new Date(now).toISOString() })).toMatchObject({
    status: 200,
  })
}

beforeEach(() => move(now + 2 * DAY))

/** Subscribes a name of the receiver, and plans its reactions. */
async function subscribe(name: string, ...plan: Step[]) {
  receiver.plan(name, plan)
  const made = await send('POST', '/webhooks', [{ url: `${url}/hooks/${name}`, events: ['streak.lost'] }])
  expect(made).toMatchObject({ status: 201, body: { issues: [] } })
  const [{ id, secret }] = made.body.created
  return {
    name,
    id: String(id),
    secret: String(secret),
    test: async (type = 'streak.lost') => {
      const { status, body } = await send('POST', `/webhooks/${id}/test`, { type })
      expect(status).toBe(202)
      return String(body.id)
    },
    log: async () => (await send('GET', `/webhooks/${id}/deliveries?limit=100`)).body,
  }
}

const idsOf = async (name: string, count: number) =>
  (await receiver.seen(name, count)).map(({ headers }) => headers['webhook-id'])

describe('a webhook', () => {
  it('[W3] the signature verifies with the library and the documented HMAC; a rotated secret signs too until it ends', async () => {
    const hook = await subscribe('signed', { status: 500 }, { status: 500 })
    const id = await hook.test()
    const [first] = await receiver.seen('signed', 1)
    type Request = { body: string; headers: Record<string, string> } | undefined
    const isSigned = (secret: string, seen: Request) => {
      const { body = '', headers = {} } = seen ?? {}
      try {
        return Object(new Webhook(secret).verify(body, headers)).type === 'streak.lost'
      } catch {
        return false
      }
    }
    const hmacOf = (secret: string, seen: Request) =>
      createHmac('sha256', secret)
        .update(seen?.body ?? '')
        .digest('base64')
    expect(isSigned(hook.secret, first)).toBe(true)
    expect(first?.headers['x-trophy-signature']).toBe(hmacOf(hook.secret, first))
    const { body: fresh } = await send('POST', `/webhooks/${hook.id}/rotate-secret`)
    await move(now + MINUTE)
    const [, second] = await receiver.seen('signed', 2)
    expect([hook.secret, fresh.secret].map((secret) => isSigned(secret, second))).toEqual([true, true])
    expect(second?.headers['x-trophy-signature']).toBe(hmacOf(fresh.secret, second))
    const { body: last } = await send('POST', `/webhooks/${hook.id}/rotate-secret?endPrevious=true`)
    await move(now + 5 * MINUTE)
    const [, , third] = await receiver.seen('signed', 3)
    expect([hook.secret, fresh.secret, last.secret].map((secret) => isSigned(secret, third))).toEqual([
      ...[false, false, true],
    ])
    expect(await idsOf('signed', 3)).toEqual([id, id, id])
  })

  it('[W4] cut, late and failed requests are retried at the right minute with one id, and then are dead', async () => {
    const never = { status: 503, body: 'x'.repeat(5_000), always: true }
    const hook = await subscribe(
      'failing',
      { drop: true },
      { hold: true },
      { status: 301, headers: { location: `${url}/hooks/elsewhere` } },
      never,
    )
    const id = await hook.test()
    await receiver.seen('failing', 1)
    const began = now
    const errors: string[] = []
    let next = began
    for (const [index, pause] of [1, 5, 30, 120, 360, 720].entries()) {
      // Work that started by itself is done when a move of the clock responds.
      await move(next)
      const [delivery] = await hook.log()
      next += pause * MINUTE
      expect(delivery).toMatchObject({
        id,
        status: 'pending',
        attempts: index + 1,
        nextAttempt: new Date(next).toISOString(),
      })
      errors.push(delivery.lastError)
      await move(next - 1)
      expect(await receiver.seen('failing')).toHaveLength(index + 1)
    }
    await move(next)
    expect(await hook.log()).toMatchObject([{ id, status: 'dead', attempts: 7, nextAttempt: null }])
    expect(errors).toEqual([
      expect.stringMatching(/^no answer: /),
      'no answer within 2 seconds',
      'answered 301',
      ...Array(3).fill(`answered 503: ${'x'.repeat(1_024)}`),
    ])
    expect(await receiver.seen('elsewhere')).toEqual([])
    await move(now + 5 * DAY)
    expect(await idsOf('failing', 7)).toEqual(Array(7).fill(id))
    expect(await receiver.seen('failing')).toHaveLength(7)

    receiver.plan('failing', [])
    const again = await send('POST', `/webhooks/${hook.id}/deliveries/${id}/redeliver`)
    expect(again).toMatchObject({ status: 200, body: { id, status: 'pending', attempts: 7 } })
    expect((await idsOf('failing', 8))[7]).toBe(id)
    await move(now + 1)
    expect(await hook.log()).toMatchObject([{ id, status: 'delivered', attempts: 8, lastStatus: 200 }])
  })

  it('[W4] a slow endpoint does not delay other endpoints', async () => {
    const slow = await subscribe('slow')
    const quick = await subscribe('quick')
    for (let n = 0; n < 10; n += 1) await slow.test()
    receiver.plan('slow', [{ hold: true, always: true }])
    const since = new Date(now).toISOString()
    const again = await send('POST', `/webhooks/${slow.id}/redeliver`, { since, status: 'delivered' })
    expect(again).toMatchObject({ status: 202, body: { running: true } })
    await receiver.seen('slow', 15)
    const ids = await Promise.all(Array.from({ length: 10 }, () => quick.test()))
    // The requests to the slow endpoint are still open.
    expect((await idsOf('quick', 10)).toSorted()).toEqual(ids.toSorted())
    expect(receiver.mostOpen('slow')).toBe(5)
    receiver.plan('slow', [])
    receiver.release('slow')
    await receiver.seen('slow', 20)
  })
})
