import type { Bindings } from '../env'

/** Whether a request came by the host on which `/v1/…` is the admin interface (G1). */
export function isByAdminHost(request: Request, env: Bindings | undefined): boolean {
  const host = env?.ADMIN_HOST
  return host !== undefined && new URL(request.url).host === host.toLowerCase()
}
