/** The Worker as it is deployed, but its objects and handlers also get faulty bindings. */
import * as z from 'zod'
import type { Bindings } from '../../src/platform/env'
import worker, * as real from '../../src/worker'
import { chaos, faulty } from './faults'

export { DeletionList } from '../../src/worker'

export class Courier extends real.Courier {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, faulty(env))
  }
}

export class UserLane extends real.UserLane {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, faulty(env))
  }
}

export class LeaderboardObject extends real.LeaderboardObject {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, faulty(env))
  }
}

export class Timekeeper extends real.Timekeeper {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, faulty(env))
  }
}

const About = z.object({ tenantId: z.string() })

/**
 * The messages of a batch without messages of worlds that have ended. Those would be delivered again and
 * again.
 */
function ofThisWorld(batch: MessageBatch): MessageBatch {
  const isOurs = ({ body }: Message) => About.safeParse(body).data?.tenantId === chaos.tenantId
  for (const message of batch.messages) if (!isOurs(message)) message.ack()
  return new Proxy(batch, {
    get(target, name) {
      if (name === 'messages') return target.messages.filter(isOurs)
      return Reflect.get(target, name, target)
    },
  })
}

export default {
  fetch: (request, env, ctx) => worker.fetch(request, env, ctx),
  scheduled: (controller, env, ctx) => worker.scheduled(controller, faulty(env), ctx),
  queue: (batch, env, ctx) => worker.queue(ofThisWorld(batch), faulty(env), ctx),
} satisfies ExportedHandler<Bindings>
