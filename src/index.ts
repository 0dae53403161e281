import { createApp, newContext } from './app'
import type { Bindings } from './env'
import { enter } from './http/access'
import { Instance } from './instance'
import { loadDemo } from './modules/configuration/demo'
import { IMPLICIT_TENANT_ID } from './modules/tenants/tenants.repository'

export { UserLane } from './modules/events/lane.object'

/** What this isolate remembers; see Instance for the bounds. */
const instance = new Instance()
const app = createApp(instance)

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),

  async scheduled(_controller, env, ctx) {
    const context = newContext(instance, env, (work) => ctx.waitUntil(work))
    if (context.variables.DEMO === 'off' || context.variables.MULTI_TENANCY === 'on') return
    const claim = { access: { kind: 'admin' }, prefix: null, tenantId: IMPLICIT_TENANT_ID } as const
    await loadDemo(await enter(context, 'admin', claim))
  },
} satisfies ExportedHandler<Bindings>
