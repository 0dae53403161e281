import { describe, expect, it } from 'vitest'
import { fileNameOf, nameOr, say, trimmed, userPath } from '../../console/src/ui/text'

const TO_LEFT = '\u202e'

describe('texts in the console', () => {
  it.each([
    [' ada ', 'ada'],
    ['\ufeff\u200badm_1.2\u2060\n', 'adm_1.2'],
    ['a  b', 'a  b'],
  ])('lose what cannot be seen at their ends: %j', (text, shown) => {
    expect(trimmed(text)).toBe(shown)
  })

  it.each([null, undefined, '', ' ', '\u200b\u200d', TO_LEFT, '\u3164', '\u2800'])(
    'fall back to the id if nothing of the name can be seen: %j',
    (name) => expect(nameOr(name, 'ada')).toBe('ada'),
  )

  it('are names if something can be seen', () => {
    expect(['Ada ', 'عادة', '👨‍👩‍👧'].map((name) => nameOr(name, 'id'))).toEqual(['Ada', 'عادة', '👨‍👩‍👧'])
  })

  it('leave the words around a value where they are', () => {
    expect(say`Delete ${'Ada'}?`).toBe('Delete Ada?')
    expect(say`Delete ${`${TO_LEFT}Ada`}?`).toBe('Delete \u2068Ada\u2069?')
    expect(say`Delete ${'عادة'} of ${3}?`).toBe('Delete \u2068عادة\u2069 of 3?')
  })

  it('keep an id in an address, also at its end', () => {
    expect(['ada', 'new', 'ada ', ' a / b'].map(userPath)).toEqual([
      '/users/ada',
      '/users/new/summary',
      '/users/ada%20/summary',
      '/users/%20a%20%2F%20b',
    ])
  })

  it('give each id a name of a file of its own, of at most 100 characters', () => {
    const ids = [
      'ada',
      'a/b',
      'a b',
      'a_b',
      'Ада',
      '阿達',
      '阿 達',
      '😀',
      '😁',
      'x'.repeat(80),
      'x'.repeat(81),
    ]
    const names = ids.map(fileNameOf)
    expect(names.slice(0, 1)).toEqual(['user-ada.json'])
    expect(new Set(names).size).toBe(ids.length)
    expect(names.filter((name) => name.length > 100 || /[\s/\\:*?"<>|]/.test(name))).toEqual([])
  })
})
