import { Hono, type Context as HonoContext, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { matchedRoutes, routePath } from 'hono/route'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Claim } from '../access/access'
import { SECOND } from '../lib/clock'
import { ApiError, errors } from '../lib/errors'
import { MIB, MOST_BODY_BYTES } from '../lib/limits'
import { within } from '../lib/system-clock'
import type { AccountScope, Context, Scope } from '../platform/context'
import type { Bindings } from '../platform/env'
import { logProblem } from '../platform/log'
import { EventStream, Streamed, StreamedList, streamOf } from './streams'

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

/** An asset of the Worker (`scripts/lib/assets.mjs`). Throws if it is missing: no cache must keep that. */
export async function readAsset(env: Pick<Bindings, 'ASSETS'>, name: string): Promise<Response> {
  const asset = await findAsset(env, name)
  if (!asset.ok) throw new Error(`The asset ${name} could not be read: status ${asset.status}.`)
  return asset
}

/** The same for an asset that may be missing: the answer is then not `ok`. `name` is a relative path. */
export const findAsset = ({ ASSETS }: Pick<Bindings, 'ASSETS'>, name: string): Promise<Response> =>
  ASSETS.fetch(`http://assets/${name}`)

/** A request's log line, as JSON. No key, body or data of a user is in it: its path is a pattern. */
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

/** Throws a TypeError for bytes that are not UTF-8. U+FFFD instead could give two users one id (U1). */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** The encodings of a body that are decoded (G2). `deflate` is the form of zlib. */
const ENCODINGS = ['gzip', 'deflate'] as const
type Encoding = (typeof ENCODINGS)[number]

/** The most bytes that are decoded at once. Each becomes at most 1,032: two bits can repeat 258 bytes. */
const MOST_AT_ONCE = 1_024

/** The encoding of the body, or null. Throws 415 if it is unknown, or if there are several. */
function encodingOf(c: HonoContext<AppEnv>): Encoding | null {
  const given = c.req.header('content-encoding') ?? ''
  const names = given.split(',').map((name) => name.trim().toLowerCase())
  const [name, ...others] = names.filter((one) => one !== '' && one !== 'identity')
  if (name === undefined) return null
  const encoding = ENCODINGS.find((one) => one === name)
  if (encoding !== undefined && others.length === 0) return encoding
  c.header('Accept-Encoding', ENCODINGS.join(', '))
  throw errors.encodingUnknown(given)
}

/**
 * The decoded bytes: all of them, or more than `limit` if there are more. Throws 400 if the bytes are
 * broken, cut short, or followed by others.
 */
async function decoded(bytes: Uint8Array, encoding: Encoding, limit: number): Promise<Uint8Array> {
  const { readable, writable } = new DecompressionStream(encoding)
  const writer = writable.getWriter()
  // The run time decodes what is written at once, and keeps it until it is read. So small parts are written,
  // and one read that was there before takes their bytes, until it has too many.
  let isRead = false
  const read = async () => {
    const reader = readable.getReader({ mode: 'byob' })
    const { value } = await reader.readAtLeast(limit + 1, new Uint8Array(limit + 1))
    isRead = true
    return value ?? new Uint8Array()
  }
  const write = async () => {
    for (let at = 0; at < bytes.length && !isRead; at += MOST_AT_ONCE)
      await writer.write(bytes.subarray(at, at + MOST_AT_ONCE))
    if (!isRead) await writer.close()
  }
  const [value] = await Promise.all([read(), write()]).catch((error: unknown) => {
    throw error instanceof TypeError ? errors.bodyBroken(encoding) : error
  })
  return value
}

/**
 * Reads the body as JSON in UTF-8, with any content type. Throws 415 if its encoding is unknown, 413 if it is
 * too large, as sent or decoded, 408 if it has not arrived after BODY_TIMEOUT seconds, and 400 if it breaks off
 * or is not JSON (G2). The limit is in bytes.
 */
export function readBody(limit = MOST_BODY_BYTES): MiddlewareHandler<AppEnv> {
  const onError = () => {
    throw errors.bodyTooLarge(`${limit / MIB} MiB`)
  }
  const limited = bodyLimit({ maxSize: limit, onError })
  const bytesOf = async (c: HonoContext<AppEnv>) => {
    const encoding = encodingOf(c)
    let sent = new Uint8Array()
    const reading = limited(c, async () => {
      sent = new Uint8Array(await c.req.raw.arrayBuffer())
    })
    // The client has gone, or its chunks are none. The platform says so as if another connection was lost.
    await reading.catch((error: unknown) => {
      throw error instanceof ApiError ? error : errors.bodyCutShort()
    })
    const bytes = encoding === null ? sent : await decoded(sent, encoding, limit)
    return bytes.length > limit ? onError() : bytes
  }
  return async (c, next) => {
    const seconds = c.get('ctx').variables.BODY_TIMEOUT
    try {
      const bytes = await within(seconds * SECOND, bytesOf(c), () => errors.bodyTooSlow(seconds))
      c.set('json', JSON.parse(UTF8.decode(bytes)))
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof TypeError) throw errors.bodyNotJson()
      throw error
    }
    await next()
  }
}
