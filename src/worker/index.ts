import { repeatDeletedKeys } from '../access/deleted/deleted-keys.service'
import { noteMoment } from '../access/restores/moments.service'
import { deleteOutdatedEntries } from '../configuration/audit/retention.service'
import { finishChanges } from '../configuration/copies/copied-changes'
import { newInstance } from '../configuration/instance'
import { redoDeletions } from '../features/account/redo.service'
import { noteBound } from '../features/databases/databases.service'
import { deleteOutdatedBatches } from '../features/events/batches/retention.service'
import { repair } from '../leaderboards/repair.service'
import { systemNow } from '../lib/system-clock'
import { within } from '../lib/timeout'
import { newContext } from '../platform/context'
import type { Bindings } from '../platform/env'
import { logProblem } from '../platform/log'
import { wakeAll } from '../time/timekeeper.service'
import { drainAll } from '../webhooks/delivery/drain.service'
import { DrainRequest } from '../webhooks/outbox/outbox.messages'
import { createApp } from './app'
import { isOfDeadLetters, logDeadLetters } from './dead-letters'
import { enterDemo, hasDemo, loadDemo } from './demo.service'
import { JOBS, SOURCES } from './jobs'

export { DeletionList } from '../access/deleted/deletions.object'
export { UserLane } from '../features/events/lane.object'
export { LeaderboardObject } from '../leaderboards/object/board.object'
export { Courier, Timekeeper } from './objects'

/** How long the cron trigger waits for work before it wakes the Timekeepers, in milliseconds. */
const PATIENCE = 10_000

/** The memory of this isolate. See Instance for its bounds. */
const instance = newInstance()
const app = createApp(instance)

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),

  async scheduled(_controller, env, ctx) {
    const context = newContext(instance, env, (work) => ctx.waitUntil(work))
    // First, so that the Timekeepers find what it makes due. A failure must not keep them asleep.
    await redoDeletions(context).catch((error: unknown) =>
      logProblem('error', { work: 'redo', error: String(error) }),
    )
    // A database that does not answer must not keep the Timekeepers asleep either.
    await within(PATIENCE, noteMoment(context.databases, systemNow())).catch((error: unknown) =>
      logProblem('warn', { error: `no moment was noted: ${String(error)}` }),
    )
    await noteBound(context)
    await within(PATIENCE, finishChanges(context.databases)).catch((error: unknown) =>
      logProblem('warn', { error: `changes of configurations are finished later: ${String(error)}` }),
    )
    await wakeAll(context, JOBS)
    if (hasDemo(context)) await loadDemo(await enterDemo(context))
    await deleteOutdatedBatches(context)
    await repeatDeletedKeys(context)
    await deleteOutdatedEntries(context)
  },

  async queue(batch, env, ctx) {
    if (isOfDeadLetters(batch)) return logDeadLetters(batch)
    const context = newContext(instance, env, (work) => ctx.waitUntil(work))
    const isDrainRequest = ({ body }: Message) => DrainRequest.safeParse(body).success
    const drainRequests = batch.messages.filter(isDrainRequest)
    const repairs = batch.messages.filter((message) => !isDrainRequest(message))
    await Promise.all([
      drainAll(context, SOURCES, drainRequests),
      ...repairs.map((message) => repair(context, message)),
    ])
  },
} satisfies ExportedHandler<Bindings>
