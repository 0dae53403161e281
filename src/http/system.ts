import type { Context } from '../context'
import { configurationAt } from '../modules/configuration/configuration.repository'
import { isDemoDue } from '../modules/configuration/demo'
import {
  IMPLICIT_TENANT_ID,
  parseStanding,
  standingStatement,
  type Tenant,
} from '../modules/tenants/tenants.repository'
import { WEBHOOKS } from '../modules/webhooks/payloads'
import { adminOperations, applicationOperations } from '../operations'
import { type App, answer } from './app'
import { openApiDocument } from './openapi'

/** The paths that need no key: health, and what the interfaces look like (G1). */
export function systemRoutes(app: App): void {
  app.get('/health', async (c) => {
    const ready = await isReady(c.get('ctx'))
    return ready
      ? answer(c, 200, { status: 'ok' })
      : answer(c, 503, { error: 'Starting. Ask again in a moment.' })
  })
  const title = 'Laurel'
  const version = '1.21.1'
  const documents = {
    application: lazily(() =>
      openApiDocument(applicationOperations, { title, version, base: '/v1', webhooks: WEBHOOKS }),
    ),
    admin: lazily(() => openApiDocument(adminOperations, { title, version, base: '/admin/v1' })),
  }
  app.get('/v1/openapi.json', (c) => answer(c, 200, documents.application()))
  app.get('/admin/v1/openapi.json', (c) => answer(c, 200, documents.admin()))
}

/** Whether the database answers and holds all that was asked for, the demo included. */
async function isReady(ctx: Context): Promise<boolean> {
  const [result] = await ctx.db.batch([standingStatement(ctx.db, IMPLICIT_TENANT_ID, [])])
  const { tenant } = parseStanding(result)
  if (tenant === null) return false
  const { DEMO, MULTI_TENANCY } = ctx.variables
  return DEMO === 'off' || MULTI_TENANCY === 'on' || !isDemoDue(ctx, await configurationOfTenant(ctx, tenant))
}

const configurationOfTenant = ({ db, instance }: Context, { id, configVersion }: Tenant) =>
  configurationAt({ db: db.of(id), configurations: instance.configurations }, configVersion)

/** A value that is made when it is first asked for, once. */
function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
