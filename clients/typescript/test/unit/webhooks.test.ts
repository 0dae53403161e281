import { Webhook } from 'standardwebhooks'
import { describe, expect, expectTypeOf, it, vi } from 'vitest'
import type { EventType } from '../../../../src/configuration/enumerations.ts'
import * as app from '../../src/app.js'
import { Laurel, LaurelError, type User, verifyWebhook, type WebhookEvent } from '../../src/index.js'
import { errorOf, fake } from '../fake-fetch.js'

const SECRET = `whsec_${Buffer.from('a secret of the tests, 32 bytes!').toString('base64')}`
const OTHER = `whsec_${Buffer.from('another secret of these tests !!').toString('base64')}`
const NOW = Date.parse('2026-06-01T12:00:00Z')
const BODY = JSON.stringify({ type: 'streak.lost', user: { id: 'ada', name: 'Ada é' }, length: 7 })

/** A webhook as Laurel sends it: signed by the same library. */
function webhook({ body = BODY, secret = SECRET, at = NOW } = {}) {
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(at / 1000),
    'webhook-signature': new Webhook(secret).sign('msg_1', new Date(at), body),
  }
  return { headers, body }
}

const requestOf = ({ headers, body }: { headers: Record<string, string>; body: string }) =>
  new Request('https://app.example.com/hook', { method: 'POST', headers, body })

const refused = (promise: Promise<unknown>) =>
  expect(errorOf(promise)).resolves.toSatisfy((error) => error instanceof LaurelError && error.status === 401)

describe('[W3] verify', () => {
  it('returns the body of a webhook that Laurel sent', async () => {
    const event = await verifyWebhook(requestOf(webhook()), SECRET, NOW)
    expect(event).toEqual(JSON.parse(BODY))
    const { webhooks } = new Laurel(fake().options)
    expect(await webhooks.verify(requestOf(webhook()), SECRET, NOW)).toEqual(event)
  })

  it('is not in the entry for browsers, where a secret never belongs', () => {
    expect(Object.keys(app)).not.toContain('verifyWebhook')
    expect(new app.Laurel(fake().options)).not.toHaveProperty('webhooks')
  })

  it('takes the headers and the raw body of Node, as text or bytes', async () => {
    const { headers, body } = webhook()
    const nodeHeaders = { ...headers, 'Webhook-Id': [headers['webhook-id']], 'webhook-id': undefined }
    const event = JSON.parse(BODY)
    for (const raw of [body, Buffer.from(body), new TextEncoder().encode(body).buffer])
      expect(await verifyWebhook({ headers, body: raw }, SECRET, NOW)).toEqual(event)
    expect(await verifyWebhook({ headers: new Headers(headers), body }, SECRET, NOW)).toEqual(event)
    await refused(verifyWebhook({ headers: nodeHeaders, body: `${body} ` }, SECRET, NOW))
  })

  it.each([-300, 300])('allows clocks that differ by %i seconds, and no second more', async (difference) => {
    const { headers, body } = webhook({ at: NOW + difference * 1000 })
    expect(await verifyWebhook({ headers, body }, SECRET, NOW)).toEqual(JSON.parse(BODY))
    await refused(verifyWebhook({ headers, body }, SECRET, NOW - Math.sign(difference) * 1000))
  })

  it('accepts any one of several signatures', async () => {
    const { headers, body } = webhook()
    const signature = headers['webhook-signature']
    const { headers: other } = webhook({ secret: OTHER })
    for (const several of [
      `${other['webhook-signature']} ${signature}`,
      `v1a,AAAA ${signature}`,
      `v1,not-base64! ${signature}`,
      // A repeated header, as Node, other servers and proxies have it.
      [other['webhook-signature'], signature],
      [`v1a,AAAA ${other['webhook-signature']}`, signature],
      `${other['webhook-signature']}, ${signature}`,
      `${other['webhook-signature']},${signature}`,
    ])
      expect(
        await verifyWebhook({ headers: { ...headers, 'webhook-signature': several }, body }, SECRET, NOW),
      ).toEqual(JSON.parse(BODY))
  })

  it('checks at most ten signatures, since anybody may send thousands', async () => {
    const { headers, body } = webhook()
    const wrong = Array.from({ length: 2_000 }, () => webhook({ secret: OTHER }).headers['webhook-signature'])
    const checked = vi.spyOn(crypto.subtle, 'verify')
    const many = { ...headers, 'webhook-signature': wrong.join(' ') }
    await refused(verifyWebhook({ headers: many, body }, SECRET, NOW))
    expect(checked).toHaveBeenCalledTimes(10)
    checked.mockRestore()
  })

  it('takes several secrets, one of which must fit', async () => {
    const event = JSON.parse(BODY)
    for (const secrets of [[SECRET], [OTHER, SECRET], [SECRET, OTHER]])
      expect(await verifyWebhook(requestOf(webhook()), secrets, NOW)).toEqual(event)
    await refused(verifyWebhook(requestOf(webhook()), [OTHER, OTHER], NOW))
  })

  it('refuses everything else', async () => {
    const { headers, body } = webhook()
    await refused(verifyWebhook({ headers, body }, OTHER, NOW))
    await refused(verifyWebhook({ headers, body: body.replace('7', '8') }, SECRET, NOW))
    await refused(verifyWebhook({ headers: { ...headers, 'webhook-id': 'msg_2' }, body }, SECRET, NOW))
    const refusedWith = (name: string, value?: string) =>
      refused(verifyWebhook({ headers: { ...headers, [name]: value }, body }, SECRET, NOW))
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) await refusedWith(name)
    for (const timestamp of ['', 'NaN', '1e9', `${NOW / 1000}.5`, ' ', '-1'])
      await refusedWith('webhook-timestamp', timestamp)
    const others = ['v2,', 'xv1,'].map((to) => headers['webhook-signature'].replace('v1,', to))
    for (const signature of ['v1,', 'v1', ',', ...others]) await refusedWith('webhook-signature', signature)
  })

  it('says what to do about a parsed body, a request without headers, and a secret that is not set', async () => {
    const { headers, body } = webhook()
    const { UNSET } = JSON.parse('{}')
    for (const parsed of [JSON.parse(body), UNSET])
      await expect(verifyWebhook({ headers, body: parsed }, SECRET, NOW)).rejects.toThrow(/^Pass the body of/)
    // The request of Hono.
    const wrapped = Object({ header: () => 'a', arrayBuffer: async () => body })
    await expect(verifyWebhook(wrapped, SECRET, NOW)).rejects.toThrow(/^Pass the .*c\.req\.raw/)
    for (const secret of [UNSET, '', 'whsec_', '!', [], [SECRET, UNSET], [SECRET, '']])
      await expect(verifyWebhook({ headers, body }, secret, NOW)).rejects.toThrow(
        /must be the text that begins/,
      )
  })

  it('[W2] knows every type of event, and the body of each', () => {
    expectTypeOf<WebhookEvent['type']>().toEqualTypeOf<EventType>()
    expectTypeOf<Extract<WebhookEvent, { type: 'streak.lost' }>>().toEqualTypeOf<{
      type: 'streak.lost'
      user: User
      length: number
    }>()
  })
})
