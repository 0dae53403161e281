import { env } from 'cloudflare:workers'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { verifyWebhook } from '../../clients/typescript/src/webhooks'
import { DAY, forgetTime, HOUR, MINUTE, moveTo, NOON } from '../helpers/worker/boards'
import { hand, logged, message, type WithHook, withHook } from '../helpers/worker/delivery-queues'
import { at } from '../helpers/worker/harness'
import { forgetLines, linesSoFar } from '../helpers/worker/lines'
import { Hook } from '../helpers/worker/receiver'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

const iso = (ms: number) => new Date(ms).toISOString()

const found = async ({ tenant, webhookId }: WithHook) =>
  Object((await tenant.admin('GET', `/webhooks/${webhookId}`)).body)

/** Replaces the secret, and returns the new one. */
async function rotate({ tenant, webhookId }: WithHook, query = ''): Promise<string> {
  const { status, body } = await tenant.admin('POST', `/webhooks/${webhookId}/rotate-secret${query}`)
  expect([status, at(body, 'secret')]).toEqual([200, expect.stringMatching(/^whsec_/)])
  return String(at(body, 'secret'))
}

/** Sends one more message at a moment, and returns which of the secrets verify it. */
async function verifiedBy(setup: WithHook, ms: number, ...secrets: string[]): Promise<boolean[]> {
  const one = message(ms)
  await moveTo(ms)
  await hand(setup.destination, ms, one)
  await moveTo(ms)
  const seen = (await setup.hook.seen(1)).find(({ headers }) => headers['webhook-id'] === one.id)
  const { body = '', headers = {} } = seen ?? {}
  return Promise.all(
    secrets.map(async (secret) => {
      const verified = await verifyWebhook({ body, headers }, secret).catch(() => null)
      const check = () => new Webhook(secret).verify(body, headers)
      if (verified === null) expect(check).toThrow()
      else expect(check()).toEqual(verified)
      return verified !== null
    }),
  )
}

describe('[W1, W3] after the secret was replaced', () => {
  it('both secrets sign for 24 hours of the clock, the newer one first', async () => {
    const setup = await withHook()
    const next = await rotate(setup)
    expect(await verifiedBy(setup, NOON + 1, setup.secret, next)).toEqual([true, true])
    const [first, second] = (await setup.hook.seen(1))[0]?.headers['webhook-signature']?.split(' ') ?? []
    const one = (await setup.hook.seen(1))[0]
    const only = (signature = '') => ({ ...one?.headers, 'webhook-signature': signature })
    expect(() => new Webhook(next).verify(one?.body ?? '', only(first))).not.toThrow()
    expect(() => new Webhook(setup.secret).verify(one?.body ?? '', only(second))).not.toThrow()
    expect(await verifiedBy(setup, NOON + DAY - 1, setup.secret, next)).toEqual([true, true])
    expect(await verifiedBy(setup, NOON + DAY, setup.secret, next)).toEqual([false, true])
  })

  it('a retry is signed by the secrets of its own moment', async () => {
    const setup = await withHook()
    await setup.hook.plan({ status: 500, always: true })
    await hand(setup.destination, NOON, message(NOON))
    await moveTo(NOON)
    await rotate(setup)
    // 1, 6, 36, 156 and 516 minutes after the first attempt, and then 20.6 hours.
    await moveTo(NOON + 3 * DAY)
    const counts = (await setup.hook.seen(7)).map(
      ({ headers }) => headers['webhook-signature']?.split(' ').length,
    )
    expect(counts).toEqual([1, 2, 2, 2, 2, 2, 2])
  })

  it('a second rotation keeps the newest two, and one that ends the previous one at once keeps one', async () => {
    const setup = await withHook()
    const second = await rotate(setup)
    await moveTo(NOON + HOUR)
    const third = await rotate(setup)
    expect(await verifiedBy(setup, NOON + 2 * HOUR, setup.secret, second, third)).toEqual([false, true, true])
    expect(await verifiedBy(setup, NOON + DAY + 30 * MINUTE, second, third)).toEqual([true, true])
    const fourth = await rotate(setup, '?endPrevious=true')
    expect(await verifiedBy(setup, NOON + DAY + 31 * MINUTE, second, third, fourth)).toEqual([
      false,
      false,
      true,
    ])
    expect(await found(setup)).toMatchObject({ previousSecretEnds: null })
    const path = `/webhooks/${setup.webhookId}/rotate-secret?endPrevious=yes`
    const wrong = await setup.tenant.admin('POST', path)
    expect([wrong.status, at(wrong.body, 'error')]).toEqual([422, 'endPrevious: must be true or false.'])
  })

  it('[Z1] answers and the audit log show the end of the previous secret, and no secret', async () => {
    const setup = await withHook()
    const { tenant, webhookId } = setup
    expect(await found(setup)).toMatchObject({ previousSecretEnds: null })
    await rotate(setup)
    const ends = iso(NOON + DAY)
    expect(await found(setup)).toMatchObject({ previousSecretEnds: ends })
    const { body } = await tenant.admin('GET', '/audit-log?kind=webhook&limit=1')
    expect([body].flat()[0]).toMatchObject({
      action: 'rotate',
      fields: { secret: { before: null, after: null }, previousSecretEnds: { before: null, after: ends } },
    })
    const row = () => env.DB.prepare('SELECT * FROM webhooks WHERE id = ?').bind(webhookId).first()
    expect(JSON.stringify(await row())).toContain(setup.secret)
    await tenant.admin('DELETE', `/webhooks?ids=${webhookId}`)
    expect(JSON.stringify(await row())).not.toContain('whsec_')
  })
})

