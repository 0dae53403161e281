import * as z from 'zod'
import { BOOST_COLUMNS, BoostRow } from '../../configuration/configuration.sql.ts'
import { BOOST_MOMENTS, type BoostMoment } from '../../configuration/enumerations'
import type { Boost } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { addDays, type CivilDate, civilDateAt } from '../../lib/zone'
import { Moment } from '../../platform/columns'
import type { Statement, TenantDatabase } from '../../platform/database'
import { everywhere } from '../../platform/databases/everywhere'
import { guardSql } from '../../platform/guard'
import { OPEN_END } from '../../rules/points/boosts.rules'
import { scheduleForUsers } from '../../time/due-work.sql.ts'

/**
 * Progress of the notifications about boosts. Webhooks know of all starts and finishes after `since`, when a
 * webhook began to listen, and up to `through`. A sweep notifies of the ones up to its `to`. It reads users'
 * own boosts in order of date and number: first the ones that start, then the ones that finish. The boosts up
 * to `after` are done. `next` is the first future moment that the sweep has seen.
 */
export const BoostProgress = z.object({
  since: Moment,
  through: Moment,
  sweep: z
    .object({
      to: Moment,
      phase: z.enum(BOOST_MOMENTS),
      after: z.tuple([z.string(), z.number()]),
      next: Moment.nullable(),
    })
    .nullable(),
})
/** See `BoostProgress`. */
export type BoostProgress = z.output<typeof BoostProgress>

/**
 * Schedules notifications about boosts for a future moment. Part of the batch that stores the boosts that
 * start or finish then.
 */
export function expectBoosts(db: TenantDatabase, at: Instant, now: Instant): Statement {
  return scheduleForUsers(db, 'boosts', {
    at,
    on: 'sooner',
    begun: { since: now, through: now, sweep: null },
  })
}

/** Notes in the rows of boosts whether they have started or finished. */
export function noteBoostMoments(
  db: TenantDatabase,
  notified: readonly { id: string; notified: BoostMoment | null }[],
): Statement[] {
  if (notified.length === 0) return []
  const list = JSON.stringify(notified.map((one) => [one.id, one.notified]))
  return [everywhere('noteBoosts', db.tenantId, list)]
}

const NOTIFIED = `
  SELECT b.id, b.notified FROM json_each(?2) asked CROSS JOIN points_boosts b ON b.id = asked.value
    AND +b.tenant_id = ?1`

const notified = z.enum(BOOST_MOMENTS).nullable()

/** The noted moments of boosts, by their ids. */
export async function notedMoments(
  db: TenantDatabase,
  ids: readonly string[],
): Promise<ReadonlyMap<string, BoostMoment | null>> {
  if (ids.length === 0) return new Map()
  const rows = await db.rows(db.statement(NOTIFIED, db.tenantId, JSON.stringify(ids)))
  const Rows = z.array(z.object({ id: z.string(), notified }))
  return new Map(Rows.parse(rows).map((row) => [row.id, row.notified]))
}

const UNCHANGED = guardSql(`
  NOT EXISTS (SELECT 1 FROM json_each(?2) asked WHERE NOT EXISTS (SELECT 1 FROM points_boosts b
    WHERE b.id = asked.value ->> 0 AND +b.tenant_id = ?1 AND b.updated = asked.value ->> 1
      AND b.deleted IS NULL))`)

/** A guard (see platform/guard.ts). It holds while the boosts are as they were read. */
export function boostsUnchanged(db: TenantDatabase, boosts: readonly Boost[]): Statement {
  return db.statement(UNCHANGED, db.tenantId, JSON.stringify(boosts.map(({ id, updated }) => [id, updated])))
}

// An erased user has no zone. Such a boost is deleted with the rest of the user's data.
const own = (date: string, isOpen: string) => `
  SELECT no, ${BOOST_COLUMNS}, notified, (SELECT coalesce(u.tz, 'UTC') FROM users u WHERE u.tenant_id = ?1
    AND u.id = points_boosts.user_id AND u.iid = points_boosts.user_iid) AS zone
  FROM points_boosts WHERE tenant_id = ?1 AND user_iid IS NOT NULL AND deleted IS NULL AND ${date} BETWEEN ?2
    AND ?4
    AND (${date}, no) > (?2, ?3) AND ${isOpen} ORDER BY ${date}, no LIMIT ?5`
const DATE = { started: 'start', finished: '"end"' } as const
const OWN = {
  started: own(DATE.started, 'notified IS NULL'),
  finished: own(DATE.finished, "notified IS NOT 'finished'"),
} as const

const OwnRow = BoostRow.extend({ no: z.number(), notified, zone: z.string().nullable() })
/** A user's own boost, with the user's zone. The zone is null if the user is erased. */
type OwnBoost = z.output<typeof OwnRow>

/** Days between a boost's date and the UTC date: one for zones, and one because the user may have moved. */
const MARGIN = 2

/**
 * The range of dates to search. Each boost that starts or finishes between two moments, in any zone, has its
 * date in this range.
 */
export function datesBetween(from: Instant, to: Instant): { first: CivilDate; last: CivilDate } {
  return { first: addDays(civilDateAt(from, 0), -MARGIN), last: addDays(civilDateAt(to, 0), MARGIN) }
}

/**
 * The next users' own boosts that start or finish up to a date, in order of date and number. Leaves out
 * boosts if webhooks were already notified of that.
 */
export async function ownBoosts(
  db: TenantDatabase,
  phase: BoostMoment,
  [date, no]: readonly [string, number],
  last: CivilDate,
  limit: number,
): Promise<OwnBoost[]> {
  return z.array(OwnRow).parse(await db.rows(db.statement(OWN[phase], db.tenantId, date, no, last, limit)))
}

const beyond = (date: string) => `
  SELECT min(${date}) AS date FROM points_boosts
  WHERE tenant_id = ?1 AND user_iid IS NOT NULL AND deleted IS NULL AND ${date} > ?2
    AND ${date} < '${OPEN_END}'`
const BEYOND = { started: beyond(DATE.started), finished: beyond(DATE.finished) } as const

/** The first date after another on which a user's own boost starts, or ends. Null if there is none. */
export async function dateBeyond(
  db: TenantDatabase,
  phase: BoostMoment,
  last: CivilDate,
): Promise<string | null> {
  const [row] = await db.rows(db.statement(BEYOND[phase], db.tenantId, last))
  return z.object({ date: z.string().nullable() }).parse(row).date
}
