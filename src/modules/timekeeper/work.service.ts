import type { Context } from '../../context'
import { type Instant, instant, systemNow } from '../../shared/clock'
import { presentConfiguration } from '../configuration/configuration.service'
import { definitionOf, TendReply } from '../leaderboards/board.messages'
import { boardObject, deliver } from '../leaderboards/delivery.service'
import { type TickStep, tickStep } from '../points/ticks.service'
import { type DueWork, nextWorkOf, rescheduled, ticksOf } from './timekeeper.repository'

/** How long a leaderboard is left alone after its upkeep has failed, in milliseconds. */
const PAUSE = 60_000
/** How long a chunk of ticks waits for a leaderboard, in milliseconds, of which nobody waits to hear. */
const TICKS_PATIENCE = 10_000

/** How long after their time, in milliseconds, ticks are granted and runs are made final, so that what was on its way has arrived. */
export type Grace = { ticks: number; finals: number }

/**
 * Does what of a tenant's work is due by a moment, in order of due time, at most so many steps of it. Every step is idempotent:
 * what it has done is in D1 before the next one begins. Where a leaderboard fails it throws if that is wanted; else the
 * leaderboard waits, so that it holds up nothing else.
 */
export async function workOff(
  context: Context,
  tenantId: string,
  { to, steps, mustAll, grace }: { to: Instant; steps: number; mustAll: boolean; grace: Grace },
): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    const work = await nextWorkOf(context.db, tenantId)
    const [first, ...others] = work.filter((one) => wantedAt(one, grace) <= to)
    if (first === undefined) return
    if (first.kind === 'ticks') {
      // Ticks come in passes: one ends where something else is due.
      const next = others[0]?.dueAt ?? to
      await grantTicks(
        context,
        tenantId,
        first,
        instant(Math.max(first.dueAt, Math.min(to - grace.ticks, next))),
      )
      continue
    }
    try {
      await tendBoard(context, tenantId, first, { until: to, grace: grace.finals })
    } catch (error) {
      if (mustAll) throw error
      console.error(
        JSON.stringify({ level: 'error', tenantId, leaderboard: first.subject, error: String(error) }),
      )
      await context.db.batch([rescheduled(context.db, tenantId, first, instant(to + PAUSE))])
    }
  }
}

/** When a piece of work is to be done. */
export const wantedAt = ({ kind, dueAt }: DueWork, grace: Grace): Instant =>
  instant(dueAt + (kind === 'ticks' ? grace.ticks : 0))

/** Grants all ticks that are due by a moment. */
export async function workOffTicks(context: Context, tenantId: string, to: Instant): Promise<void> {
  for (;;) {
    const [ticks] = await ticksOf(context.db, tenantId)
    if (ticks === undefined || ticks.dueAt > to) return
    await grantTicks(context, tenantId, ticks, to)
  }
}

/** Grants a chunk of ticks, and tells the leaderboards of it: one call each. */
async function grantTicks(context: Context, tenantId: string, work: DueWork, until: Instant): Promise<void> {
  const [began, before] = [systemNow(), spent(context)]
  const { changes, config } = await tickStep(context, tenantId, work, until)
  if (changes.length === 0) return
  const at = Math.max(...changes.flatMap(({ awards }) => awards.map((award) => award.at)))
  await deliver(context, config, changes, instant(at), { patience: TICKS_PATIENCE, wanted: false })
  const after = spent(context)
  console.log(stepLine(tenantId, systemNow() - began, changes, { before, after }))
}

/** What a context has cost so far; `objectRows` are those that leaderboards have written. */
const spent = ({ cost, notes }: Context) => ({ ...cost, objectRows: Number(notes.objectRows ?? 0) })
type Spent = ReturnType<typeof spent>

/** The log line of a chunk of ticks, as JSON: how many users got how many awards, and what that cost. Nothing of a user. */
function stepLine(
  tenantId: string,
  milliseconds: number,
  changes: TickStep['changes'],
  { before, after }: { before: Spent; after: Spent },
): string {
  return JSON.stringify({
    level: 'info',
    work: 'ticks',
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

/** Has a leaderboard do what is due, and notes when it wants to be called again. */
async function tendBoard(
  context: Context,
  tenantId: string,
  work: DueWork,
  when: { until: Instant; grace: number },
): Promise<void> {
  const config = await presentConfiguration(context, tenantId)
  const board = config.leaderboards.find(({ id }) => id === work.subject)
  const object = boardObject(context, work.subject)
  if (board === undefined) await object.forget()
  const dueAt =
    board === undefined
      ? null
      : TendReply.parse(
          await object.tend({ definition: definitionOf(config, board), now: work.dueAt, ...when }),
        ).dueAt
  await context.db.batch([rescheduled(context.db, tenantId, work, dueAt)])
}