describe('[W4] a receiver that asks for time', () => {
  it.each([
    [429, '120', 2],
    [503, '600', 10],
    [503, '5', 1],
    [429, '86400', 60],
    [429, '9'.repeat(400), 60],
    [500, '600', 1],
    [429, 'soon', 1],
    [429, '-5', 1],
  ])('%d with Retry-After %s is tried again after %d minutes', async (status, after, minutes) => {
    const setup = await withHook()
    await setup.hook.plan({ status, headers: { 'retry-after': after } })
    const one = message(NOON)
    await hand(setup.destination, NOON, one)
    await moveTo(NOON)
    expect(await logged(setup, one)).toMatchObject({
      status: 'pending',
      lastStatus: status,
      nextAttempt: NOON + minutes * MINUTE,
    })
    await moveTo(NOON + minutes * MINUTE - 1)
    expect(await setup.hook.seen(1)).toHaveLength(1)
    await moveTo(NOON + minutes * MINUTE)
    expect(await logged(setup, one)).toMatchObject({ status: 'delivered', attempts: 2 })
  })

  it('a date counts from the Date of the receiver, whatever its clock shows', async () => {
    const setup = await withHook()
    const date = 'Wed, 21 Oct 2015 07:28:00 GMT'
    await setup.hook.plan({ status: 503, headers: { date, 'retry-after': 'Wed, 21 Oct 2015 07:58:00 GMT' } })
    const one = message(NOON)
    await hand(setup.destination, NOON, one)
    await moveTo(NOON)
    expect(await logged(setup, one)).toMatchObject({ nextAttempt: NOON + 30 * MINUTE })
  })

  it('all its events wait meanwhile, also after others in progress were answered; then one is tried first', async () => {
    const setup = await withHook()
    await setup.hook.plan(
      { status: 429, headers: { 'retry-after': '1800' } },
      { hold: true },
      { hold: true, status: 500 },
    )
    const many = Array.from({ length: 3 }, (_, n) => message(NOON - 10 + n))
    const moved = (async () => {
      await hand(setup.destination, NOON, ...many)
      await moveTo(NOON)
    })()
    await setup.hook.seen(3)
    await setup.hook.release()
    await moved
    const later = Array.from({ length: 8 }, (_, n) => message(NOON + 1 + n))
    await moveTo(NOON + 10)
    await hand(setup.destination, NOON + 10, ...later)
    await moveTo(NOON + 30 * MINUTE - 1)
    expect(await setup.hook.seen(3)).toHaveLength(3)
    await setup.hook.plan({ status: 500 })
    await moveTo(NOON + 30 * MINUTE)
    // The failure of the first one is an ordinary one: the others follow.
    for (const one of later.slice(1))
      expect(await logged(setup, one)).toMatchObject({ status: 'delivered', attempts: 1 })
  })

  it('a change of the webhook ends the wait', async () => {
    const setup = await withHook()
    await setup.hook.plan({ status: 429, headers: { 'retry-after': '3600' } })
    await hand(setup.destination, NOON, message(NOON))
    await moveTo(NOON)
    const elsewhere = new Hook()
    const two = message(NOON + 1)
    await moveTo(NOON + 1)
    await hand(setup.destination, NOON + 1, two)
    await setup.tenant.admin('PATCH', '/webhooks', [{ id: setup.webhookId, url: elsewhere.url }])
    await moveTo(NOON + 2)
    expect(await elsewhere.ids(1)).toEqual([two.id])
  })
})

