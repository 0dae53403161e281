/**
 * Holds every answer of the test suite to the wire contract: what the operations of src/worker/operations.ts document, and nothing
 * else. Operations that are added there are held to it without a change here.
 */
import * as z from 'zod'
import { ErrorBody, errorStatusesOf, type OperationSpec, type ResponseSpec } from '../src/http/operation'
import { errors } from '../src/lib/errors'
import { adminOperations, applicationOperations } from '../src/worker/operations'
import { basesOf } from './walk'

/** An answer, and the request that it answers. */
export type Answered = {
  method: string
  /** From the first slash on, with its query or without. */
  path: string
  status: number
  headers: Headers
  /** The body as it was sent. */
  text: string
}

/** What of the test bears on what may be answered. */
export type Circumstances = {
  /** Whether the test breaks things on purpose, so that the opaque 500 is an answer like any other; it is none unless said. */
  mayFail?: boolean
  /** Whether the request went to ADMIN_HOST, where /v1 is the admin interface (G1). */
  toAdminHost?: boolean
  /** The operations that there are; those of the service unless said. */
  operations?: readonly OperationSpec[]
}

const OURS = [...applicationOperations, ...adminOperations]

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/** A whole key, the secret of a webhook, or a signed link, in JSON. */
const SECRET = /"(?:app|adm)_[\w-]+\.[\w-]{43}"|"whsec_[\w+/]{43}="|\/unsubscribe\/[\w-]+\.[\w-]{43}/

const PATH_MISSING = errors.noSuchPath()

const OpenApi = z.looseObject({ openapi: z.string() })

/** What is answered as JSON without an operation (G1). */
const SYSTEM = new Map<string, Record<number, Pick<ResponseSpec, 'body' | 'headers'>>>([
  ['/health', { 200: { body: z.object({ status: z.literal('ok') }) }, 503: { body: ErrorBody } }],
  ['/v1/openapi.json', { 200: { body: OpenApi } }],
  ['/api/openapi.json', { 200: { body: OpenApi } }],
  ['/admin/v1/openapi.json', { 200: { body: OpenApi } }],
])

/** The response, once it is held to the contract; throws with every fault where it is against it. */
export async function conforming(
  { method, url }: { method: string; url: string },
  response: Response,
  circumstances: Circumstances = {},
): Promise<Response> {
  const { status, headers } = response
  const { pathname, search } = new URL(url)
  const text = await response.clone().text()
  const found = faults({ method, path: pathname + search, status, headers, text }, circumstances)
  if (found.length === 0) return response
  throw new Error(`The contract does not have this answer: ${found.join('; ')}\n${text.slice(0, 2_000)}`)
}

