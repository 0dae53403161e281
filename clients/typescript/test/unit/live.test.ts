import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { untilHeld } from '../../../../test/helpers/until'
import { Laurel, LaurelError, type LiveRanking } from '../../src/app.js'
import { serverSentEvents } from '../../src/application/server-sent-events.js'
import { type FakeAnswer, failure, fake, foreign, networkFailure } from '../fake-fetch.js'

afterEach(() => void vi.useRealTimers())

const ranking = (version: number, run: string | null = null): LiveRanking => ({
  ...{ version, run, status: 'active' },
  rankings: [{ userId: 'ada', userName: 'Ada', rank: 1, value: version }],
})

const message = (event: string, data: unknown) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
/** An answer with a stream of these rankings, which then ends. */
const tells =
  (...versions: number[]) =>
  () =>
    stream(versions.map((one) => message('ranking', ranking(one))))
const silent = () => stream([], { isOpen: true })

/** A stream with these texts, cut into parts of a few bytes. Without `isOpen`, it ends after them. */
function stream(texts: string[], { isOpen = false, size = 7 } = {}): Response {
  const bytes = new TextEncoder().encode(texts.join(''))
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size))
      if (!isOpen) controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** Watches a leaderboard with these answers. `until` waits until a number of rankings has come. */
function watched(...answers: FakeAnswer[]) {
  const set = fake(...answers, silent)
  const seen: LiveRanking[] = []
  const finished: unknown[] = []
  const errors: [error: unknown, isOver: boolean][] = []
  const stop = new Laurel(set.options).leaderboards.live('weekly', {
    onRanking: (one) => seen.push(one),
    onFinished: (one) => finished.push(one),
    onError: (...error) => errors.push(error),
    limit: 3,
    userAttributes: { plan: 'pro' },
  })
  const requests = (count: number) => untilHeld(() => expect(set.sent).toHaveLength(count))
  return { ...set, seen, finished, errors, stop, requests }
}

