import * as z from 'zod'
import { parseIso } from '../../../lib/clock'
import { systemNow } from '../../../lib/system-clock'
import { DAY, SECOND } from '../../../lib/units'

/** How long a provider may take, in milliseconds. */
export const PATIENCE = 30 * SECOND
/** As much of an answer as is read. */
const ANSWER_MAX = 65_536
/** The longest that a provider can ask us to wait, in milliseconds: a day. */
const WAIT_MAX = DAY

/** What a provider answered; `json` is undefined where it is none. */
export type Reply = { status: number; json: unknown; retryAfter?: number }

/** Why nobody knows what a provider has done; it names no address, since some of those hold a device's token. */
export type Silence = { error: string }

/** Asks a provider. Redirects are not followed, since they would carry the secret along. */
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
  while (text.length < ANSWER_MAX) {
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

/** `Retry-After` in milliseconds: it is seconds or a date. */
function waitIn(header: string | null): number | null {
  if (header === null) return null
  const until = /^\d+$/.test(header) ? Number(header) * SECOND : (parseIso(header) ?? 0) - systemNow()
  return Number.isFinite(until) ? Math.min(Math.max(until, 0), WAIT_MAX) : null
}

const Said = z.object({ message: z.string() }).transform(({ message }) => message.slice(0, 200))

/** What an answer says of an error, behind its status. */
export function described(status: number, said: unknown): string {
  const { data } = Said.safeParse(said)
  return data === undefined ? `answered ${status}` : `answered ${status}: ${data}`
}
