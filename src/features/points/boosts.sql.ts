import * as z from 'zod'
import { keysIn, type ListedPage, type Names } from '../../api/resources/drafts.rules'
import { BOOST_COLUMNS, BoostRow } from '../../configuration/configuration'
import { BOOST_MOMENTS, type BoostMoment } from '../../configuration/enumerations'
import type { Boost } from '../../configuration/model'
import { type Instant, SECOND } from '../../lib/clock'
import { packed } from '../../lib/packed'
import { addDays, type CivilDate, civilDateAt } from '../../lib/zone'
import { Moment } from '../../platform/columns'
import type { Scope } from '../../platform/context'
import type { Statement, TenantDatabase } from '../../platform/database'
import { FIRST } from '../../platform/databases/directory'
import { everywhere, inCopies } from '../../platform/databases/everywhere'
import { guardSql } from '../../platform/guard'
import { startOfPage } from '../../platform/scans'
import { OPEN_END } from '../../rules/points/boosts.rules'
import { scheduleForUsers } from '../../time/due-work.sql.ts'

const AFTER =
  'FROM points_boosts WHERE tenant_id = ?1 AND system_id = ?2 AND deleted IS NULL AND no > ?3 ORDER BY no'
const PAGE = `SELECT ${BOOST_COLUMNS} ${AFTER} LIMIT ?4 OFFSET ?5`
const NTH = `SELECT no ${AFTER} LIMIT 1 OFFSET ?4 - 1`

// The boosts of a system that have one of the ids or one of the keys.
const NAMED = `
  SELECT no FROM points_boosts WHERE id IN (SELECT value FROM json_each(?3))
  UNION SELECT no FROM points_boosts WHERE system_id = ?2 AND deleted IS NULL
    AND key IN (SELECT value FROM json_each(?4))`

const SOME = `
  SELECT ${BOOST_COLUMNS} FROM points_boosts
  WHERE no IN (${NAMED}) AND +tenant_id = ?1 AND +system_id = ?2 AND deleted IS NULL ORDER BY no`

const BY_KEY = `
  SELECT ${BOOST_COLUMNS} FROM points_boosts WHERE +tenant_id = ?1 AND system_id = ?2 AND deleted IS NULL
    AND key IN (SELECT value FROM json_each(?3)) ORDER BY no LIMIT ?4 OFFSET ?5`

/** SQL: the number of own boosts of a user that are not over. `now` is the parameter with the moment. */
const countOf = (iid: string, now: string) => `(SELECT count(*) FROM points_boosts b
  WHERE b.user_iid = ${iid} AND b."end" >= date(${now} / ${SECOND}, 'unixepoch') AND b.deleted IS NULL)`

const personColumns = (now: string) => `id, iid, seq, tz, ${countOf('users.iid', now)} AS boosts`

const PEOPLE = `
  SELECT ${personColumns('?3')} FROM users
  WHERE tenant_id = ?1 AND id IN (SELECT value FROM json_each(?2))`

const PEOPLE_OF_SOME = `
  SELECT ${personColumns('?5')} FROM users WHERE tenant_id = ?1 AND id IN (
    SELECT user_id FROM points_boosts WHERE no IN (${NAMED}) AND +tenant_id = ?1)`

const COUNTS = `SELECT value AS iid, ${countOf('value', '?2')} AS boosts FROM json_each(?1)`

const BoostUser = z.object({
  id: z.string(),
  iid: z.string(),
  seq: z.number(),
  /** The zone whose midnights count (P5). */
  tz: z.string().nullable(),
  /** The number of own boosts that are not over. */
  boosts: z.number(),
})
/** A user who may own a boost. */
export type BoostUser = z.infer<typeof BoostUser>
const People = z.array(BoostUser)
const Counts = z.array(BoostUser.pick({ iid: true, boosts: true }))

/** A page of a system's boosts, including users' own, oldest first (G7). Throws 429 like any scan (P11). */
export async function boostPage(scope: Scope, systemId: string, page: ListedPage): Promise<Boost[]> {
  const { db, tenant } = scope
  if (page.key !== undefined) {
    const asked = [tenant.id, systemId, JSON.stringify(page.key), page.limit, page.skip]
    return db.list(BoostRow, BY_KEY, ...asked)
  }
  const start = await startOfPage(
    scope,
    {
      name: `boosts ${systemId}`,
      beginning: [0],
      skip: async (after, rows) => {
        const row = await db.find(z.object({ no: z.number() }), NTH, tenant.id, systemId, ...after, rows)
        return row === undefined ? null : [row.no]
      },
    },
    page,
  )
  if (start === null) return []
  const asked = [tenant.id, systemId, ...start.after, page.limit, start.skip]
  return db.list(BoostRow, PAGE, ...asked)
}

