import { Webhook } from 'standardwebhooks'
import { dateOf, type Instant } from '../lib/clock'
import { SECOND } from '../lib/units'

/**
 * A delivery to sign: its id, which is the same on every retry, the time of this attempt, and the exact body.
 */
export type Message = { id: string; at: Instant; body: string }

/**
 * The headers that prove to a receiver that Laurel sent a delivery (W3). The Standard Webhooks headers are
 * keyed with the decoded part of the secret after `whsec_`; the signature of a previous secret follows.
 * `X-Trophy-Signature`, for existing handlers, is keyed with the bytes of the whole secret as shown. It has
 * room for one signature only.
 */
export async function signatureHeaders(secret: string, { id, at, body }: Message, previous?: string) {
  const date = dateOf(at)
  const secrets = previous === undefined ? [secret] : [secret, previous]
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at / SECOND)),
    'webhook-signature': secrets.map((one) => new Webhook(one).sign(id, date, body)).join(' '),
    'x-trophy-signature': await bodySignature(secret, body),
  }
}

const encoder = new TextEncoder()

/** Base64 of the HMAC-SHA256 of the body, keyed with the bytes of the whole secret. */
async function bodySignature(secret: string, body: string): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign'])
  const signature = await crypto.subtle.sign('HMAC', key, encoder.encode(body))
  return btoa(String.fromCharCode(...new Uint8Array(signature)))
}
