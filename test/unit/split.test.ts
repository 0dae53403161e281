import { expect, test } from 'vitest'
import { instant } from '../../src/lib/clock'
import { StoredMessages, splitIntoEntries, storedMessages } from '../../src/webhooks/outbox/outbox'

const message = (id: string, length: number) => ({
  id,
  type: 'streak.lost' as const,
  body: { text: 'x'.repeat(length) },
})
const whose = { at: instant(5), seq: 2, userIid: 'i' }

test('messages of a change share one outbox entry while they fit, and need several in order if they do not', () => {
  const messages = [
    message('a', 100_000),
    message('b', 100_000),
    message('c', 150_000),
    message('d', 400_000),
  ]
  const outboxEntries = splitIntoEntries(whose, messages, (n) => `p${n}`)
  expect(outboxEntries.map(({ id, messages: part }) => [id, part.map((one) => one.id)])).toEqual([
    ['p0', ['a', 'b']],
    ['p1', ['c']],
    ['p2', ['d']],
  ])
  expect(outboxEntries.map(({ at, seq, userIid }) => ({ at, seq, userIid }))).toEqual([whose, whose, whose])
  expect(splitIntoEntries(whose, [], (n) => `p${n}`)).toEqual([])
})

test('a user of several messages counts once, and is stored once', () => {
  const user = { id: 'u', name: 'n'.repeat(250_000) }
  const about = (id: string, rest: object = {}) => ({
    id,
    type: 'streak.lost' as const,
    body: { user, ...rest },
  })
  const messages = [about('a'), about('b'), { ...about('c'), body: { text: 'no user' } }, about('d')]
  const [outboxEntry, ...more] = splitIntoEntries(whose, messages, (n) => `p${n}`)
  expect([outboxEntry?.messages, more]).toEqual([messages, []])
  const text = JSON.stringify(storedMessages(messages))
  expect(text.length).toBeLessThan(251_000)
  expect(StoredMessages.parse(JSON.parse(text))).toEqual(messages)
  // A single message is stored unchanged, and so are messages about different users.
  for (const some of [[about('a')], [message('a', 1), message('b', 1)]]) {
    expect(storedMessages(some)).toEqual(some)
    expect(StoredMessages.parse(some)).toEqual(some)
  }
  const large = Array.from({ length: 7 }, (_, n) => about(`m${n}`, { text: '"'.repeat(50_000) }))
  expect(splitIntoEntries(whose, large, (n) => `p${n}`).map(({ messages: part }) => part.length)).toEqual([
    2, 2, 2, 1,
  ])
})