/**
 * The boosts of a system with these ids or keys that are not deleted, and the users who own some of them.
 * Those in the first database are read at the same moment. A change of a boost of another user raises the
 * version of the configuration (B4).
 */
export async function namedBoosts(
  scope: Scope,
  systemId: string,
  { ids = [], keys = [] }: Names,
): Promise<{ boosts: Boost[]; users: Map<string, BoostUser> }> {
  const { db, tenant, now } = scope
  const asked = [tenant.id, systemId, JSON.stringify(ids), JSON.stringify(keys)]
  const read = await db.batchOf({
    boosts: db.statement(SOME, ...asked),
    people: db.statement(PEOPLE_OF_SOME, ...asked, now),
  })
  const boosts = z.array(BoostRow).parse(read.boosts.results)
  const people = People.parse(read.people.results)
  const here = new Set(people.map(({ id }) => id))
  const others = new Set(boosts.flatMap(({ userId }) => (userId === null || here.has(userId) ? [] : userId)))
  const users = await boostUsersWithIds(scope, [...others])
  for (const person of people) users.set(person.id, person)
  return { boosts, users }
}

/** The existing users with these ids, by id. */
export async function boostUsersWithIds(
  { db, databases, tenant, now }: Scope,
  ids: readonly string[],
): Promise<Map<string, BoostUser>> {
  const found = await databases.usersOf(tenant.id).askAbout(ids, async (its, own) => {
    const rows = await its.rows(its.statement(PEOPLE, tenant.id, JSON.stringify(own), now))
    return { people: People.parse(rows), isHome: its.name === FIRST }
  })
  const elsewhere = found.flatMap(({ people, isHome }) => (isHome ? [] : people.map(({ iid }) => iid)))
  // The first database has the boosts of all users.
  const asked = db.statement(COUNTS, JSON.stringify(elsewhere), now)
  const counts = Counts.parse(elsewhere.length === 0 ? [] : await db.rows(asked))
  const boostsOf = new Map(counts.map(({ iid, boosts }) => [iid, boosts]))
  const all = found.flatMap(({ people }) => people)
  return new Map(
    all.map((person) => [person.id, { ...person, boosts: boostsOf.get(person.iid) ?? person.boosts }]),
  )
}

/** The users of own boosts. While they are as they were read, their boosts are unchanged too. */
export const ownersOf = (boosts: readonly Boost[], users: ReadonlyMap<string, BoostUser>): BoostUser[] => [
  ...new Set(boosts.flatMap(({ userId }) => users.get(userId ?? '') ?? [])),
]

/** Statements that store own boosts in the databases of their users, if these are others (B4). */
export function ownInCopies({ tenant }: Scope, boosts: readonly Boost[]): Statement[] {
  const own = boosts.filter(({ userId }) => userId !== null)
  if (own.length === 0) return []
  const rows = own.map((boost) => {
    const { id, created, updated, systemId, userId, userIid, key, name, start, end } = boost
    const { multiplier, rounding, userAttributes } = boost
    const given = [id, created, updated, systemId, userId, userIid, key, name, start, end]
    return JSON.stringify([...given, multiplier, rounding, JSON.stringify(userAttributes)])
  })
  return [
    inCopies('freeOwnBoosts', tenant.id, JSON.stringify(own.map(({ id }) => id))),
    ...packed(rows).map((list) => inCopies('keepOwnBoosts', tenant.id, list)),
  ]
}

const TAKEN = `
  SELECT key FROM points_boosts WHERE +tenant_id = ?1 AND system_id = ?2 AND deleted IS NULL
    AND key IN (SELECT value FROM json_each(?3))`

/** Those of the keys that boosts of a system have, including users' own boosts (O2). */
export async function keysTaken(
  { db, tenant }: Scope,
  systemId: string,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const row = z.object({ key: z.string() })
  return keysIn(await db.list(row, TAKEN, tenant.id, systemId, JSON.stringify(keys)))
}

