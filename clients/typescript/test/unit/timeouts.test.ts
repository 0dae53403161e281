import { getEventListeners } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { listening, stop } from '../../../../test/helpers/listening'
import { untilHeld } from '../../../../test/helpers/until'
import { Laurel } from '../../src/index.js'
import { errorOf, failure, fake, json } from '../fake-fetch.js'

const USER = { id: 'ada' }

afterEach(() => vi.useRealTimers())

describe('an answer of another server that never ends', () => {
  const HEADERS = { location: 'https://login.test', 'content-type': 'text/html' }
  let status = 200
  let url = ''
  // A real server, since only the real `fetch` has connections.
  const server = createServer((_, response) => void response.writeHead(status, HEADERS).write('<html>'))

  beforeAll(async () => {
    url = await listening(server)
  })
  afterAll(() => stop(server))

  it.each<[name: string, status: number, send: (laurel: Laurel) => unknown]>([
    ['a call that is redirected', 302, ({ users }) => errorOf(users.get('ada'))],
    [
      'a stream that is redirected',
      302,
      ({ leaderboards }) => leaderboards.live('a', { onRanking: vi.fn() }),
    ],
    ['a stream that is a page', 200, ({ leaderboards }) => leaderboards.live('a', { onRanking: vi.fn() })],
  ])('keeps no connection: %s', async (_, answered, send) => {
    status = answered
    const closed = new Promise<void>((resolve) => {
      server.once('connection', (socket) => socket.once('close', resolve))
    })
    const runtime = { sleep: () => new Promise<void>(() => undefined) }
    send(new Laurel({ url, apiKey: 'app_key', tries: 1, runtime }))
    await closed
  })
})

describe('timeouts and signals', () => {
  const hung = () => new Promise<Response>(() => undefined)
  const unread = () => new Response(new ReadableStream(), { headers: { 'x-request-id': 'r' } })

  it.each([
    ['a fetch', hung],
    ['a body', unread],
  ])('end %s that knows no signal and never ends', async (_, answer) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { sent, options } = fake(answer)
    const laurel = new Laurel({ ...options, tries: 1 })
    const late = errorOf(laurel.users.get('ada', { timeout: 50 }))
    const controller = new AbortController()
    const aborted = errorOf(laurel.users.get('ada', { signal: controller.signal }))
    await vi.advanceTimersByTimeAsync(50)
    controller.abort('Enough.')
    expect(await late).toMatchObject({ status: 0, message: expect.stringContaining('within 50 ms') })
    expect(await aborted).toBe('Enough.')
    expect([sent.length, vi.getTimerCount()]).toEqual([2, 0])
  })

  const never = (_: unknown, { signal }: RequestInit) =>
    new Promise<Response>((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason))
    })

  it('listen once to a signal that many calls share, and only while they last', async () => {
    const { sent, options } = fake(never)
    const { signal } = new AbortController()
    const listeners = () => getEventListeners(signal, 'abort').length
    const laurel = new Laurel({ ...options, tries: 1, timeout: 50 })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const calls = Array.from({ length: 20 }, () => errorOf(laurel.users.get('ada', { signal })))
    await untilHeld(() => expect(sent).toHaveLength(20))
    expect(listeners()).toBe(1)
    await vi.advanceTimersByTimeAsync(50)
    await Promise.all(calls)
    expect(listeners()).toBe(0)
  })

  it('end a try, and the next one follows', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { sent, options } = fake(never, json(USER))
    const user = new Laurel({ ...options, timeout: 800 }).users.get('ada')
    await vi.advanceTimersByTimeAsync(799)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(await user).toEqual(USER)
  })

  it('are errors with status 0', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { options } = fake(never)
    const error = errorOf(new Laurel({ ...options, tries: 1 }).users.get('ada', { timeout: 50 }))
    await vi.advanceTimersByTimeAsync(50)
    expect(await error).toMatchObject({
      name: 'LaurelError',
      status: 0,
      message: 'https://laurel.example.com did not answer within 50 ms.',
    })
  })

  it('reject with the reason of the signal, during a request', async () => {
    const { sent, options } = fake(never)
    const controller = new AbortController()
    const reason = new Error('The page is closed.')
    const error = errorOf(new Laurel(options).users.get('ada', { signal: controller.signal }))
    await untilHeld(() => expect(sent).toHaveLength(1))
    controller.abort(reason)
    expect(await error).toBe(reason)
    expect(sent).toHaveLength(1)
  })

  it('reject with the reason of the signal, while a key is fetched', async () => {
    const { sent, options } = fake((_, { signal }) => {
      signal?.throwIfAborted()
      return json(USER)
    })
    const controller = new AbortController()
    const apiKey = async () => {
      controller.abort()
      return 'app_key'
    }
    const laurel = new Laurel({ ...options, apiKey })
    const error = await errorOf(laurel.users.get('ada', { signal: controller.signal }))
    expect(error).toMatchObject({ name: 'AbortError' })
    expect(sent.length).toBeLessThan(2)
  })

  it('reject with the reason of the signal, during a pause and before a request', async () => {
    const { sent, options } = fake(failure(500))
    const controller = new AbortController()
    const sleep = async (_: number, signal?: AbortSignal) => {
      controller.abort()
      signal?.throwIfAborted()
    }
    const laurel = new Laurel({ ...options, runtime: { ...options.runtime, sleep } })
    const error = await errorOf(laurel.users.get('ada', { signal: controller.signal }))
    expect(error).toMatchObject({ name: 'AbortError' })
    expect(await errorOf(laurel.users.get('ada', { signal: controller.signal }))).toBe(error)
    expect(sent).toHaveLength(1)
  })
})
