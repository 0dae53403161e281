import * as z from 'zod'
import { parseRequestSnapshot, requestSnapshotStatement } from '../../access/tenants.sql.ts'
import { configurationAt } from '../../configuration/configuration.sql.ts'
import type { Configuration } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import { systemNow } from '../../lib/system-clock'
import type { TenantContext } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { configurationUnchanged, isConflict } from '../../platform/guard'
import type { BulkChange } from '../../rules/change.rules'
import type { UserState } from '../../rules/state'
import type { Work } from '../../time/due-work.sql.ts'
import { scheduleEarliestDeadline } from '../streaks/streaks.sql.ts'
import { portionOf, portionStatement, shortAmong } from '../users/portions.sql.ts'
import { userOf } from '../users/users.sql.ts'
import { storedBy, writeBulk } from './writer'

/** The most users of one step. Each user may have entries for a thousand resources of the tenant. */
const CHUNK = 200

/** The progress of a walk: the last user who was visited. */
export const WalkProgress = z.object({ after: z.string() })
export type WalkProgress = z.infer<typeof WalkProgress>

/** Visits a chunk of users. Returns the changes, and how many users, from the first on, it has visited. */
type Visit = (
  config: Configuration,
  users: readonly UserState[],
  now: Instant,
) => Promise<{ changes: BulkChange[]; visited: number }>

/** The changes of a step, and when they happened. */
export type WalkStep = { changes: readonly BulkChange[]; config: Configuration; changedAt: Instant }

/**
 * Runs one step of a walk over all users of a tenant, in order of their ids. A step changes a chunk of users
 * in one guarded batch.
 * The batch skips users who have changed since the read. The next step visits them again, and perhaps other
 * users too, so `visit` must do nothing on a second visit. `last` is called at the end of the walk, and its
 * statements are stored with that end. If `last` fails, the last step is repeated. If the configuration has
 * changed, the step does nothing.
 */
export async function walkStep(
  context: TenantContext,
  work: Work<WalkProgress>,
  visit: Visit,
  last: (config: Configuration) => Promise<readonly Statement[]> = async () => [],
): Promise<WalkStep> {
  const { db } = context
  const after = work.progress?.after ?? ''
  const { snapshot, found } = await db.batchOf({
    snapshot: requestSnapshotStatement(db, db.tenantId, []),
    found: portionStatement(db, { after, limit: CHUNK }),
  })
  const { tenant, clock } = parseRequestSnapshot(snapshot)
  if (tenant === null) throw new Error('the tenant is gone')
  const config = await configurationAt(context, tenant.configVersion)
  const now = clock ?? systemNow()
  const { rows, isCut } = await portionOf(db, found.results, { short: shortAmong(CHUNK) })
  const users = rows.map(userOf)
  const { changes, visited } = await visit(config, users, now)
  try {
    const { stores } = await db.batchOf({
      configuration: configurationUnchanged(db, config.version),
      ...writeBulk(db, config, changes),
      deadline: scheduleEarliestDeadline(db, changes),
    })
    const done = storedBy(changes, stores)
    const skipped = users.findIndex(
      ({ id }) => changes.some(({ before }) => before.id === id) && !done.has(id),
    )
    const passed = Math.min(visited, skipped === -1 ? users.length : skipped)
    const isEnd = passed === users.length && !isCut && found.results.length < CHUNK
    const end = isEnd ? await last(config) : []
    await db.batch(isEnd ? [work.end(), ...end] : [work.goOn({ after: users[passed - 1]?.id ?? after })])
    return { changes: changes.filter(({ before }) => done.has(before.id)), config, changedAt: now }
  } catch (error) {
    if (isConflict(error)) return { changes: [], config, changedAt: now }
    throw error
  }
}
