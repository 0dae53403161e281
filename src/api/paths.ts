import type { Context as HonoContext } from 'hono'
import { confirmKeyOnly } from '../access/access'
import { type ApiError, errors } from '../lib/errors'
import type { Bindings } from '../platform/env'
import type { App, AppEnv } from './hono'

/**
 * The path of a request as it was sent: percent-encoding is kept. Routes are matched on it. So their fixed
 * parts have only one spelling, which the rules of a firewall can name too. Parameters are decoded once,
 * after that (U1). The path ends before the query.
 */
export function rawPath(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (start === -1) return '/'
  const end = url.slice(start).search(/[?#]/)
  return end === -1 ? url.slice(start) : url.slice(start, start + end)
}

/**
 * Whether the header `Host` names a host (G2). A server makes the request's URL from it, so a header such as
 * `a/admin` would change the path. Cloudflare refuses such requests itself. Other servers do not.
 */
export function isHostValid(request: Request): boolean {
  return URL.canParse(request.url) && !/[/?#@\\]/.test(request.headers.get('host') ?? '')
}

/** Whether a request came to the host on which `/v1/…` is the admin interface (G1). */
export function isByAdminHost(request: Request, env: Bindings | undefined): boolean {
  const host = env?.ADMIN_HOST
  return host !== undefined && isHostValid(request) && new URL(request.url).host === host.toLowerCase()
}

/**
 * The documented path of figures, of the one by which the console asks for them (G14): ad blockers stop requests
 * with `analytics` in their path. `/figures/metrics/KEY` is `/metrics/KEY/analytics`.
 */
export const figuresPath = (path: string): string =>
  path.replace(/^((?:\/admin)?\/v1)\/figures\/(\w+)(\/[^/]+)?$/, (_, base, what, key?: string) =>
    key === undefined ? `${base}/analytics/${what}` : `${base}/${what}${key}/analytics`,
  )

/**
 * The path that routes a request (G1). On every host, `/api/…` is the application interface under its older
 * base. On the admin host, `/v1/…` is the admin interface.
 */
export function routedPath(request: Request, env: Bindings | undefined): string {
  const path = figuresPath(rawPath(request.url))
  if (/^\/api(\/|$)/.test(path)) return `/v1${path.slice('/api'.length)}`
  return path.startsWith('/v1/') && isByAdminHost(request, env) ? `/admin${path}` : path
}

type Route = Pick<App['routes'][number], 'method' | 'path'>

/** Whether a path fits a route. A parameter is any text but none, and `/*` at the end any further parts. */
function fits(pattern: string, path: string): boolean {
  if (pattern.endsWith('/*')) return path.startsWith(pattern.slice(0, -1))
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => (part.startsWith(':') ? given[index] !== '' : part === given[index]))
  )
}

/** The methods of a known path, sorted; empty if no route has the path. GET includes HEAD. */
function methodsOf(routes: readonly Route[], path: string): string[] {
  const methods = new Set<string>()
  for (const route of routes) {
    // Middleware has the method ALL and belongs to no path of its own.
    if (route.method === 'ALL' || !fits(route.path, path)) continue
    methods.add(route.method)
    if (route.method === 'GET') methods.add('HEAD')
  }
  return [...methods].sort()
}

const withoutEnd = (path: string): string => path.replace(/\/$/, '')

/** The addresses of a path without its prefix, or with another one, those for the request's method first (O5). */
function prefixed(routes: readonly Route[], path: string, method: string, isAdminHost: boolean): string[] {
  const rest = /^\/admin\/(?!v1\/)/.test(path) ? [] : [{ base: '/v1', shown: isAdminHost ? '/api' : '/v1' }]
  const bases = [...rest, { base: '/admin/v1', shown: '/admin/v1' }]
  const below = path.replace(/^\/(?:admin\/v1|admin|v1|api)\//, '/')
  const known = bases.flatMap(({ base, shown }) => {
    const methods = methodsOf(routes, base + below)
    return methods.length === 0 ? [] : [{ address: shown + below, methods }]
  })
  const exact = known.filter(({ methods }) => methods.includes(method))
  return (exact.length > 0 ? exact : known).map(({ address }) => address)
}

/**
 * The response for a request that no route serves: 405 with `Allow` if its path has other methods, after 401
 * and 403, but 204 to `OPTIONS` outside the interfaces; otherwise 404, which names the right path if the
 * version prefix is missing or that of the other interface, or if a slash is at the end (O5, G2).
 */
export async function unserved(c: HonoContext<AppEnv>, routes: readonly Route[]): Promise<Response> {
  const fail = ({ status, body }: ApiError) => c.json(body, status)
  const path = routedPath(c.req.raw, c.env)
  const methods = methodsOf(routes, path)
  if (methods.length === 0) {
    const plain = withoutEnd(rawPath(c.req.url))
    const isKnown = methodsOf(routes, withoutEnd(path)).length > 0
    const byAdminHost = isByAdminHost(c.req.raw, c.env)
    return fail(errors.noSuchPath(isKnown ? [plain] : prefixed(routes, plain, c.req.method, byAdminHost)))
  }
  const surface = /^\/admin\/v1\//.test(path) ? 'admin' : /^\/v1\//.test(path) ? 'application' : null
  // The documents and pages outside the interfaces need no key (G1).
  const isOpen = surface === null || path.endsWith('/openapi.json')
  if (!isOpen) await confirmKeyOnly(c.get('ctx'), surface, c.req.raw.headers)
  const isAsked = surface === null && c.req.method === 'OPTIONS'
  c.header('Allow', [...methods, ...(isAsked ? ['OPTIONS'] : [])].join(', '))
  if (isAsked) return c.body(null, 204)
  return fail(errors.wrongMethod(c.req.method, methods))
}
