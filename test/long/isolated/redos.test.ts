import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { fetchedTool } from '../../../scripts/lib/tools.mjs'
import { stepCounter, tried } from '../../helpers/steps'

// Imports from here on are counted.
const { stepsOf } = stepCounter()
const { ConfigKey, DateField, Email, TimeZone, UserId, Uuid } = await import('../../../src/api/fields')
const { integerQuery, UserAttributesQuery } = await import('../../../src/api/queries')
const { splitKey } = await import('../../../src/access/credentials')
const { parseLiquid } = await import('../../../src/features/notifications/templates/liquid')
const { providerOf } = await import('../../../src/features/notifications/providers/push')
const { textOfHtml } = await import('../../../src/features/notifications/templates/plain-text.rules')
const { targetOf } = await import('../../../src/lib/net')

const integer = integerQuery({ min: 0, max: 9, fallback: 0 })

/** Functions that read texts of callers. */
const READERS: readonly [name: string, read: (text: string) => unknown][] = [
  ['an email address', (text) => Email.safeParse(text)],
  ['a user id', (text) => UserId.safeParse(text)],
  ['a configuration key', (text) => ConfigKey.safeParse(text)],
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

/** A text of about `length` characters: the same part many times, and an end that matches nothing. */
const textOf = (part: string, length: number) => `${part.repeat(Math.floor(length / part.length))}!`

/** Looks for an end from each beginning, so its steps grow with the square of the length. */
function readInTheSquare(text: string): void {
  for (let at = 0; at < text.length; at++) text.indexOf('>', at)
}

describe('[G2] texts of callers', () => {
  it('detects a reader whose steps grow with the square of the length', () => {
    const steps = (length: number) => stepsOf(() => readInTheSquare(textOf('<', length)))
    expect(steps(4_000)).toBeGreaterThan(12 * steps(1_000))
  })

  it.each(READERS)('reading %s takes steps in proportion to its length', (_name, read) => {
    const slow = PARTS.flatMap((part) => {
      const steps = (length: number) => stepsOf(() => read(textOf(part, length)))
      // The first call is not counted, because some things are made only once.
      tried(() => read(textOf(part, 1_000)))
      const [short, long] = [steps(1_000), steps(4_000)]
      // Four times the text takes 4 times the steps, or 16 times if the steps grow with the square.
      return long < 8 * short ? [] : [{ part, short, long }]
    })
    expect(slow).toEqual([])
  })
})

const SOURCE = join(import.meta.dirname, '../../../src')

/** Files whose expressions read only our own text or the operator's, never a caller's. */
const TRUSTED = [
  'platform/env.ts',
  'features/notifications/providers/email.ts',
  'rules/streaks/history.rules.ts',
]

/**
 * A regular expression in TypeScript, with its source and its flags. The text before it shows that it is not
 * a division.
 */
const LITERAL =
  /(?<=(?:^|[(=,:[!&|?{;>]|return)\s*)\/(?![*/])((?:[^\\/[\n]|\\.|\[(?:[^\\\]\n]|\\.)*\])+)\/([dgimsuvy]*)/gm

const literals = globSync('**/*.ts', { cwd: SOURCE, exclude: TRUSTED }).flatMap((file) => {
  const code = readFileSync(join(SOURCE, file), 'utf8').replaceAll(/^\s*(?:\/\/|\*|\/\*\*).*$/gm, '')
  return [...code.matchAll(LITERAL)].map(([, source = '', flags = '']) => ({ file, source, flags }))
})

/** The checker of regular expressions. */
const statusOf = (source: string, flags: string) => {
  const { checkSync } = createRequire(import.meta.url)(
    join(fetchedTool('expressions'), 'recheck', 'lib', 'main.js'),
  )
  return z.object({ status: z.string() }).parse(checkSync(source, flags, BY_STEPS)).status
}

/** The checker counts steps and measures no time, so that a busy machine finds the same. */
const BY_STEPS = { timeout: null, attackTimeout: null, incubationTimeout: null, seedingTimeout: null }

describe('[G2] regular expressions', () => {
  it('finds the expressions of the source', () => expect(literals.length).toBeGreaterThan(20))

  it.each(literals)('$file: /$source/$flags takes time in proportion to the text', ({ source, flags }) => {
    expect(statusOf(source, flags)).toBe('safe')
  })

  it('detects an expression that does not', () => expect(statusOf('\\s+$', '')).toBe('vulnerable'))
})
