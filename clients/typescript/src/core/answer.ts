import { LaurelError, type LaurelIssue } from './laurel-error.js'
import { retryAfterOf } from './retries.js'

/* Whose answer is it? Only what looks like an answer of Laurel counts as one. */

const CHECK_URL = 'Check that "url" is the base URL of Laurel.'

/** True for each object and list. */
export const isObject = (data: unknown): boolean => typeof data === 'object' && data !== null

/**
 * The body of an answer with a status 2xx. The type is what the OpenAPI documents say about it. Other servers
 * answer 200 with JSON too. So it must have the form of the operation's answer, and the id that every answer of
 * Laurel has (G2).
 *
 * @throws LaurelError with the status 0 if it is not an answer of Laurel
 */
export function dataOf<T>(text: string, { headers }: Response, isAnswer: (data: unknown) => boolean): T {
  const requestId = headers.get('x-request-id')
  let cause: unknown
  try {
    const data = JSON.parse(text)
    if (requestId !== null && isAnswer(data)) return data
  } catch (error) {
    cause = error
  }
  const fault = requestId === null ? 'has no header X-Request-Id' : 'has another form than those of Laurel'
  throw new LaurelError(`The answer ${fault}. ${CHECK_URL}`, { status: 0, requestId, cause })
}

/**
 * The error that an answer is. Its status is 0 if the answer is not one of Laurel: a proxy, a gateway or the
 * page of a Wi-Fi network says nothing about what Laurel would answer.
 */
export async function errorOf(response: Response, now: number): Promise<LaurelError> {
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
  const { error, ...details } = found
  return new LaurelError(error, { ...parts, ...details, status })
}

/**
 * The error in an answer, or null if it is none of Laurel's. Other servers answer JSON with a text `error`
 * too. Laurel's errors have at most `issues` and `current` beside it, and every answer of Laurel has an id (G2).
 */
function errorIn(headers: Headers, text: string) {
  try {
    const { error, issues, current, ...others }: Record<string, unknown> = Object(JSON.parse(text))
    if (typeof error !== 'string' || Object.keys(others).length > 0 || !headers.has('x-request-id'))
      return null
    return { error, current, issues: Array.isArray(issues) ? issues.flatMap(issueIn) : [] }
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
