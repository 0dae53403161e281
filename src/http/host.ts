import type { Bindings } from '../runtime/env'
import { rawPath } from './path'

/** Whether a request came to the host on which `/v1/…` is the admin interface (G1). */
export function isByAdminHost(request: Request, env: Bindings | undefined): boolean {
  const host = env?.ADMIN_HOST
  return host !== undefined && new URL(request.url).host === host.toLowerCase()
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
