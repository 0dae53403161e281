import type { Configuration } from '../config/configuration.types'
import type { Instant } from '../lib/clock'
import { systemNow } from '../lib/system-clock'
import type { Context, TenantContext } from '../runtime/context'
import { deliver, type InputChange } from './board-updates.service'

/** How long a step that changes many users waits for a leaderboard, in milliseconds, of which nobody waits to hear. */
const BULK_PATIENCE = 10_000

/** What a step did to users, under which configuration, and when: ranks move on that day. */
type Step = { changes: readonly InputChange[]; config: Configuration; changedAt: Instant }

/** Does a step that changes many users, tells the leaderboards of it, one call each, and logs what it cost. */
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

/** What a context has cost so far; `objectRows` are those that leaderboards have written. */
const spent = ({ cost, notes }: Context) => ({ ...cost, objectRows: Number(notes.objectRows ?? 0) })
type Spent = ReturnType<typeof spent>

/** The log line of a step, as JSON: how many users it changed, how many awards they got, and what that cost. Nothing of a user. */
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
