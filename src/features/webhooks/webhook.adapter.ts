import type { Webhook } from '../../config/configuration.types'
import type { Attempt, ChannelAdapter } from '../../delivery/queue.messages'
import { counted } from '../../lib/errors'
import { targetOf, targetRules } from '../../lib/net/webhook-targets'
import { systemNow } from '../../lib/system-clock'
import { SECOND } from '../../lib/units'
import type { TenantContext } from '../../runtime/context'
import { signatureHeaders } from './signatures.service'

/** The most bytes of a response's body that the log stores. */
const KEPT = 1_024

/**
 * Sends messages to a webhook with its current URL and secret. They are signed and need a 2xx response in
 * WEBHOOK_TIMEOUT seconds. A redirect counts as a failure (W3, W4).
 */
export function webhookAdapter(
  { variables }: Pick<TenantContext, 'variables'>,
  { url, secret }: Pick<Webhook, 'url' | 'secret'>,
): ChannelAdapter {
  const seconds = variables.WEBHOOK_TIMEOUT
  return {
    mayRepeat: true,
    async attempt({ id, event, body }): Promise<Attempt> {
      // The URL was allowed when it was set, but the rules depend on variables that may have changed (W1).
      const target = targetOf(url, targetRules(variables))
      if ('refused' in target)
        return { kind: 'refused', status: null, error: `not called: url ${target.refused}` }
      const signed = await signatureHeaders(secret, { id, at: systemNow(), body })
      // AbortSignal.timeout has a timer that cannot be cleared. It would keep the object awake after the
      // response, and that time costs money.
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
          ? `no answer within ${counted(seconds, 'second')}`
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
 * Whether the log may quote the response to an event. It may not for events of leaderboards: these name
 * several users, and a response may repeat the names. If one of the users is erased, the log entry stays
 * because of the others, and so would the name (U8).
 */
const mayQuote = (event: string): boolean => !event.startsWith('leaderboard.')

/**
 * The result of an attempt that got a response. After a success the body is not read; else only the part that
 * the log stores.
 */
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

/** The first bytes of a body, as text. If the body breaks off or time is up, the bytes so far. */
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
    // The status is enough.
  }
  await reader.cancel().catch(() => undefined)
  return text
}

/** The reason why there was no response, without the URL, which may contain a secret of the receiver. */
function brokenOff(error: unknown, url: string): string {
  const why = error instanceof Error ? error.message : String(error)
  return `no answer: ${why.replaceAll(url, 'the URL').slice(0, 200)}`
}
