import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { UserAttributesQuery } from '../../src/api/queries'

const read = (given: string | string[]) => {
  const { success, data } = UserAttributesQuery.safeParse(given)
  return success ? [...data] : null
}

describe('[G6] lists of key:value pairs', () => {
  test.each<[given: string | string[], ...expected: (string | null)[]]>([
    ['city:Washington, DC', 'city:Washington, DC'],
    ['a-Z_9:x, é:y', 'a-Z_9:x, é:y'],
    ['city:Washington, DC, plan:pro', 'city:Washington, DC', 'plan:pro'],
    ['plan:pro,   city:', 'plan:pro', 'city:'],
    ['at:12:30,13:45', 'at:12:30', '13:45'],
    ['plan:pro,', 'plan:pro,'],
    ['note:see, é: this', 'note:see, é: this'],
    ['note:see,\tplan:pro', 'note:see,\tplan:pro'],
    [`plan:pro,${'k'.repeat(255)}:x`, 'plan:pro', `${'k'.repeat(255)}:x`],
    [`plan:pro,${'k'.repeat(256)}:x`, `plan:pro,${'k'.repeat(256)}:x`],
    [['note:see, also: this', 'plan:pro'], 'note:see, also: this', 'plan:pro'],
    [['note:see, also: this', 'note:see, also: this'], 'note:see, also: this'],
    ['plan:pro,plan:pro', 'plan:pro'],
    ['plan:pro,plan:free', null],
    [['plan:pro', 'plan:free'], null],
    ['plan', null],
    ['', null],
    [' plan:pro', null],
    [`${'k'.repeat(256)}:x`, null],
    [['plan:pro', 'free'], null],
  ])('%j', (given, ...expected) => {
    // The first colon of an expected text ends the key.
    const wanted = expected.map((pair) => /^([^:]*):(.*)$/s.exec(pair ?? '')?.slice(1))
    expect(read(given)).toEqual(wanted.includes(undefined) ? null : wanted)
  })

  test('any values arrive unchanged if each pair is a parameter, and a single pair is given twice', () => {
    const key = fc.string({ unit: fc.constantFrom(...'abZ7_-'), minLength: 1, maxLength: 4 })
    const values = fc.uniqueArray(fc.tuple(key, fc.string({ unit: 'binary' })), {
      selector: ([name]) => name,
      minLength: 1,
      maxLength: 4,
    })
    fc.assert(
      fc.property(values, (sent) => {
        const parameters = sent.map((pair) => pair.join(':'))
        expect(read(parameters.length === 1 ? [...parameters, ...parameters] : parameters)).toEqual(sent)
      }),
    )
  })
})
