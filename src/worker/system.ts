import {
  IMPLICIT_TENANT_ID,
  parseRequestSnapshot,
  requestSnapshotStatement,
} from '../access/tenants.repository'
import { configurationAt } from '../config/configuration.repository'
import { type App, answer } from '../http/app'
import { readAsset } from '../http/assets'
import type { Context, Tenant } from '../runtime/context'
import { filledExamples } from './demo/demo.examples'
import { hasDemo, isDemoDue } from './demo/demo.service'

/** The paths that need no key: health, and the OpenAPI documents (G1). */
export function systemRoutes(app: App): void {
  app.get('/health', async (c) => {
    const ready = await isReady(c.get('ctx'))
    return ready
      ? answer(c, 200, { status: 'ok' })
      : answer(c, 503, { error: 'The service is starting. Try again in a few seconds.' })
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

/** Whether the database responds and has everything that is configured to exist, including the demo. */
async function isReady(ctx: Context): Promise<boolean> {
  const result = await ctx.db.run(requestSnapshotStatement(ctx.db, IMPLICIT_TENANT_ID, []))
  const { tenant } = parseRequestSnapshot(result)
  if (tenant === null) return false
  return !hasDemo(ctx) || !isDemoDue(ctx, await configurationOfTenant(ctx, tenant))
}

const configurationOfTenant = ({ db, instance }: Context, { id, configVersion }: Tenant) =>
  configurationAt({ db: db.of(id), instance }, configVersion)
