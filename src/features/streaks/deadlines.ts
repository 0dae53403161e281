import { parseRequestSnapshot, requestSnapshotStatement } from '../../access/tenants.sql.ts'
import { configurationAt, rememberedConfiguration } from '../../configuration/configuration'
import { EVENT_TYPES } from '../../configuration/enumerations'
import type { Configuration } from '../../configuration/model'
import { bulkStep } from '../../leaderboards/updates'
import type { Instant } from '../../lib/clock'
import { newId } from '../../lib/new-id'
import type { TenantContext } from '../../platform/context'
import { configurationUnchanged, nullIfConflict } from '../../platform/guard'
import { type BulkChange, judged } from '../../rules/change.rules'
import type { UserState } from '../../rules/state'
import { isStale } from '../../rules/streaks/streaks.rules'
import { recountChanges, WalkProgress, type WalkStep, walkStep } from '../../store/commit/recount'
import { storedBy, writeBulk } from '../../store/commit/writer'
import { dueStatement, dueUsers, nextDeadline } from '../../store/users/streaks.sql.ts'
import type { Work } from '../../time/due-work.sql.ts'
import { defineJob } from '../../time/job'
import { listens } from '../../webhooks/outbox/outbox'

const CHUNK = 1_000

/** The deadline of a step is the time of its changes. */
type DeadlineStep = { changes: readonly BulkChange[]; config: Configuration; changedAt: Instant }

/**
 * Judges streaks whose deadline is the tenant's earliest and is due at `by` (S3, S7): at most 1,000 users in
 * one guarded batch. Skips users who changed in between: the next step finds them. Call it until it returns
 * null. `isWhole`: whether users are read with all data for webhook events. The cached configuration says
 * whether that is needed. If the current one says otherwise, the step reads the users again.
 */
export async function judgeStreaks(
  context: TenantContext,
  by: Instant,
  isWhole = isListenedTo(rememberedConfiguration(context)),
): Promise<DeadlineStep | null> {
  const { db } = context
  const { snapshot, found } = await db.batchOf({
    snapshot: requestSnapshotStatement(db, db.tenantId, []),
    found: dueStatement(db, by, { limit: CHUNK, isWhole }),
  })
  const { tenant } = parseRequestSnapshot(snapshot)
  if (tenant === null) throw new Error('the tenant is gone')
  const due = await dueUsers(db, found, CHUNK)
  if (due === null) {
    await db.batch(nextDeadline(db))
    return null
  }
  const { deadline, users } = due
  const config = await configurationAt(context, tenant.configVersion)
  if (!isWhole && isListenedTo(config)) return judgeStreaks(context, by, true)
  const stale = users.filter(({ streak }) => isStale(streak, config.streaks))
  const changes = [
    ...users.flatMap((user) => judged(config, user, deadline, newId)),
    ...(await recountChanges(db, config, stale, by)),
  ]
  // An extended streak may have points and achievements.
  if (!isWhole && changes.some(({ onlyStreak }) => onlyStreak === false))
    return judgeStreaks(context, by, true)
  const statements = {
    configuration: configurationUnchanged(db, config.version),
    ...writeBulk(db, config, changes),
    deadline: nextDeadline(db),
  }
  const results = await db.batchOf(statements).catch(nullIfConflict)
  const done = results && storedBy(changes, results.stores)
  return { changes: changes.filter(({ before }) => done?.has(before.id)), config, changedAt: deadline }
}

/** Whether a webhook listens to streak events, so that users are read with all data. */
const isListenedTo = (config: Configuration | undefined) =>
  config !== undefined && EVENT_TYPES.some((type) => type.startsWith('streak.') && listens(config, type))

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    streaks: true
  }
}

/** Judges streaks at their deadlines (S3). */
export const deadlinesJob = defineJob({
  kind: 'streaks',
  of: 'users',
  // Its time stays if the test clock is removed: the deadlines are in the users' rows.
  keepsItsTime: true,
  isFirst: true,
  step: (context, _work, { by }) => bulkStep(context, 'streaks', () => judgeStreaks(context, by)),
})

/** Does one step of the walk over all users after a change of the streak settings (S9). */
export function recountStep(context: TenantContext, work: Work<WalkProgress>): Promise<WalkStep> {
  const visit = async (config: Configuration, users: readonly UserState[], now: Instant) => {
    const stale = users.filter(({ streak }) => isStale(streak, config.streaks))
    const counted = await recountChanges(context.db, config, stale, now)
    const next = stale[counted.length]
    const visited = next === undefined ? users : users.slice(0, users.indexOf(next))
    // The new goal counts from the change on, also if midnights have passed since (S2).
    const others = visited.flatMap((user) => judged(config, user, work.dueAt, newId))
    return { changes: [...counted, ...others], visited: visited.length }
  }
  return walkStep(context, work, visit)
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    recount: true
  }
}

/** A walk over all users after a change of the streak settings (S9). */
export const recountJob = defineJob({
  kind: 'recount',
  of: 'users',
  progress: WalkProgress,
  step: (context, work) => bulkStep(context, 'recount', () => recountStep(context, work)),
})
