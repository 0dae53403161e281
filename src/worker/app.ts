import { cors } from 'hono/cors'
import { type App, logLine, newApp } from '../api/hono'
import { isHostValid, routedPath, unserved } from '../api/paths'
import { unsubscribeRoutes } from '../features/notifications/unsubscribe.routes'
import { DAY, dateOf, SECOND } from '../lib/clock'
import { ApiError, errors } from '../lib/errors'
import { systemNow } from '../lib/system-clock'
import { type Context, type Instance, newContext } from '../platform/context'
import { OBJECT_OUT_OF_ORDER } from '../platform/database'
import type { Bindings } from '../platform/env'
import { isDatabaseAway } from '../platform/guard'
import { logProblem } from '../platform/log'
import { migrationSince, schemaProblem } from '../platform/schema-version.sql.ts'
import { wakeMoverOf } from '../time/timekeeper'
import { consoleRoutes, consoleSignInRoutes } from './console'
import { adminEndpoints, applicationEndpoints } from './operations'
import { docsRoutes, frontPageRoutes, siteRoutes, systemRoutes } from './pages'

/**
 * The CORS headers of the application interface: pages of all origins may call it (G8). Without a list of its
 * own, `cors` allows all headers that the preflight asks for. Client libraries add headers to each request.
 */
const openCors = cors({
  origin: '*',
  allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
  exposeHeaders: [
    'X-Request-Id',
    'Date',
    'Retry-After',
    'Link',
    'Allow',
    'X-Laurel-Warning',
    'X-Laurel-Ignored',
  ],
  maxAge: DAY / SECOND,
})

const PAGES = [
  systemRoutes,
  frontPageRoutes,
  docsRoutes,
  siteRoutes,
  consoleRoutes,
  consoleSignInRoutes,
  unsubscribeRoutes,
]

/** The HTTP side of the Worker. `instanceOf` tells whose memory a request uses, by its bindings. */
export function createApp(instanceOf: (bindings: Bindings) => Instance): App {
  const app = newApp({ getPath: (request, options) => routedPath(request, options?.env) })

  app.use(async (c, next) => {
    if (!isHostValid(c.req.raw)) throw errors.hostInvalid()
    const { origin, pathname: path } = new URL(c.req.url)
    const waitUntil = (work: Promise<unknown>) => c.executionCtx.waitUntil(work)
    const context = newContext(instanceOf(c.env), c.env, waitUntil, wakeMoverOf(c.env, waitUntil))
    const ctx = { ...context, origin, path }
    c.set('ctx', ctx)
    await next()
    const milliseconds = systemNow() - ctx.began
    // If there may be a test clock, the time is known only if the request has read it (C1).
    const now = ctx.variables.TEST_CLOCK === 'off' ? systemNow() : (c.get('now') ?? c.get('scope')?.now)
    if (now !== undefined) c.res.headers.set('Date', dateOf(now).toUTCString())
    c.res.headers.set('X-Request-Id', ctx.requestId)
    // Shared caches know nothing of X-API-KEY. Some store what does not forbid it, and give it to others.
    if (!c.res.headers.has('Cache-Control')) c.res.headers.set('Cache-Control', 'no-store')
    console.log(logLine(c, milliseconds))
  })

  app.use('/v1/*', openCors)

  for (const serve of PAGES) serve(app)
  for (const { serve } of [...applicationEndpoints, ...adminEndpoints]) serve(app)

  // A route, not `notFound`: an error that is thrown in a route also gets its log line.
  app.all('*', (c) => unserved(c, app.routes))
  app.onError(async (error, c) => {
    // There is no context if the variables of the Worker are wrong.
    const ctx: Context | undefined = c.get('ctx')
    const requestId = ctx?.requestId ?? crypto.randomUUID()
    const apiError = error instanceof ApiError ? error : await failure(error, requestId, ctx)
    if (apiError !== error) logProblem('error', { requestId, error: describe(error) })
    c.header('X-Request-Id', requestId)
    c.header('Cache-Control', 'no-store')
    if (apiError.retryAfter !== null) c.header('Retry-After', String(apiError.retryAfter))
    return c.json(apiError.body, apiError.status)
  })
  return app
}

async function failure(error: unknown, requestId: string, ctx: Context | undefined): Promise<ApiError> {
  if (isDatabaseAway(error) || isObjectAway(error)) return errors.unavailable()
  if (ctx === undefined) return errors.internal(requestId)
  // During an upgrade, a statement or a row may not fit. That is not an error in Laurel.
  const problem = await schemaProblem(ctx.databases).catch(() => null)
  if (problem !== null) return errors.otherVersion(problem)
  // The tables may have changed after the failure, and fit by now.
  const migration = await migrationSince(ctx.databases, ctx.began).catch(() => null)
  return migration === null ? errors.internal(requestId) : errors.upgraded(migration)
}

/** Whether an object restarts, is overloaded, cannot be reached, or has no working storage. */
const isObjectAway = (error: unknown): boolean =>
  ['durableObjectReset', 'overloaded', 'retryable'].some(
    (flag) => Reflect.get(Object(error), flag) === true,
  ) ||
  (error instanceof Error && OBJECT_OUT_OF_ORDER.test(error.message))

const describe = (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error))
