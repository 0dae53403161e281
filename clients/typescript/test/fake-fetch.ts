import type { Fetch, LaurelOptions } from '../src/app.js'

/** A request as the client sent it. */
export type Sent = { method: string; url: string; path: string; headers: Headers; body: unknown }

/** An answer: a response, an error that `fetch` throws, or what makes one of them from the request. */
export type FakeAnswer = Response | Error | ((sent: Sent, init: RequestInit) => Response | Promise<Response>)

/** A response with a JSON body. */
export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers })

/** An error of Laurel. */
export const failure = (status: number, error = 'It failed.', headers: Record<string, string> = {}) =>
  json({ error }, status, { 'x-request-id': `request-${status}`, ...headers })

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
  const options: LaurelOptions = {
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

/** The error that a promise rejects with. */
export async function errorOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('It did not reject.')
}
