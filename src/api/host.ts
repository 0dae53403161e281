import type { Bindings } from '../platform/env'
import { rawPath } from './path'

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
 * The path that routes a request (G1). On every host, `/api/…` is the application interface under its older
 * base. On the admin host, `/v1/…` is the admin interface.
 */
export function routedPath(request: Request, env: Bindings | undefined): string {
  const path = rawPath(request.url)
  if (/^\/api(\/|$)/.test(path)) return `/v1${path.slice('/api'.length)}`
  return path.startsWith('/v1/') && isByAdminHost(request, env) ? `/admin${path}` : path
}
