import { describe, expect, test, vi } from 'vitest'
import { ApiError } from '../../src/lib/errors'
import { ScanTurns, SharedScans } from '../../src/platform/scans'
import { fakeWaits } from '../helpers/fake-waits'

/** The longest wait of a request, and the time after which a silent one counts as dead (scans.ts). */
const PATIENCE = 10_000
const LEASE = 10_000

/** A scan that ends when the test ends it. `isOld` says that later requests must not share the result. */
type Held = {
  name: string
  pause: () => Promise<void>
  hasWaited: boolean
  done: (result?: string) => void
  fail: (error: unknown) => void
}

/** Scans that stay open until the test ends them. */
function scene({ mayBeOlder = true }: { mayBeOlder?: boolean } = {}) {
  const turns = new ScanTurns()
  const scans = new SharedScans<string>(turns)
  const held: Held[] = []
  const kept: Promise<unknown>[] = []
  const ask = (name: string, tenantId = 'acme', of = scans) =>
    of.run(
      {
        tenantId,
        name,
        read: (pause, hasWaited) =>
          new Promise((resolve, reject) => {
            const done = (result = `${name} ${held.length}`) => resolve(result)
            held.push({ name, pause, hasWaited, done, fail: reject })
          }),
        mayBeOlder: () => mayBeOlder,
      },
      (work) => kept.push(work),
    )
  const at = (index: number) => {
    const one = held[index]
    if (one === undefined) throw new Error(`no scan ${index}`)
    return one
  }
  return { turns, ask, held, at, kept, names: () => held.map(({ name }) => name) }
}

/** Runs all work that is ready. */
const settle = () => vi.advanceTimersByTimeAsync(0)
/** The end of a request: its result, or the status and the seconds of `Retry-After`. */
const ended = (work: Promise<string>) =>
  work.catch((error: unknown) =>
    error instanceof ApiError ? [error.status, error.retryAfter] : String(error),
  )

fakeWaits()

