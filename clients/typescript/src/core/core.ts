import type { Operations } from '../generated/operations.js'
import { dataOf, errorOf, isObject } from './answer.js'
import { areAlike, KeySource, keyText } from './api-key.js'
import { type Answered, Call } from './call.js'
import { headerText } from './header-text.js'
import { IgnoredFields } from './ignored-fields.js'
import { jsonOf } from './json.js'
import { isOfNext, LaurelError } from './laurel-error.js'
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
  throwIfAborted,
} from './retries.js'
import { ServiceClock } from './service-clock.js'
import { Signals } from './signals.js'
import { baseOf, copyOfQuery, nextCursor, pathOf, searchOf } from './urls.js'
import { within } from './within.js'

/** Bundlers write the value of `NODE_ENV` into the code. In a page without a bundler it does not exist. */
declare const process: { env: { NODE_ENV?: string } }

/** The tries of a call, and the timeout of each in milliseconds, unless the options say otherwise. */
const TRIES = 5
const TIMEOUT = 30_000

/** The size of a page, unless the query names one. No page is larger. */
const PAGE = 100

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
   * True if the request may be sent twice. By default all methods but POST may (Sending again, docs/api/requests.md).
   */
  isRepeatable?: boolean
  /** True if the body of an answer is one of the operation. By default each object and list is. */
  isAnswer?: (data: unknown) => boolean
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

/** The key of a try, once there is one. */
interface Used {
  key: string | null
}

