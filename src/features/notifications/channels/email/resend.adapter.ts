import * as z from 'zod'
import type { Attempt } from '../../../../delivery/queue.messages'
import { ask, described } from '../provider.client'
import type { EmailPort } from './email.types'

export type ResendSettings = { key: string; url: string; patience?: number }

/** The statuses that tell of a fault in the email or in what the key permits: the same email would have the same answer. */
const FINAL = [400, 403, 404, 405, 422]

const ProviderError = z.object({ name: z.string() })

/** Sends by Resend's interface, which knows an email by the letter's id for a day: longer than it is tried. */
export function resendEmail({ key, url, patience }: ResendSettings): EmailPort {
  return {
    mayRepeat: true,
    async send({ id, from, to, subject, html, text, headers }): Promise<Attempt> {
      const reply = await ask(
        `${url}/emails`,
        {
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'idempotency-key': id,
          },
          body: JSON.stringify({ from, to: [to], subject, html, text, headers }),
        },
        patience,
      )
      if ('error' in reply) return { kind: 'failed', status: null, ...reply }
      const { status, json, retryAfter } = reply
      if (status >= 200 && status < 300) return { kind: 'delivered', status }
      const error = described(status, json)
      // Another email was taken under this id: the same one, but from or to an address that has changed since. It has been sent.
      const isOther =
        status === 409 && ProviderError.safeParse(json).data?.name === 'invalid_idempotent_request'
      if (FINAL.includes(status) || isOther) return { kind: 'refused', status, error }
      return { kind: 'failed', status, error, ...(retryAfter !== undefined && { retryAfter }) }
    },
  }
}
