import * as z from 'zod'
import { post, retryAfterIn } from '../../lib/net/post'
import { DAY, SECOND } from '../../lib/units'

/** Timeout for a provider's response, in milliseconds. */
export const PATIENCE = 30 * SECOND
/** Timeout for the body after that, in milliseconds. */
const BODY_PATIENCE = 5 * SECOND
/** Bytes of a response that are read; the rest is ignored. */
const MOST_ANSWER_BYTES = 65_536
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
  const bodyPatience = Math.min(patience, BODY_PATIENCE)
  const limits = { patience, bodyPatience, most: () => MOST_ANSWER_BYTES }
  const answer = await post(url, request, limits).catch(() => undefined)
  if (answer === undefined) return { error: 'the provider could not be reached' }
  if (answer === null) return { error: `no answer within ${patience / SECOND} s` }
  const { status, headers, text } = answer
  const wait = retryAfterIn(headers)
  const retryAfter = wait === undefined ? {} : { retryAfter: Math.min(wait, MOST_WAIT) }
  return { status, json: readJson(text), ...retryAfter }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const Said = z.object({ message: z.string() }).transform(({ message }) => message.slice(0, 200))

/** A text for a failed response: its status and its `message`, if it has one. */
export function described(status: number, said: unknown): string {
  const { data } = Said.safeParse(said)
  return data === undefined ? `answered ${status}` : `answered ${status}: ${data}`
}