/** Everything in which an answer is against the contract; nothing where it keeps it. */
export function faults(answered: Answered, circumstances: Circumstances = {}): string[] {
  const { method, status, headers, text } = answered
  const asked = answered.path.replace(/[?#].*$/s, '')
  const path = circumstances.toAdminHost && asked.startsWith('/v1/') ? `/admin${asked}` : asked
  const spec = operationAt(circumstances.operations ?? OURS, method, path)
  const at = `${spec?.id ?? `${method} ${path}`} ${status}`

  const found: string[] = []
  const requestId = headers.get('x-request-id') ?? ''
  if (!UUID.test(requestId)) found.push(`${at}: X-Request-Id is ${requestId || 'missing'}`)
  // The answer to a preflight (G8).
  if (method === 'OPTIONS' && status === 204) return text === '' ? found : [...found, `${at}: has a body`]
  // The reference page is for browsers, and no part of the contract.
  if (/^\/docs(\/|$)/.test(path) && (status === 200 || status === 301)) return found
  // The page to unsubscribe is for mailbox owners; it is limited like the rest.
  const isLink = /^\/unsubscribe\/[^/]+$/.test(path)
  if (isLink && isPage(headers) && (status === 200 || status === 404)) return found

  // Whoever shows a secret has to say so at the operation, and whatever says so has to be kept by no cache.
  const isSecret = SECRET.test(text) || (spec?.secret === true && status < 300)
  if (isSecret && headers.get('cache-control') !== 'no-store')
    found.push(`${at}: it shows a secret, and Cache-Control is ${headers.get('cache-control') ?? 'missing'}`)

  const type = headers.get('content-type')
  if (!/^application\/json(;|$)/i.test(type ?? '')) found.push(`${at}: Content-Type is ${type}`)
  const json = readJson(text)
  if (json === undefined) return [...found, `${at}: the body is not JSON`]

  const isError = (message?: string) => {
    found.push(...misfits(ErrorBody, json, text, at))
    const { success, data } = ErrorBody.safeParse(json)
    if (success && (data.error === '' || (message !== undefined && data.error !== message)))
      found.push(`${at}: the error reads ${JSON.stringify(data.error)}`)
  }
  if (status === 500) {
    if (!circumstances.mayFail) found.push(`${at}: the service failed`)
    isError(errors.internal(requestId).message)
    return found
  }
  const documented = spec ? spec.responses : method === 'GET' ? SYSTEM.get(path) : undefined
  const answer = documented?.[status]
  if (answer) {
    found.push(...misfits(answer.body, json, text, at))
    for (const name of Object.keys(answer.headers ?? {})) {
      if (!headers.has(name)) found.push(`${at}: ${name} is missing`)
    }
  } else if (spec && errorStatusesOf(spec).some((apiError) => apiError === status)) isError()
  else if (documented) found.push(`${at}: the status is not documented`)
  else {
    const isLimit = isLink && status === 429
    if (status !== PATH_MISSING.status && !isLimit) found.push(`${at}: there is no such path`)
    isError(isLimit ? undefined : PATH_MISSING.message)
  }
  if (status === 429 && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? ''))
    found.push(`${at}: Retry-After is ${headers.get('retry-after') ?? 'missing'}`)
  return found
}

const isPage = (headers: Headers) => headers.get('content-type') === 'text/html; charset=utf-8'

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The operation that serves the path; a part of the path that is written out goes before a parameter. */
function operationAt(
  operations: readonly OperationSpec[],
  method: string,
  path: string,
): OperationSpec | undefined {
  const parts = path.split('/')
  let best: { spec: OperationSpec; parameters: number } | undefined
  for (const spec of operations) {
    if (spec.method.toUpperCase() !== method) continue
    for (const base of basesOf(spec)) {
      const parameters = filled((base + spec.path).split('/'), parts)
      if (parameters !== null && (best === undefined || parameters < best.parameters))
        best = { spec, parameters }
    }
  }
  return best?.spec
}

/** How many parameters of the pattern the path fills; null where it is another path. */
function filled(pattern: readonly string[], parts: readonly string[]): number | null {
  if (pattern.length !== parts.length) return null
  let parameters = 0
  for (const [index, part] of parts.entries()) {
    if (/^\{\w+\}$/.test(pattern[index] ?? '') && part !== '') parameters += 1
    else if (pattern[index] !== part) return null
  }
  return parameters
}

/** In which fields a body is not what its schema says, or is more. */
export function misfits(schema: z.ZodType, json: unknown, text: string, at: string): string[] {
  // Zod passes over `__proto__`, which is a key like any other to us (G5); so the body is read with another in its place.
  let standIn = '__proto__x'
  while (text.includes(standIn)) standIn += 'x'
  const body = text.includes('__proto__') ? renamed(json, standIn) : json
  const { success, data, error } = schema.safeParse(body)
  const found = success
    ? dropped(body, data, '')
    : error.issues.map(({ path, message }) => `${path.map((step) => `.${String(step)}`).join('')} ${message}`)
  return found.map((fault) => `${at}: ${fault.replaceAll(standIn, '__proto__').trim()}`)
}

function renamed(value: unknown, standIn: string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, standIn))
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([key, inner]) => [key === '__proto__' ? standIn : key, renamed(inner, standIn)]),
  )
}

/**
 * What a schema left out of a value, or made something else of: a schema drops the fields that it doesn't know. What it adds,
 * such as a default, is not looked at.
 */
function dropped(given: unknown, kept: unknown, path: string): string[] {
  if (Array.isArray(given) && Array.isArray(kept) && given.length === kept.length) {
    return given.flatMap((item, index) => dropped(item, kept[index], `${path}.${index}`))
  }
  if (isObject(given) && isObject(kept)) {
    const fields = new Map(Object.entries(kept))
    return Object.entries(given).flatMap(([key, value]) =>
      fields.has(key)
        ? dropped(value, fields.get(key), `${path}.${key}`)
        : [`${path}.${key} is not documented`],
    )
  }
  // An answer's schema that transforms would hide what it takes in.
  return Object.is(given, kept) || given === kept ? [] : [`${path} is made another value by its schema`]
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
