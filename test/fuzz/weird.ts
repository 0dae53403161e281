/**
 * Ways to break a valid request: in its JSON, in the text of the JSON, in its path, its query and its
 * headers.
 */
import fc from 'fast-check'
import { words } from '../helpers/words'
import type { Dice } from './dice'

const long = (length: number) => 'x'.repeat(length)

/** Texts that often cause problems. */
const TEXTS = [
  ...[
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    'a\udfff\ud800b',
    '\u202e\u200b\ufeff',
    '👩‍👩‍👧‍👦'.repeat(20),
    'é'.normalize('NFD'),
  ],
  ...words`__proto__ constructor toString hasOwnProperty . .. ../../etc/passwd`,
  ...["'; DROP TABLE users; --", '%', '%00', '%_', '{{ user.name }}'],
  '{% for i in (1..1000000000) %}x{% endfor %}',
  ...words`
    {{ <script> null true 0 1e5 -1 NaN 2026-02-30 0000-01-01 9999-12-31 +275760-09-13T00:00:00.000Z
    2026-13-45T99:99:99Z 00000000-0000-0000-0000-000000000000 FFFFFFFF-FFFF-7FFF-BFFF-FFFFFFFFFFFF
    Etc/Unknown +05:30 24:00 99:99 user_creation
  `,
  ...[256, 1_001, 2_049, 70_000].map(long),
]

const NUMBERS = [
  ...[0, -0, 1, -1, 0.5, 1e-7, -1e-7, 5e-324, 100, 101, 366, 367, 1_000, 1_001, 1_000_000_000],
  ...[1_000_000_001, 2_147_483_647, 2_147_483_648, -2_147_483_649],
  ...[Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER + 1, 1e21, 1e308, -1.7976931348623157e308],
]

