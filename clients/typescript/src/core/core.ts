import type { Operations } from '../generated/operations.js'
import { KeySource } from './api-key.js'
import { type Answered, Call } from './call.js'
import { issuesOf, LaurelError } from './laurel-error.js'
import { List, type Place } from './list.js'
import type { CallOptions, Fetch, LaurelOptions } from './options.js'
import {
  isFailureForNow,
  isRefusedForNow,
  MOST_TRIES,
  pauseAfter,
  type Runtime,
  realRuntime,
  retryAfterOf,
} from './retries.js'
import { baseOf, nextCursor, pathOf, searchOf } from './urls.js'

/** The tries of a call, and the timeout of each in milliseconds, unless the options say otherwise. */
const TRIES = 5
const TIMEOUT = 30_000
/** The longest time that a timer can have, in milliseconds: about 24 days. */
const LONGEST_TIMEOUT = 2 ** 31 - 1

/** The size of a page, unless the query names one. No page is larger. */
const PAGE = 100

const CHECK_URL = 'Check that "url" is the base URL of Laurel.'

/** The method and the path of an operation, such as `GET /v1/users/{id}`. */
export type OperationId = keyof Operations

/** The body of an operation's answer. */
export type AnswerOf<Id extends OperationId> = Operations[Id]['answer']

type Part = 'path' | 'query' | 'body'

/** The parts of an operation's request. */
export type RequestOf<Id extends OperationId> = {
  [P in Part as undefined extends Operations[Id][P] ? never : P]: PartOf<Id, P>
} & {
  [P in Part as undefined extends Operations[Id][P] ? P : never]?: PartOf<Id, P> | undefined
}

type PartOf<Id extends OperationId, P extends Part> = P extends 'query' ? QueryOf<Id> : Operations[Id][P]

/** The query of an operation. `userAttributes` may be an object. */
export type QueryOf<Id extends OperationId> = Query<NonNullable<Operations[Id]['query']>>

type Query<Q> = {
  [Name in keyof Q]:
    | (Name extends 'userAttributes' ? Q[Name] | Readonly<Record<string, string>> : Q[Name])
    | undefined
}

type ItemOf<Answer> = Answer extends readonly (infer Item)[] ? Item : never

/** The parts of a query that say which page is wanted. */
interface PagedQuery {
  limit?: unknown
  skip?: unknown
}

type Paging = 'cursor' | 'skip' | 'whole'

/** The parts of a request, in any shape. */
interface AnyRequest {
  path?: object | undefined
  query?: object | undefined
  body?: unknown
}

/** The options of a caller, with those of the operation. */
interface CallSettings extends CallOptions {
  /**
   * Whether the request may be sent twice. By default all methods but POST may (Sending again, docs/api.md).
   */
  isRepeatable?: boolean
}

/** One request to send. */
export interface Sending extends CallSettings {
  method: string
  /** The part of the path after the base, with its first slash. */
  path: string
  query?: object | undefined
  body?: unknown
  accept?: string
  /** Whether the answer may take longer than the timeout, once it has begun. */
  isStream?: boolean
}

/** Sends requests: addresses, keys, retries, timeouts, errors. */
export class Core {
  readonly runtime: Runtime
  readonly #options: LaurelOptions
  readonly #key: KeySource
  readonly #fetch: Fetch
  readonly #bases: { application: string; admin: string }

