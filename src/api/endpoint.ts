import type { Context as HonoContext, MiddlewareHandler } from 'hono'
import * as z from 'zod'
import { type Claim, enter, enterAccount, readClaim } from '../access/access'
import type { Entrance, Surface } from '../access/credentials'
import { errors, type FieldError, listed, throwIfInvalid } from '../lib/errors'
import type { AccountScope, KeyScope, Scope } from '../platform/context'
import { type App, type AppEnv, answer, readBody } from './hono'
import type { EventStream, Streamed, StreamedList } from './streams'
import {
  brokenTexts,
  type FieldWarning,
  fieldWarnings,
  ignoredHeader,
  strangeObjects,
  type UnknownField,
  unknownFields,
  withWarnings,
} from './unknown-fields'

type HeaderSpecs = Readonly<Record<string, string>>

/** The response of one status. It always has `headers`, and it may have `optionalHeaders`. */
export type ResponseSpec = {
  description: string
  body: z.ZodType
  headers?: HeaderSpecs
  optionalHeaders?: HeaderSpecs
  /** Whether it is a stream of events (`text/event-stream`). `body` is then the data of one event. */
  isEventStream?: boolean
}

/** An operation of the wire contract: it makes the route, the validation, the types and the OpenAPI entry. */
export type OperationSpec = Entrance & {
  /** The contract's operation id, such as `metrics_event`. */
  id: string
  surface: Surface
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below the interface's base, with `{name}` for parameters. */
  path: string
  summary: string
  params?: z.ZodObject
  /** Its input must be an object. The fields of that input are the documented parameters. */
  query?: z.ZodType
  /** Names in lower case. */
  headers?: z.ZodObject
  body?: z.ZodType
  /** Makes the warning about an unknown field, if the issues of this operation have further fields (O4). */
  warning?: (field: UnknownField, json: unknown) => FieldWarning
  /** Whether its responses contain a secret, such as a key or a signed link. The documents say so. */
  secret?: boolean
  /** The largest body in bytes; 1 MiB by default (G2). */
  bodyLimit?: number
  responses: Readonly<Record<number, ResponseSpec>>
  /** The statuses of errors that do not follow from its other fields, as `errorStatusesOf` says. */
  furtherErrors?: readonly (400 | 404 | 412)[]
}

/**
 * All error statuses of an operation: the ones of all operations, 404 if its path or `Tenant-ID` names
 * something that may not exist, the ones of a body if it takes one, and its further ones (G2, T2).
 */
export function errorStatusesOf({ account, path, body, furtherErrors = [] }: OperationSpec) {
  const ofNames = account && !path.includes('{') ? [] : ([404] as const)
  const ofBody = body ? ([400, 408, 413, 415] as const) : []
  const statuses = [401, 403, 422, 429, 500, 503, ...ofNames, ...ofBody, ...furtherErrors] as const
  return [...new Set(statuses)]
}

type Output<S> = S extends z.ZodType ? z.output<S> : undefined

type Input<O extends OperationSpec> = {
  params: Output<O['params']>
  query: Output<O['query']>
  headers: Output<O['headers']>
  body: Output<O['body']>
}

type Answerable<Body> =
  | Body
  | EventStream<Body>
  | Streamed<Body>
  | (Body extends readonly (infer Item)[] ? StreamedList<Item> : never)

/** The reply of a handler: one of the operation's statuses with a body of its shape, whole or streamed. */
type Reply<O extends OperationSpec> = {
  [S in keyof O['responses'] & number]: {
    status: S
    body: Answerable<z.input<O['responses'][S]['body']>>
    headers?: { [H in keyof O['responses'][S]['headers']]: string } & {
      [H in keyof O['responses'][S]['optionalHeaders']]?: string
    }
  }
}[keyof O['responses'] & number]

/** The scope that an application key needs for an operation (K5). */
export const scopeNeededFor = ({ method, needs }: OperationSpec): KeyScope =>
  needs ?? (method === 'get' ? 'read' : 'write')

/** The reply 200 with a body. */
export const ok = <B>(body: B) => ({ status: 200 as const, body })

/** The reply 201 with a body. */
export const created = <B>(body: B) => ({ status: 201 as const, body })

/** The reply 202 with a body and its own headers. */
export const accepted = <B, H>(body: B, headers: H) => ({ status: 202 as const, body, headers })

/** The reply of an admin create: 201 if at least one item was created, otherwise 200 (G7). */
export const createdSome = <B extends { created: readonly unknown[] }>(body: B) =>
  body.created.length > 0 ? created(body) : ok(body)

const ErrorIssue = z.object({ path: z.string(), message: z.string() }).meta({ id: 'ErrorIssue' })

/** The error body of both interfaces (G2). */
export const ErrorBody = z
  .object({
    error: z.string(),
    issues: z.array(ErrorIssue).optional(),
    current: z.looseObject({}).nullish(),
  })
  .meta({ id: 'ErrorBody' })

type Handler = MiddlewareHandler<AppEnv>

/** A request as it was sent, in any shape: the query, the body, and the parameters of the path. */
export type RawRequest = { query: unknown; json: unknown; param: (name: string) => string }