const KEYS = ['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'toJSON', '', 'control', 'iid']

/** A value that no field expects. */
export function weirdValue(dice: Dice): unknown {
  switch (dice.below(8)) {
    case 0:
      return null
    case 1:
      return dice.pick(NUMBERS)
    case 2:
      return dice.chance(0.5)
    case 3:
      return dice.pick([[], {}, [null], [[]], [{}], Array(200).fill(0), { length: 3 }])
    case 4:
      return dice.of(fc.string({ unit: 'binary', maxLength: 30 }))
    case 5:
      return nested(dice.pick([3, 50, 400]), dice.chance(0.5))
    case 6:
      return dice.of(fc.jsonValue({ maxDepth: 3 }))
    default:
      return dice.pick(TEXTS)
  }
}

function nested(depth: number, inArrays: boolean): unknown {
  let value: unknown = 1
  for (let n = 0; n < depth; n += 1) value = inArrays ? [value] : { a: value }
  return value
}

/** Changes one place in a copy of a value. The original is not changed. */
export function spoilt(value: unknown, dice: Dice): unknown {
  if (Array.isArray(value)) {
    if (value.length === 0 || dice.chance(0.2)) return spoiltArray(value, dice)
    const at = dice.below(value.length)
    return value.map((item, index) => (index === at ? spoilt(item, dice) : item))
  }
  if (typeof value !== 'object' || value === null) return weirdValue(dice)
  const entries = Object.entries(value)
  if (entries.length === 0 || dice.chance(0.15))
    return Object.fromEntries([...entries, [dice.pick(KEYS), weirdValue(dice)]])
  const at = dice.below(entries.length)
  if (dice.chance(0.2)) return Object.fromEntries(entries.filter((_, index) => index !== at))
  if (dice.chance(0.1))
    return Object.fromEntries(
      entries.map(([key, inner], index) => [index === at ? dice.pick(KEYS) : key, inner]),
    )
  return Object.fromEntries(
    entries.map(([key, inner], index) => {
      if (index !== at) return [key, inner]
      // The value of another field fits the type more often than a random value.
      if (dice.chance(0.1)) return [key, dice.pick(entries)[1]]
      return [key, dice.chance(0.5) ? weirdValue(dice) : spoilt(inner, dice)]
    }),
  )
}

function spoiltArray(items: readonly unknown[], dice: Dice): unknown[] {
  switch (dice.below(4)) {
    case 0:
      return []
    case 1:
      return [...items, ...items]
    case 2:
      return Array(dice.pick([2, 99, 100, 101, 1_001])).fill(items[0] ?? null)
    default:
      return [...items, weirdValue(dice)]
  }
}

/** Changes the text of a body. It may no longer be JSON. */
export function spoiltText(text: string, dice: Dice): Buffer {
  const bytes = Buffer.from(text)
  const at = dice.below(bytes.length + 1)
  const inserted = (part: Buffer | string) =>
    Buffer.concat([bytes.subarray(0, at), Buffer.from(part), bytes.subarray(at)])
  switch (dice.below(9)) {
    case 0:
      return bytes.subarray(0, at)
    case 1:
      return inserted(dice.of(fc.string({ unit: 'binary', maxLength: 4 })))
    case 2:
      return inserted(Buffer.from([0x80 + dice.below(128), dice.below(256)]))
    case 3:
      return Buffer.from(
        dice.pick(['', ' ', 'null', '0', '""', '[]', '{}', '[{}]', '[null]', '\ufeff{}', '{]']),
      )
    case 4:
      return Buffer.from(
        text.replace(/-?\d+(\.\d+)?(?=[,}\]])/, dice.pick(['1e999', '-1e999', '1e-999', '01', '-'])),
      )
    case 5:
      return Buffer.from('['.repeat(dice.pick([100, 5_000, 100_000])))
    case 6:
      return Buffer.from(`{"a":${'[{"a":'.repeat(3_000)}1${'}]'.repeat(3_000)}}`)
    case 7:
      // The same field twice.
      return Buffer.from(text.replace(/\{("[^"]*":)/, (start, field) => `{${field}null,${start.slice(1)}`))
    default:
      return Buffer.from(dice.chance(0.1) ? `${text}${' '.repeat(1_100_000)}` : `${text}x`)
  }
}

/** A part of a path, as it is sent. */
export function weirdPart(dice: Dice): string {
  const text = dice.pick(TEXTS).slice(0, 3_000)
  return dice.pick([
    encodeURIComponent(text.toWellFormed()),
    ...words`% %zz %00 %2F %2e%2e %25 %C3 %ED%A0%80 %F0%9F%91%A9`,
    ...['', '..', 'a;b=c', "'", long(4_000)],
    encodeURIComponent(dice.of(fc.string({ unit: 'grapheme', maxLength: 10 }))),
  ])
}

/** A piece of a query, as it is sent. */
export function weirdQuery(names: readonly string[], dice: Dice): string {
  const name = dice.pick([...names, 'limit', 'skip', 'ids', 'userAttributes', 'x'])
  const value = dice.pick([
    '',
    ...words`-1 0 101 1e3 2147483648 null %00 % %zz a,b : plan: plan:pro,plan:pro __proto__:x`,
    encodeURIComponent(dice.pick(TEXTS).toWellFormed().slice(0, 2_000)),
  ])
  return dice.pick([
    `${name}=${value}`,
    `${name}=${value}&${name}=${value}`,
    `${name}[]=${value}`,
    name,
    `=${value}`,
    `${name}=${value}&&&`,
    `__proto__=${value}`,
  ])
}

/** A header in addition to the usual ones, or instead of one. Values are Latin-1 bytes. */
export function weirdHeader(dice: Dice): [name: string, value: string] {
  const value = dice.pick([
    ...['', 'x', '\xff\xfe', 'é', long(255), long(256), long(3_000), "'; DROP TABLE users"],
    ...['__proto__', '../..', '00000000-0000-7000-8000-000000000000', 'null'],
  ])
  const name = dice.pick(words`
    idempotency-key idempotency-key tenant-id x-api-key content-type accept accept-encoding origin
    x-forwarded-for x-http-method-override x-request-id authorization cookie if-none-match range
  `)
  if (name === 'content-type')
    return [
      name,
      dice.pick([
        ...['text/plain', 'multipart/form-data', 'application/json; charset=utf-16', 'x', ''],
        'application/x-www-form-urlencoded',
      ]),
    ]
  return [name, value]
}
