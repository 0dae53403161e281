import { describe, expect, test } from 'vitest'
import { firstPack, jsonBytes, packed, packsOf, utf8Bytes } from '../../src/lib/packed'

describe('packs', () => {
  const packs = (...weights: number[]) => packsOf(weights, 10, (weight) => weight)

  test('are as heavy as possible, and keep the order', () => {
    expect(packs(4, 6, 1, 9, 9, 2)).toEqual([[4, 6], [1, 9], [9], [2]])
  })
  test('of an empty list are an empty list', () => {
    expect(packs()).toEqual([])
  })
  test('put an item that is too heavy in a pack of its own', () => {
    expect(packs(1, 25, 1, 1)).toEqual([[1], [25], [1, 1]])
    expect(packs(25)).toEqual([[25]])
  })
  test('begin with the pack that firstPack makes', () => {
    const first = (...weights: number[]) => firstPack(weights, 10, (weight) => weight)
    for (const weights of [[], [4, 6, 1], [4, 7], [25, 1], [10, 0, 0, 1], [1, 2, 3]])
      expect(first(...weights)).toEqual(packs(...weights)[0] ?? [])
  })
  test('of JSON are lists of at most 1,000,000 bytes, unless one item has more', () => {
    const items = Array.from({ length: 30 }, (_, n) =>
      JSON.stringify((n % 2 === 0 ? 'a' : '中').repeat(50_000)),
    )
    const lists = packed(items)
    expect(lists.flatMap((list): unknown[] => JSON.parse(list))).toEqual(
      items.map((item): unknown => JSON.parse(item)),
    )
    const bytes = lists.map((list) => new TextEncoder().encode(list).length)
    expect(Math.max(...bytes)).toBeLessThanOrEqual(1_000_001)
    expect(bytes.reduce((sum, one) => sum + one)).toBeGreaterThan(30 * 100_000)
    expect(lists).toHaveLength(4)
    expect(packed([...items, JSON.stringify('a'.repeat(1_100_000))])).toHaveLength(lists.length + 1)
  })
})

describe('the number of bytes', () => {
  test('of a text is the length of its UTF-8, also with half a surrogate pair', () => {
    for (const text of [
      '',
      'aé中😀"\\\u0001',
      '\u07ff\u0800\ud7ff\ue000\uffff',
      '😀'.repeat(100),
      'x'.repeat(1_000),
    ])
      expect([text, utf8Bytes(text)]).toEqual([text, new TextEncoder().encode(text).length])
    // UTF-8 replaces half a surrogate pair with U+FFFD, which has three bytes.
    expect(utf8Bytes('\ud800')).toBeLessThanOrEqual(3)
  })
  test('of JSON counts escaped characters', () => {
    expect([jsonBytes('\u0001"中'), jsonBytes([1, null]), jsonBytes(undefined)]).toEqual([
      6 + 2 + 3 + 2,
      8,
      0,
    ])
  })
})
