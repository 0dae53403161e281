/**
 * Checks every response in the test suite against the wire contract: it must be exactly as the operations of
 * src/worker/operations.ts document it. New operations are checked without a change here.
 */
import * as z from 'zod'
import { ErrorBody, errorStatusesOf, type OperationSpec, type ResponseSpec } from '../../src/api/endpoint'
import { figuresPath } from '../../src/api/paths'
import { errors } from '../../src/lib/errors'
import { adminOperations, applicationOperations } from '../../src/worker/operations'
import { basesOf } from './walk'

/** A response, and its request. */
export type Answered = {
  method: string
  /** The path from the first slash, with or without its query. */
  path: string
  status: number
  headers: Headers
  /** The body as it was sent. */
  text: string
}

/** Properties of the test that change which responses are allowed. */
export type Circumstances = {
  /** True if the test injects faults, so that the opaque 500 is allowed. The default is false. */
  mayFail?: boolean
  /** True if the test replaces the database, so that a 503 is allowed. The default is false. */
  isDatabaseReplaced?: boolean
  /** True if the request went to ADMIN_HOST. There, /v1 is the admin interface (G1). */
  toAdminHost?: boolean
  /** The operations to check against. The default is all operations of the service. */
  operations?: readonly OperationSpec[]
}

const OURS = [...applicationOperations, ...adminOperations]

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/** A whole key, a token, the secret of a webhook, or a signed link, in JSON. */
const SECRET =
  /"eyJ[\w-]+\.[\w-]+\.[\w-]{43}"|"(?:app|adm)_[\w-]+\.[\w-]{43}"|"whsec_[\w+/]{43}="|\/unsubscribe\/[\w-]+\.[\w-]{43}/

const PATH_MISSING = errors.noSuchPath()

/** The error of a path that lacks its version prefix, or has a slash at its end (O5). */
const OTHER_MEANT = /^This path does not exist\. Use \S+( or \S+)?\.$/

/** Exchanges the one-time code of the console. */
const SIGN_IN = '/console/one-time-code'

const FirstPage = z.looseObject({
  name: z.string(),
  version: z.string(),
  status: z.enum(['ok', 'unavailable']),
})

const OpenApi = z.looseObject({ openapi: z.string() })

/** The JSON responses that belong to no operation (G1). */
const SYSTEM = new Map<string, Record<number, Pick<ResponseSpec, 'body' | 'headers'>>>([
  [
    '/health',
    {
      200: { body: z.object({ status: z.literal('ok'), storage: z.literal('full').optional() }) },
      503: { body: ErrorBody },
    },
  ],
  ['/', { 200: { body: FirstPage } }],
  ['/v1/openapi.json', { 200: { body: OpenApi } }],
  ['/api/openapi.json', { 200: { body: OpenApi } }],
  ['/admin/v1/openapi.json', { 200: { body: OpenApi } }],
])

/** Returns the response if it conforms to the contract. Throws with all violations if it does not. */
export async function conforming(
  { method, url }: { method: string; url: string },
  response: Response,
  circumstances: Circumstances = {},
): Promise<Response> {
  const { status, headers } = response
  const { pathname, search } = new URL(url)
  const text = isEventStream(headers) ? '' : await response.clone().text()
  const found = faults({ method, path: figuresPath(pathname) + search, status, headers, text }, circumstances)
  if (found.length === 0) return response
  throw new Error(`This response is not in the contract: ${found.join('; ')}\n${text.slice(0, 2_000)}`)
}

/** True if a response is a stream of events. It has no end that a test could wait for. */
export const isEventStream = (headers: Headers) => headers.get('content-type') === 'text/event-stream'

/**
 * A response with a body that ends: of a stream, it is the data of the first event, and the stream is ended.
 * Its version is 0, since no two versions are the same.
 */
export async function firstEventOf(response: Response): Promise<Response> {
  const { body, status, headers } = response
  if (!isEventStream(headers)) return response
  const reader = body?.getReader()
  const { value } = (await reader?.read()) ?? {}
  await reader?.cancel()
  const [, data = ''] = /\ndata: (.*)\n/.exec(new TextDecoder().decode(value)) ?? []
  return new Response(data.replace(/"version":[\d.]+/, '"version":0'), { status, headers })
}

