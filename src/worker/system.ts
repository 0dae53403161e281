import { IMPLICIT_TENANT_ID, parseRequestSnapshot, requestSnapshotStatement } from '../access/tenants.sql.ts'
import { type App, answer, readAsset } from '../api/hono'
import { configurationAt } from '../configuration/configuration.sql.ts'
import { unboundDatabase } from '../features/databases/databases.routes'
import { errors, RETRY_AFTER } from '../lib/errors'
import type { Context, Tenant } from '../platform/context'
import type { Bindings } from '../platform/env'
import { schemaProblem } from '../platform/schema-version.sql.ts'
import { filledExamples, hasDemo, isDemoDue } from './demo-load'

/** Every binding that the Worker needs: all but those that wrangler.toml may leave out, and the variables. */
type Needed = {
  [Name in keyof Bindings]-?: undefined extends Bindings[Name] ? never : Name
}[keyof Bindings]

// A record, so that the type check fails for a binding that is not listed.
const NEEDED: Readonly<Record<Needed, true>> = {
  DB: true,
  KEYS: true,
  ASSETS: true,
  APPLICATION_LIMIT: true,
  ADMIN_LIMIT: true,
  ADDRESS_LIMIT: true,
  USER_LANE: true,
  LEADERBOARD: true,
  TIMEKEEPER: true,
  DELIVERY_QUEUE: true,
  DELETIONS: true,
  REPAIRS: true,
  OUTBOX: true,
}

/**
 * The names of the bindings that the Worker needs and that this deployment does not have. `npm run deploy` asks
 * too.
 */
export const missingBindings = (env: Bindings): string[] => {
  const present = new Set(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [name])))
  return Object.keys(NEEDED).filter((name) => !present.has(name))
}

/** The paths that need no key: health, and the OpenAPI documents (G1). */
export function systemRoutes(app: App): void {
  app.get('/health', async (c) => {
    const problem = await problemOf(c.get('ctx'))
    if (problem === null) return answer(c, 200, { status: 'ok' })
    // Waiting does not cure the other problems.
    const headers = problem === STARTING ? { 'Retry-After': String(RETRY_AFTER.starting) } : {}
    return answer(c, 503, { error: problem }, headers)
  })
  for (const name of ['application', 'admin'] as const) {
    const path = name === 'admin' ? '/admin/v1/openapi.json' : '/v1/openapi.json'
    app.get(path, async (c) => {
      const asset = await readAsset(c.env, `${name}.json`)
      const document = await filledExamples(c.get('ctx'), await asset.text())
      return c.body(document, 200, { 'content-type': 'application/json' })
    })
  }
}

const STARTING = 'The service is starting. Try again in a few seconds.'

/**
 * The reason why the service cannot serve: a missing binding, a missing migration, or a demo that is not
 * loaded yet. Null if it can.
 */
export async function problemOf(ctx: Context): Promise<string | null> {
  const missing = missingBindings(ctx.env)
  if (missing.length > 0)
    return `Missing bindings: ${missing.join(', ')}. Add them to wrangler.toml, and deploy again.`
  const schema = await schemaProblem(ctx.databases)
  if (schema !== null) return schema
  const unbound = await unboundDatabase(ctx)
  if (unbound !== null) return errors.databaseMissing(unbound).message
  // Without tenants, this also lets the users spread over databases that were added (B3).
  await ctx.databases.usersOf(IMPLICIT_TENANT_ID).holders()
  const result = await ctx.db.run(requestSnapshotStatement(ctx.db, IMPLICIT_TENANT_ID, []))
  const { tenant } = parseRequestSnapshot(result)
  if (tenant === null) return STARTING
  return hasDemo(ctx) && isDemoDue(ctx, await configurationOfTenant(ctx, tenant)) ? STARTING : null
}

const configurationOfTenant = ({ db, instance }: Context, { id, configVersion }: Tenant) =>
  configurationAt({ db: db.of(id), instance }, configVersion)
