import { LaurelError } from './core/laurel-error.js'
import type { Webhooks } from './generated/types.js'

/** The body of a webhook. `type` says which of the types it is. */
export type WebhookEvent = Webhooks['body']

/** A request as Node and its frameworks have it: the headers, and the body exactly as it came. */
export interface ReceivedRequest {
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  body: string | Uint8Array | ArrayBuffer
}

/** How much the clocks of sender and receiver may differ, in seconds. Older requests are refused. */
const TOLERANCE = 300

/**
 * No more signatures are checked. Laurel sends one, or two after a change of the secret, and each check reads
 * the whole body.
 */
const MOST_SIGNATURES = 10

/**
 * Confirms that Laurel has sent a webhook, and returns its body. It reads the body of the request.
 *
 * @param request a `Request`, or the headers and the body as they came, before any parsing
 * @param secret the secret of the webhook, such as `whsec_…`, or several: one of them must fit
 * @param now milliseconds since 1970, for tests
 * @throws LaurelError with status 401, which is also the right answer to the sender
 * @throws TypeError if a secret is no secret, if the body was parsed before, or if there are no headers
 */
export async function verifyWebhook(
  request: Request | ReceivedRequest,
  secret: string | readonly string[],
  now: number = Date.now(),
): Promise<WebhookEvent> {
  const id = headerOf(request.headers, 'webhook-id')
  const timestamp = headerOf(request.headers, 'webhook-timestamp')
  const signatures = headerOf(request.headers, 'webhook-signature')
  if (!id || !timestamp || !signatures) throw refusal('The request has no signature of a webhook.')
  const seconds = /^\d{1,15}$/.test(timestamp) ? Number(timestamp) : Number.NaN
  if (!(Math.abs(now / 1000 - seconds) <= TOLERANCE))
    throw refusal('The timestamp of the webhook is more than five minutes from now.')
  const body = await bodyOf(request)
  const encoder = new TextEncoder()
  const signed = joined(encoder.encode(`${id}.${timestamp}.`), body)
  // A space or a comma separates signatures, such as those of a header that is repeated.
  const given = Array.from(signatures.matchAll(/(?:^|[\s,])v1,([^\s,]+)/g), ([, base64 = '']) => base64)
  for (const bytes of keysOf(secret)) {
    const hmac = { name: 'HMAC', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('raw', bytes, hmac, false, ['verify'])
    for (const base64 of given.slice(0, MOST_SIGNATURES)) {
      const signature = bytesOf(base64)
      // `verify` compares in constant time.
      if (signature !== null && (await crypto.subtle.verify('HMAC', key, signature, signed)))
        return JSON.parse(new TextDecoder().decode(body))
    }
  }
  throw refusal('The signature of the webhook is wrong. Check the secret, and pass the body as it came.')
}

const refusal = (message: string) => new LaurelError(message, { status: 401 })

/** The bytes of secrets. Programs without types may pass anything, such as a variable that is not set. */
function keysOf(secrets: unknown): Uint8Array<ArrayBuffer>[] {
  const keys = [secrets].flat().map((secret: unknown) => {
    const bytes = typeof secret === 'string' ? bytesOf(secret.replace(/^whsec_/, '')) : null
    return bytes ?? new Uint8Array()
  })
  if (keys.length === 0 || keys.some(({ length }) => length === 0))
    throw new TypeError('The secret of the webhook must be the text that begins with "whsec_".')
  return keys
}

function headerOf(headers: ReceivedRequest['headers'], name: string): string | null {
  // Programs without types may pass the request of a framework that hides them.
  if (!headers)
    throw new TypeError('Pass the Request itself, in Hono "c.req.raw", or its headers and its body.')
  if (isHeaders(headers)) return headers.get(name)
  const [, value] = Object.entries(headers).find(([one]) => one.toLowerCase() === name) ?? []
  return value === undefined ? null : [value].flat().join(' ')
}

/** True if these are the headers of a `Request`, which need not be one of this realm. */
const isHeaders = (headers: ReceivedRequest['headers']): headers is Headers =>
  'get' in headers && typeof headers.get === 'function'

async function bodyOf(request: Request | ReceivedRequest): Promise<Uint8Array> {
  if ('arrayBuffer' in request) return new Uint8Array(await request.arrayBuffer())
  const { body } = request
  if (typeof body === 'string') return new TextEncoder().encode(body)
  if (ArrayBuffer.isView(body)) return body
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  throw new TypeError(
    'Pass the body of the webhook as it came, as a text or as bytes. Do not parse it before.',
  )
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length)
  whole.set(first)
  whole.set(second, first.length)
  return whole
}

/** The bytes of a base64 text, or null if it is none. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return null
  }
}