describe('[W4] a receiver that answers 410', () => {
  it('switches the webhook off, and says so in the list, the log of deliveries, the audit log and a log line', async () => {
    forgetLines()
    const setup = await withHook()
    const { tenant, hook, webhookId } = setup
    expect(await found(setup)).toMatchObject({ status: 'active', goneAt: null })
    await hook.plan({ status: 410, body: 'moved on', always: true })
    const many = Array.from({ length: 30 }, (_, n) => message(NOON - 50 + n))
    await hand(setup.destination, NOON, ...many)
    await moveTo(NOON + 3 * DAY)
    // At most five are in progress at once.
    const called = (await hook.seen(1)).length
    expect(called).toBeLessThanOrEqual(5)
    expect(await found(setup)).toMatchObject({ status: 'inactive', goneAt: iso(NOON), updated: iso(NOON) })
    const [first] = many
    expect(first && (await logged(setup, first))).toMatchObject({
      ...{ status: 'pending', attempts: 1, lastStatus: 410, lastError: 'answered 410: moved on' },
    })
    expect(await logged(setup, many[29] ?? message(0))).toMatchObject({ status: 'pending', attempts: 0 })
    const { body } = await tenant.admin('GET', '/audit-log?kind=webhook&limit=1')
    expect([body].flat()[0]).toMatchObject({
      actor: { keyId: null, name: 'RECEIVER' },
      action: 'update',
      resourceId: webhookId,
      fields: { status: { before: 'active', after: 'inactive' }, goneAt: { before: null, after: iso(NOON) } },
    })
    const warnings = linesSoFar().filter((line) => line.includes('"level":"warn"'))
    expect(warnings.map((line) => JSON.parse(line))).toEqual([
      {
        level: 'warn',
        tenant: tenant.id,
        queue: `webhook:${webhookId}`,
        error: expect.stringContaining('410'),
      },
    ])

    await hook.plan()
    const { body: patched } = await tenant.admin('PATCH', '/webhooks', [{ id: webhookId, status: 'active' }])
    expect(at(patched, 'updated', 0)).toMatchObject({ status: 'active', goneAt: null })
    await moveTo(NOON + 3 * DAY + 1)
    for (const one of many) expect(await logged(setup, one)).toMatchObject({ status: 'delivered' })
  })

  it('a delivery whose last attempt got the 410 waits too, and arrives once the webhook is active again', async () => {
    const setup = await withHook()
    await setup.hook.plan(...Array.from({ length: 6 }, () => ({ status: 500 })), { status: 410 })
    const one = message(NOON)
    await hand(setup.destination, NOON, one)
    await moveTo(NOON + 2 * DAY)
    expect(await logged(setup, one)).toMatchObject({ status: 'pending', attempts: 7, lastStatus: 410 })
    // It still has the one try that the 410 did not use up.
    await setup.hook.plan({ status: 410 }, { status: 200 })
    const activate = () =>
      setup.tenant.admin('PATCH', '/webhooks', [{ id: setup.webhookId, status: 'active' }])
    await activate()
    await moveTo(NOON + 3 * DAY)
    expect(await logged(setup, one)).toMatchObject({ status: 'pending', attempts: 8, lastStatus: 410 })
    await activate()
    await moveTo(NOON + 4 * DAY)
    expect(await logged(setup, one)).toMatchObject({ status: 'delivered', attempts: 9 })
  })
})
