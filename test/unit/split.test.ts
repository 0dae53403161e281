import { expect, test } from 'vitest'
import { parcelsOf } from '../../src/modules/outbox/split.rules'
import { instant } from '../../src/shared/clock'

const message = (id: string, length: number) => ({
  id,
  type: 'streak.lost' as const,
  body: { text: 'x'.repeat(length) },
})
const whose = { at: instant(5), seq: 2, userIid: 'i' }

test('messages of a change go in one parcel while they fit, and in order in as many as they need', () => {
  const messages = [
    message('a', 100_000),
    message('b', 100_000),
    message('c', 150_000),
    message('d', 400_000),
  ]
  const parcels = parcelsOf(whose, messages, (n) => `p${n}`)
  expect(parcels.map(({ id, messages: part }) => [id, part.map((one) => one.id)])).toEqual([
    ['p0', ['a', 'b']],
    ['p1', ['c']],
    ['p2', ['d']],
  ])
  expect(parcels.map(({ at, seq, userIid }) => ({ at, seq, userIid }))).toEqual([whose, whose, whose])
  expect(parcelsOf(whose, [], (n) => `p${n}`)).toEqual([])
})
