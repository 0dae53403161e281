import type { Operations } from '../generated/operations.js'
import { KeySource } from './api-key.js'
import { type Answered, Call } from './call.js'
import { IgnoredFields } from './ignored-fields.js'
import { issuesOf, LaurelError, type LaurelIssue } from './laurel-error.js'
import { List, type Place } from './list.js'
import type { CallOptions, Fetch, LaurelOptions } from './options.js'
import { Pauses } from './pauses.js'
import {
  isFailureForNow,
  isRefusedForNow,
  MOST_TRIES,
  mayWait,
  type Runtime,
  realRuntime,
  retryAfterOf,
  throwIfAborted,
} from './retries.js'
import { ServiceClock } from './service-clock.js'
import { startTimer } from './timers.js'
import { baseOf, nextCursor, pathOf, searchOf } from './urls.js'

/** The tries of a call, and the timeout of each in milliseconds, unless the options say otherwise. */
const TRIES = 5
const TIMEOUT = 30_000

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

/** An item of an answer that is a list. */
export type ItemOf<Answer> = Answer extends readonly (infer Item)[] ? Item : never

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
   * True if the request may be sent twice. By default all methods but POST may (Sending again, docs/api.md).
   */
  isRepeatable?: boolean
}

/** One request to send. */
export interface Sending extends CallSettings {
  /** The operation, such as `GET /v1/users/{id}`. */
  operation: string
  method: string
  /** The part of the path after the base, with its first slash. */
  path: string
  query?: object | undefined
  body?: unknown
  accept?: string
  /** True if the answer may take longer than the timeout, once it has begun. */
  isStream?: boolean
}

/** A request as all its tries send it. Only the key may differ. */
interface Made {
  url: string
  method: string
  headers: Headers
  body: string | null
  timeout: number
}

/** The state that copies of a client share. */
interface Shared {
  key: KeySource
  clock: ServiceClock
  ignored: IgnoredFields
}

/** Sends requests: addresses, keys, retries, timeouts, errors. */
export class Core {
  readonly runtime: Runtime
  readonly #options: LaurelOptions
  readonly #shared: Shared
  readonly #fetch: Fetch
  readonly #bases: { application: string; admin: string }

