import * as z from 'zod'
import { parseIso } from '../../../lib/clock'
import { systemNow } from '../../../lib/system-clock'
import { DAY, SECOND } from '../../../lib/units'

/** Timeout for a provider's response, in milliseconds. */
export const PATIENCE = 30 * SECOND
/** Characters of a response that are read; the rest is ignored. */
const MOST_ANSWER_CHARACTERS = 65_536
/** The longest accepted `Retry-After`, in milliseconds: a day. */
const MOST_WAIT = DAY

/** A provider's response. `json` is undefined if the body is not JSON. */
export type Reply = { status: number; json: unknown; retryAfter?: number }

/** Why there is no response. The text contains no address, because some addresses contain a device token. */
export type Silence = { error: string }

/** Sends a request to a provider. Does not follow redirects, because they would pass the secret on. */
export async function ask(
  url: string,
  request: { headers: Record<string, string>; body: string },
  patience: number = PATIENCE,
): Promise<Reply | Silence> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      ...request,
      redirect: 'manual',
      signal: AbortSignal.timeout(patience),
    })
    const json = readJson(await beginning(response))
    const wait = waitIn(response.headers.get('retry-after'))
    return { status: response.status, json, ...(wait !== null && { retryAfter: wait }) }
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    return { error: isLate ? `no answer within ${patience / SECOND} s` : 'the provider could not be reached' }
  }
}

async function beginning({ body }: Response): Promise<string> {
  if (body === null) return ''
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let text = ''
  while (text.length < MOST_ANSWER_CHARACTERS) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    text += decoder.decode(value, { stream: true })
  }
  await reader.cancel()
  return text
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** `Retry-After` in milliseconds. The header has seconds or a date. */
function waitIn(header: string | null): number | null {
  if (header === null) return null
  const until = /^\d+$/.test(header) ? Number(header) * SECOND : (parseIso(header) ?? 0) - systemNow()
  return Number.isFinite(until) ? Math.min(Math.max(until, 0), MOST_WAIT) : null
}

const Said = z.object({ message: z.string() }).transform(({ message }) => message.slice(0, 200))

/** A text for a failed response: its status and its `message`, if it has one. */
export function described(status: number, said: unknown): string {
  const { data } = Said.safeParse(said)
  return data === undefined ? `answered ${status}` : `answered ${status}: ${data}`
}
