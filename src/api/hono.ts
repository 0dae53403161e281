import { Hono, type Context as HonoContext } from 'hono'
import { matchedRoutes, routePath } from 'hono/route'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type * as z from 'zod'
import type { Claim } from '../access/access'
import type { AccountScope, Context, Scope } from '../platform/context'
import type { Bindings } from '../platform/env'
import { logProblem } from '../platform/log'
import { EventStream, Streamed, StreamedList, streamOf } from './streams'

/** A part of a request as it was sent, and the result of its schema. */
export type Parsed = { given: unknown; result: z.ZodSafeParseResult<unknown> }

/** The data that the stages of a request pass on to each other. */
export type Stages = {
  ctx: Context
  claim: Claim
  /** Whether D1 has confirmed the claim in a read by the handler (K2). */
  confirmed: boolean
  scope: Scope
  /** Instead of a scope: the moment of an event, and the scope of operations of the whole account. */
  now: Scope['now']
  account: AccountScope
  /** The body as JSON; undefined if the operation takes none. */
  json: unknown
  parsed: Map<string, Parsed>
  found: unknown
}

export type AppEnv = { Bindings: Bindings; Variables: Stages }
export type App = Hono<AppEnv>

/** An app without routes; paths are matched exactly. */
export const newApp = (
  options: { getPath?: (request: Request, options?: { env?: Bindings }) => string } = {},
): App => new Hono<AppEnv>({ ...options, strict: true })

/** The headers of a stream of events. Nothing on the way may store, change or collect it. */
const EVENT_STREAM = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

/** A JSON response, or a stream of events. A streamed body is sent while it is made. */
export function answer(
  c: HonoContext<AppEnv>,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { requestId } = c.get('ctx')
  if (body instanceof EventStream) {
    // A HEAD request has no body, so nobody would read the stream.
    if (c.req.method === 'HEAD') body.end()
    return c.body(body.body, contentful(status), { ...headers, ...EVENT_STREAM })
  }
  const failed = (error: unknown) => logProblem('error', { requestId, error: `cut short: ${String(error)}` })
  const isStreamed = body instanceof Streamed || body instanceof StreamedList
  const content = isStreamed ? streamOf(body, failed) : JSON.stringify(body)
  return c.body(content, contentful(status), { ...headers, 'content-type': 'application/json' })
}

function contentful(status: number): ContentfulStatusCode {
  if (status === 200 || status === 201 || status === 202 || status === 503) return status
  throw new Error(`unexpected status ${status}`)
}

/**
 * One of the Worker's assets (`scripts/lib/assets.mjs`), by its name. Throws if it is missing, so that no
 * cache keeps the failure.
 */
export async function readAsset(env: Pick<Bindings, 'ASSETS'>, name: string): Promise<Response> {
  const asset = await findAsset(env, name)
  if (!asset.ok) throw new Error(`The asset ${name} could not be read: status ${asset.status}.`)
  return asset
}

/** The same for an asset that may be missing: the answer is then not `ok`. `name` is a relative path. */
export const findAsset = ({ ASSETS }: Pick<Bindings, 'ASSETS'>, name: string): Promise<Response> =>
  ASSETS.fetch(`http://assets/${name}`)

/**
 * A request's log line, as JSON: its route, its status, and its cost. It never contains a key, a body or data
 * of a user: the path is the route's pattern.
 */
export function logLine(c: HonoContext<AppEnv>, milliseconds: number): string {
  const { requestId, cost, notes } = c.get('ctx')
  return JSON.stringify({
    level: 'info',
    requestId,
    route: `${c.req.method} ${patternOf(c)}`,
    status: c.res.status,
    tenant: tenantOf(c),
    milliseconds,
    d1: cost,
    ...notes,
  })
}

/** The pattern of the operation's path; `/*` if no operation has the path, or it has other methods (O5). */
function patternOf(c: HonoContext<AppEnv>): string {
  // Middleware, and the route for all other requests, have the method ALL.
  return matchedRoutes(c).findLast(({ method }) => method !== 'ALL')?.path ?? routePath(c, -1)
}

function tenantOf(c: HonoContext<AppEnv>): string | null {
  if (c.get('account') !== undefined) return null
  const claim = c.get('claim')
  return typeof claim?.tenantId === 'string' ? claim.tenantId : null
}
