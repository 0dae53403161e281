import { createApp, newContext } from './app'
import type { Bindings } from './env'
import { enter } from './http/access'
import { Instance } from './instance'
import { loadDemo } from './modules/configuration/demo'
import { repair } from './modules/leaderboards/repair.service'
import { drainAll } from './modules/outbox/drain.service'
import { Outgoing } from './modules/outbox/outbox'
import { IMPLICIT_TENANT_ID } from './modules/tenants/tenants.repository'
import { wakeAll } from './modules/timekeeper/timekeeper.service'

export { Courier } from './modules/couriers/courier.object'
export { UserLane } from './modules/events/lane.object'
export { LeaderboardObject } from './modules/leaderboards/board.object'
export { Timekeeper } from './modules/timekeeper/timekeeper.object'

/** What this isolate remembers; see Instance for the bounds. */
const instance = new Instance()
const app = createApp(instance)

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),

  async scheduled(_controller, env, ctx) {
    const context = newContext(instance, env, (work) => ctx.waitUntil(work))
    await wakeAll(context)
    if (context.variables.DEMO === 'on' && context.variables.MULTI_TENANCY === 'off') {
      const claim = {
        access: { kind: 'admin' },
        prefix: null,
        tenantId: IMPLICIT_TENANT_ID,
        tenantName: null,
        keyTenantId: null,
      } as const
      await loadDemo(await enter(context, 'admin', claim))
    }
  },

  async queue(batch, env, ctx) {
    const context = newContext(instance, env, (work) => ctx.waitUntil(work))
    const isOutgoing = ({ body }: Message) => Outgoing.safeParse(body).success
    const outgoing = batch.messages.filter(isOutgoing)
    const repairs = batch.messages.filter((message) => !isOutgoing(message))
    await Promise.all([drainAll(context, outgoing), ...repairs.map((message) => repair(context, message))])
  },
} satisfies ExportedHandler<Bindings>
