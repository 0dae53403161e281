import * as z from 'zod'
import type { EmailPort } from './email.types'

/** After these errors nothing was sent, and a later attempt may succeed. */
const LATER = ['E_RATE_LIMIT_EXCEEDED', 'E_DAILY_LIMIT_EXCEEDED']
const MOST_ERROR_CHARACTERS = 300

const Coded = z.object({ code: z.string() })

/**
 * Sends by Cloudflare's `send_email` binding. The binding takes no idempotency key. If the outcome of an
 * attempt is unknown, Laurel gives the email up: better no email than two.
 */
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
        const kind = LATER.includes(data?.code ?? '') ? 'failed' : 'refused'
        return { kind, status: null, error: about }
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