describe('a live leaderboard', () => {
  it('[Y1] tells each state, and the runs that become final', async () => {
    const final = { version: 3, run: '2026-06-01', rankings: [] }
    const { seen, finished, sent, requests, stop } = watched(() =>
      stream([
        ': welcome\n\n',
        'event: news\ndata: soon\n\n',
        message('ranking', ranking(1, '2026-06-01')).replaceAll('\n', '\r\n'),
        ': still here\n\n',
        message('ranking', { ...ranking(2), rankings: [{ userId: 'é', userName: '✓', rank: 1, value: 2 }] }),
        message('finished', final),
        message('news', { version: 9 }),
      ]),
    )
    await requests(2)
    stop()
    const path = '/v1/leaderboards/weekly/live?limit=3&userAttributes=plan%3Apro'
    expect(sent[0]).toMatchObject({ method: 'GET', path })
    expect(sent[0]?.headers.get('accept')).toBe('text/event-stream')
    expect(sent[0]?.headers.get('x-api-key')).toBe('app_key.secret')
    expect(seen.map(({ version }) => version)).toEqual([1, 2])
    expect(seen[1]?.rankings).toEqual([{ userId: 'é', userName: '✓', rank: 1, value: 2 }])
    expect(finished).toEqual([final])
  })

  it('[Y4] connects again when a stream ends, and never shows an older state', async () => {
    const { seen, errors, pauses, requests, stop } = watched(tells(5), tells(4, 5), tells(6))
    await requests(4)
    stop()
    expect(seen.map(({ version }) => version)).toEqual([5, 6])
    expect(errors).toEqual([])
    // No stream has lived for a minute, so the pauses grow.
    expect(pauses).toEqual([250, 500, 1000])
  })

  it('connects again after short pauses, if the stream before has lived for a minute', async () => {
    const lived = (milliseconds: number) => () => {
      const { body, headers } = tells(1)()
      const flush = () => {
        clock.now += milliseconds
      }
      const late = new TransformStream({ flush })
      return new Response(body?.pipeThrough(late), { headers })
    }
    const lives = [lived(59_999), lived(60_000), lived(900_000)]
    const { clock, pauses, requests, stop } = watched(networkFailure(), ...lives, networkFailure())
    await requests(6)
    stop()
    expect(pauses).toEqual([250, 500, 250, 250, 500])
  })

  it('connects again after failures, with growing pauses, for as long as it is watched', async () => {
    const { seen, errors, pauses, requests, stop } = watched(
      networkFailure(),
      failure(500),
      failure(503, 'Full.', { 'retry-after': '20' }),
      failure(429),
      failure(408),
      ...Array.from({ length: 10 }, networkFailure),
      tells(1),
    )
    await requests(17)
    stop()
    expect(seen).toHaveLength(1)
    const told = errors.map(([error, isOver]) => [error instanceof LaurelError && error.status, isOver])
    const statuses = [0, 500, 503, 429, 408, ...Array(10).fill(0)]
    expect(told).toEqual(statuses.map((status) => [status, false]))
    expect(pauses.slice(0, 6)).toEqual([250, 500, 21_000, 2000, 4000, 8000])
  })

  it.each([401, 403, 404, 422])('ends after a %i', async (status) => {
    const { sent, errors } = watched(failure(status))
    await untilHeld(() => expect(errors).toHaveLength(1))
    expect(errors[0]).toMatchObject([{ status }, true])
    expect(sent).toHaveLength(1)
  })

  it.each(foreign)('goes on after an answer that is not one of Laurel: %s', async (_, answer) => {
    const { seen, errors, requests, stop } = watched(tells(1), answer, tells(2))
    await requests(4)
    stop()
    expect(seen.map(({ version }) => version)).toEqual([1, 2])
    expect(errors).toMatchObject([[{ status: 0 }, false]])
  })

  it.each([401, 403])(
    'goes on after a %i if a function gives the key: somebody may sign in',
    async (status) => {
      const { options, sent, pauses } = fake(tells(1), ({ headers }) => {
        if (headers.get('x-api-key') === 'of-grace') return tells(2)()
        if (sent.length > 6) key = 'of-grace'
        return failure(status)
      })
      let key = 'of-ada'
      const isOver: boolean[] = []
      const versions = await new Promise<number[]>((resolve) => {
        const seen: number[] = []
        const stop = new Laurel({ ...options, apiKey: async () => key }).leaderboards.live('weekly', {
          onRanking: ({ version }) => {
            seen.push(version)
            if (version < 2) return
            stop()
            resolve(seen)
          },
          onError: (_, over) => isOver.push(over),
        })
      })
      expect(versions).toEqual([1, 2])
      expect(new Set(isOver)).toEqual(new Set([false]))
      expect(pauses.slice(0, 4)).toEqual([250, 500, 1000, 2000])
    },
  )

  const broken = () => {
    throw new Error('The page is broken.')
  }
  it.each<[string, onError: undefined | (() => void), told: number, logged: number]>([
    ['onError', () => undefined, 3, 0],
    ['the console without onError', undefined, 0, 2],
    ['the console, with its own error, if onError throws too', broken, 3, 3],
  ])('goes on after a callback that throws, and reports its error to %s', async (_, report, told, logged) => {
    const log = vi.spyOn(console, 'error').mockReturnValue()
    onTestFinished(() => log.mockRestore())
    const { options, sent } = fake(tells(1, 2), networkFailure(), silent)
    const onRanking = vi.fn(broken)
    const onError = report && vi.fn<(...told: unknown[]) => void>(report)
    const stop = new Laurel(options).leaderboards.live('weekly', { onRanking, onError })
    await untilHeld(() => expect(sent).toHaveLength(3))
    stop()
    expect(onRanking).toHaveBeenCalledTimes(2)
    const message = 'The page is broken.'
    const errors = [{ message }, { message }, { status: 0 }].map((error) => [error, false])
    expect(onError?.mock.calls ?? []).toMatchObject(errors.slice(0, told))
    expect(log).toHaveBeenCalledTimes(logged)
  })

  it('gets a new key for each connection', async () => {
    const keys = ['one', 'two', 'three']
    const { sent, options } = fake(failure(401), () => stream([]), failure(401))
    const apiKey = vi.fn(async () => keys.shift() ?? 'none')
    await new Promise<void>((resolve) => {
      const stop = new Laurel({ ...options, apiKey }).leaderboards.live('weekly', {
        onRanking: () => undefined,
        onError: () => {
          stop()
          resolve()
        },
      })
    })
    expect(sent.map(({ headers }) => headers.get('x-api-key'))).toEqual(['one', 'two', 'two', 'three'])
  })

  it('stops at once, when it is told to or its signal is aborted', async () => {
    const cancelled = vi.fn()
    const headers = { 'content-type': 'text/event-stream' }
    const open = () => new Response(new ReadableStream({ cancel: cancelled }), { headers })
    const { requests, stop, errors, pauses } = watched(open)
    await requests(1)
    stop()
    stop()
    await untilHeld(() => expect(cancelled).toHaveBeenCalledTimes(1))
    const { options, sent } = fake(open)
    const controller = new AbortController()
    new Laurel(options).leaderboards.live('weekly', { onRanking: () => undefined, signal: controller.signal })
    await untilHeld(() => expect(sent).toHaveLength(1))
    controller.abort()
    await untilHeld(() => expect(cancelled).toHaveBeenCalledTimes(2))
    expect([errors, pauses]).toEqual([[], []])
  })

  it('tells nothing more after it was stopped, also not what has arrived already', async () => {
    const ended = vi.fn()
    const rankings = [message('ranking', ranking(1)), message('ranking', ranking(2))]
    const texts = [...rankings, message('finished', ranking(3))]
    const { options } = fake((_, { signal }) => {
      signal?.addEventListener('abort', ended)
      return stream(texts, { size: 1000 })
    })
    const onRanking = vi.fn(() => stop())
    const onFinished = vi.fn()
    const stop = new Laurel(options).leaderboards.live('weekly', { onRanking, onFinished })
    await untilHeld(() => expect(ended).toHaveBeenCalled())
    await new Promise((resolve) => setTimeout(resolve))
    expect([onRanking.mock.calls.length, onFinished.mock.calls.length]).toEqual([1, 0])
  })

  it('watches the same group, whatever happens to the object later', async () => {
    const { options, sent } = fake(() => stream([]), silent)
    const userAttributes = { plan: 'pro' }
    const stop = new Laurel(options).leaderboards.live('weekly', { onRanking: () => {}, userAttributes })
    userAttributes.plan = 'free'
    await untilHeld(() => expect(sent).toHaveLength(2))
    stop()
    expect(sent.map(({ path }) => path.split('=')[1])).toEqual(['plan%3Apro', 'plan%3Apro'])
  })

  it('listens once to a signal that many boards share, and only while they are watched', () => {
    const { signal } = new AbortController()
    const listeners = () => getEventListeners(signal, 'abort').length
    const { leaderboards } = new Laurel(fake(silent).options)
    expect(() => leaderboards.live('..', { onRanking: () => {}, signal })).toThrow(TypeError)
    expect(listeners()).toBe(0)
    const watch = () => leaderboards.live('weekly', { onRanking: () => {}, signal })
    const stops = Array.from({ length: 20 }, watch)
    expect(listeners()).toBe(1)
    for (const stop of stops) stop()
    expect(listeners()).toBe(0)
  })

  it('[Y1] connects again if the stream is silent for a minute', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { sent, errors, stop } = watched(() => stream([message('ranking', ranking(1))], { isOpen: true }))
    await vi.advanceTimersByTimeAsync(59_999)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(errors).toMatchObject([[{ status: 0 }, false]])
    expect(sent).toHaveLength(2)
    stop()
  })
})

