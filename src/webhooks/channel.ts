import { Webhook as Signer } from 'standardwebhooks'
import type { Webhook } from '../configuration/model'
import { dateOf, type Instant, SECOND } from '../lib/clock'
import { counted } from '../lib/errors'
import { type Answer, knownReason, post, retryAfterIn, targetOf, targetRules, whyNoAnswer } from '../lib/net'
import { systemNow } from '../lib/system-clock'
import type { TenantContext } from '../platform/context'
import { logProblem } from '../platform/log'
import type { Attempt, ChannelAdapter } from './delivery/messages'
import { MOST_REST } from './delivery/retries.rules'

const SECRET_PREFIX = 'whsec_'

const SECRET_BYTES = 32

/** A new secret: `whsec_` and base64 of 32 random bytes (W1, W3). */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  return SECRET_PREFIX + btoa(String.fromCharCode(...bytes))
}

/** A delivery to sign: its id, the same on every retry, the time of this attempt, and the exact body. */
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
    'webhook-signature': secrets.map((one) => new Signer(one).sign(id, date, body)).join(' '),
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

/** The most bytes of a response's body that the log stores. */
const KEPT = 1_024
/** How long a body may take, in milliseconds. A move of the test clock waits for it. */
const BODY_PATIENCE = SECOND / 2

const isSuccess = (status: number) => status >= 200 && status < 300

/**
 * Sends messages to a webhook with its current URL and secrets. They are signed and need a 2xx response in
 * WEBHOOK_TIMEOUT seconds. A redirect counts as a failure. After a 410 it calls `switchOff` (W3, W4).
 */
export function webhookAdapter(
  { variables }: Pick<TenantContext, 'variables'>,
  { url, secret, previous }: Pick<Webhook, 'url' | 'secret' | 'previous'>,
  switchOff: (now: Instant) => Promise<void>,
): ChannelAdapter {
  const seconds = variables.WEBHOOK_TIMEOUT
  return {
    mayRepeat: true,
    async attempt({ id, event, body }, now, seen): Promise<Attempt> {
      // The URL was allowed when it was set, but the rules depend on variables that may have changed (W1).
      const target = targetOf(url, targetRules(variables))
      if ('refused' in target)
        return { kind: 'refused', status: null, error: `not called: url ${target.refused}` }
      const old = previous !== null && now < previous.until ? previous.secret : undefined
      const signed = await signatureHeaders(secret, { id, at: systemNow(), body }, old)
      const headers = { 'content-type': 'application/json', 'user-agent': 'Laurel', ...signed }
      const isQuoted = mayQuote(event)
      const most = (status: number) => (seen || (isQuoted && !isSuccess(status)) ? KEPT : 0)
      const limits = { patience: seconds * SECOND, bodyPatience: BODY_PATIENCE, most }
      const begun = systemNow()
      try {
        const answer = await post(target.url, { headers, body }, limits)
        if (answer === null)
          return { kind: 'failed', status: null, error: `no answer within ${counted(seconds, 'second')}` }
        seen?.({ status: answer.status, milliseconds: systemNow() - begun, body: answer.text })
        if (answer.status === 410)
          await switchOff(now).catch((error: unknown) =>
            logProblem('error', { message: id, error: `the webhook was not switched off: ${String(error)}` }),
          )
        return judged(isQuoted ? answer : { ...answer, text: '' })
      } catch (error) {
        const why = isQuoted ? whyNoAnswer(error) : knownReason(error)
        return { kind: 'failed', status: null, error: why === undefined ? 'no answer' : `no answer: ${why}` }
      }
    },
  }
}

/**
 * Whether the log may quote the response to an event. It may not for events of leaderboards: these name
 * several users, and a response may repeat the names. If one of the users is erased, the log entry stays
 * because of the others, and so would the name (U8).
 */
const mayQuote = (event: string): boolean => !event.startsWith('leaderboard.')

/** The result of an attempt that got a response. A receiver that is busy may ask for a rest. */
function judged({ status, headers, text }: Answer): Attempt {
  if (isSuccess(status)) return { kind: 'delivered', status }
  const error = text === '' ? `answered ${status}` : `answered ${status}: ${text}`
  if (status === 410) return { kind: 'postponed', status, error }
  const named = status === 429 || status === 503 ? retryAfterIn(headers) : undefined
  // A receiver that takes only some a second would soon have failed 20 times in a row, and get one in five minutes.
  const asked = status === 429 ? Math.max(named ?? 0, SECOND) : named
  const rest = asked === undefined ? {} : { retryAfter: Math.min(asked, MOST_REST), isForAll: true }
  return { kind: 'failed', status, error, ...rest }
}
