import * as z from 'zod'
import { SECOND } from '../../../lib/clock'
import type { Attempt } from '../../../webhooks/delivery/messages'
import { ask, described } from './push'

/** An email, ready to be sent. */
export type Email = {
  /** The id of the message, the same on every retry. */
  id: string
  from: string
  to: string
  subject: string
  html: string
  text: string
  headers: Readonly<Record<string, string>>
}

/** An email provider (N4). */
export type EmailPort = {
  send(email: Email): Promise<Attempt>
  /** Whether it can be sent again after an attempt with unknown outcome, without arriving twice. */
  mayRepeat: boolean
}

/** After these errors nothing was sent, and the provider takes no other email for now either. */
const LATER = ['E_RATE_LIMIT_EXCEEDED', 'E_DAILY_LIMIT_EXCEEDED']
/** How long all emails wait at least if there were too many, in milliseconds. Limits count seconds. */
const LEAST_REST = SECOND
const MOST_ERROR_CHARACTERS = 300

const Coded = z.object({ code: z.string() })

/** Sends by Cloudflare's binding. It takes no idempotency key, so an email of unknown outcome is given up. */
export function cloudflareEmail(binding: SendEmail): EmailPort {
  return {
    mayRepeat: false,
    async send({ from, to, subject, html, text, headers }) {
      try {
        await binding.send({ from: sender(from), to, subject, html, text, headers: { ...headers } })
        return { kind: 'delivered', status: null }
      } catch (error) {
        const { data } = Coded.safeParse(error)
        const said = error instanceof Error ? error.message : String(error)
        const about = `${data === undefined ? '' : `${data.code}: `}${said}`.slice(0, MOST_ERROR_CHARACTERS)
        const refused = { kind: 'refused', status: null, error: about } as const
        return LATER.includes(data?.code ?? '')
          ? { ...refused, kind: 'postponed', retryAfter: LEAST_REST }
          : refused
      }
    },
  }
}

/** `Ada <ada@example.com>`, or the address alone. */
function sender(from: string): string | EmailAddress {
  const named = /^\s*(?:"([^"]*)"|([^<]*?))\s*<([^<>]+)>\s*$/.exec(from)
  const name = named?.[1] ?? named?.[2] ?? ''
  return named === null ? from.trim() : name === '' ? (named[3] ?? '') : { name, email: named[3] ?? '' }
}

type ResendSettings = { key: string; url: string; patience?: number }

/** Problems with the email or the permissions of the key: the same email would fail again. */
const FINAL = [400, 403, 404, 405, 422]

const ProviderError = z.object({ name: z.string() })

/** Sends by Resend's API. It knows the id as idempotency key for a day, longer than the retries take. */
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
      const rest = retryAfter !== undefined && { retryAfter: Math.max(retryAfter, LEAST_REST) }
      // It takes only some emails a second. Each one that was too many would use up a try.
      return { kind: status === 429 && rest ? 'postponed' : 'failed', status, error, ...rest }
    },
  }
}
