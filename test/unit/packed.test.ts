import { describe, expect, test } from 'vitest'
import { packed, packsOf } from '../../src/shared/packed'

describe('packs', () => {
  const packs = (...weights: number[]) => packsOf(weights, 10, (weight) => weight)

  test('are as heavy as may be, and keep the order', () => {
    expect(packs(4, 6, 1, 9, 9, 2)).toEqual([[4, 6], [1, 9], [9], [2]])
  })
  test('of none there is none', () => {
    expect(packs()).toEqual([])
  })
  test('what is too heavy for one goes alone', () => {
    expect(packs(1, 25, 1, 1)).toEqual([[1], [25], [1, 1]])
    expect(packs(25)).toEqual([[25]])
  })
  test('of JSON are lists of at most 500,000 characters, unless one item has more', () => {
    const items = Array.from({ length: 30 }, (_, n) => JSON.stringify(`${n}`.repeat(50_000)))
    const lists = packed(items)
    expect(lists.flatMap((list): unknown[] => JSON.parse(list))).toEqual(
      items.map((item): unknown => JSON.parse(item)),
    )
    expect(Math.max(...lists.map(({ length }) => length))).toBeLessThanOrEqual(500_001)
    expect(lists.length).toBeLessThan(items.length)
    expect(packed([...items, JSON.stringify('a'.repeat(600_000))])).toHaveLength(lists.length + 1)
  })
})
