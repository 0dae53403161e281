import { describe, expect, it, vi } from 'vitest'
import { Laurel } from '../../src/app.js'
import { memoryStorage, OfflineQueue } from '../../src/offline.js'
import { failure, fake, json, networkFailure, type Sent } from '../fake-fetch.js'

const lesson = (id: string, value: number) => ({ user: { id }, value, idempotencyKey: `${id}-${value}` })
const keysOf = (sent: Sent[]) => sent.map(({ headers }) => headers.get('idempotency-key'))

/** A queue whose pauses end when the test says so. */
function queueOf(...answers: Parameters<typeof fake>) {
  const set = fake(...answers)
  const storage = memoryStorage()
  const pauses: number[] = []
  const runtime = {
    ...set.options.runtime,
    sleep: (milliseconds: number, signal?: AbortSignal) => {
      pauses.push(milliseconds)
      return new Promise<void>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    },
  }
  const on = { onSent: vi.fn(), onDropped: vi.fn(), onError: vi.fn() }
  const laurel = new Laurel(set.options)
  const queue = () => new OfflineQueue(laurel, { ...on, storage, runtime })
  return { ...set, ...on, storage, pauses, queue }
}

describe('an offline queue', () => {
  it('sends an event at once if it can, and tells what it changed', async () => {
    const { sent, storage, onSent, queue } = queueOf(json({ total: 1 }, 201))
    const events = queue()
    await events.event('lessons', { user: { id: 'ada' }, value: 1 })
    await events.flush()
    expect(keysOf(sent)).toEqual([expect.stringMatching(/^[\da-f-]{36}$/)])
    expect(onSent).toHaveBeenCalledExactlyOnceWith(
      { total: 1 },
      expect.objectContaining({ metric: 'lessons' }),
    )
    expect(await storage.list()).toEqual([])
  })

  it('keeps events until the network is back, and sends them in order with their keys', async () => {
    const network = { isUp: false }
    const { sent, storage, onError, queue } = queueOf(() => {
      if (network.isUp) return json({}, 201)
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

  it('goes on after a crash between the answer and the removal', async () => {
    const { sent, storage, queue } = queueOf(json({}, 201))
    await storage.add({ metric: 'lessons', event: lesson('ada', 1), queued: 0 })
    const remove = vi.spyOn(storage, 'remove').mockRejectedValue(new Error('It crashed.'))
    const first = queue()
    await first.flush()
    first.close()
    expect(await storage.list()).toHaveLength(1)
    remove.mockRestore()
    sent.length = 0
    await queue().flush()
    expect(await storage.list()).toEqual([])
    // It has the same key, so the service counts it once.
    expect(keysOf(sent)).toEqual(['ada-1'])
  })

  it.each([400, 404, 413, 422])('drops an event after a %i, and tells', async (status) => {
    const { sent, storage, onDropped, queue } = queueOf((request) =>
      request.headers.get('idempotency-key') === 'ada-1' ? failure(status) : json({}, 201),
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

  it('[K3] keeps the events of a user whose key is not there, and sends those of others', async () => {
    const { sent, storage, onDropped, queue } = queueOf(({ body }) =>
      Object(body).user.id === 'grace' ? failure(403) : json({}, 201),
    )
    await storage.add({ metric: 'lessons', event: lesson('grace', 1), queued: 0 })
    await storage.add({ metric: 'lessons', event: lesson('grace', 2), queued: 0 })
    await storage.add({ metric: 'lessons', event: lesson('ada', 1), queued: 0 })
    const events = queue()
    await events.flush()
    events.close()
    expect((await storage.list()).map(({ event }) => event.idempotencyKey)).toEqual(['grace-1', 'grace-2'])
    expect(keysOf(sent)).toContain('ada-1')
    expect(keysOf(sent)).not.toContain('grace-2')
    expect(onDropped).not.toHaveBeenCalled()
  })

  it('waits longer after each failure, at most five minutes, and as long as Retry-After says', async () => {
    const { pauses, queue } = queueOf(
      failure(503, 'Full.', { 'retry-after': '40' }),
      ...Array.from({ length: 13 }, networkFailure),
    )
    const events = queue()
    await events.event('lessons', lesson('ada', 1))
    for (let attempt = 0; attempt < 13; attempt += 1) await events.flush()
    expect(pauses.slice(0, 4)).toEqual([40_000, 500, 1000, 2000])
    expect(pauses.at(-1)).toBe(300_000)
  })

  it('sends at once what cannot be stored', async () => {
    const { sent, storage, onSent, queue } = queueOf(json({ total: 1 }, 201))
    vi.spyOn(storage, 'add').mockRejectedValue(new DOMException('Full.', 'QuotaExceededError'))
    await queue().event('lessons', lesson('ada', 1))
    expect(keysOf(sent)).toEqual(['ada-1'])
    expect(onSent).toHaveBeenCalledTimes(1)
  })

  it('sends nothing after it was closed', async () => {
    const { sent, storage, queue } = queueOf(json({}, 201))
    const events = queue()
    await events.flush()
    events.close()
    await events.event('lessons', lesson('ada', 1))
    await events.flush()
    expect(sent).toEqual([])
    expect(await storage.list()).toHaveLength(1)
  })
})
