import type { Context } from '../context'
import { configurationAt } from '../modules/configuration/configuration.repository'
import { filledExamples } from '../modules/demo/demo.examples'
import { hasDemo, isDemoDue } from '../modules/demo/demo.service'
import {
  IMPLICIT_TENANT_ID,
  parseStanding,
  standingStatement,
  type Tenant,
} from '../modules/tenants/tenants.repository'
import { type App, answer } from './app'
import { readAsset } from './assets'

/** The paths that need no key: health, and what the interfaces look like (G1). */
export function systemRoutes(app: App): void {
  app.get('/health', async (c) => {
    const ready = await isReady(c.get('ctx'))
    return ready
      ? answer(c, 200, { status: 'ok' })
      : answer(c, 503, { error: 'Starting. Ask again in a moment.' })
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

/** Whether the database answers and holds all that was asked for, the demo included. */
async function isReady(ctx: Context): Promise<boolean> {
  const [result] = await ctx.db.batch([standingStatement(ctx.db, IMPLICIT_TENANT_ID, [])])
  const { tenant } = parseStanding(result)
  if (tenant === null) return false
  return !hasDemo(ctx) || !isDemoDue(ctx, await configurationOfTenant(ctx, tenant))
}

const configurationOfTenant = ({ db, instance }: Context, { id, configVersion }: Tenant) =>
  configurationAt({ db: db.of(id), configurations: instance.configurations }, configVersion)
