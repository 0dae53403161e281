import { afterEach, describe, expect, it, vi } from 'vitest'
import { untilHeld } from '../../../../test/helpers/until'
import { Laurel, LaurelError } from '../../src/app.js'
import { memoryStorage, type OfflineOptions, OfflineQueue } from '../../src/offline.js'
import {
  accepted,
  errorOf,
  failure,
  fake,
  foreign,
  networkFailure,
  type Sent,
  unsendable,
} from '../fake-fetch.js'

const lesson = (id: string, value: number) => ({ user: { id }, value, idempotencyKey: `${id}-${value}` })
const keysOf = (sent: Sent[]) => sent.map(({ headers }) => headers.get('idempotency-key'))

/** A queue whose pauses end when the test says so: `pass` lets the newest one pass. */
function queueOf(...answers: Parameters<typeof fake>) {
  const set = fake(...answers)
  const { clock } = set
  const storage = memoryStorage()
  const pauses: number[] = []
  const waits: (() => void)[] = []
  const runtime = {
    ...set.options.runtime,
    sleep: (milliseconds: number, signal?: AbortSignal) => {
      pauses.push(milliseconds)
      const until = clock.now + milliseconds
      return new Promise<void>((resolve, reject) => {
        waits.push(() => {
          clock.now = Math.max(clock.now, until)
          resolve()
        })
        signal?.addEventListener('abort', () => reject(signal.reason))
      })
    },
  }
  const on = { onSent: vi.fn(), onDropped: vi.fn(), onError: vi.fn() }
  const laurel = new Laurel(set.options)
  const queue = (more: OfflineOptions = {}) => new OfflineQueue(laurel, { ...on, storage, runtime, ...more })
  /** Lets a pause pass, and waits until the attempt after it has ended: with the next pause, or for good. */
  const pass = async () => {
    const ended = pauses.length + 1
    waits.pop()?.()
    await untilHeld(async () => {
      if ((await storage.list()).length > 0) expect(pauses).toHaveLength(ended)
    })
  }
  return { ...set, ...on, storage, pauses, queue, pass }
}

