import { cors } from 'hono/cors'
import type { Context } from './context'
import { AccountDatabase, noCost } from './db/database'
import { variables } from './env'
import { Refusal, refusals } from './errors'
import { type App, newApp } from './http/app'
import { docsRoutes } from './http/docs'
import { routedPath } from './http/host'
import { logLine } from './http/log'
import { systemRoutes } from './http/system'
import type { Instance } from './instance'
import { achievementAdminRoutes } from './modules/achievements/achievements.admin.routes'
import { achievementRoutes } from './modules/achievements/achievements.routes'
import { attributeRoutes } from './modules/attributes/attributes.routes'
import { clockRoutes } from './modules/clock/clock.routes'
import { eventRoutes } from './modules/events/events.routes'
import { inboxRoutes } from './modules/inbox/inbox.routes'
import { keyRoutes } from './modules/keys/keys.routes'
import { leaderboardAdminRoutes } from './modules/leaderboards/leaderboards.admin.routes'
import { leaderboardRoutes } from './modules/leaderboards/leaderboards.routes'
import { metricRoutes } from './modules/metrics/metrics.routes'
import { userMetricRoutes } from './modules/metrics/user-metrics.routes'
import { notificationRoutes } from './modules/notifications/notifications.routes'
import { unsubscribeRoutes } from './modules/notifications/unsubscribe.routes'
import { overviewRoutes } from './modules/overview/overview.routes'
import { pointsAdminRoutes } from './modules/points/points.admin.routes'
import { pointsRoutes } from './modules/points/points.routes'
import { preferenceRoutes } from './modules/preferences/preferences.routes'
import { streakAdminRoutes } from './modules/streaks/streaks.admin.routes'
import { streakRoutes } from './modules/streaks/streaks.routes'
import { settingsRoutes } from './modules/tenants/settings.routes'
import { tenantRoutes } from './modules/tenants/tenants.routes'
import { userAdminRoutes } from './modules/users/users.admin.routes'
import { userRoutes } from './modules/users/users.routes'
import { webhookRoutes } from './modules/webhooks/webhooks.routes'
import { wrappedRoutes } from './modules/wrapped/wrapped.routes'
import { systemNow } from './shared/clock'

const MODULES = [
  systemRoutes,
  docsRoutes,
  eventRoutes,
  userRoutes,
  overviewRoutes,
  userMetricRoutes,
  pointsRoutes,
  achievementRoutes,
  leaderboardRoutes,
  wrappedRoutes,
  preferenceRoutes,
  streakRoutes,
  attributeRoutes,
  inboxRoutes,
  metricRoutes,
  pointsAdminRoutes,
  achievementAdminRoutes,
  leaderboardAdminRoutes,
  streakAdminRoutes,
  userAdminRoutes,
  tenantRoutes,
  settingsRoutes,
  webhookRoutes,
  notificationRoutes,
  unsubscribeRoutes,
  keyRoutes,
  clockRoutes,
]

/** The Worker's HTTP side, over what one isolate remembers. Two apps share nothing but the database. */
export function createApp(instance: Instance): App {
  const app = newApp({ getPath: (request, options) => routedPath(request, options?.env) })

  app.use(async (c, next) => {
    const began = systemNow()
    const { origin } = new URL(c.req.url)
    const ctx = { ...newContext(instance, c.env, (work) => c.executionCtx.waitUntil(work)), origin }
    c.set('ctx', ctx)
    await next()
    c.res.headers.set('X-Request-Id', ctx.requestId)
    console.log(logLine(c, systemNow() - began))
  })

  // Without a list of its own, `cors` allows the headers that the preflight asks for: client libraries add some to each request (G8).
  const openCors = cors({
    origin: '*',
    allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposeHeaders: ['X-Request-Id', 'Retry-After', 'Link', 'X-Laurel-Warning'],
    maxAge: 86_400,
  })
  app.use('/v1/*', openCors)

  for (const mountModule of MODULES) mountModule(app)

  app.notFound((c) => {
    const { message, status } = refusals.noSuchPath()
    return c.json({ error: message }, status)
  })
  app.onError((error, c) => {
    // Without a context it was the variables that are wrong.
    const requestId = c.get('ctx')?.requestId ?? crypto.randomUUID()
    const refusal = error instanceof Refusal ? error : refusals.internal(requestId)
    if (refusal !== error) {
      console.error(JSON.stringify({ level: 'error', requestId, error: describe(error) }))
    }
    c.header('X-Request-Id', requestId)
    if (refusal.retryAfter !== null) c.header('Retry-After', String(refusal.retryAfter))
    return c.json({ error: refusal.message }, refusal.status)
  })
  return app
}

/** What a request, or an occasion of the platform's, begins with. */
export function newContext(
  instance: Instance,
  env: Context['env'],
  waitUntil: Context['waitUntil'],
): Context {
  const cost = noCost()
  const settings = variables(env)
  return {
    requestId: crypto.randomUUID(),
    origin: null,
    env,
    variables: settings,
    instance,
    db: new AccountDatabase(env.DB, cost, settings.TEST_CLOCK === 'on'),
    cost,
    notes: {},
    waitUntil,
  }
}

const describe = (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error))