  constructor(options: LaurelOptions, shared?: Shared) {
    this.runtime = { ...realRuntime, ...options.runtime }
    this.#options = options
    this.#shared = shared ?? {
      key: new KeySource(options.apiKey, this.runtime.now),
      clock: new ServiceClock(this.runtime.now),
      ignored: new IgnoredFields(),
    }
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
      this.#shared,
    )
  }

  /** True if a function gives the key, so that another one may come after a refusal. */
  get hasKeyFunction(): boolean {
    return this.#shared.key.isReplaceable
  }

  /** The time of the service, in milliseconds since 1970. */
  now(): number {
    return this.#shared.clock.now()
  }

  /** Calls an operation. */
  call<Id extends OperationId>(
    id: Id,
    request: RequestOf<Id>,
    settings: CallSettings = {},
  ): Call<AnswerOf<Id>> {
    return this.callAny(id, request, settings)
  }

  /** The same for a method that calls one of several operations. Its own types say what fits. */
  callAny<Answer>(id: OperationId, request: AnyRequest, settings: CallSettings = {}): Call<Answer> {
    return new Call(this.#read<Answer>(id, request, settings))
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
    return this.listAny(paging, id, request, settings)
  }

  /** The same for a method that calls one of several operations. Its own types say what fits. */
  listAny<Item>(
    paging: Paging,
    id: OperationId,
    request: AnyRequest,
    settings: CallSettings = {},
  ): List<Item> {
    const { query = {}, ...rest } = request
    const limited = paging === 'whole' ? query : { limit: PAGE, ...withoutUndefined(query) }
    return new List(async (place) => {
      // A cursor and `skip` exclude each other (O3).
      const start = place.after === undefined ? {} : { skip: undefined }
      const paged: PagedQuery = { ...limited, ...start, ...place }
      const answered = await this.#read<Item[]>(id, { ...rest, query: paged }, settings)
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
    const { key: source } = this.#shared
    // Before the first `await`: an object that the caller changes later changes no try.
    const made = this.#made(sending)
    const most = between(1, MOST_TRIES, sending.tries ?? this.#options.tries, TRIES)
    const pauses = new Pauses(this.runtime)
    let hasNewKey = false
    for (let tries = 1; ; tries += 1) {
      throwIfAborted(signal)
      let key: string | null = null
      try {
        key = await source.get()
        return await this.#try(made, sending, key, read)
      } catch (error) {
        throwIfAborted(signal)
        if (!(error instanceof LaurelError)) throw error
        if (
          error.status === 401 &&
          key !== null &&
          !hasNewKey &&
          source.isReplaceable &&
          tries < MOST_TRIES
        ) {
          hasNewKey = true
          await source.forget(key)
          continue
        }
        // A function that fails to get a key can try again itself.
        if (key === null) throw error
        const mayRepeat = isRefusedForNow(error.status) || (isRepeatable && isFailureForNow(error.status))
        if (!mayRepeat || tries >= most || !mayWait(error.retryAfter)) throw error
        await this.runtime.sleep(pauses.begin(error.retryAfter), signal)
      }
    }
  }

  /** Sends a request once. */
  async #try<T>(
    { url, method, headers, body, timeout }: Made,
    { operation, signal, isStream = false }: Sending,
    key: string,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const all = withKey(headers, key)
    const controller = new AbortController()
    const abort = () => controller.abort(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted) abort()
    let isLate = false
    const stopTimer = startTimer(() => {
      isLate = true
      controller.abort()
    }, timeout)
    try {
      const response = await this.#fetch(url, {
        method,
        headers: all,
        // Another address must not get the key.
        redirect: 'manual',
        signal: controller.signal,
        ...(body !== null && { body }),
      })
      // Another server on the way may have any clock.
      if (response.headers.has('x-request-id')) this.#shared.clock.follow(response.headers)
      this.#shared.ignored.warn(operation, response.headers)
      if (!response.ok) throw await errorOf(response, this.now())
      if (isStream) stopTimer()
      return await read(response)
    } catch (cause) {
      if (cause instanceof LaurelError) throw cause
      const reason = isLate
        ? `did not answer within ${timeout} ms`
        : 'could not be reached, or its answer was lost'
      throw new LaurelError(`${new URL(url).origin} ${reason}.`, { status: 0, cause })
    } finally {
      stopTimer()
      signal?.removeEventListener('abort', abort)
    }
  }

  #made({ method, path, query, headers, tenant, body, accept, timeout }: Sending): Made {
    const base = path.startsWith('/admin/') ? this.#bases.admin : this.#bases.application
    const all = new Headers({ accept: accept ?? 'application/json', ...this.#options.headers })
    for (const [name, value] of Object.entries(headers ?? {})) all.set(name, value)
    if (body !== undefined) all.set('content-type', 'application/json')
    const tenantId = tenant ?? this.#options.tenant
    if (tenantId !== undefined) all.set('tenant-id', tenantId)
    return {
      url: base + path + searchOf(query),
      method,
      headers: all,
      body: body === undefined ? null : JSON.stringify(body),
      timeout: between(1, Number.POSITIVE_INFINITY, timeout ?? this.#options.timeout, TIMEOUT),
    }
  }

  /** Calls an operation and reads the body of its answer. */
  async #read<T>(
    id: string,
    { path, query, body }: AnyRequest,
    settings: CallSettings,
  ): Promise<Answered<T>> {
    const [method = '', template = ''] = id.split(' ')
    const sending = { ...settings, operation: id, method, path: pathOf(template, path), query, body }
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

/** The headers of one try. */
function withKey(headers: Headers, key: string): Headers {
  // The error of `set` would contain the key.
  if (!/^[!-~]+$/.test(key.trim())) throw new TypeError('The API key has characters that no key has.')
  const all = new Headers(headers)
  all.set('x-api-key', key.trim())
  return all
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
    const requestId = response.headers.get('x-request-id')
    throw new LaurelError(`The answer is not JSON. ${CHECK_URL}`, { status: 0, requestId, cause })
  }
}

/**
 * The error that an answer is. Its status is 0 if the answer is not one of Laurel: a proxy, a gateway or the
 * page of a Wi-Fi network says nothing about what Laurel would answer.
 */
async function errorOf(response: Response, now: number): Promise<LaurelError> {
  const { headers, type, status } = response
  const parts = { requestId: headers.get('x-request-id'), retryAfter: retryAfterOf(headers, now) }
  // A browser does not show the status of a redirect.
  if (type === 'opaqueredirect' || (status >= 300 && status < 400))
    return new LaurelError(`The address redirects to another one. ${CHECK_URL}`, { ...parts, status: 0 })
  const found = errorIn(headers, await response.text())
  if (found === null) {
    const message = `The answer has the status ${status}, and no error of Laurel. ${CHECK_URL}`
    return new LaurelError(message, { ...parts, status: 0 })
  }
  const { error, issues } = found
  // Services before 1.0 name the problems of a 422 in the text alone.
  return new LaurelError(error, {
    ...parts,
    status,
    issues: issues.length === 0 && status === 422 ? issuesOf(error) : issues,
  })
}

/**
 * The error in an answer, or null if it is none of Laurel's. Other servers answer JSON with a text `error`
 * too. Laurel's errors have at most `issues` beside it, and every answer of Laurel has an id (G2).
 */
function errorIn(headers: Headers, text: string): { error: string; issues: LaurelIssue[] } | null {
  try {
    const { error, issues, ...others }: { error?: unknown; issues?: unknown } = Object(JSON.parse(text))
    if (typeof error !== 'string' || Object.keys(others).length > 0 || !headers.has('x-request-id'))
      return null
    return { error, issues: Array.isArray(issues) ? issues.flatMap(issueIn) : [] }
  } catch {
    // Another server has answered, such as a proxy.
    return null
  }
}

/** An entry of an error's list, if it has the form of one. */
function issueIn(entry: unknown): LaurelIssue[] {
  const { path, message }: { path?: unknown; message?: unknown } = Object(entry)
  if (typeof message !== 'string') return []
  return [{ path: typeof path === 'string' && path !== '' ? path : null, message }]
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
