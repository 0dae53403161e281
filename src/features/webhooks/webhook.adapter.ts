import type { Webhook } from '../../config/configuration.types'
import type { Attempt, ChannelAdapter } from '../../delivery/queue.messages'
import { targetOf, targetRules } from '../../lib/net/webhook-targets'
import { systemNow } from '../../lib/system-clock'
import { SECOND } from '../../lib/units'
import type { TenantContext } from '../../runtime/context'
import { signatureHeaders } from './signatures.service'

/** As much of an answer as the log keeps, in bytes. */
const KEPT = 1_024

/**
 * Carries letters to a webhook as it is configured at present: signed, to be answered with 2xx in WEBHOOK_TIMEOUT seconds; redirects are
 * answers like others that are no 2xx (W3, W4).
 */
export function webhookAdapter(
  { variables }: Pick<TenantContext, 'variables'>,
  { url, secret }: Pick<Webhook, 'url' | 'secret'>,
): ChannelAdapter {
  const seconds = variables.WEBHOOK_TIMEOUT
  return {
    mayRepeat: true,
    async attempt({ id, event, body }): Promise<Attempt> {
      // What may be called may have changed since it was set (W1).
      const target = targetOf(url, targetRules(variables))
      if ('refused' in target)
        return { kind: 'refused', status: null, error: `not called: url ${target.refused}` }
      const signed = await signatureHeaders(secret, { id, at: systemNow(), body })
      // Not AbortSignal.timeout, whose timer outlives the answer: an object with one is kept awake, and paid for.
      const limit = new AbortController()
      const timer = setTimeout(() => limit.abort(), seconds * SECOND)
      try {
        const response = await fetch(target.url, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'user-agent': 'Laurel', ...signed },
          body,
          redirect: 'manual',
          signal: limit.signal,
        })
        return await judged(response, mayQuote(event))
      } catch (error) {
        const description = limit.signal.aborted
          ? `no answer within ${seconds} seconds`
          : mayQuote(event)
            ? brokenOff(error, target.url)
            : 'no answer'
        return { kind: 'failed', status: null, error: description }
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

/**
 * Whether the log may keep what the other side says of an event. An event of a leaderboard tells of several users, and its log entry stays
 * when one of them is erased: an answer that repeats a name would keep it (U8).
 */
const mayQuote = (event: string): boolean => !event.startsWith('leaderboard.')

/** What an answer means. Only what the log keeps of its body is read, and nothing of a success. */
async function judged(response: Response, isQuoted: boolean): Promise<Attempt> {
  const { status } = response
  if (status >= 200 && status < 300) {
    await response.body?.cancel().catch(() => undefined)
    return { kind: 'delivered', status }
  }
  const text = isQuoted ? await beginning(response.body) : ''
  if (!isQuoted) await response.body?.cancel().catch(() => undefined)
  return { kind: 'failed', status, error: text === '' ? `answered ${status}` : `answered ${status}: ${text}` }
}

/** The first bytes of a body as text; as many as came where it breaks off, or the time is up. */
async function beginning(body: ReadableStream<Uint8Array> | null): Promise<string> {
  if (body === null) return ''
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let [text, room] = ['', KEPT]
  try {
    while (room > 0) {
      const { done, value } = await reader.read()
      if (done) break
      const part = value.subarray(0, room)
      room -= part.length
      text += decoder.decode(part, { stream: true })
    }
  } catch {
    // The status is known, and that is what counts.
  }
  await reader.cancel().catch(() => undefined)
  return text
}

/** Why there was no answer. The address is left out: it may hold a secret of the receiver's. */
function brokenOff(error: unknown, url: string): string {
  const why = error instanceof Error ? error.message : String(error)
  return `no answer: ${why.replaceAll(url, 'the URL').slice(0, 200)}`
}