  constructor(options: LaurelOptions, key?: KeySource) {
    this.runtime = { ...realRuntime, ...options.runtime }
    this.#options = options
    this.#key = key ?? new KeySource(options.apiKey, this.runtime.now)
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init))
    this.#bases = {
      application: baseOf(options.url, 'url'),
      admin: baseOf(options.adminUrl ?? options.url, 'adminUrl'),
    }
  }

  /** The same with other options, and the same key. */
  with(options: Omit<CallOptions, 'signal'>): Core {
    const { tenant, timeout, tries, headers } = this.#options
    return new Core(
      {
        ...this.#options,
        tenant: options.tenant ?? tenant,
        timeout: options.timeout ?? timeout,
        tries: options.tries ?? tries,
        headers: { ...headers, ...options.headers },
      },
      this.#key,
    )
  }

  /** Calls an operation. */
  call<Id extends OperationId>(
    id: Id,
    request: RequestOf<Id>,
    settings: CallSettings = {},
  ): Call<AnswerOf<Id>> {
    return new Call(this.#read<AnswerOf<Id>>(id, request, settings))
  }

  /**
   * Calls an operation that answers a list.
   *
   * @param paging how the operation pages: by a cursor in the header `Link` (O3), by `skip` (G7), or not
   */
  list<Id extends OperationId>(
    paging: Paging,
    id: Id,
    request: RequestOf<Id>,
    settings: CallSettings = {},
  ): List<ItemOf<AnswerOf<Id>>> {
    const { query = {}, ...rest }: AnyRequest = request
    const limited = paging === 'whole' ? query : { limit: PAGE, ...withoutUndefined(query) }
    return new List(async (place) => {
      // A cursor and `skip` exclude each other (O3).
      const start = place.after === undefined ? {} : { skip: undefined }
      const paged: PagedQuery = { ...limited, ...start, ...place }
      const answered = await this.#read<ItemOf<AnswerOf<Id>>[]>(id, { ...rest, query: paged }, settings)
      return { answered, next: nextPlace(paging, paged, answered) }
    })
  }

  /**
   * Sends a request, as often as needed.
   *
   * @param read reads an answer of status 2xx. If it fails, the request failed
   * @throws LaurelError, or the reason of the caller's signal
   */
  async send<T>(sending: Sending, read: (response: Response) => Promise<T>): Promise<T> {
    const { signal, isRepeatable = sending.method !== 'POST' } = sending
    const most = between(1, MOST_TRIES, sending.tries ?? this.#options.tries, TRIES)
    let hasNewKey = false
    for (let tries = 1; ; tries += 1) {
      signal?.throwIfAborted()
      let key: string | null = null
      try {
        key = await this.#key.get()
        return await this.#try(sending, key, read)
      } catch (error) {
        signal?.throwIfAborted()
        if (!(error instanceof LaurelError)) throw error
        if (
          error.status === 401 &&
          key !== null &&
          !hasNewKey &&
          this.#key.isReplaceable &&
          tries < MOST_TRIES
        ) {
          hasNewKey = true
          await this.#key.forget(key)
          continue
        }
        // A function that fails to get a key can try again itself.
        if (key === null) throw error
        const mayRepeat = isRefusedForNow(error.status) || (isRepeatable && isFailureForNow(error.status))
        const pause = pauseAfter(tries, error.retryAfter, this.runtime.random)
        if (!mayRepeat || tries >= most || pause === null) throw error
        await this.runtime.sleep(pause, signal)
      }
    }
  }

  /** Sends a request once. */
  async #try<T>(sending: Sending, key: string, read: (response: Response) => Promise<T>): Promise<T> {
    const { signal, isStream = false } = sending
    const body = sending.body === undefined ? null : JSON.stringify(sending.body)
    const timeout = between(1, LONGEST_TIMEOUT, sending.timeout ?? this.#options.timeout, TIMEOUT)
    const url = this.#urlOf(sending)
    const headers = this.#headersOf(sending, key)
    const controller = new AbortController()
    const abort = () => controller.abort(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted) abort()
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      controller.abort()
    }, timeout)
    try {
      const response = await this.#fetch(url, {
        method: sending.method,
        headers,
        // Another address must not get the key.
        redirect: 'manual',
        signal: controller.signal,
        ...(body !== null && { body }),
      })
      if (!response.ok) throw await errorOf(response, this.runtime.now())
      if (isStream) clearTimeout(timer)
      return await read(response)
    } catch (cause) {
      if (cause instanceof LaurelError) throw cause
      const reason = isLate
        ? `did not answer within ${timeout} ms`
        : 'could not be reached, or its answer was lost'
      throw new LaurelError(`${new URL(url).origin} ${reason}.`, { status: 0, cause })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  #urlOf({ path, query }: Sending): string {
    const base = path.startsWith('/admin/') ? this.#bases.admin : this.#bases.application
    return base + path + searchOf(query)
  }

  #headersOf({ headers, tenant = this.#options.tenant, body, accept }: Sending, key: string): Headers {
    const all = new Headers({ accept: accept ?? 'application/json', ...this.#options.headers })
    for (const [name, value] of Object.entries(headers ?? {})) all.set(name, value)
    if (body !== undefined) all.set('content-type', 'application/json')
    if (tenant !== undefined) all.set('tenant-id', tenant)
    // The error of `set` would contain the key.
    if (!/^[!-~]+$/.test(key.trim())) throw new TypeError('The API key has characters that no key has.')
    all.set('x-api-key', key.trim())
    return all
  }

  /** Calls an operation and reads the body of its answer. */
  async #read<T>(
    id: string,
    { path, query, body }: AnyRequest,
    settings: CallSettings,
  ): Promise<Answered<T>> {
    const [method = '', template = ''] = id.split(' ')
    const sending = { ...settings, method, path: pathOf(template, path), query, body }
    return this.send(sending, async (response) => {
      const text = await response.text()
      return {
        data: parsed<T>(text, response),
        response,
        requestId: response.headers.get('x-request-id'),
        warning: response.headers.get('x-laurel-warning'),
      }
    })
  }
}

/** A number between two others. The fallback if it is missing, or not a number. */
function between(least: number, most: number, value: number | undefined, fallback: number): number {
  return value === undefined || Number.isNaN(value) ? fallback : Math.min(most, Math.max(least, value))
}

/** The body of an answer. The type is what the OpenAPI documents say about it. */
function parsed<T>(text: string, response: Response): T {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const { status, headers } = response
    const requestId = headers.get('x-request-id')
    throw new LaurelError(`The answer is not JSON. ${CHECK_URL}`, { status, requestId, cause })
  }
}

/** The error that an answer is. */
async function errorOf(response: Response, now: number): Promise<LaurelError> {
  const { headers, type } = response
  // A browser does not show the status of a redirect.
  const status = type === 'opaqueredirect' ? 302 : response.status
  const requestId = headers.get('x-request-id')
  if (status >= 300 && status < 400)
    return new LaurelError(`The address redirects to another one. ${CHECK_URL}`, { status, requestId })
  const message = messageIn(await response.text())
  return new LaurelError(
    message ?? `The answer has the status ${status}, and no error of Laurel. ${CHECK_URL}`,
    {
      status,
      requestId,
      issues: status === 422 && message !== null ? issuesOf(message) : [],
      retryAfter: retryAfterOf(headers, now),
    },
  )
}

/** The text of an error's body, or null if the body is none of Laurel's. */
function messageIn(text: string): string | null {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string')
      return body.error
  } catch {
    // Another server has answered, such as a proxy.
  }
  return null
}

/** The place of the page after one, or null if it was the last one. */
function nextPlace(paging: Paging, query: PagedQuery, { data, response }: Answered<unknown[]>): Place | null {
  if (paging === 'cursor') {
    const after = nextCursor(response.headers.get('link'))
    return after === null ? null : { after }
  }
  const { limit, skip = 0 } = query
  if (paging === 'whole' || typeof limit !== 'number' || typeof skip !== 'number') return null
  return data.length < limit ? null : { skip: skip + data.length }
}

/** An object without the fields that are undefined. They must not hide defaults. */
function withoutUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined))
}
