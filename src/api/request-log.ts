import type { Context as HonoContext } from 'hono'
import { matchedRoutes, routePath } from 'hono/route'
import type { AppEnv } from './hono'

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
