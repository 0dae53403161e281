import * as z from 'zod'
import { guardedStep } from '../../configuration/configuration'
import { bulkStep } from '../../leaderboards/updates'
import { DAY, FIRST_OFFSET, type Instant, instant, LAST_OFFSET } from '../../lib/clock'
import { newId } from '../../lib/new-id'
import {
  civilDate,
  dateOfDay,
  dayBegins,
  localDay,
  nextAnniversary,
  startOfDay,
  yearOf,
} from '../../lib/zone'
import { Moment } from '../../platform/columns'
import type { Scope, TenantContext } from '../../platform/context'
import type { Statement, TenantDatabase } from '../../platform/database'
import { anniversaryOf, hasAnniversaries } from '../../rules/achievements.rules'
import { ofAnniversaries } from '../../rules/change.rules'
import { CHUNK, type WalkStep, walkOn } from '../../store/commit/recount'
import { shortAmong, shortColumns } from '../../store/users/portions.sql.ts'
import { anniversaryKey, OWN_BOOSTS } from '../../store/users/users.sql.ts'
import { scheduleForUsers, type Work } from '../../time/due-work.sql.ts'
import { defineJob, type When } from '../../time/job'

/*
 * Anniversaries are due at the midnight with which their date begins in the user's zone (A7). The index of users
 * has a key for each day of the year and zone. So a sweep reads only the users who signed up on a day of the year,
 * in the zones in which that day begins at one moment.
 */

/**
 * The progress in a database. All midnights up to the moment `through` are done. A sweep does those at the moment
 * `at`, key by key in their order: for the users of `key`, the date `day` begins (days since 1970-01-01). The users
 * up to `after` are done, or all of them if that is null.
 */
const Progress = z.object({
  through: Moment,
  sweep: z.object({ at: Moment, key: z.string(), day: z.number(), after: z.string().nullable() }).nullable(),
})
type Progress = z.infer<typeof Progress>
type Sweep = NonNullable<Progress['sweep']>

/** Begins with the midnights after now, in the batch in which an achievement becomes active. */
export const beginAnniversaries = ({ db, now }: Scope): Statement =>
  scheduleForUsers(db, 'anniversaries', { at: now, on: 'sooner', begun: { through: now, sweep: null } })

/** The days of the year of a day: `06-03`. The 28th of February is also the 29th if there is none. */
function daysOfYear(day: number): string[] {
  const name = dateOfDay(day).slice(5)
  return name === '02-28' && dateOfDay(day + 1).endsWith('03-01') ? [name, '02-29'] : [name]
}

// One row for each key, because each one is found by the index after the one before.
const NEXT = 'SELECT min(anniversary) FROM users WHERE tenant_id = ?1 AND anniversary >'
const KEYS = `
  WITH RECURSIVE found (last, key) AS (
    SELECT value || '~', (${NEXT} value) FROM json_each(?2)
    UNION ALL SELECT last, (${NEXT} key) FROM found WHERE key < last)
  SELECT key FROM found WHERE key < last`
const LATER = `SELECT coalesce((${NEXT} ?2), (${NEXT} '')) AS key`

const Key = z.object({ key: z.string() })
const LaterKey = z.array(z.object({ key: z.string().nullable() }))

/** A key, and the day that begins in its zone at a moment. */
type Midnight = { key: string; day: number; at: Instant }

/**
 * The midnights after a moment, of keys that users have: all of the next day. And a moment before which no other
 * midnight can be; null if no user has a key.
 */
async function midnightsAfter(
  db: TenantDatabase,
  through: Instant,
): Promise<{ midnights: Midnight[]; others: Instant | null }> {
  // At any moment there are at most three local dates.
  const first = localDay(through, LAST_OFFSET) + 1
  const days = [first, first + 1, first + 2]
  const names = days.flatMap(daysOfYear)
  const { keys, later } = await db.batchOf({
    keys: db.statement(KEYS, db.tenantId, JSON.stringify(names)),
    later: db.statement(LATER, db.tenantId, `${names.at(-1)}~`),
  })
  const midnights = z
    .array(Key)
    .parse(keys.results)
    .flatMap(({ key }) => {
      const [name = '', zone = ''] = key.split(' ')
      return days
        .filter((day) => daysOfYear(day).includes(name))
        .map((day) => ({ key, day, at: startOfDay(dateOfDay(day), zone) }))
    })
    .filter(({ at }) => at > through)
  const [next] = LaterKey.parse(later.results)
  const name = next?.key?.split(' ')[0]
  if (name === undefined) return { midnights, others: null }
  const day = nextAnniversary(civilDate(`2000-${name}`), first + 2)
  return { midnights, others: dayBegins(day, FIRST_OFFSET) }
}