const KEYS_FREE = guardSql(`NOT EXISTS (
  SELECT 1 FROM json_each(?1) asked CROSS JOIN points_boosts b ON b.system_id = asked.value ->> 0
    AND b.key = asked.value ->> 1 AND b.deleted IS NULL
    AND b.id NOT IN (SELECT value ->> 2 FROM json_each(?1)))`)

/**
 * A guard: holds while no other boost of the same system has the key of one of these boosts. The version of
 * the configuration does not guard that, because a user's own boost does not raise it.
 */
export const boostKeysFree = ({ db }: Scope, boosts: readonly Boost[]): Statement[] =>
  boosts.length === 0
    ? []
    : [db.statement(KEYS_FREE, JSON.stringify(boosts.map(({ systemId, key, id }) => [systemId, key, id])))]

/** A user's own boost is a part of the user's state, so every change to it raises `seq` in the same batch. */
export const userChanged = ({ tenant }: Scope, { userId, userIid }: Boost): Statement[] =>
  userIid === null ? [] : [everywhere('raiseSeq', tenant.id, userId, userIid)]

/** Statements that delete own boosts in the databases of their users, if these are others (B4). */
export function removeOwnInCopies({ tenant, now }: Scope, boosts: readonly Boost[]): Statement[] {
  const own = boosts.flatMap(({ id, userId }) => (userId === null ? [] : id))
  return own.length > 0 ? [inCopies('deleteOwnBoosts', tenant.id, JSON.stringify(own), now)] : []
}

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
export type BoostProgress = z.output<typeof BoostProgress>

/** Schedules notifications for a future moment, in the batch that stores the boosts of that moment. */
export function expectBoosts(db: TenantDatabase, at: Instant, now: Instant): Statement {
  const begun = { since: now, through: now, sweep: null }
  return scheduleForUsers(db, 'boosts', { at, on: 'sooner', begun })
}

/** Notes in the rows of boosts, by their ids, whether they have started or finished. */
export const noteBoostMoments = (
  { tenantId }: TenantDatabase,
  notified: readonly (readonly [id: string, BoostMoment | null])[],
): Statement[] =>
  notified.length === 0 ? [] : [everywhere('noteBoosts', tenantId, JSON.stringify(notified))]

const NOTIFIED = `
  SELECT b.id, b.notified FROM json_each(?2) asked CROSS JOIN points_boosts b ON b.id = asked.value
    AND +b.tenant_id = ?1`

const notified = z.enum(BOOST_MOMENTS).nullable()
const Notified = z.array(z.object({ id: z.string(), notified }))

/** The noted moments of boosts, by their ids. */
export async function notedMoments(
  db: TenantDatabase,
  ids: readonly string[],
): Promise<ReadonlyMap<string, BoostMoment | null>> {
  if (ids.length === 0) return new Map()
  const rows = await db.rows(db.statement(NOTIFIED, db.tenantId, JSON.stringify(ids)))
  return new Map(Notified.parse(rows).map((row) => [row.id, row.notified]))
}

const BOOSTS_UNCHANGED = guardSql(`
  NOT EXISTS (SELECT 1 FROM json_each(?2) asked WHERE NOT EXISTS (SELECT 1 FROM points_boosts b
    WHERE b.id = asked.value ->> 0 AND +b.tenant_id = ?1 AND b.updated = asked.value ->> 1
      AND b.deleted IS NULL))`)

/** A guard (see platform/guard.ts). It holds while the boosts are as they were read. */
export function boostsUnchanged(db: TenantDatabase, boosts: readonly Boost[]): Statement {
  return db.statement(
    BOOSTS_UNCHANGED,
    db.tenantId,
    JSON.stringify(boosts.map(({ id, updated }) => [id, updated])),
  )
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

/** Each boost that starts or finishes between two moments, in any zone, has its date in this range. */
export function datesBetween(from: Instant, to: Instant): { first: CivilDate; last: CivilDate } {
  return { first: addDays(civilDateAt(from, 0), -MARGIN), last: addDays(civilDateAt(to, 0), MARGIN) }
}

/** Users' own boosts that start or finish up to a date and were not notified, in order of date and number. */
export async function ownBoosts(
  db: TenantDatabase,
  phase: BoostMoment,
  [date, no]: readonly [string, number],
  last: CivilDate,
  limit: number,
): Promise<OwnBoost[]> {
  return db.list(OwnRow, OWN[phase], db.tenantId, date, no, last, limit)
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
  return (await db.one(z.object({ date: z.string().nullable() }), BEYOND[phase], db.tenantId, last)).date
}