describe('[P11] scans of a tenant', () => {
  test('two run at once, the others in order of arrival; a scan outlives its caller', async () => {
    const { ask, at, names, kept } = scene()
    const ends = ['a', 'b', 'c', 'd'].map((name) => ask(name))
    await settle()
    expect(names()).toEqual(['a', 'b'])
    at(1).done()
    await settle()
    expect(names()).toEqual(['a', 'b', 'c'])
    at(2).done()
    await settle()
    expect(names()).toEqual(['a', 'b', 'c', 'd'])
    expect([0, 1, 2, 3].map((n) => at(n).hasWaited)).toEqual([false, false, true, true])
    at(0).done('first')
    at(3).done('last')
    expect(await Promise.all(ends)).toEqual(['first', 'b 2', 'c 3', 'last'])
    expect(kept).toHaveLength(4)
  })

  test('a scan pauses between two statements, so that other work can run in between', async () => {
    const { ask, at } = scene()
    ask('a')
    await settle()
    let statements = 0
    const next = () =>
      at(0)
        .pause()
        .then(() => {
          statements += 1
        })
    next()
    await settle()
    expect(statements).toBe(1)
    next()
    await settle()
    expect(statements).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(statements).toBe(2)
  })

  test('tenants do not wait for each other, but kinds of scans share the two places', async () => {
    const { turns, ask, names } = scene()
    const others = new SharedScans<string>(turns)
    for (const name of ['a', 'b']) ask(name)
    ask('a', 'acme', others)
    ask('a', 'other')
    await settle()
    expect(names()).toEqual(['a', 'b', 'a'])
  })

  test('identical scans are run once, also while one waits for its turn', async () => {
    const { ask, at, names } = scene()
    const running = Array.from({ length: 15 }, () => ask('a'))
    const second = ask('b')
    const waiting = Array.from({ length: 15 }, () => ask('c'))
    await settle()
    running.push(ask('a'))
    expect(names()).toEqual(['a', 'b'])
    at(0).done('A')
    expect(await Promise.all(running)).toEqual(Array(16).fill('A'))
    await settle()
    expect(names()).toEqual(['a', 'b', 'c'])
    at(2).done('C')
    expect(await Promise.all(waiting)).toEqual(Array(15).fill('C'))
    at(1).done('B')
    expect(await second).toBe('B')
    const again = ask('a')
    await settle()
    at(3).done('A again')
    expect(await again).toBe('A again')
  })

  test('requests that arrive after a scan has begun share a later one if the result must be current', async () => {
    const { ask, at, names } = scene({ mayBeOlder: false })
    const first = ask('a')
    await settle()
    const later = [ask('a'), ask('a'), ask('a')]
    at(0).done('old')
    expect(await first).toBe('old')
    await settle()
    expect(names()).toEqual(['a', 'a'])
    at(1).done('new')
    expect(await Promise.all(later)).toEqual(['new', 'new', 'new'])
  })

  test('a request that has waited for ten seconds gets 429 with Retry-After; running scans continue', async () => {
    const { ask, at, held, names } = scene()
    const ends = ['a', 'b', 'c', 'c', 'a'].map((name) => ended(ask(name)))
    const beat = setInterval(() => held.slice(0, 2).map(({ pause }) => pause()), 1_000)
    await vi.advanceTimersByTimeAsync(PATIENCE)
    clearInterval(beat)
    expect(await Promise.all(ends.slice(2))).toEqual(Array(3).fill([429, 10]))
    at(0).done('A')
    at(1).done('B')
    expect(await Promise.all(ends.slice(0, 2))).toEqual(['A', 'B'])
    // Requests that gave up leave nothing.
    expect(names()).toEqual(['a', 'b'])
    const again = ask('c')
    await settle()
    at(2).done('C')
    expect(await again).toBe('C')
  })

  test('if more than 100 wait, one more is refused at once', async () => {
    const { ask } = scene()
    const ends = Array.from({ length: 102 }, (_, n) => ended(ask(`${n}`)))
    expect(await ended(ask('one more'))).toEqual([429, 10])
    const shared = ended(ask('101'))
    await vi.advanceTimersByTimeAsync(2 * PATIENCE)
    expect(await Promise.all([...ends.slice(2), shared])).toEqual(Array(101).fill([429, 10]))
  })

  test('a failure reaches all requests that share the scan, and the next request reads again', async () => {
    const { ask, at } = scene()
    const ends = [ended(ask('a')), ended(ask('a'))]
    await settle()
    at(0).fail(new Error('D1 is down'))
    expect(await Promise.all(ends)).toEqual(['Error: D1 is down', 'Error: D1 is down'])
    const again = ask('a')
    await settle()
    at(1).done('A')
    expect(await again).toBe('A')
  })

  test('a silent scan is taken over by a waiting request, and can do nothing more', async () => {
    const { ask, at, names } = scene()
    const dead = ended(ask('a'))
    await vi.advanceTimersByTimeAsync(2_000)
    const waiting = ask('a')
    await vi.advanceTimersByTimeAsync(LEASE)
    expect(names()).toEqual(['a', 'a'])
    at(1).done('A')
    expect(await waiting).toBe('A')
    // The request was not dead after all. It reads again and does not fail.
    const thrown = await at(0)
      .pause()
      .catch((error: unknown) => error)
    expect(thrown).toBeInstanceOf(Error)
    at(0).fail(thrown)
    await settle()
    expect(names()).toEqual(['a', 'a', 'a'])
    at(2).done('A again')
    expect(await dead).toBe('A again')
  })

  test('a request that was cancelled while it waited holds its place for three seconds at most', async () => {
    const { turns, ask, at, names } = scene()
    // These join the line like requests, and never come back.
    const cancelled = [turns.join('acme'), turns.join('acme'), turns.join('acme')]
    expect(cancelled.map(({ state }) => state)).toEqual(['called', 'called', 'waiting'])
    const alive = ask('a')
    await vi.advanceTimersByTimeAsync(3_000)
    expect(names()).toEqual([])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(names()).toEqual(['a'])
    at(0).done('A')
    expect(await alive).toBe('A')
  })

  test('requests that were cancelled while they waited block others no longer than that', async () => {
    const { turns, ask, at } = scene()
    for (let n = 0; n < 102; n += 1) turns.join('acme')
    expect(await ended(ask('a'))).toEqual([429, 10])
    await vi.advanceTimersByTimeAsync(3_001)
    const alive = ask('a')
    await settle()
    at(0).done('A')
    expect(await alive).toBe('A')
  })

  test('a place that a dead request holds is free for the next request', async () => {
    const { ask, names } = scene()
    for (const name of ['a', 'b']) ended(ask(name))
    await vi.advanceTimersByTimeAsync(LEASE + 1)
    ask('c')
    ask('d')
    await settle()
    expect(names()).toEqual(['a', 'b', 'c', 'd'])
  })
})
