import * as z from 'zod'
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
  /**
   * Whether an email can be sent again after an attempt with unknown outcome, without reaching the user
   * twice.
   */
  mayRepeat: boolean
}

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

type ResendSettings = { key: string; url: string; patience?: number }

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

/** Elements with content that is not shown. */
const UNREAD = new Set(['script', 'style', 'head', 'title', 'template'])
/** Elements that begin on a line of their own. */
const BLOCKS = new Set(
  'address article blockquote br div dl dt dd footer h1 h2 h3 h4 h5 h6 header hr li main ol p pre section table tr ul'.split(
    ' ',
  ),
)
const ENTITIES = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
  ['hellip', '…'],
  ['mdash', '—'],
  ['ndash', '–'],
  ['copy', '©'],
])

/**
 * The plain text of an HTML email: one line for each block, and each link's address after its words. Accepts
 * any input. The time grows linearly with the length.
 */
export function textOfHtml(html: string): string {
  const lower = inLowerCase(html)
  let text = ''
  let at = 0
  let link: { href: string; said: string } | null = null
  const say = (more: string) => {
    text += more
    if (link !== null) link.said += more
  }
  while (at < html.length) {
    const open = html.indexOf('<', at)
    if (open < 0) break
    say(words(html.slice(at, open)))
    if (html.startsWith('<!--', open)) {
      at = after(html, '-->', open)
      continue
    }
    const name = /^<\/?([a-z][a-z0-9]*)/.exec(lower.slice(open, open + 16))
    if (name === null) {
      say('<')
      at = open + 1
      continue
    }
    const [start, element = ''] = name
    const end = after(html, '>', open)
    const isClosing = start[1] === '/'
    at = UNREAD.has(element) && !isClosing ? place(lower, `</${element}`, end) : end
    if (element === 'a') {
      if (link !== null) text += leading(link)
      link = isClosing ? null : { href: attribute(html.slice(open, end), 'href'), said: '' }
    } else if (BLOCKS.has(element)) say(element === 'li' && !isClosing ? '\n- ' : '\n')
    else if (element === 'td' || element === 'th') say(' ')
    else if (element === 'img') say(words(attribute(html.slice(open, end), 'alt')))
  }
  return tidy(text + words(html.slice(at)))
}

/**
 * The text with A to Z as a to z. Not `toLowerCase`: it turns an İ into two characters, and all later places
 * would be wrong.
 */
export const inLowerCase = (text: string): string =>
  text.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase())

/** The place of the next `mark`; the end of the text if there is none. */
function place(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from)
  return found < 0 ? text.length : found
}

/** The place after the next `mark`; the end of the text if there is none. */
const after = (text: string, mark: string, from: number): number =>
  Math.min(place(text, mark, from) + mark.length, text.length)

/** The address of a link, in brackets; empty if the link's words are the address. */
const leading = ({ href, said }: { href: string; said: string }): string =>
  /^(https?|mailto):/i.test(href) && said.trim() !== href ? ` (${href})` : ''

/** The value of an attribute of a tag. Reads the first 4,096 characters of the tag. */
function attribute(tag: string, name: string): string {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s>"']+))`, 'i').exec(
    tag.slice(0, 4_096),
  )
  return found === null ? '' : decoded(found[1] ?? found[2] ?? found[3] ?? '')
}

const words = (html: string): string => decoded(html.replace(/[ \t\r\n]+/g, ' '))

function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES.get(String(name).toLowerCase()) ?? whole
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    const isCharacter = code >= 0x20 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
    return isCharacter ? String.fromCodePoint(code) : ''
  })
}

/** Lines without blanks at their ends, and at most one empty line in a row. */
function tidy(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/ {2,}/g, ' ').trim())
  const kept = lines.filter((line, index) => line !== '' || (lines[index - 1] ?? '') !== '')
  return kept.join('\n').trim()
}