/** The state that copies of a client share. */
interface Shared {
  key: KeySource
  clock: ServiceClock
  /** Is made in development only. */
  ignored?: IgnoredFields
  signals: Signals
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
      key: new KeySource(options.apiKey, this.runtime.now, timeoutOf(options.timeout)),
      clock: new ServiceClock(this.runtime.now),
      signals: new Signals(),
    }
    const { fetch: given } = options
    this.#fetch = (url, init) =>
      // A service binding refuses to be called without its object. The global one refuses to be called with one.
      typeof given === 'object' ? given.fetch(url, init) : (given ?? fetch)(url, init)
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

  /** The signals of all calls. */
  get signals(): Signals {
    return this.#shared.signals
  }

  /** The time of the service, in milliseconds since 1970. */
  now(): number {
    return this.#shared.clock.now()
  }

  /** Forgets the key that the function of the options has given. */
  forgetKey(): void {
    this.#shared.key.forget()
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
    // Pages are read later. Objects that the caller changes meanwhile change none of them.
    const { path, query = {} } = request
    const rest = { path: { ...path } }
    const copied = { ...settings, headers: { ...settings.headers }, isAnswer: Array.isArray }
    const limited = { ...(paging !== 'whole' && { limit: PAGE }), ...copyOfQuery(query) }
    return new List(async (place) => {
      // A cursor and `skip` exclude each other (O3).
      const start = place.after === undefined ? {} : { skip: undefined }
      const paged: PagedQuery = { ...limited, ...start, ...place }
      const answered = await this.#read<Item[]>(id, { ...rest, query: paged }, copied)
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
    // Before the first `await`: an object that the caller changes later changes no try.
    const made = this.#made(sending)
    const most = between(1, MOST_TRIES, sending.tries ?? this.#options.tries, TRIES)
    const pauses = new Pauses(this.runtime)
    let hasNewKey = false
    for (let tries = 1; ; tries += 1) {
      const used: Used = { key: null }
      try {
        return await this.#try(made, sending, used, read)
      } catch (error) {
        // A function that fails to get a key can try again itself.
        if (!(error instanceof LaurelError) || used.key === null) throw error
        if (!hasNewKey && tries < MOST_TRIES && (await this.#hasNewKey(error, used.key, made, signal))) {
          hasNewKey = true
          continue
        }
        const mayRepeat = isRefusedForNow(error.status) || (isRepeatable && isFailureForNow(error.status))
        if (!mayRepeat || tries >= most || !mayWait(error.retryAfter)) throw error
        const pause = pauses.begin(error.retryAfter)
        await this.#within(
          Number.POSITIVE_INFINITY,
          signal,
          () => error,
          (ended) => this.runtime.sleep(pause, ended),
        )
      }
    }
  }

  /** True if a request may work with another key, and there is one. Otherwise nothing has changed. */
  async #hasNewKey(
    error: LaurelError,
    refused: string,
    { timeout }: Made,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const { key: source } = this.#shared
    if (!source.isReplaceable || (error.status !== 401 && error.status !== 403)) return false
    const late = () => lateOf(KEY_FUNCTION, timeout)
    const key = await this.#within(timeout, signal, late, () => source.replacing(refused)).catch(
      (failure: unknown) => {
        throwIfAborted(signal)
        // The answer says more than the failure of the function, unless the key is what was wrong.
        if (error.status === 401 || isOfNext(failure)) throw failure
        return refused
      },
    )
    // A 403 stays if the same user signs in again.
    return error.status === 401 || !areAlike(key, refused)
  }

  /** Sends a request once. */
  #try<T>(
    made: Made,
    { operation, signal, isStream = false }: Sending,
    used: Used,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { url, method, headers, body, timeout } = made
    const [origin = url] = /^https?:\/\/[^/]+/i.exec(url) ?? []
    const late = () => lateOf(used.key === null ? KEY_FUNCTION : origin, timeout)
    return this.#within(timeout, signal, late, async (ended, stopTimer) => {
      used.key = await this.#shared.key.get()
      const all = withKey(headers, used.key)
      // The call may have ended while it waited for the key.
      throwIfAborted(ended)
      try {
        const response = await this.#fetch(url, {
          method,
          headers: all,
          // Another address must not get the key.
          redirect: 'manual',
          signal: ended,
          ...(body !== null && { body }),
        })
        // Another server on the way may have any clock.
        if (response.headers.has('x-request-id')) this.#shared.clock.follow(response.headers)
        this.#warnOfIgnored(operation, response.headers)
        if (!response.ok) throw await errorOf(response, this.now())
        if (isStream) stopTimer()
        return await read(response)
      } catch (cause) {
        // No other try would help: `fetch` was called without its object, such as `env.LAUREL`, or refuses the signal
        // of an emulated browser.
        if (cause instanceof LaurelError || isOfNext(cause) || /Illegal inv|RequestInit/.test(String(cause)))
          throw cause
        const message = `${origin} could not be reached, or its answer was lost.`
        throw new LaurelError(message, { status: 0, cause })
      }
    })
  }

  /** Warns of fields that the service ignored, if `NODE_ENV` is set, and not to `production`. */
  #warnOfIgnored(operation: string, headers: Headers): void {
    try {
      // Servers in production often do not set it. Bundlers leave the warnings out of an app in production.
      if (process.env.NODE_ENV && process.env.NODE_ENV !== 'production') {
        this.#shared.ignored ??= new IgnoredFields()
        this.#shared.ignored.warn(operation, headers)
      }
    } catch {
      // A page without a bundler has no `process`.
    }
  }

  #within<T>(...[timeout, signal, late, run]: Parameters<typeof within<T>>): Promise<T> {
    return within(timeout, signal, late, run, this.signals)
  }

  #made({ method, path, query, headers, tenant, body, accept, timeout }: Sending): Made {
    const base = path.startsWith('/admin/') ? this.#bases.admin : this.#bases.application
    const all = new Headers({ accept: accept ?? 'application/json', ...this.#options.headers })
    for (const [name, value] of Object.entries(headers ?? {})) all.set(name, value)
    if (body !== undefined) all.set('content-type', 'application/json')
    const tenantId = tenant ?? this.#options.tenant
    if (tenantId !== undefined) all.set('tenant-id', headerText(tenantId))
    return {
      url: base + path + searchOf(query),
      method,
      headers: all,
      body: body === undefined ? null : jsonOf(body),
      timeout: timeoutOf(timeout ?? this.#options.timeout),
    }
  }

  /** Calls an operation and reads the body of its answer. */
  async #read<T>(
    id: string,
    { path, query, body }: AnyRequest,
    settings: CallSettings,
  ): Promise<Answered<T>> {
    const [method = '', template = ''] = id.split(' ')
    const { isAnswer = isObject } = settings
    const sending = { ...settings, operation: id, method, path: pathOf(template, path), query, body }
    return this.send(sending, async (response) => {
      const text = await response.text()
      return {
        data: dataOf<T>(text, response, isAnswer),
        response,
        requestId: response.headers.get('x-request-id'),
        warning: response.headers.get('x-laurel-warning'),
      }
    })
  }
}

/** The headers of one try. */
function withKey(headers: Headers, key: string): Headers {
  const all = new Headers(headers)
  all.set('x-api-key', keyText(key))
  return all
}

const KEY_FUNCTION = 'The function "apiKey"'

/** The error if something takes too long. */
const lateOf = (what: string, timeout: number) =>
  new LaurelError(`${what} did not answer within ${timeout} ms.`, { status: 0 })

const timeoutOf = (milliseconds: number | undefined): number =>
  between(1, Number.POSITIVE_INFINITY, milliseconds, TIMEOUT)

/** A number between two others. The fallback if it is missing, or not a number. */
function between(least: number, most: number, value: number | undefined, fallback: number): number {
  return value === undefined || Number.isNaN(value) ? fallback : Math.min(most, Math.max(least, value))
}

/** The place of the page after one, or null if it was the last one. */
function nextPlace(paging: Paging, query: PagedQuery, { data, response }: Answered<unknown[]>): Place | null {
  if (paging === 'cursor') {
    const after = nextCursor(response.headers.get('link'))
    return after === null ? null : { after }
  }
  // Programs without types may pass numbers as texts, or null.
  const { limit, skip = 0 } = query
  if (paging === 'whole' || data.length < (Number(limit) || 1)) return null
  return { skip: Number(skip) + data.length }
}