/** All violations of the contract in a response. Empty if there are none. */
export function faults(answered: Answered, circumstances: Circumstances = {}): string[] {
  const { method, status, headers, text } = answered
  const asked = answered.path.replace(/[?#].*$/s, '')
  const path = circumstances.toAdminHost && asked.startsWith('/v1/') ? `/admin${asked}` : asked
  const spec = operationAt(circumstances.operations ?? OURS, method, path)
  const at = `${spec?.id ?? `${method} ${path}`} ${status}`

  const found: string[] = []
  const requestId = headers.get('x-request-id') ?? ''
  if (!UUID.test(requestId)) found.push(`${at}: X-Request-Id is ${requestId || 'missing'}`)
  // The response to a preflight (G8).
  if (method === 'OPTIONS' && status === 204) return text === '' ? found : [...found, `${at}: has a body`]
  // The reference page, the site, the console and the first page are for browsers. They are not part of the contract.
  const isForBrowsers =
    /^\/(?:docs|site|console|readme)(?:\/|$)/.test(path) || (path === '/' && isPage(headers))
  if (/^(?:GET|HEAD)$/.test(method) && isForBrowsers && (status === 200 || status === 301)) return found
  // The page to unsubscribe is for mailbox owners. Its rate is limited like all others.
  const isLink = /^\/unsubscribe\/[^/]+$/.test(path)
  if (isLink && isPage(headers) && (status === 200 || status === 404)) return found

  // An operation that shows a secret must be marked as secret: the documents say that no cache may store it.
  if (SECRET.test(text) && spec !== undefined && spec.secret !== true)
    found.push(`${at}: the response shows a secret, but the operation is not marked as secret`)
  // A cache knows nothing of keys.
  if (!/^no-store(, no-transform)?$/.test(headers.get('cache-control') ?? ''))
    found.push(`${at}: Cache-Control is ${headers.get('cache-control') || 'missing'}`)

  // The text of a stream is not read here. The tests of streams check their events.
  if (isEventStream(headers))
    return spec?.responses[status]?.isEventStream ? found : [...found, `${at}: it is a stream of events`]
  const type = headers.get('content-type')
  if (!/^application\/json(;|$)/i.test(type ?? '')) found.push(`${at}: Content-Type is ${type}`)
  const json = readJson(text)
  if (json === undefined) return [...found, `${at}: the body is not JSON`]

  const isError = (message?: string) => {
    found.push(...misfits(ErrorBody, json, text, at))
    const { success, data } = ErrorBody.safeParse(json)
    if (success && (data.error === '' || (message !== undefined && data.error !== message)))
      found.push(`${at}: the error reads ${JSON.stringify(data.error)}`)
    // A 422 names its problems one by one, in the words of its text (G3).
    const issues = data?.issues ?? []
    const isNamed = issues
      .slice(0, 20)
      .every(({ path, message }) => data?.error.includes(path ? `${path}: ${message}` : message))
    if (success && ((status === 422 && issues.length === 0) || !isNamed))
      found.push(`${at}: the issues are ${JSON.stringify(data.issues)}`)
  }
  if (status === 500) {
    if (!circumstances.mayFail) found.push(`${at}: the service failed`)
    isError(errors.internal(requestId).message)
    return found
  }
  // Without its database, every path may be unavailable, also one that belongs to no operation.
  if (status === 405) {
    // No operation has this method, and the header names the methods that the path has (O5).
    const allowed = headers.get('allow')?.split(', ') ?? []
    if (spec !== undefined || allowed.length === 0 || allowed.includes(method))
      found.push(`${at}: Allow is ${headers.get('allow') ?? 'missing'}`)
    isError()
    return found
  }
  if (status === 503 && path !== '/health') {
    if (!circumstances.isDatabaseReplaced) found.push(`${at}: the database was away`)
    if (!headers.has('retry-after')) found.push(`${at}: Retry-After is missing`)
    isError()
    return found
  }
  // The link that `npm start` prints (G14).
  if (path === SIGN_IN && method === 'POST' && status !== PATH_MISSING.status) {
    if (status === 200) found.push(...misfits(z.object({ apiKey: z.string() }), json, text, at))
    else isError()
    return found
  }
  const documented = spec ? spec.responses : method === 'GET' ? SYSTEM.get(path) : undefined
  const answer = documented?.[status]
  if (spec?.responses[status]?.isEventStream) found.push(`${at}: it is no stream of events`)
  else if (answer) {
    found.push(...misfits(answer.body, json, text, at))
    for (const name of Object.keys(answer.headers ?? {})) {
      if (!headers.has(name)) found.push(`${at}: ${name} is missing`)
    }
  } else if (spec && errorStatusesOf(spec).some((apiError) => apiError === status)) isError()
  else if (documented) found.push(`${at}: the status is not documented`)
  else {
    const isLimit = isLink && status === 429
    // A known path with a wrong method reads the key first (O5).
    const isKey = [401, 403, 429].includes(status) && hasOtherMethod(circumstances.operations ?? OURS, path)
    if (status !== PATH_MISSING.status && !isLimit && !isKey) found.push(`${at}: there is no such path`)
    const isOtherMeant = ErrorBody.safeParse(json).data?.error.match(OTHER_MEANT) != null
    isError(isLimit || isKey || isOtherMeant ? undefined : PATH_MISSING.message)
  }
  if (status === 429 && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? ''))
    found.push(`${at}: Retry-After is ${headers.get('retry-after') ?? 'missing'}`)
  return found
}

const isPage = (headers: Headers) => headers.get('content-type')?.toLowerCase() === 'text/html; charset=utf-8'

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The operation that serves the path. A fixed part of a path wins over a parameter. */
function operationAt(
  operations: readonly OperationSpec[],
  method: string,
  path: string,
): OperationSpec | undefined {
  const parts = path.split('/')
  let best: { spec: OperationSpec; parameters: number } | undefined
  for (const { spec, pattern } of patternsOf(operations).get(`${method} ${parts.length}`) ?? []) {
    const parameters = filled(pattern, parts)
    if (parameters !== null && (best === undefined || parameters < best.parameters))
      best = { spec, parameters }
  }
  return best?.spec
}

type Pattern = { spec: OperationSpec; pattern: readonly string[] }
/** The patterns of lists of operations, since each response of a test looks for its own. */
const known = new WeakMap<readonly OperationSpec[], ReadonlyMap<string, Pattern[]>>()

/** The paths of operations, by their method and the number of their parts. */
function patternsOf(operations: readonly OperationSpec[]): ReadonlyMap<string, Pattern[]> {
  const found = known.get(operations)
  if (found !== undefined) return found
  const patterns = operations.flatMap((spec) =>
    basesOf(spec).map((base) => ({ spec, pattern: (base + spec.path).split('/') })),
  )
  const made = Map.groupBy(patterns, ({ spec, pattern }) => `${spec.method.toUpperCase()} ${pattern.length}`)
  known.set(operations, made)
  return made
}

/** True if the path is the path of some operation. */
const hasOtherMethod = (operations: readonly OperationSpec[], path: string): boolean =>
  operations.some(({ method }) => operationAt(operations, method.toUpperCase(), path) !== undefined)

/** The number of parameters of the pattern that the path fills. Null if the path does not match. */
function filled(pattern: readonly string[], parts: readonly string[]): number | null {
  let parameters = 0
  for (const [index, part] of parts.entries()) {
    if (/^\{\w+\}$/.test(pattern[index] ?? '') && part !== '') parameters += 1
    else if (pattern[index] !== part) return null
  }
  return parameters
}

/** The fields that differ from the schema, and the fields that the schema does not have. */
export function misfits(schema: z.ZodType, json: unknown, text: string, at: string): string[] {
  // Zod ignores `__proto__`, while our API treats it like any other key (G5). So another name replaces it
  // before the body is parsed.
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
 * The fields that a schema dropped or changed: a schema drops fields that it does not know. Fields that it
 * adds, such as defaults, are ignored.
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
  // A response schema that transforms would hide the value that it receives.
  return Object.is(given, kept) || given === kept ? [] : [`${path} is changed by its schema`]
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