/** Answers by the user of the event. */
const byUser =
  (answers: Record<string, () => Response>) =>
  ({ body }: Sent): Response =>
    (answers[String(Object(body).user.id)] ?? (() => accepted()))()

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('an offline queue', () => {
  it('sends an event at once if it can, and tells what it changed', async () => {
    const { sent, storage, onSent, queue } = queueOf(accepted({ total: 1 }))
    const events = queue()
    await events.event('lessons', { user: { id: 'ada' }, value: 1 })
    await events.flush()
    expect(keysOf(sent)).toEqual([expect.stringMatching(/^[\da-f-]{36}$/)])
    expect(onSent).toHaveBeenCalledExactlyOnceWith(
      { eventId: 'event', total: 1 },
      expect.objectContaining({ metric: 'lessons' }),
    )
    expect(await storage.list()).toEqual([])
  })

  it('keeps events until the network is back, and sends them in order with their keys', async () => {
    const network = { isUp: false }
    const { sent, storage, onError, queue } = queueOf(() => {
      if (network.isUp) return accepted()
      throw networkFailure()
    })
    const events = queue()
    for (const value of [1, 2, 3]) await events.event('lessons', lesson('ada', value))
    await events.flush()
    expect((await events.waiting()).map(({ event }) => event.value)).toEqual([1, 2, 3])
    expect(new Set(keysOf(sent))).toEqual(new Set(['ada-1']))
    expect(onError).toHaveBeenCalledTimes(sent.length)
    network.isUp = true
    sent.length = 0
    await events.flush()
    expect(keysOf(sent)).toEqual(['ada-1', 'ada-2', 'ada-3'])
    expect(await storage.list()).toEqual([])
  })

  it.each([400, 404, 413, 422])('drops an event after a %i, and tells', async (status) => {
    const { sent, storage, onDropped, queue } = queueOf((request) =>
      request.headers.get('idempotency-key') === 'ada-1' ? failure(status) : accepted(),
    )
    const events = queue()
    await events.event('lessons', lesson('ada', 1))
    await events.event('lessons', lesson('ada', 2))
    await events.flush()
    expect(onDropped).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ status }),
      expect.objectContaining({ event: lesson('ada', 1) }),
    )
    expect(keysOf(sent)).toEqual(['ada-1', 'ada-2'])
    expect(await storage.list()).toEqual([])
  })

  const broken = () => {
    throw new Error('The page is broken.')
  }
  const reports: [name: string, onError: undefined | (() => void)][] = [
    ['to onError', () => undefined],
    ['to the console without onError', undefined],
    ['to the console, with its own error, if onError throws too', broken],
  ]

  describe.each(reports)('reports what a callback throws %s', (_, onError) => {
    /** A queue with callbacks that throw. `reported` answers what onError and the console got. */
    function brokenQueue(...answers: Parameters<typeof fake>) {
      const set = queueOf(...answers)
      const logged = vi.spyOn(console, 'error').mockReturnValue()
      const report = onError && vi.fn(onError)
      const callbacks = { onSent: vi.fn(broken), onDropped: vi.fn(broken), onError: report }
      const reported = () => [report?.mock.calls.length ?? 0, logged.mock.calls.length]
      return { ...set, ...callbacks, reported, events: set.queue(callbacks) }
    }
    /** The result of `reported` after this number of errors. */
    const times = (count: number) => [onError ? count : 0, onError && onError !== broken ? 0 : count]

    afterEach(() => {
      vi.restoreAllMocks()
    })

    it('and goes on', async () => {
      const { events, onSent, onDropped, sent, pauses, storage, reported } = brokenQueue(({ headers }) =>
        headers.get('idempotency-key') === 'ada-3' ? failure(404) : accepted(),
      )
      for (const value of [1, 2, 3, 4, 5]) await events.event('lessons', lesson('ada', value))
      await events.flush()
      expect(keysOf(sent)).toEqual(['ada-1', 'ada-2', 'ada-3', 'ada-4', 'ada-5'])
      expect([onSent.mock.calls.length, onDropped.mock.calls.length]).toEqual([4, 1])
      expect([pauses, await storage.list()]).toEqual([[], []])
      expect(reported()).toEqual(times(5))
    })

    it('also of an event that cannot be stored', async () => {
      const { events, storage, onSent, reported } = brokenQueue(accepted())
      vi.spyOn(storage, 'add').mockRejectedValue(new DOMException('Full.', 'QuotaExceededError'))
      await events.event('lessons', lesson('ada', 1))
      expect(onSent).toHaveBeenCalledTimes(1)
      expect(reported()).toEqual(times(1))
    })
  })

  it('tries again after a failure, also if onError throws', async () => {
    const logged = vi.spyOn(console, 'error').mockReturnValue()
    const { storage, pauses, queue, pass } = queueOf(networkFailure(), accepted())
    const events = queue({ onError: broken })
    await events.event('lessons', lesson('ada', 1))
    await events.flush()
    await untilHeld(() => expect(pauses.length).toBeGreaterThan(0))
    await pass()
    expect(await storage.list()).toEqual([])
    expect(logged).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ message: 'The page is broken.' }),
    )
    logged.mockRestore()
  })

  it('sends nothing after it was closed', async () => {
    const { sent, storage, queue } = queueOf(accepted())
    const events = queue()
    await events.flush()
    events.close()
    await events.event('lessons', lesson('ada', 1))
    await events.flush()
    expect(sent).toEqual([])
    expect(await storage.list()).toHaveLength(1)
  })

  it.each(unsendable)('refuses at once what no request can be made of: %s', async (_, metric, event) => {
    const { sent, storage, onError, queue } = queueOf(accepted())
    const events = queue()
    const call = Reflect.apply(OfflineQueue.prototype.event, events, [metric, event])
    expect(await errorOf(call)).toBeInstanceOf(TypeError)
    expect(await storage.list()).toEqual([])
    await events.event('lessons', lesson('ada', 1))
    await events.flush()
    expect(keysOf(sent)).toEqual(['ada-1'])
    expect(onError).not.toHaveBeenCalled()
  })

  it.each(unsendable)(
    'drops a stored event of which no request can be made: %s',
    async (_, metric, event) => {
      const { sent, storage, onDropped, onError, queue } = queueOf(accepted())
      await Reflect.apply(storage.add, storage, [{ metric, event, queued: 0 }])
      await storage.add({ metric: 'lessons', event: lesson('ada', 1), queued: 0 })
      await queue().flush()
      expect(keysOf(sent)).toEqual(['ada-1'])
      expect(await storage.list()).toEqual([])
      expect(onDropped).toHaveBeenCalledExactlyOnceWith(
        expect.any(LaurelError),
        expect.objectContaining({ metric, event }),
      )
      expect(onDropped.mock.calls[0]?.[0]).toMatchObject({ status: 0, cause: expect.any(TypeError) })
      expect(onError).not.toHaveBeenCalled()
    },
  )

  it('stores an event as it was, whatever happens to the object later', async () => {
    const { sent, queue } = queueOf(accepted())
    const events = queue()
    const user = { id: 'ada' }
    const queued = [1, 2, 3].map((value) => {
      user.id = `user-${value}`
      return events.event('lessons', { user, value })
    })
    user.id = 'nobody'
    await Promise.all(queued)
    await events.flush()
    expect(sent.map(({ body }) => Object(body).user.id)).toEqual(['user-1', 'user-2', 'user-3'])
  })

  it.each(foreign)('keeps an event after an answer that is not one of Laurel: %s', async (_, answer) => {
    const { sent, storage, onSent, onDropped, onError, queue, pass } = queueOf(answer, accepted())
    await storage.add({ metric: 'lessons', event: lesson('ada', 1), queued: 0 })
    queue()
    await untilHeld(() => expect(onError).toHaveBeenCalled())
    expect(onError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ status: 0 }))
    expect(await storage.list()).toHaveLength(1)
    await pass()
    expect(keysOf(sent)).toEqual(['ada-1', 'ada-1'])
    expect([onSent.mock.calls.length, onDropped.mock.calls.length]).toEqual([1, 0])
  })

  /** Stores events: the users, in order. The values count them for each user. */
  async function store({ storage }: ReturnType<typeof queueOf>, ...users: string[]) {
    for (const [index, id] of users.entries()) {
      const value = users.slice(0, index + 1).filter((one) => one === id).length
      await storage.add({ metric: 'lessons', event: lesson(id, value), queued: 0 })
    }
  }

  // With a 403, the key of this user is not there.
  it.each([500, 403])(
    '[K3] sends the events of others while one user gets a %i, and keeps the order of each',
    async (status) => {
      const grace = { fails: true }
      const set = queueOf(byUser({ grace: () => (grace.fails ? failure(status) : accepted()) }))
      const { sent, storage, pauses, queue, pass } = set
      await store(set, 'grace', 'ada', 'grace', 'linus', 'ada')
      const events = queue()
      await untilHeld(() => expect(pauses).toEqual([250]))
      expect(keysOf(sent)).toEqual(['grace-1', 'ada-1', 'linus-1', 'ada-2'])
      // Its pauses grow, and an event of another user ends none of them.
      await pass()
      await events.event('lessons', lesson('ada', 3))
      await untilHeld(() => expect(pauses).toEqual([250, 500, 500]))
      expect(keysOf(sent).slice(4)).toEqual(['grace-1', 'ada-3'])
      for (let attempt = 0; attempt < 12; attempt += 1) await pass()
      expect(pauses.at(-1)).toBe(150_000)
      expect(sent).toHaveLength(18)
      grace.fails = false
      await pass()
      expect(keysOf(sent).slice(18)).toEqual(['grace-1', 'grace-2'])
      expect(await storage.list()).toEqual([])
      expect(set.onDropped).not.toHaveBeenCalled()
    },
  )

  it('sends the events of others first, after an event that never gets an answer', async () => {
    const set = queueOf(
      byUser({
        grace: () => {
          throw networkFailure()
        },
      }),
    )
    await store(set, 'grace', 'ada', 'grace', 'ada')
    const events = set.queue()
    await untilHeld(() => expect(set.pauses).toHaveLength(1))
    expect(keysOf(set.sent)).toEqual(['grace-1'])
    await set.pass()
    expect(keysOf(set.sent).slice(1)).toEqual(['ada-1', 'ada-2', 'grace-1'])
    // The network may be back, so the next event is tried at once.
    await events.event('lessons', lesson('ada', 3))
    await untilHeld(() => expect(set.pauses).toHaveLength(3))
    expect(keysOf(set.sent).slice(4)).toEqual(['ada-3', 'grace-1'])
    // After each failure it waits longer, for half of five minutes at most: chance is a half.
    for (let attempt = 0; attempt < 12; attempt += 1) await events.flush()
    expect(set.pauses.slice(2, 6)).toEqual([250, 500, 1000, 2000])
    expect(set.pauses.at(-1)).toBe(150_000)
  })

  it('ends an attempt after failures of three users, since the service itself fails', async () => {
    const set = queueOf(failure(500))
    await store(set, ...Array.from({ length: 10 }, (_, index) => `user${index}`))
    set.queue()
    await untilHeld(() => expect(set.pauses).toHaveLength(1))
    expect(set.sent).toHaveLength(3)
    await set.pass()
    // Others come first now.
    expect(new Set(keysOf(set.sent)).size).toBe(6)
    expect(await set.storage.list()).toHaveLength(10)
  })

  it('keeps the events if no request can be made at all, such as with a wrong key', async () => {
    const { sent, storage, options, onDropped, onError } = queueOf(accepted())
    const laurel = new Laurel({ ...options, apiKey: 'app_kéy' })
    const events = new OfflineQueue(laurel, { storage, onDropped, onError })
    await events.event('lessons', lesson('ada', 1))
    await untilHeld(() => expect(onError).toHaveBeenCalledWith(expect.any(TypeError)))
    events.close()
    expect([sent, onDropped.mock.calls]).toEqual([[], []])
    expect(await storage.list()).toHaveLength(1)
  })

  it('waits as long as the service asks, whatever events come, also if it is flushed, and up to an hour', async () => {
    const set = queueOf(
      failure(429, 'Too many.', { 'retry-after': '40' }),
      failure(503, 'Full.', { 'retry-after': '2592000' }),
      accepted(),
    )
    const { sent, pauses, clock, queue, pass } = set
    let goOnline = () => {}
    vi.stubGlobal('addEventListener', (_: 'online', listener: () => void) => {
      goOnline = listener
    })
    const events = queue()
    await events.event('lessons', lesson('ada', 1))
    await untilHeld(() => expect(pauses).toEqual([40_250]))
    goOnline()
    await untilHeld(() => expect(pauses).toEqual([40_250, 40_250]))
    clock.now += 10_000
    await events.event('lessons', lesson('grace', 1))
    await untilHeld(() => expect(pauses).toEqual([40_250, 40_250, 30_250]))
    clock.now += 10_000
    await events.flush()
    expect(pauses).toEqual([40_250, 40_250, 30_250, 20_250])
    expect(keysOf(sent)).toEqual(['ada-1'])
    // A failure of the storage does not end it either.
    vi.spyOn(set.storage, 'list').mockRejectedValueOnce(new Error('The disk is broken.'))
    await events.event('lessons', lesson('grace', 1))
    await untilHeld(() => expect(pauses).toEqual([40_250, 40_250, 30_250, 20_250, 20_750]))
    expect(keysOf(sent)).toEqual(['ada-1'])
    await pass()
    expect(pauses.at(-1)).toBe(3_600_000)
    // If the clock is set back, the pause is over.
    clock.now -= 86_400_000
    await events.event('lessons', lesson('grace', 2))
    await untilHeld(async () => expect(await set.storage.list()).toEqual([]))
    expect(keysOf(sent).slice(2)).toEqual(['ada-1', 'grace-1', 'grace-1', 'grace-2'])
  })

  it('sends an event that is queued while an attempt ends', async () => {
    // The number of steps until an attempt has ended is not known, so each one is tried.
    for (let steps = 0; steps < 60; steps += 1) {
      const { storage, queue } = queueOf(accepted())
      const events = queue()
      for (let step = 0; step < steps; step += 1) await Promise.resolve()
      await events.event('lessons', lesson('ada', 1))
      await new Promise((resolve) => setTimeout(resolve))
      expect([steps, await storage.list()]).toEqual([steps, []])
    }
  })
})
