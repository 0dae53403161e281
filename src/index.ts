import { createApp } from './app'
import type { Bindings } from './env'
import { Instance } from './instance'

export { UserLane } from './modules/events/lane.object'

/** What this isolate remembers; see Instance for the bounds. */
const app = createApp(new Instance())

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),
} satisfies ExportedHandler<Bindings>
