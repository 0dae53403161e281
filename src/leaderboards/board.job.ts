import { presentConfiguration } from '../configuration/configuration.service'
import type { Instant } from '../lib/clock'
import type { TenantContext } from '../platform/context'
import { type DueWork, rescheduled } from '../time/due-work.repository'
import type { Job } from '../time/job.types'
import { definitionOf, RunDueReply } from './board.messages'
import { boardObject } from './board-updates.service'
import { sendBoardEvents } from './notify/board-events.service'

declare module '../time/due-kinds.types' {
  interface DueKinds {
    leaderboard: true
  }
}

/**
 * The upkeep of a leaderboard: begins and ends of runs, walks over users, comparisons (L7). The subject of
 * the work is the leaderboard's id.
 */
export const boardJob: Job = {
  kind: 'leaderboard',
  run: (context, work, { until, grace }) => runBoardWork(context, work, { until, grace }),
}

/** Does the due work, sends its events, and schedules the next call. An interruption loses no events. */
async function runBoardWork(
  context: TenantContext,
  work: DueWork,
  when: { until: Instant; grace: number },
): Promise<void> {
  const config = await presentConfiguration(context)
  const board = config.leaderboards.find(({ id }) => id === work.subject)
  const object = boardObject(context, work.subject)
  if (board === undefined) {
    await object.forget()
    await context.db.batch([rescheduled(context.db, work, null)])
    return
  }
  const runRequest = { definition: definitionOf(config, board), now: work.dueAt, ...when }
  const { dueAt, events, hasMore } = RunDueReply.parse(await object.runDue(runRequest))
  if (events.length > 0) {
    await sendBoardEvents(context, config, board, events, when.grace === 0 ? work.dueAt : when.until)
    await object.handed({ rows: events.map(({ no, id }) => [no, id]) })
  }
  await context.db.batch([rescheduled(context.db, work, hasMore ? work.dueAt : dueAt)])
}
