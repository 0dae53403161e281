import { createApp, newContext } from './app'
import type { Bindings } from './env'
import { Instance } from './instance'
import { enterDemo, hasDemo, loadDemo } from './modules/demo/demo.service'
import { repair } from './modules/leaderboards/repair.service'
import { drainAll } from './modules/outbox/drain.service'
import { Outgoing } from './modules/outbox/outbox'
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
    if (hasDemo(context)) await loadDemo(await enterDemo(context))
  },

  async queue(batch, env, ctx) {
    const context = newContext(instance, env, (work) => ctx.waitUntil(work))
    const isOutgoing = ({ body }: Message) => Outgoing.safeParse(body).success
    const outgoing = batch.messages.filter(isOutgoing)
    const repairs = batch.messages.filter((message) => !isOutgoing(message))
    await Promise.all([drainAll(context, outgoing), ...repairs.map((message) => repair(context, message))])
  },
} satisfies ExportedHandler<Bindings>
