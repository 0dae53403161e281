import { describe, expect, it } from 'vitest'
import { ConfigKey, DateField, Email, TimeZone, UserId, Uuid } from '../../src/http/fields'
import { integerQuery, UserAttributesQuery } from '../../src/http/queries'
import { splitKey } from '../../src/modules/keys/keys.rules'
import { parseLiquid } from '../../src/modules/notifications/liquid'
import { providerOf } from '../../src/modules/notifications/push/port'
import { textOfHtml } from '../../src/modules/notifications/text'
import { targetOf } from '../../src/modules/webhooks/targets.rules'

const integer = integerQuery({ min: 0, max: 9, fallback: 0 })

/** What reads texts of others by regular expressions, or by hand. */
const READERS: readonly [name: string, read: (text: string) => unknown][] = [
  ['an email address', (text) => Email.safeParse(text)],
  ['a user id', (text) => UserId.safeParse(text)],
  ['a key of a configuration', (text) => ConfigKey.safeParse(text)],
  ['a UUID', (text) => Uuid.safeParse(text)],
  ['a time zone', (text) => TimeZone.safeParse(text)],
  ['a date', (text) => DateField.safeParse(text)],
  ['a number of a query', (text) => integer.safeParse(text)],
  ['attributes of a query', (text) => UserAttributesQuery.safeParse(text)],
  ['a key', splitKey],
  ['a device token', providerOf],
  ['a target', (text) => targetOf(`https://${text}`, { loopbackAllowed: false })],
  ['the HTML of an email', textOfHtml],
  ['a template', (text) => parseLiquid('html', text)],
]

const PARTS = [
  ...['a', 'a.', '@', 'a@', ' ', '\n', ' \n', '-', '_', '0', 'f', '[', ']', '/', '1.', '::', '\u0001', '😀'],
  ...['ExpoPushToken[', '<', '<a href=', '<a href="', '<!--', '<script>', '&#', '&a', 'a:b,'],
  ...['{{', '{%', '{{ "', '{{ a |', '{% raw %}', '{% if a %}', '{% comment %}', '{{- -}}'],
]

/** The least of three measurements, in milliseconds; a long one is not repeated. */
function timed(read: (text: string) => unknown, text: string): number {
  const once = () => {
    const began = performance.now()
    read(text)
    return performance.now() - began
  }
  const first = once()
  return first > 200 ? first : Math.min(first, once(), once())
}

describe('ReDoS', () => {
  it.each(READERS)(
    'reading %s takes time that grows with its length, not with the square of it',
    (_name, read) => {
      const slow = PARTS.flatMap((part) => {
        const text = (length: number) => `${part.repeat(Math.floor(length / part.length))}!`
        const long = timed(read, text(40_000))
        // Less than this tells nothing; the square would be a second or so.
        if (long < 30) return []
        const growth = long / timed(read, text(5_000))
        // Eight times the text: 8 where it is read once, 64 where each character is read as often as there are others.
        return growth < 30 ? [] : [{ part, long, growth }]
      })
      expect(slow).toEqual([])
    },
  )
})
