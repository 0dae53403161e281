import { UserQueues } from '../../../src/features/events/queues'
import type { CommandResult } from '../../../src/features/events/sent'
import { instant } from '../../../src/lib/clock'

/*
 * A Worker around the queue of one user. A path is the name of a command. Commits take until `/release`.
 * `/state` lists the commands that came into the queue, and the leaders of commits.
 */

const queues = new UserQueues()
const state = { isReleased: false, queued: [] as string[], leaders: [] as string[] }

const job = () => ({
  command: { kind: 'upsert' as const, user: {}, by: 'admin' as const },
  credential: null,
  tenantName: null,
  arrived: instant(0),
  attempt: null,
})

const RESULT: CommandResult = { kind: 'refused', status: 422, message: '' }

export default {
  async fetch(request, _env, ctx) {
    const name = new URL(request.url).pathname.slice(1)
    if (name === 'state') return Response.json(state)
    if (name === 'release') {
      state.isReleased = true
      return new Response()
    }
    const result = queues.submit(
      'ada',
      job(),
      async (jobs) => {
        state.leaders.push(name)
        while (!state.isReleased) await scheduler.wait(5)
        return jobs.map(() => RESULT)
      },
      (work) => ctx.waitUntil(work),
    )
    state.queued.push(name)
    await result
    return new Response(name)
  },
} satisfies ExportedHandler
