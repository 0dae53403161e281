import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { instant } from '../../src/lib/clock'
import { newSecret, signatureHeaders } from '../../src/webhooks/channel'
import { START } from '../helpers/time'

const BODIES = ['{"type":"streak.lost"}', '', '{"name":"Ädä 😀 \\u2028"}', 'x'.repeat(100_000)]

it.each(BODIES)('[W3] both signatures equal the result of any HMAC-SHA256', async (body) => {
  const secret = newSecret()
  const at = instant(START)
  const headers = await signatureHeaders(secret, { id: 'msg_1', at, body })
  const seconds = String(Math.floor(at / 1_000))
  const decoded = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const hmac = (key: string | Buffer, text: string) =>
    createHmac('sha256', key).update(text, 'utf8').digest('base64')
  expect(headers).toEqual({
    'webhook-id': 'msg_1',
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${hmac(decoded, `msg_1.${seconds}.${body}`)}`,
    'x-trophy-signature': hmac(secret, body),
  })
  // While two secrets sign, the signature of the newer one comes first.
  const [previous, before] = [newSecret(), headers['webhook-signature']]
  const both = await signatureHeaders(secret, { id: 'msg_1', at, body }, previous)
  const after = (await signatureHeaders(previous, { id: 'msg_1', at, body }))['webhook-signature']
  expect(both).toEqual({ ...headers, 'webhook-signature': `${before} ${after}` })
  if (body.startsWith('{'))
    for (const one of [secret, previous])
      expect(new Webhook(one).verify(body, both)).toEqual(JSON.parse(body))
})
