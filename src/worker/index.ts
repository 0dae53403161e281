import { repeatDeletedKeys } from '../access/deleted-keys'
import { noteMoment } from '../access/restores.sql.ts'
import { deleteOutdatedEntries } from '../configuration/audit.sql.ts'
import { newInstance } from '../configuration/configuration'
import { finishChanges } from '../configuration/copies'
import { noticeClock } from '../features/account/clock.routes'
import { redoDeletions } from '../features/account/purge'
import { noteBound } from '../features/databases/databases.routes'
import { deleteOutdatedBatches } from '../features/events/batches/batches.sql.ts'
import { flushPoints } from '../features/points/points-changed'
import { Repair, repair } from '../leaderboards/updates'
import { systemNow, within } from '../lib/system-clock'
import { newContext } from '../platform/context'
import type { Bindings } from '../platform/env'
import { logProblem, type Problem } from '../platform/log'
import { wakeAll } from '../time/timekeeper'
import { TimekeeperObject } from '../time/timekeeper.object'
import { drainAll } from '../webhooks/delivery/drain'
import { DeliveryQueueObject } from '../webhooks/delivery/queue.object'
import { DrainRequest } from '../webhooks/outbox/outbox'
import { createApp } from './app'
import { enterDemo, hasDemo, loadDemo } from './demo-load'
import { channelTo, JOBS } from './jobs'

/** Whether a queue is the one that gets the messages that failed too often. wrangler.toml names it. */
const isOfDeadLetters = ({ queue }: MessageBatch): boolean => queue.endsWith('-dead-letters')

/**
 * Logs each message that failed too often, one line each, and deletes it. Nothing is lost with it: the cron
 * trigger finds a full outbox, and the hourly comparison repairs a leaderboard (L12, C2). It must not stay,
 * since it may have ids of users (U8).
 */
function logDeadLetters({ messages }: MessageBatch): void {
  for (const message of messages) {
    logProblem('error', { ...originOf(message.body), error: 'a message was given up after its last retry' })
    message.ack()
  }
}

/** Where a message comes from, without the ids of its users. */
function originOf(body: unknown): Pick<Problem, 'deadLetter' | 'tenant' | 'leaderboard'> {
  const drain = DrainRequest.safeParse(body)
  if (drain.success) return { deadLetter: 'outbox', tenant: drain.data.tenantId }
  const repair = Repair.safeParse(body)
  if (!repair.success) return { deadLetter: 'unknown' }
  return { deadLetter: 'repairs', tenant: repair.data.tenantId, leaderboard: repair.data.leaderboardId }
}

export { DeletionList } from '../access/deletions.object'
export { UserLane } from '../features/events/lane.object'
export { LeaderboardObject } from '../leaderboards/object/board.object'

/** The Timekeeper of a tenant, with all jobs. */
export class Timekeeper extends TimekeeperObject {
  protected readonly jobs = JOBS
  protected readonly instance = newInstance()
}

/** The delivery queue of a destination, with all channels. */
export class Courier extends DeliveryQueueObject {
  protected readonly channels = channelTo
}

/** How long the cron trigger waits for work before it wakes the Timekeepers, in milliseconds. */
const PATIENCE = 10_000

const instance = newInstance()
const app = createApp(() => instance)

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),

  async scheduled(_controller, env, ctx) {
    const context = newContext(instance, env, (work) => ctx.waitUntil(work))
    const noting = (problem: string) => (error: unknown) =>
      logProblem('warn', { error: `${problem}: ${String(error)}` })
    // First, so that the Timekeepers find what it makes due. A failure must not keep them asleep.
    await redoDeletions(context).catch((error: unknown) =>
      logProblem('error', { work: 'redo', error: String(error) }),
    )
    // A database that does not answer must not keep the Timekeepers asleep either.
    await within(PATIENCE, noteMoment(context.databases, systemNow())).catch(noting('no moment was noted'))
    await noteBound(context)
    const finished = within(PATIENCE, finishChanges(context.databases))
    await finished.catch(noting('changes of configurations are finished later'))
    await within(PATIENCE, noticeClock(context, JOBS)).catch(noting('due times ahead are noticed later'))
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
      drainAll(context, flushPoints, drainRequests),
      ...repairs.map((message) => repair(context, message)),
    ])
  },
} satisfies ExportedHandler<Bindings>