type Check = (given: RawRequest) => FieldError[] | Promise<FieldError[]>

/** The parts that an operation adds to the stages of all operations. */
export type Stage<F, S = Scope> = {
  /** The unchecked id of the user whom the body names. In a path below `/users/{id}`, the path names the user. */
  subject?: (json: unknown) => unknown
  /**
   * Finds the resource that the path names, or throws 404. It runs before the validation, in the order of G2.
   * `json` is the body, and `query` the query, both unchecked.
   */
  find?: (
    scope: S,
    param: (name: string) => string,
    json: unknown,
    query: (name: string) => string | undefined,
  ) => Promise<F> | F
  /**
   * Finds the errors that the schemas can't find: errors that depend on the configuration, on stored data, or
   * on the deployment. It is called only if the schemas have found errors, so that one response names all of
   * them (G3). It reads the request as far as possible. In a request of the right shape, the verb finds these
   * errors itself.
   */
  check?: (scope: S, given: RawRequest, found: F) => FieldError[] | Promise<FieldError[]>
}

/** The errors of nested objects without a known field (O4), if they have no error yet, also for needed fields. */
function strangeErrors({ body }: OperationSpec, json: unknown, others: readonly FieldError[]): FieldError[] {
  if (body === undefined) return []
  const wrong = new Set(
    others.flatMap(({ path }) => [path, path.slice(0, Math.max(0, path.lastIndexOf('.')))]),
  )
  return strangeObjects(body, json).flatMap(({ path, known }) => {
    const message = `must have one of ${listed(known)}, and has only unknown fields`
    return wrong.has(path.join('.')) ? [] : [{ path: path.join('.'), message }]
  })
}

/** The parameters of the query: a text each, or a list of texts if one is repeated. */
const queryOf = (c: HonoContext<AppEnv>) =>
  Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, texts]) => [name, texts.length === 1 ? texts[0] : texts]),
  )

/** The parsed request. Throws a 422 with every error of every part, and those of the check (G3). */
export async function validated<O extends OperationSpec>(
  spec: O,
  c: HonoContext<AppEnv>,
  check: Check = () => [],
): Promise<Input<O>> {
  const fieldErrors: FieldError[] = []
  const part = (schema: z.ZodType | undefined, given: unknown, name = ''): unknown => {
    const result = schema?.safeParse(given)
    for (const { path, message } of result?.error?.issues ?? [])
      fieldErrors.push({ path: path.join('.') || name, message })
    return result?.data
  }
  const [query, json] = [queryOf(c), c.get('json')]
  const input = {
    params: part(spec.params, c.req.param()),
    query: part(spec.query, query),
    headers: part(spec.headers, c.req.header()),
    body: part(spec.body, json, 'body'),
  }
  const all = [...fieldErrors, ...brokenTexts(json), ...strangeErrors(spec, json, fieldErrors)]
  if (all.length > 0) throwIfInvalid([...all, ...(await check({ query, json, param: paramOf(c) }))])
  // biome-ignore lint/plugin: each part is what this very spec's schema put out, which is what Input<O> says.
  return input as Input<O>
}

/** A parameter of the path, percent-decoded once (U1). */
export const paramOf = (c: HonoContext<AppEnv>) => (name: string) => c.req.param(name) ?? ''

const userInPath = ({ path }: OperationSpec, c: HonoContext<AppEnv>): string | null =>
  path.startsWith('/users/{id}') ? paramOf(c)('id') : null

/** Refuses an application key if the request is about another user (K3). */
function ownUser(spec: OperationSpec, subject: Stage<unknown>['subject']): Handler {
  return async (c, next) => {
    const { access } = c.get('claim')
    if (access.kind === 'application') {
      const about = userInPath(spec, c) ?? subject?.(c.get('json'))
      if (typeof about === 'string' && about !== access.userId) throw errors.otherUser()
    }
    await next()
  }
}

/** The first stage of operations that confirm the key first: it reads and confirms the claim. */
function entered(spec: OperationSpec): Handler {
  return async (c, next) => {
    const ctx = c.get('ctx')
    const ticket = (spec.ticket && c.req.query('ticket')) || null
    const claim = await readClaim(ctx, c.req.raw.headers, { ...spec, needs: scopeNeededFor(spec) }, ticket)
    c.set('claim', claim)
    if (claim.isOfAccount) c.set('account', await enterAccount(ctx, spec.surface, claim))
    else c.set('scope', await enter(ctx, spec.surface, claim, userInPath(spec, c)))
    await next()
  }
}

function isUtf8(encoded: string): boolean {
  try {
    decodeURIComponent(encoded)
    return true
  } catch {
    return false
  }
}

/**
 * The part of a request's address that is not UTF-8 after percent-decoding, or null. Its parameters are as they
 * were sent (U1, G6).
 */
export function undecodable(c: HonoContext<AppEnv>): 'path' | 'query' | null {
  const { pathname, search } = new URL(c.req.url)
  if (!isUtf8(pathname)) return 'path'
  return isUtf8(search) ? null : 'query'
}

