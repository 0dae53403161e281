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

  constructor(message: string, { status, requestId = null, issues = [], retryAfter = null, cause }: Parts) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.requestId = requestId
    this.issues = issues
    this.retryAfter = retryAfter
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
 * The problems in the text of a 422 that has no list of them: `user.tz: must be a zone; value: must be a
 * number. …`. A text that names no field is one problem without a path.
 */
export function issuesOf(text: string): LaurelIssue[] {
  if (!FIELD.test(text)) return [{ path: null, message: text }]
  return text.split(NEXT_FIELD).map((part) => {
    const [, path = '', message = ''] = FIELD.exec(part) ?? []
    return path === '' ? { path: null, message: part } : { path, message: message.replace(/\.$/, '') }
  })
}

/** A path, a colon, and the problem. */
const FIELD = /^([\w$.-]{1,300}): (.+)$/s
/** The text between two problems: a semicolon, before the path of the next one. */
const NEXT_FIELD = /; (?=[\w$.-]{1,300}: |and \d+ more )/
