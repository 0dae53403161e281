import * as z from 'zod'
import type { Attempt } from '../../webhooks/delivery/queue.messages'
import type { EmailPort } from './email.types'
import { ask, described } from './provider.client'

export type ResendSettings = { key: string; url: string; patience?: number }

/** Problems with the email or the permissions of the key: the same email would fail again. */
const FINAL = [400, 403, 404, 405, 422]

const ProviderError = z.object({ name: z.string() })

/**
 * Sends by Resend's API. Resend remembers the message's id as idempotency key for a day, which is longer than
 * the retries take.
 */
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
      // Resend accepted another email under this id: the same one, but the sender or the recipient has
      // changed since. It has been sent.
      const isOther =
        status === 409 && ProviderError.safeParse(json).data?.name === 'invalid_idempotent_request'
      if (FINAL.includes(status) || isOther) return { kind: 'refused', status, error }
      return { kind: 'failed', status, error, ...(retryAfter !== undefined && { retryAfter }) }
    },
  }
}