/** Names the fields of the body that are ignored in a header of the response, also of an error (G3). */
const nameIgnored =
  (body: z.ZodType): Handler =>
  async (c, next) => {
    const ignored = ignoredHeader(unknownFields(body, c.get('json')))
    if (ignored !== '') c.header('X-Laurel-Ignored', ignored)
    await next()
  }

/** Refuses a path or a query that is not UTF-8: it names nothing, so that nothing is looked for (U1, G6). */
const decodable: Handler = async (c, next) => {
  const part = undecodable(c)
  if (part !== null)
    throw errors.unprocessable(`The ${part} is not percent-encoded UTF-8. Encode each part of it.`)
  await next()
}

/** The later stages of all operations: read the body, check the user, find the resource. */
export function stages<F, S>(
  spec: OperationSpec,
  { subject, find }: Stage<F, S>,
  scopeOf: (c: HonoContext<AppEnv>) => S,
): Handler[] {
  const list: Handler[] = []
  if (spec.body) list.push(readBody(spec.bodyLimit))
  if (spec.body && spec.surface === 'application') list.push(nameIgnored(spec.body))
  list.push(ownUser(spec, subject), decodable)
  if (find) {
    list.push(async (c, next) => {
      c.set('found', await find(scopeOf(c), paramOf(c), c.get('json'), (name) => c.req.query(name)))
      await next()
    })
  }
  return list
}

/** The path that routes an operation, in Hono's syntax. */
export function routeOf({ surface, path }: OperationSpec): string {
  const base = surface === 'admin' ? '/admin/v1' : '/v1'
  return base + path.replaceAll(/\{(\w+)\}/g, ':$1')
}

type Serve<O extends OperationSpec, F, S> = (
  scope: S,
  input: Input<O>,
  found: F,
  claim: Claim,
) => Promise<Reply<O>>

/** Serves an operation: the stages in G2's order, then the handler. */
function serve<O extends OperationSpec, F, S extends AccountScope>(
  app: App,
  spec: O,
  stage: Stage<F, S>,
  handle: Serve<O, F, S>,
): void {
  const scopeOf = (c: HonoContext<AppEnv>): S => {
    const isOfAccount = spec.account || (spec.tenantOrAccount && c.get('claim').isOfAccount)
    // biome-ignore lint/plugin: an operation of the account has the account's scope, another one the tenant's.
    return (isOfAccount ? c.get('account') : c.get('scope')) as S
  }
  const last = async (c: HonoContext<AppEnv>) => {
    // biome-ignore lint/plugin: `find` of this very operation put it there; without one F is undefined.
    const found = c.get('found') as F
    const scope = scopeOf(c)
    const input = await validated(spec, c, (given) => stage.check?.(scope, given, found) ?? [])
    const { status, body, headers } = await handle(scope, input, found, c.get('claim'))
    const content = withWarnings(body, fieldWarnings(spec, c.get('json')))
    return answer(c, status, content, headers)
  }
  const handlers = [entered(spec), ...stages(spec, stage, scopeOf), last] as const
  app.on([spec.method.toUpperCase()], [routeOf(spec)], ...handlers)
}

/** An operation with its handler. */
export type Endpoint = { spec: OperationSpec; serve: (app: App) => void }

type Route = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`

type Parts = Omit<OperationSpec, 'surface' | 'method' | 'path'>

type Spec<P extends Parts> = P & Pick<OperationSpec, 'surface' | 'method' | 'path'>

/** The scope of an endpoint: the tenant, or the whole account if the operation is about that (T2). */
type ScopeOf<P extends Parts> = P extends { account: true } | { tenantOrAccount: true } ? AccountScope : Scope

/** The handler, which gets valid input and what `find` has found. Streams confirm their claim again and again. */
type Handle<P extends Parts, F> = Serve<Spec<P>, F, ScopeOf<P>>

/**
 * Declares the endpoints of an interface: each with its route, what the OpenAPI document says of it, the stages
 * that are its own, if any, and its handler. The schemas give the handler its types.
 */
export function endpointsOf(surface: OperationSpec['surface']) {
  function endpoint<const P extends Parts>(route: Route, parts: P, handle: Handle<P, undefined>): Endpoint
  function endpoint<const P extends Parts, F = undefined>(
    route: Route,
    parts: P,
    stage: Stage<F, ScopeOf<P>>,
    handle: Handle<P, F>,
  ): Endpoint
  function endpoint<const P extends Parts, F>(
    route: Route,
    parts: P,
    first: Stage<F, ScopeOf<P>> | Handle<P, F>,
    second?: Handle<P, F>,
  ): Endpoint {
    const [stage, handle] = typeof first === 'function' ? [{}, first] : [first, second]
    if (handle === undefined) throw new Error(`${route} has no handler.`)
    const [method = '', path = ''] = route.split(' ')
    // biome-ignore lint/plugin: the route's type says which methods there are.
    const spec: Spec<P> = { ...parts, surface, method: method.toLowerCase() as OperationSpec['method'], path }
    return { spec, serve: (app) => serve(app, spec, stage, handle) }
  }
  return endpoint
}
