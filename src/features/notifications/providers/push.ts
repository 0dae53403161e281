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

type ExpoSettings = { url: string; accessToken?: string | undefined; patience?: number }

/** The most messages in one request to Expo. A user has fewer devices. */
const MOST = 100

const Ticket = z.union([
  z.object({ status: z.literal('ok') }),
  z.object({
    status: z.literal('error'),
    message: z.string().default(''),
    details: z.object({ error: z.string().optional() }).optional(),
  }),
])
const Tickets = z.object({ data: z.array(Ticket) })
const Errors = z.object({ errors: z.array(z.unknown()) })

/**
 * Sends by Expo's push service. Does not read receipts. If Expo learns later that a device is gone, the
 * ticket of the next message says so.
 */
export function expoPush({ url, accessToken, patience }: ExpoSettings): PushPort {
  return {
    async send({ title, body }, tokens) {
      const results: PushResult[] = []
      for (let from = 0; from < tokens.length; from += MOST) {
        results.push(...(await sendSome(tokens.slice(from, from + MOST))))
      }
      return results

      async function sendSome(some: readonly string[]): Promise<PushResult[]> {
        const reply = await ask(
          `${url}/--/api/v2/push/send`,
          {
            headers: {
              'content-type': 'application/json',
              ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
            },
            body: JSON.stringify(some.map((to) => ({ to, title, body, sound: 'default' }))),
          },
          patience,
        )
        if ('error' in reply) return some.map(() => ({ kind: 'failed', status: null, ...reply }))
        const { status, json, retryAfter } = reply
        const tickets = Tickets.safeParse(json).data?.data
        if (status === 200 && tickets?.length === some.length) return tickets.map(resultOf)
        const said = Errors.safeParse(json).data?.errors[0]
        const isFinal = status >= 400 && status < 500 && ![401, 408, 429].includes(status)
        return some.map(() => ({
          kind: isFinal ? 'refused' : 'failed',
          status,
          error: described(status, said),
          ...(retryAfter !== undefined && { retryAfter }),
        }))
      }
    },
  }
}

function resultOf(ticket: z.infer<typeof Ticket>): PushResult {
  const status = 200
  if (ticket.status === 'ok') return { kind: 'taken', status }
  const code = ticket.details?.error ?? 'error'
  const error = code.slice(0, 100)
  if (code === 'DeviceNotRegistered') return { kind: 'gone', status, error }
  return { kind: code === 'MessageRateExceeded' ? 'failed' : 'refused', status, error }
}
