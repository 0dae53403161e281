/** One problem in a request. */
export interface LaurelIssue {
  /** The field, such as `user.tz`, or null if the problem is not about one field. */
  path: string | null
  /** The problem, and how to fix it. */
  message: string
}

/** The parts of a `LaurelError`, besides its message. */
interface Parts {
  status: number
  requestId?: string | null
  issues?: readonly LaurelIssue[]
  retryAfter?: number | null
  current?: unknown
  cause?: unknown
}

/** The mark of all LaurelErrors, also of those of another copy of this package. */
const MARK = /* @__PURE__ */ Symbol.for('@laurel/client LaurelError')

/**
 * The error of every call that fails: an answer of the service that is not 2xx, a network failure, a timeout,
 * or an answer that cannot be read. No message contains a key.
 */
export class LaurelError extends Error {
  override readonly name = 'LaurelError'
  /**
   * The status of Laurel's answer. 0 if Laurel did not answer: a network failure, a timeout, or an answer of
   * another server, such as a proxy.
   */
  readonly status: number
  /** The id of the request, which the service also writes to its log. Null if there is none. */
  readonly requestId: string | null
  /** The problems that the answer names, one by one. Empty if it names none. */
  readonly issues: readonly LaurelIssue[]
  /** The seconds after which the service asks to try again (`Retry-After`), or null. */
  readonly retryAfter: number | null
  /** Of a 412: the resource as it is now, or null if it was deleted (`If-Match`). Else undefined. */
  readonly current: unknown

  constructor(
    message: string,
    { status, requestId = null, issues = [], retryAfter = null, current, cause }: Parts,
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.requestId = requestId
    this.issues = issues
    this.retryAfter = retryAfter
    this.current = current
    Object.defineProperty(this, MARK, { value: true })
  }

  /** True for errors of every copy of this package: a bundle may have several. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a subclass inherits this method, and has only its own errors.
    if (this !== LaurelError) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && MARK in value
  }
}

/**
 * True for what Next.js throws in `fetch` or `cookies()` if it cannot render a page in advance, and for its redirects.
 * It must reach Next.js as it is: otherwise the build of the app fails. Its digests begin with words such as `NEXT_REDIRECT`.
 */
export function isOfNext(thrown: unknown): boolean {
  const { digest }: { digest?: unknown } = Object(thrown)
  return typeof digest === 'string' && /^[A-Z]+_/.test(digest)
}
