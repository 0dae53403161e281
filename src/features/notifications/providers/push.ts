import * as z from 'zod'
import { DAY, SECOND } from '../../../lib/clock'
import { post, retryAfterIn } from '../../../lib/net'

/** A message for one device. */
export type Push = {
  /** The id of the message, the same on every retry. */
  id: string
  title: string
  body: string
}

/** The result of sending to one device. */
export type PushResult =
  | { kind: 'taken'; status: number | null }
  /** This token will never reach the device again (N6). */
  | { kind: 'gone'; status: number | null; error: string }
  /** Must be tried again, after `retryAfter` milliseconds if the provider asks for it. */
  | { kind: 'failed'; status: number | null; error: string; retryAfter?: number }
  | { kind: 'refused'; status: number | null; error: string }

/** A push provider (N4). */
export type PushPort = {
  /** One result for each token, in their order. */
  send(push: Push, tokens: readonly string[]): Promise<PushResult[]>
}

/** The provider of a token, by the token's form. */
export function providerOf(token: string): 'expo' | 'apns' | 'fcm' {
  if (/^Expo(nent)?PushToken\[.+\]$/.test(token)) return 'expo'
  return /^[0-9a-f]{64,}$/i.test(token) ? 'apns' : 'fcm'
}

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