/** Finds the next key to sweep, or when one is next. */
async function lookAhead(
  db: TenantDatabase,
  work: Work<Progress>,
  { through, sweep }: Progress,
  by: Instant,
): Promise<Statement> {
  const { midnights, others } = await midnightsAfter(db, through)
  const at =
    sweep?.at ?? instant(Math.min(...midnights.map((one) => one.at), others ?? Number.MAX_SAFE_INTEGER))
  if (midnights.length === 0 && others === null) return work.end()
  const due = midnights.filter((one) => one.at === at && one.key > (sweep?.key ?? ''))
  const [next] = due.sort((a, b) => (a.key < b.key ? -1 : 1))
  if (sweep !== null && next === undefined) return work.goOn({ through: at, sweep: null }, at)
  if (next === undefined || at > by) return work.goOn({ through, sweep: null }, at)
  return work.goOn({ through, sweep: { ...next, after: '' } }, at)
}

// CROSS JOIN follows the index, so the users come in the order of their ids, and the read stops at its limit.
const USERS = `
  SELECT ${shortColumns('?5')}, ${OWN_BOOSTS} FROM json_each(?6) asked
  CROSS JOIN users u INDEXED BY users_by_anniversary
    ON u.tenant_id = ?1 AND u.anniversary = asked.value AND u.id > ?2
  WHERE ?7 - substr(u.sign_up_date, 1, 4) IN (SELECT anniversary_years FROM achievements
    WHERE tenant_id = ?1 AND status = 'active' AND deleted IS NULL) LIMIT ?8`

/** Completes the anniversaries of a chunk of users with the key of the sweep. */
async function sweepUsers(
  context: TenantContext,
  work: Work<Progress>,
  { through, sweep }: { through: Instant; sweep: Sweep & { after: string } },
): Promise<WalkStep> {
  const { db } = context
  const { at, key, day, after } = sweep
  const goOn = (last: string | null) =>
    work.put({ progress: { through, sweep: { ...sweep, after: last } }, dueAt: at })
  const given = [after, at, db.testClock ? 1 : 0, shortAmong(CHUNK), JSON.stringify([key])]
  const step = await walkOn(
    context,
    async (config, users) => ({
      changes: users.flatMap((user) => {
        const isTried = (one: Parameters<typeof anniversaryOf>[1]) => anniversaryOf(user, one) === day
        const isThere = anniversaryKey(user.profile) === key && user.created <= at
        return (isThere && ofAnniversaries(config, user, { at, id: newId(at), isTried })) || []
      }),
      visited: users.length,
    }),
    {
      after,
      found: db.statement(USERS, db.tenantId, ...given, yearOf(day), CHUNK),
      goOn,
      end: async () => [goOn(null)],
    },
  )
  return { ...step, changedAt: at }
}

async function step(context: TenantContext, work: Work<Progress>, { until, by }: When): Promise<void> {
  // If the clock went back, the progress is ahead.
  const known = work.progress !== null && work.progress.through <= until ? work.progress : null
  if (known !== null && known.sweep !== null && known.sweep.after !== null) {
    const under = { ...known, sweep: { ...known.sweep, after: known.sweep.after } }
    return bulkStep(context, 'anniversaries', () => sweepUsers(context, work, under))
  }
  // No midnight is due before the work.
  const through = instant(Math.max(known?.through ?? 0, work.dueAt - 1))
  const progress = known?.sweep ? known : { through, sweep: null }
  await guardedStep(context, work, async (config) => [
    hasAnniversaries(config) ? await lookAhead(context.db, work, progress, by) : work.end(),
  ])
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    anniversaries: true
  }
}

/** Anniversaries at the midnights with which they begin (A7). */
export const anniversariesJob = defineJob({
  kind: 'anniversaries',
  of: 'users',
  furthest: 367 * DAY,
  progress: Progress,
  isFirst: true,
  step,
})
