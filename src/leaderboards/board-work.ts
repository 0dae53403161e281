import { presentConfiguration } from '../configuration/configuration'
import type { Configuration } from '../configuration/model'
import type { Instant } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import type { TenantContext } from '../platform/context'
import { logWork } from '../platform/log'
import type { Work } from '../time/due-work.sql.ts'
import { defineJob, type When } from '../time/job'
import { definitionOf } from './board'
import { BoardEventRow } from './notify/facts'
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
  const { cost, notes, db } = context
  const [began, before, rowsBefore] = [systemNow(), { ...cost }, notes.objectRows ?? 0]
  const step = await work()
  if (step === null || step.changes.length === 0) return
  const { changes, config, changedAt } = step
  await deliver(context, config, changes, changedAt, { patience: BULK_PATIENCE, wanted: false })
  const facts = {
    work: kind,
    tenant: db.tenantId,
    milliseconds: systemNow() - began,
    users: changes.length,
    awards: changes.reduce((sum, { awards }) => sum + awards.length, 0),
    /** Rows that leaderboards have written. */
    objectRows: (notes.objectRows ?? 0) - rowsBefore,
  }
  logWork(facts, cost, before)
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
  const { dueAt, events, hasMore } = await object.runDue(runRequest)
  if (events.length > 0) {
    await sendBoardEvents(
      context,
      config,
      board,
      BoardEventRow.array().parse(events),
      grace === 0 ? work.dueAt : until,
    )
    await object.handed({ rows: events.map(({ no, id }) => [no, id]) })
  }
  await context.db.batch([work.goOnAt(hasMore ? work.dueAt : dueAt)])
}
