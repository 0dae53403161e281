import type { Context } from '../../context'
import { type Instant, instant } from '../../shared/clock'
import { presentConfiguration } from '../configuration/configuration.service'
import { definitionOf, TendReply } from '../leaderboards/board.messages'
import { boardObject, deliver } from '../leaderboards/delivery.service'
import { tickStep } from '../points/ticks.service'
import { type DueWork, dueWorkOf, rescheduled } from './timekeeper.repository'

/** How long a leaderboard is left alone after its upkeep has failed, and how long ticks wait for one, in milliseconds. */
const PAUSE = 60_000

/**
 * Does what of a tenant's work is due by a moment, in order of due time, at most so many steps of it. Every step is idempotent:
 * what it has done is in D1 before the next one begins. Where a leaderboard fails it throws if that is wanted; else the
 * leaderboard waits, so that it holds up nothing else.
 */
export async function workOff(
  context: Context,
  tenantId: string,
  { to, steps, mustAll }: { to: Instant; steps: number; mustAll: boolean },
): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    const [first, ...others] = await dueWorkOf(context.db, tenantId)
    if (first === undefined || first.dueAt > to) return
    if (first.kind === 'ticks') {
      // Ticks come in passes: one ends where something else is due.
      const next = others[0]?.dueAt ?? to
      await grantTicks(context, tenantId, first, instant(Math.max(first.dueAt, Math.min(to, next))))
      continue
    }
    try {
      await tendBoard(context, tenantId, first, to)
    } catch (error) {
      if (mustAll) throw error
      console.error(
        JSON.stringify({ level: 'error', tenantId, leaderboard: first.subject, error: String(error) }),
      )
      await context.db.batch([rescheduled(context.db, tenantId, first, instant(to + PAUSE))])
    }
  }
}

/** Grants a chunk of ticks, and tells the leaderboards of it: one call each. */
async function grantTicks(context: Context, tenantId: string, work: DueWork, until: Instant): Promise<void> {
  const { changes, config } = await tickStep(context, tenantId, work, until)
  if (changes.length === 0) return
  const at = Math.max(...changes.flatMap(({ awards }) => awards.map((award) => award.at)))
  await deliver(context, config, changes, instant(at), PAUSE)
}

/** Has a leaderboard do what is due, and notes when it wants to be called again. */
async function tendBoard(context: Context, tenantId: string, work: DueWork, until: Instant): Promise<void> {
  const config = await presentConfiguration(context, tenantId)
  const board = config.leaderboards.find(({ id }) => id === work.subject)
  const object = boardObject(context, work.subject)
  if (board === undefined) await object.forget()
  const dueAt =
    board === undefined
      ? null
      : TendReply.parse(
          await object.tend({ definition: definitionOf(config, board), now: work.dueAt, until }),
        ).dueAt
  await context.db.batch([rescheduled(context.db, tenantId, work, dueAt)])
}
