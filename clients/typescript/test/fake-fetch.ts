import type { Fetch, LaurelOptions } from '../src/app.js'

/** A request as the client sent it. */
export type Sent = { method: string; url: string; path: string; headers: Headers; body: unknown }

/** An answer: a response, an error that `fetch` throws, or what makes one of them from the request. */
export type FakeAnswer = Response | Error | ((sent: Sent, init: RequestInit) => Response | Promise<Response>)

/** An answer of another server, with a JSON body. */
export const otherJson = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers })

/** An answer of Laurel with a JSON body. */
export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  otherJson(body, status, { 'x-request-id': `request-${status}`, ...headers })

/** An answer to an event. */
export const accepted = (more: object = {}): Response => json({ eventId: 'event', ...more }, 201)

/** An error of Laurel. */
export const failure = (status: number, error = 'It failed.', headers: Record<string, string> = {}) =>
  json({ error }, status, headers)

export const networkFailure = () => new TypeError('fetch failed')

/**
 * A `fetch` that gives these answers, one after another, and the last one for ever. `pauses` are the pauses
 * that the client made, in milliseconds; they take no time. Chance is always a half.
 */
export function fake(...answers: FakeAnswer[]) {
  const sent: Sent[] = []
  const pauses: number[] = []
  const clock = { now: Date.parse('2026-06-01T12:00:00Z') }
  const fetch: Fetch = async (url, init) => {
    const { pathname, search } = new URL(url)
    const body: unknown = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
    const request = {
      method: init.method ?? 'GET',
      url,
      path: pathname + search,
      headers: new Headers(init.headers),
      body,
    }
    sent.push(request)
    const answer = answers[Math.min(sent.length, answers.length) - 1] ?? json({})
    if (answer instanceof Error) throw answer
    return typeof answer === 'function' ? answer(request, init) : answer.clone()
  }
  const options: LaurelOptions & { fetch: Fetch } = {
    url: 'https://laurel.example.com',
    apiKey: 'app_key.secret',
    fetch,
    runtime: {
      now: () => clock.now,
      random: () => 0.5,
      sleep: async (milliseconds, signal) => {
        signal?.throwIfAborted()
        pauses.push(milliseconds)
        clock.now += milliseconds
      },
    },
  }
  return { sent, pauses, clock, options }
}

export async function errorOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('It did not reject.')
}

const LESSON = { user: { id: 'ada' }, value: 1 }
const circular: Record<string, string> = {}
Object.assign(circular, { self: circular })

/** Events of which no request can be made. */
export const unsendable: [name: string, metric: string, event: object | undefined][] = [
  ['nothing', 'lessons', undefined],
  ['no user', 'lessons', { value: 1 }],
  ['a user without an id', 'lessons', { user: {}, value: 1 }],
  ['an id that is a number', 'lessons', { user: { id: 7 }, value: 1 }],
  ['no metric', '', LESSON],
  ['half a character in the metric', '\ud800', LESSON],
  ['a line break in the key', 'lessons', { ...LESSON, idempotencyKey: 'a\nb' }],
  ['a line break at the end of the key', 'lessons', { ...LESSON, idempotencyKey: 'a\n' }],
  ['half a character in the key', 'lessons', { ...LESSON, idempotencyKey: '\ud800' }],
  ['an empty key', 'lessons', { ...LESSON, idempotencyKey: '' }],
  ['a key that is too long', 'lessons', { ...LESSON, idempotencyKey: 'a'.repeat(256) }],
  ['a key that is a number', 'lessons', { ...LESSON, idempotencyKey: 7 }],
  ['no number', 'lessons', { ...LESSON, value: Number.NaN }],
  ['a big integer', 'lessons', { ...LESSON, value: 5n }],
  ['a circle', 'lessons', { ...LESSON, attributes: circular }],
]

const ID = { 'x-request-id': 'r-1' }
const SPRING = { timestamp: '2026-06-01T12:00:00Z', status: 404, error: 'Not Found', path: '/v1/users/ada' }

/** Answers that do not come from Laurel. */
export const foreign: [name: string, answer: () => Response][] = [
  ['a page with the status 404', () => new Response('<html>', { status: 404 })],
  ['another JSON with the status 403', () => otherJson({ message: 'Forbidden' }, 403)],
  ['an error of another form with the status 401', () => otherJson({ error: { code: 401 } }, 401, ID)],
  ['a text in quotes with the status 400', () => otherJson('It failed.', 400, ID)],
  ['a list with the status 400', () => otherJson([{ error: 'It failed.' }], 400, ID)],
  ['an error of a gateway with the status 422', () => otherJson({ error: 'It failed.' }, 422)],
  ['an error of Spring with the status 404', () => otherJson(SPRING, 404)],
  ['an error of Spring with an id', () => otherJson(SPRING, 404, ID)],
  ['an empty body with the status 413', () => new Response(null, { status: 413 })],
  ['a page with the status 200', () => new Response('<html>', { status: 200 })],
  ['another JSON with the status 200', () => otherJson({ status: 'ok' })],
  ['a text in quotes with the status 200', () => otherJson('ok', 200, ID)],
  ['nothing with the status 204', () => new Response(null, { status: 204, headers: ID })],
  ['a redirect', () => new Response(null, { status: 302, headers: { location: 'https://login.test' } })],
]
