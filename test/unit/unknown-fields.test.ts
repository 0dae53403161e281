import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import * as z from 'zod'
import { AttributeMap, defaulted, optional } from '../../src/api/fields'
import {
  brokenTexts,
  fieldWarnings,
  ignoredHeader,
  strangeObjects,
  type UnknownField,
  unknownFields,
  unknownMessage,
} from '../../src/api/unknown-fields'
import { adminOperations, applicationOperations } from '../../src/worker/operations'

const Item = z
  .object({
    name: z.string(),
    metricId: optional(z.string()),
    units: defaulted(z.string(), ''),
    attributes: optional(AttributeMap),
    parts: optional(z.array(z.object({ points: z.number() })).max(3)),
    badge: z.object({ url: z.string() }).nullish(),
  })
  .refine(() => true)
const Items = z.array(Item).min(1)

/** The name that the message about a field says was meant, or null. */
const meantBy = (field: UnknownField) =>
  /Did you mean "(.*)"\?$/.exec(unknownMessage(field, [field.path.at(-1) ?? '']))?.[1] ?? null

const named = (json: unknown) =>
  unknownFields(Items, json).map((field) => [field.path.join('.'), meantBy(field)])

it('[G3] the path of a broken text is cut, but not in the middle of a character', () => {
  const path = 'x'.repeat(499)
  const [error] = brokenTexts({ [`${path}😀`]: { more: 'a\ud800' } })
  expect(error?.path).toBe(`${path}\ufffd`)
})

describe('unknown fields', () => {
  it('[O4] are alone in a nested object, which an item of the body is not', () => {
    const strange = (json: unknown) => strangeObjects(Items, json).map(({ path }) => path.join('.'))
    expect(
      strange([{ x: 1 }, { name: 'a', badge: { uri: 1 }, parts: [{ points: 1, x: 1 }, { x: {} }] }]),
    ).toEqual(['1.badge', '1.parts.1'])
    expect(strange([{ badge: {}, parts: [{}, [], null, 5], attributes: { x: 1 }, y: { z: 1 } }])).toEqual([])
    expect(strange([{ badge: { __proto__: 1, url: null } }, null])).toEqual([])
    expect(strange([JSON.parse('{"badge":{"__proto__":1}}')])).toEqual(['0.badge'])
    expect(strangeObjects(Item, { badge: { constructor: 1 } }).map(({ path }) => path)).toEqual([['badge']])
  })

  it('[O4] are found at any depth, with the name that is meant', () => {
    expect(
      named([
        { name: 'a', unit: 'x' },
        { nam: 1, parts: [{ points: 1 }, { point: 1 }] },
      ]),
    ).toEqual([
      ['0.unit', 'units'],
      ['1.nam', 'name'],
      ['1.parts.1.point', 'points'],
    ])
    expect(named([{ badge: { uri: '' } }, { badge: null }])).toEqual([['0.badge.uri', 'url']])
  })

  it.each([
    ['metric_id', 'metricId'],
    ['metricid', 'metricId'],
    ['METRICID', 'metricId'],
    ['metrcId', 'metricId'],
    ['description', null],
    ['x', null],
    ['__proto__', null],
    ['constructor', null],
    ['toString', null],
    ['hasOwnProperty', null],
    ['n'.repeat(100_000), null],
  ])('[O4] %s may mean %s', (name, meant) => {
    const item: unknown = JSON.parse(`{${JSON.stringify(name)}: {"name": "b"}}`)
    expect(unknownFields(Items, [item]).map((field) => [field.path, meantBy(field)])).toEqual([
      [[0, name], meant],
    ])
  })

  it('[O4] are not in records with free keys', () => {
    expect(named(JSON.parse('[{"attributes": {"units": "a", "__proto__": "b", "nme": "c"}}]'))).toEqual([])
  })

  it('[O4] are exactly the names outside the schema, and no value makes it fail', () => {
    const known = Object.keys(Item.shape)
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (item) => {
        const found = unknownFields(Items, [item]).filter(({ path }) => path.length === 2)
        expect(found.map(({ path }) => path[1])).toEqual(
          Object.keys(item).filter((name) => !known.includes(name)),
        )
      }),
    )
    fc.assert(fc.property(fc.jsonValue(), (value) => Array.isArray(unknownFields(Items, value))))
  })
})

describe('warnings', () => {
  const spec = { surface: 'admin', body: Items } as const

  it('[O4] are counted if there are very many', () => {
    const many = Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`field${n}`, n]))
    const warnings = fieldWarnings(spec, [many])
    expect(warnings).toHaveLength(1_001)
    expect(warnings.at(-1)?.message).toBe('And 500 more unknown fields.')
    const oneMore = Object.fromEntries(Object.entries(many).slice(0, 1_001))
    expect(fieldWarnings(spec, [oneMore]).at(-1)?.message).toBe('And 1 more unknown field.')
  })
})

describe('the header of ignored fields', () => {
  const header = (json: unknown) => ignoredHeader(unknownFields(Items, json))

  it('[G3] can be split again, whatever the names are', () => {
    const read = (text: string) =>
      text.split(', ').map((path) => path.split('.').map((name) => decodeURIComponent(name)))
    const names = ['a, b', 'c.d', '+1', '%', 'é', '\r\nSet-Cookie: x', '', '__proto__', '😀', 'x y', '"']
    const item: unknown = JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}: 1`).join()}}`)
    expect(header([item])).toMatch(/^[\x21-\x7e]+(?:, [\x21-\x7e]+)*$/)
    expect(read(header([item]))).toEqual(names.map((name) => ['0', name]))
    // Half of a pair of surrogates has no bytes.
    expect(read(header([{ '\ud800': 1 }]))).toEqual([['0', '\ufffd']])
  })

  it('[G3] names at most 20 fields in at most 1,000 characters, and counts the rest', () => {
    const many = Object.fromEntries(Array.from({ length: 150_000 }, (_, n) => [`f${n}`, n]))
    expect(header([many]).split(', ').slice(18)).toEqual(['0.f18', '0.f19', '+149980'])
    const one = header([{ ['é'.repeat(5_000)]: 1 }])
    expect(one).toBe(`0.${'%C3%A9'.repeat(100)}`)
    const wide = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`${n}${'€'.repeat(200)}`, n]))
    expect(header([wide])).toBe(`0.0${'%E2%82%AC'.repeat(99)}, +8`)
  })

  it.each(applicationOperations.filter(({ body }) => body !== undefined))(
    '[G3] finds the fields that $id does not know',
    ({ body = z.null() }) => {
      expect(ignoredHeader(unknownFields(body, { odd: 1 }))).toBe('odd')
      expect(ignoredHeader(unknownFields(body, []))).toBe('')
    },
  )
})

test('[O4] the answers of all admin writes with a body can have issues', () => {
  const without = adminOperations.flatMap(({ id, body, responses }) =>
    body === undefined
      ? []
      : Object.values(responses).flatMap((answer) =>
          answer.body instanceof z.ZodObject && 'issues' in answer.body.shape ? [] : [id],
        ),
  )
  expect(without).toEqual([])
})
