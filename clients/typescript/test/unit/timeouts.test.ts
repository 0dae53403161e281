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
  const never = (_: unknown, { signal }: RequestInit) =>
    new Promise<Response>((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason))
    })

  it.each([
    ['a fetch that knows no signal', hung],
    ['a body that knows no signal', unread],
    ['a fetch that ends with its signal', never],
  ])('end %s, with an error of status 0 or the reason of the signal', async (_, answer) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { sent, options } = fake(answer)
    const laurel = new Laurel(options)
    const late = errorOf(laurel.users.get('ada', { timeout: 50, tries: 1 }))
    const controller = new AbortController()
    const { signal } = controller
    const aborted = [1, 5].map((tries) => errorOf(laurel.users.get('ada', { signal, tries })))
    await vi.advanceTimersByTimeAsync(50)
    controller.abort('Enough.')
    const message = 'https://laurel.example.com did not answer within 50 ms.'
    expect(await late).toMatchObject({ name: 'LaurelError', status: 0, message })
    expect(await Promise.all(aborted)).toEqual(['Enough.', 'Enough.'])
    expect([sent.length, vi.getTimerCount()]).toEqual([3, 0])
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
