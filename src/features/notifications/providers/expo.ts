import * as z from 'zod'
import { ask, described, type PushPort, type PushResult } from './push'

export type ExpoSettings = { url: string; accessToken?: string | undefined; patience?: number }

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
