import { raiseVersion } from '../../configuration/configuration.service'
import type { Achievement, Configuration } from '../../configuration/configuration.types'
import { changeTenants } from '../../configuration/copies/copied-changes'
import { bulkStep } from '../../leaderboards/bulk-step.service'
import type { Instant } from '../../lib/clock'
import { micros } from '../../lib/decimal'
import { newId } from '../../lib/new-id'
import type { Scope, TenantContext } from '../../platform/context'
import type { TenantDatabase } from '../../platform/database'
import { askAll } from '../../platform/databases/ask-all'
import type { Statement } from '../../platform/statement'
import { countsItself } from '../../rules/achievements.rules'
import type { BulkChange } from '../../rules/change.rules'
import { applyChange } from '../../rules/change.rules'
import { count, NEW_COUNTER } from '../../rules/metrics.rules'
import type { UserState } from '../../rules/state.types'
import { isStale } from '../../rules/streaks/streaks.rules'
import { recountChanges } from '../../store/streaks/streak-recount.service'
import { type WalkStep, walkStep } from '../../store/walk.service'
import { beginWalk, type DueWork, hasWork } from '../../time/due-work.repository'
import type { Job } from '../../time/job.types'
import { counted, sumsOf } from './backdate.repository'

/**
 * Statements that begin to complete achievements for all users who already qualify (A4). They are part of the
 * batch in which these achievements become active or ask for something else. The caller wakes the Timekeeper
 * after that batch.
 */
export function beginBackdating(
  { db, now }: Pick<Scope, 'db' | 'now'>,
  achievementIds: readonly string[],
): Statement[] {
  return achievementIds.map((id) => beginWalk(db, 'backdate', id, now))
}

/**
 * Does one step of the walk over all users for an achievement. Users who qualify get it, with its points and
 * composites (A4).
 */
export function backdateStep(context: TenantContext, work: DueWork): Promise<WalkStep> {
  const { db } = context
  const find = ({ achievements }: Configuration) => achievements.find(({ id }) => id === work.subject)
  return walkStep(
    context,
    work,
    async (config, users, now) => {
      const achievement = find(config)
      if (achievement === undefined || achievement.status === 'inactive') {
        return { changes: [], visited: users.length }
      }
      // A streak of another frequency is recounted first. The next step visits its user (S9).
      const firstStale = users.findIndex(({ streak }) => isStale(streak, config.streaks))
      if (firstStale === 0)
        return { changes: await recountChanges(db, config, users.slice(0, 1), now), visited: 0 }
      const present = firstStale === -1 ? users : users.slice(0, firstStale)
      const known = await withCounters(db, achievement, present)
      const changes = present.flatMap((user, index) => {
        const change = backdated(config, achievement, user, known[index] ?? user, now)
        return change === null ? [] : [change]
      })
      return { changes, visited: present.length }
    },
    async (config) => {
      const achievement = find(config)
      return achievement === undefined || achievement.counted ? [] : noteCounted(context, achievement)
    },
  )
}

/**
 * At the end of the walk in one database: notes that all users' counters of an achievement include the log
 * (A2, A4). That is a change of the configuration. With several databases it is made in all of them, once no
 * other one has users to visit (B4). Until then each user who was visited has a counter, and each new user
 * begins with one. Returns the statements that belong to the end of the walk.
 */
async function noteCounted(
  { databases, db }: TenantContext,
  achievement: Achievement,
): Promise<readonly Statement[]> {
  const { tenantId } = db
  if (!databases.isSeveral) return [counted(db, achievement), raiseVersion(db)]
  const walks = await askAll(
    databases,
    tenantId,
    async (other, name) => name !== db.name && hasWork(other, 'backdate', achievement.id),
  )
  if (walks.includes(true)) return []
  const home = databases.home(tenantId)
  await changeTenants(databases, [tenantId], ({ before, after }) =>
    home.batch([...before, counted(home, achievement), ...after]),
  )
  return []
}

/**
 * Adds to users the counter of an achievement that counts on its own, from the log, if they don't have that
 * counter yet (A2). A user without such events gets a counter with 0: an event that arrives before the end of
 * the walk must find the counter.
 */
async function withCounters(
  db: TenantDatabase,
  achievement: Achievement,
  users: readonly UserState[],
): Promise<readonly UserState[]> {
  if (!countsItself(achievement)) return users
  const { counterId } = achievement
  const asked = users.filter(({ counters }) => !counters.has(counterId))
  const sums = await sumsOf(db, achievement, asked)
  return users.map((user) => {
    if (user.counters.has(counterId)) return user
    const counter = count(NEW_COUNTER, sums.get(user.iid) ?? micros(0))
    return { ...user, counters: new Map(user.counters).set(counterId, counter) }
  })
}

function backdated(
  config: Configuration,
  { id }: Achievement,
  before: UserState,
  user: UserState,
  now: Instant,
): BulkChange | null {
  const change = applyChange(config, {
    before,
    user,
    at: now,
    id: newId(now),
    event: null,
    isTried: (one) => one.id === id && one.trigger !== 'api',
  })
  const isAsBefore = user === before && change.after.revoked === before.revoked
  return change.completed.length === 0 && isAsBefore ? null : { ...change, before, isBackdated: true }
}

declare module '../../time/due-kinds.types' {
  interface DueKinds {
    backdate: true
  }
}

/** Completes an achievement, the subject of the work, for the users who already qualify (A4). */
export const backdateJob: Job = {
  kind: 'backdate',
  isOfUsers: true,
  run: (context, work) => bulkStep(context, 'backdate', () => backdateStep(context, work)),
}
