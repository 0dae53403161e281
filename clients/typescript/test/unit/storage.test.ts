import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { untilHeld } from '../../../../test/helpers/until'
import { Laurel } from '../../src/app.js'
import { type EventStorage, memoryStorage, OfflineQueue } from '../../src/offline.js'
import { fake, json, type Sent } from '../fake-fetch.js'

type Way = 'works' | 'throws' | 'fails' | 'never answers'

/** An IndexedDB in memory, with the part of it that the queue uses. It works, or fails in one of these ways. */
function fakeDatabase() {
  const rows = new Map<number, object>()
  const connections: { way: Way; close: () => void }[] = []
  const state: { opening: Way; connections: typeof connections } = { opening: 'works', connections }
  const later = (way: Way, good: () => void, bad: () => void) => {
    if (way !== 'never answers') queueMicrotask(way === 'works' ? good : bad)
  }
  const lost = () => new DOMException('Connection to Indexed Database server lost.', 'InvalidStateError')
  const store = {
    add: (row: object) => ({ result: rows.set(rows.size + 1, { ...row, place: rows.size + 1 }) }),
    getAll: () => ({ result: [...rows.values()] }),
    delete: (place: number) => ({ result: rows.delete(place) }),
  }
  const connection = () => {
    const self = {
      way: 'works' as const satisfies Way as Way,
      close: vi.fn(),
      transaction: () => {
        if (self.way === 'throws') throw lost()
        const done = { oncomplete: () => {}, onabort: () => {}, error: lost() }
        later(
          self.way,
          () => done.oncomplete(),
          () => done.onabort(),
        )
        // A transaction that fails changes nothing.
        const unused = { add: () => ({}), getAll: () => ({}), delete: () => ({}) }
        return Object.assign(done, { objectStore: () => (self.way === 'works' ? store : unused) })
      },
    }
    connections.push(self)
    return self
  }
  const open = () => {
    if (state.opening === 'throws') throw new DOMException('Refused.', 'SecurityError')
    const request = { onsuccess: () => {}, onerror: () => {}, error: lost(), result: connection() }
    later(
      state.opening,
      () => request.onsuccess(),
      () => request.onerror(),
    )
    return request
  }
  vi.stubGlobal('indexedDB', { open })
  return { ...state, state, rows }
}

const keysOf = (sent: Sent[]) => sent.map(({ headers }) => headers.get('idempotency-key'))
const lesson = (key: string) => ({ user: { id: 'ada' }, value: 1, idempotencyKey: key })

/** A queue that can send. */
function queueWith(storage?: EventStorage) {
  const { options, sent } = fake(() => json({ eventId: 'e' }, 201))
  const onError = vi.fn()
  const queue = new OfflineQueue(new Laurel(options), { storage, onError })
  return { queue, sent, onError }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe('a queue in the browser', () => {
  it.each<Way>(['throws', 'fails', 'never answers'])(
    'opens its database again after the connection has ended without a word, and %s',
    async (way) => {
      const { connections, rows } = fakeDatabase()
      const { queue, sent, onError } = queueWith()
      await queue.event('lessons', lesson('a'))
      await queue.flush()
      expect([keysOf(sent), connections.length]).toEqual([['a'], 1])
      queue.close()
      for (const connection of connections) connection.way = way
      const stored = queue.event('lessons', lesson('b'))
      await vi.advanceTimersByTimeAsync(10_000)
      await stored
      expect([...rows.values()]).toMatchObject([{ event: lesson('b') }])
      expect(connections.map(({ close }) => vi.mocked(close).mock.calls.length)).toEqual([1, 0])
      expect(onError).not.toHaveBeenCalled()
    },
  )

  it.each<Way>(['throws', 'fails', 'never answers'])(
    'keeps events in memory if opening its database %s, and tells once',
    async (way) => {
      const { state } = fakeDatabase()
      state.opening = way
      const { queue, sent, onError } = queueWith()
      const stored = queue.event('lessons', lesson('a'))
      await vi.advanceTimersByTimeAsync(10_000)
      await stored
      await queue.event('lessons', lesson('b'))
      await queue.flush()
      expect(keysOf(sent)).toEqual(['a', 'b'])
      expect(await queue.waiting()).toEqual([])
      expect(onError).toHaveBeenCalledTimes(1)
    },
  )

  it.each(['request', 'locks'])('sends all the same if it gets no locks: %s', async (part) => {
    const refuse = () => {
      throw new DOMException('Refused.', 'SecurityError')
    }
    const locks = { request: async () => refuse() }
    vi.stubGlobal(
      'navigator',
      part === 'request' ? { locks } : Object.defineProperty({}, part, { get: refuse }),
    )
    const { queue, sent, onError } = queueWith(memoryStorage())
    await queue.event('lessons', lesson('a'))
    await queue.flush()
    expect(keysOf(sent)).toEqual(['a'])
    expect(onError).not.toHaveBeenCalled()
  })

  it('waits a minute for a tab that sleeps with the lock', async () => {
    const request = (_: string, { signal }: { signal: AbortSignal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    vi.stubGlobal('navigator', { locks: { request } })
    const { queue, sent } = queueWith(memoryStorage())
    await queue.event('lessons', lesson('a'))
    await vi.advanceTimersByTimeAsync(59_000)
    expect(sent).toEqual([])
    await vi.advanceTimersByTimeAsync(1000)
    await untilHeld(() => expect(keysOf(sent)).toEqual(['a']))
    queue.close()
  })
})

describe('a storage of the app', () => {
  const never = () => new Promise<never>(() => {})
  const ways: [string, () => Promise<never>][] = [
    [
      'throws at once',
      () => {
        throw new Error('The disk is broken.')
      },
    ],
    ['rejects', () => Promise.reject(new Error('The disk is broken.'))],
    ['never answers', never],
  ]

  it.each(ways)('that %s while it adds: the event is sent at once', async (_, add) => {
    const { queue, sent } = queueWith({ ...memoryStorage(), add })
    const sending = queue.event('lessons', lesson('a'))
    await vi.advanceTimersByTimeAsync(10_000)
    await sending
    expect(keysOf(sent)).toEqual(['a'])
  })

  it.each(ways)('that %s while it lists: the next attempt works', async (_, list) => {
    const storage = memoryStorage()
    await storage.add({ metric: 'lessons', event: lesson('a'), queued: 0 })
    vi.spyOn(storage, 'list').mockImplementationOnce(list)
    const { queue, sent, onError } = queueWith(storage)
    await vi.advanceTimersByTimeAsync(10_000)
    await untilHeld(() => expect(onError).toHaveBeenCalledTimes(1))
    await vi.advanceTimersByTimeAsync(500)
    await queue.flush()
    expect(keysOf(sent)).toEqual(['a'])
  })

  it.each(ways)('that %s while it removes: the event is sent again with its key', async (_, remove) => {
    const storage = memoryStorage()
    await storage.add({ metric: 'lessons', event: lesson('a'), queued: 0 })
    vi.spyOn(storage, 'remove').mockImplementationOnce(remove)
    const { queue, sent, onError } = queueWith(storage)
    await vi.advanceTimersByTimeAsync(10_000)
    await untilHeld(() => expect(onError).toHaveBeenCalledTimes(1))
    await queue.flush()
    expect(keysOf(sent)).toEqual(['a', 'a'])
    expect(await storage.list()).toEqual([])
  })
})
