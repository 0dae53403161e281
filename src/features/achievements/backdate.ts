import * as z from 'zod'
import { raiseVersion } from '../../configuration/configuration'
import { changeTenants } from '../../configuration/copies'
import type { Achievement, Configuration } from '../../configuration/model'
import { bulkStep } from '../../leaderboards/updates'
import type { Instant } from '../../lib/clock'
import { type Micros, micros } from '../../lib/decimal'
import { newId } from '../../lib/new-id'
import { packsOf } from '../../lib/packed'
import { dayIn } from '../../lib/zone'
import { bytesOf, MOST_READ, numberOf } from '../../platform/columns'
import type { Scope, TenantContext } from '../../platform/context'
import type { Statement, TenantDatabase } from '../../platform/database'
import { anniversaryOf, countsItself } from '../../rules/achievements.rules'
import { applyChange, type BulkChange } from '../../rules/change.rules'
import { count, MOST_TOTAL, NEW_COUNTER, type UserState } from '../../rules/state'
import { isStale } from '../../rules/streaks/streaks.rules'
import { recountChanges, WalkProgress, type WalkStep, walkStep } from '../../store/commit/recount'
import { scheduleForUsers, type Work, workOf } from '../../time/due-work.sql.ts'
import { defineJob } from '../../time/job'

// `total` adds floats. `sum` would fail beyond 64 bits: only the total of all events is bounded, and the
// filtered events may have a larger sum (E1).
const SUMS = `
  SELECT asked.value ->> 0 AS iid, total(e.value) AS sum FROM json_each(?1) asked
  CROSS JOIN events e ON e.user_iid = ${bytesOf('asked.value ->> 0')}
    AND e.metric_no = ${numberOf('metrics', '?2')} AND e.seq <= asked.value ->> 1
  WHERE NOT EXISTS (SELECT 1 FROM json_each(?3) f
    WHERE (e.attributes ->> ('$."' || (f.value ->> 0) || '"')) IS NOT f.value ->> 1)
  GROUP BY 1`

const SumRows = z.array(z.object({ iid: z.string(), sum: z.number() }))

/** Sums of the events that an achievement counts, by iid, up to the `seq` that was read of each user (A2). */
export async function sumsOf(
  db: TenantDatabase,
  { metricId, eventAttributes }: Pick<Achievement, 'metricId' | 'eventAttributes'>,
  users: readonly { iid: string; seq: number }[],
): Promise<ReadonlyMap<string, Micros>> {
  const filters = eventAttributes.map(({ attributeId, attributeValue }) => [attributeId, attributeValue])
  const rows: z.output<typeof SumRows> = []
  for (const some of packsOf(users, MOST_READ, ({ seq }) => seq)) {
    const asked = JSON.stringify(some.map(({ iid, seq }) => [iid, seq]))
    rows.push(...SumRows.parse(await db.rows(db.statement(SUMS, asked, metricId, JSON.stringify(filters)))))
  }
  return new Map(rows.map(({ iid, sum }) => [iid, micros(Math.max(-MOST_TOTAL, Math.min(sum, MOST_TOTAL)))]))
}

const COUNTED = 'UPDATE achievements SET counted = 1 WHERE tenant_id = ?1 AND id = ?2 AND counter_id = ?3'

/** All counters include the log from now on. The same batch must raise the configuration version (A4). */
export function counted(db: TenantDatabase, { id, counterId }: Achievement): Statement {
  return db.statement(COUNTED, db.tenantId, id, counterId)
}

/**
 * Begins to complete achievements for all users who already qualify (A4), in the batch in which these become
 * active or ask for something else. The caller wakes the Timekeeper after that batch.
 */
export function beginBackdating(
  { db, now }: Pick<Scope, 'db' | 'now'>,
  begun: readonly Pick<Achievement, 'id'>[],
): Statement[] {
  return begun.map(({ id }) => scheduleForUsers(db, 'backdate', { at: now, subject: id, on: 'again' }))
}

/** One step of the walk over all users: those who qualify get it, with its points and composites (A4). */
export function backdateStep(context: TenantContext, work: Work<WalkProgress>): Promise<WalkStep> {
  const { db } = context
  const find = ({ achievements }: Configuration) => achievements.find(({ id }) => id === work.subject)
  return walkStep(
    context,
    work,
    async (config, users, now) => {
      const achievement = find(config)
      if (!achievement || achievement.status === 'inactive') return { changes: [], visited: users.length }
      // A streak of another frequency is recounted first. The next step visits its user (S9).
      const firstStale = users.findIndex(({ streak }) => isStale(streak, config.streaks))
      if (firstStale === 0)
        return { changes: await recountChanges(db, config, users.slice(0, 1), now), visited: 0 }
      const present = firstStale === -1 ? users : users.slice(0, firstStale)
      const known = await withCounters(db, achievement, present)
      const changes = present.flatMap((user, index) => {
        const change = backdated(config, achievement, user, known[index] ?? user, { now, begun: work.dueAt })
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
 * At the end of the walk in one database: notes that all users' counters of an achievement include the log.
 * With several databases this is noted in all of them, once no other one has users to visit (A4, B4). Until
 * then each user who was visited has a counter, and each new user begins with one.
 */
async function noteCounted(
  { databases, db }: TenantContext,
  achievement: Achievement,
): Promise<readonly Statement[]> {
  const { tenantId } = db
  if (databases.others.length === 0) return [counted(db, achievement), raiseVersion(db)]
  const walks = await databases
    .usersOf(tenantId)
    .askAll(async (other, name) => (name === db.name ? undefined : workOf(other, 'backdate', achievement.id)))
  if (walks.some((walk) => walk !== undefined)) return []
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
  { now, begun }: { now: Instant; begun: Instant },
): BulkChange | null {
  // An anniversary that comes after that moment is completed on time, also if the walk is slow (A7).
  const hasBegun = (one: Achievement) =>
    one.trigger !== 'anniversary' || anniversaryOf(user, one) <= dayIn(user.profile.tz, begun)
  const isTried = (one: Achievement) => one.id === id && one.trigger !== 'api' && hasBegun(one)
  const change = applyChange(config, { before, user, at: now, id: newId(now), event: null, isTried })
  const isAsBefore = user === before && change.after.revoked === before.revoked
  return change.completed.length === 0 && isAsBefore ? null : { ...change, before, isBackdated: true }
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    backdate: true
  }
}

/** Completes an achievement, the subject of the work, for the users who already qualify (A4). */
export const backdateJob = defineJob({
  kind: 'backdate',
  of: 'users',
  progress: WalkProgress,
  step: (context, work) => bulkStep(context, 'backdate', () => backdateStep(context, work)),
})
