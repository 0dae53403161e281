import { parseIso } from '../clock'
import { systemNow } from '../system-clock'
import { SECOND } from '../units'

/** A response. `text` is the beginning of its body. */
export type Answer = { status: number; headers: Headers; text: string }

/**
 * Sends a POST request, without following redirects. Null if there is no status within `patience`
 * milliseconds. Throws the error of `fetch`. Once there is a status, a body that is late, endless or cut off
 * changes nothing: `most` bytes of it are read, for at most `bodyPatience` milliseconds.
 */
export async function post(
  url: string,
  request: { headers: Record<string, string>; body: string },
  limits: { patience: number; bodyPatience: number; most: (status: number) => number },
): Promise<Answer | null> {
  // AbortSignal.timeout has a timer that cannot be cleared. It would keep an object awake after the response,
  // and that time costs money.
  const limit = new AbortController()
  let timer = setTimeout(() => limit.abort(), limits.patience)
  try {
    const init = { method: 'POST', ...request, redirect: 'manual', signal: limit.signal } as const
    const { status, headers, body } = await fetch(url, init)
    clearTimeout(timer)
    timer = setTimeout(() => limit.abort(), limits.bodyPatience)
    return { status, headers, text: body === null ? '' : await beginning(body, limits.most(status)) }
  } catch (error) {
    if (limit.signal.aborted) return null
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** The first bytes of a body, as text. If the body breaks off or time is up, the bytes so far. */
async function beginning(body: ReadableStream<Uint8Array>, most: number): Promise<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let [text, room] = ['', most]
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

/**
 * The wait that `Retry-After` asks for, in milliseconds; undefined if it asks for none. A date counts from
 * the sender's own `Date`, so that the two clocks need not agree.
 */
export function retryAfterIn(headers: Headers): number | undefined {
  const asked = headers.get('retry-after') ?? ''
  if (/^\d+$/.test(asked)) return Number(asked) * SECOND
  const until = parseIso(asked)
  return until === null
    ? undefined
    : Math.max(0, until - (parseIso(headers.get('date') ?? '') ?? systemNow()))
}
