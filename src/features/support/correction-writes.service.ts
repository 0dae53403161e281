import { parseRequestSnapshot } from '../../access/tenants.repository'
import { configurationAt } from '../../configuration/configuration.repository'
import type { Configuration } from '../../configuration/configuration.types'
import { type BoardContext, deliver, type InputChange } from '../../leaderboards/board-updates.service'
import type { Instant } from '../../lib/clock'
import { errors } from '../../lib/errors'
import { systemNow, wait } from '../../lib/system-clock'
import type { Scope } from '../../platform/context'
import type { TenantDatabase } from '../../platform/database'
import { isConflict, isDatabaseAway } from '../../platform/guard'
import type { Statement } from '../../platform/statement'
import type { CorrectionChange } from '../../rules/corrections.rules'
import { IN_LANE, isOver, pauseAfter } from '../../store/commit/conflict-retry.rules'
import { restartSums } from '../../store/day-sums/day-sums.service'
import type { writeUsers } from '../../store/writer.service'
import { ensureAlarm } from '../../time/timekeeper.service'
import { requestDrain } from '../../webhooks/delivery/drain-debouncer.cache'

/** How often a correction is tried if the database fails in another way than by a conflict. */
const TRIES = 3
/** How long a correction waits for leaderboards, in milliseconds. Nothing depends on their response. */
const PATIENCE = 3_000
/** The seconds after which a client may send a correction again that was not stored because of conflicts. */
const RETRY_AFTER = 1

/** The basis of an attempt: the configuration, the test clock (null if not set), and the moment. */
export type Basis = { config: Configuration; clock: Instant | null; now: Instant }

/** The basis of an attempt from the result of `requestSnapshotStatement`. Throws 404 without the tenant. */
export async function basisOf(scope: Scope, snapshot: D1Result): Promise<Basis> {
  const { tenant, clock } = parseRequestSnapshot(snapshot)
  if (tenant === null) throw errors.tenantUnknown()
  return { config: await configurationAt(scope, tenant.configVersion), clock, now: clock ?? systemNow() }
}

/**
 * Repeats an attempt until it returns a result. An attempt that returns null, or throws a conflict, is
 * repeated as in the user's lane, and ends with 429 (E3). If the database fails in another way,
 * the attempt may have been stored. So each attempt first looks for the result of the one before.
 */
export async function untilStored<T>(attempt: () => Promise<T | null>): Promise<T> {
  const began = systemNow()
  let failures = 0
  for (let conflicts = 1; ; conflicts += 1) {
    try {
      const result = await attempt()
      if (result !== null) return result
    } catch (error) {
      if (!isConflict(error)) {
        failures += 1
        if (!isDatabaseAway(error) || failures >= TRIES) throw error
      }
    }
    if (isOver(IN_LANE, { conflicts, ms: systemNow() - began })) throw errors.contended(RETRY_AFTER)
    await wait(pauseAfter(IN_LANE, conflicts, Math.random()))
  }
}

/**
 * Stores a correction in one batch: the statements of `writeUsers`, further ones after its guard, and the
 * last ones. Wakes the code that sends messages. Returns the internal ids of the stored users.
 */
export async function store(
  scope: Scope,
  { statements, outcome }: ReturnType<typeof writeUsers>,
  further: readonly Statement[],
  last: readonly Statement[] = [],
): Promise<ReadonlySet<string>> {
  const { user, ...others } = statements
  const results = await scope.db.batchOf({ user, further, ...others, last })
  const { stored, hasOutboxEntries, changesDueWork } = outcome(results)
  if (hasOutboxEntries) requestDrain(scope, scope.tenant.id)
  if (changesDueWork) scope.waitUntil(ensureAlarm(scope, scope.tenant.id))
  return stored
}

/** Sends stored corrections to the leaderboards. One that can't be reached counts the users again later. */
export async function updateBoards(
  context: BoardContext,
  { config, now }: Basis,
  changes: readonly InputChange[],
): Promise<void> {
  await deliver(context, config, changes, now, { patience: PATIENCE, wanted: false })
}

/**
 * The statements that empty the kept sums of days that a change alters: those of its points, and those of a
 * metric unless `metricId` is null.
 */
export function restarts(
  db: TenantDatabase,
  { after, awards }: CorrectionChange,
  metricId: string | null,
): Statement[] {
  const systems = [...new Set(awards.map(({ systemId }) => systemId))]
  return [
    ...(metricId === null ? [] : [restartSums(db, after, { log: 'events', id: metricId })]),
    ...systems.map((id) => restartSums(db, after, { log: 'awards', id })),
  ]
}