/** Streams, as the standard has them, and the events in them. */
const STREAMS: [name: string, text: string, events: [event: string, data: string][]][] = [
  ['a line and a paragraph separator', 'data: a\u2028b\u2029c\n\n', [['message', 'a\u2028b\u2029c']]],
  ['other characters that some take for line ends', 'data: \v\f\x85\0\n\n', [['message', '\v\f\x85\0']]],
  ['a byte order mark', '\ufeffevent: a\ndata: b\n\n', [['a', 'b']]],
  ['lines that end with CR and LF', 'event: a\r\ndata: b\r\ndata: c\r\n\r\n', [['a', 'b\nc']]],
  [
    'lines that end with CR',
    'event: a\rdata: b\rdata: c\r\rdata: d\r\r:',
    [
      ['a', 'b\nc'],
      ['message', 'd'],
    ],
  ],
  ['all three ends of lines', 'data: a\ndata: b\r\ndata: c\rdata: d\r\n\n', [['message', 'a\nb\nc\nd']]],
  [
    'fields without a space, a colon or a text',
    'data:a\ndata:  b\ndata\nevent:\n\n',
    [['message', 'a\n b\n']],
  ],
  ['colons in a text', 'data: {"a": ":"}\n\n', [['message', '{"a": ":"}']]],
  [
    'comments and unknown fields',
    ': data: a\n\nid: 7\nretry: 1\nData: b\n data: c\n\ndata: d\n\n',
    [['message', 'd']],
  ],
  ['an event that has not ended', 'data: a\n\ndata: b\n', [['message', 'a']]],
  ['a type of an event without data', 'event: a\n\ndata: b\n\n', [['message', 'b']]],
]

it.each(STREAMS)('a stream with %s is read, however it is cut', async (_, text, events) => {
  for (let size = 1; size < 20; size += 1) {
    const read: [string, string][] = []
    const { body } = stream([text], { size })
    for await (const { event, data } of serverSentEvents(body, 1000, new AbortController().signal))
      read.push([event, data])
    expect([size, read]).toEqual([size, events])
  }
})
