import { presentConfiguration } from '../configuration/configuration'
import type { Configuration } from '../configuration/configuration.types'
import type { Instant } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import type { Context, TenantContext } from '../platform/context'
import type { Work } from '../time/due-work.sql.ts'
import { defineJob, type When } from '../time/job'
import { definitionOf, RunDueReply } from './board'
import { sendBoardEvents } from './notify/send'
import { boardObject, deliver, type InputChange } from './updates'

/** How long a bulk step waits for a leaderboard, in milliseconds. No request waits for the step. */
const BULK_PATIENCE = 10_000

/** The changes of a step, its configuration, and its moment. Ranks move on the day of that moment. */
type Step = { changes: readonly InputChange[]; config: Configuration; changedAt: Instant }

/** Does a step that changes many users, notifies the leaderboards, with one call each, and logs the cost. */
export async function bulkStep(
  context: TenantContext,
  kind: string,
  work: () => Promise<Step | null>,
): Promise<void> {
  const [began, before] = [systemNow(), spent(context)]
  const step = await work()
  if (step === null || step.changes.length === 0) return
  const { changes, config, changedAt } = step
  await deliver(context, config, changes, changedAt, { patience: BULK_PATIENCE, wanted: false })
  const after = spent(context)
  console.log(stepLine(context.db.tenantId, kind, systemNow() - began, changes, { before, after }))
}

/** The cost of a context so far. `objectRows` are rows that leaderboards have written. */
const spent = ({ cost, notes }: Context) => ({ ...cost, objectRows: notes.objectRows ?? 0 })
type Spent = ReturnType<typeof spent>

/** The log line of a step, as JSON: changed users, awards and the cost. It contains nothing about a user. */
function stepLine(
  tenantId: string,
  kind: string,
  milliseconds: number,
  changes: readonly InputChange[],
  { before, after }: { before: Spent; after: Spent },
): string {
  return JSON.stringify({
    level: 'info',
    work: kind,
    tenant: tenantId,
    milliseconds,
    users: changes.length,
    awards: changes.reduce((sum, { awards }) => sum + awards.length, 0),
    d1: {
      roundTrips: after.roundTrips - before.roundTrips,
      rowsRead: after.rowsRead - before.rowsRead,
      rowsWritten: after.rowsWritten - before.rowsWritten,
    },
    objectRows: after.objectRows - before.objectRows,
  })
}

declare module '../time/kinds' {
  interface DueKinds {
    leaderboard: true
  }
}

/**
 * The upkeep of a leaderboard: begins and ends of runs, walks over users, comparisons (L7). The subject of
 * the work is the leaderboard's id.
 */
export const boardJob = defineJob({
  kind: 'leaderboard',
  of: 'tenant',
  step: runBoardWork,
})

/** Does the due work, sends its events, and schedules the next call. An interruption loses no events. */
async function runBoardWork(
  context: TenantContext,
  work: Work<never>,
  { until, grace }: When,
): Promise<void> {
  const config = await presentConfiguration(context)
  const board = config.leaderboards.find(({ id }) => id === work.subject)
  const object = boardObject(context, work.subject)
  if (board === undefined) {
    await object.forget()
    await context.db.batch([work.end()])
    return
  }
  const runRequest = { definition: definitionOf(config, board), now: work.dueAt, until, grace }
  const { dueAt, events, hasMore } = RunDueReply.parse(await object.runDue(runRequest))
  if (events.length > 0) {
    await sendBoardEvents(context, config, board, events, grace === 0 ? work.dueAt : until)
    await object.handed({ rows: events.map(({ no, id }) => [no, id]) })
  }
  await context.db.batch([work.goOnAt(hasMore ? work.dueAt : dueAt)])
}
