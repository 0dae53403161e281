import { and, eq } from 'drizzle-orm'
import * as z from 'zod'
import { BOOST_COLUMNS, BoostRow } from '../../../config/configuration.repository'
import type { Boost } from '../../../config/configuration.types'
import { keysIn, type ListedPage, type Names } from '../../../config/drafts.rules'
import { freeKeys } from '../../../config/free-keys.repository'
import { pointsBoosts } from '../../../config/tables/points.table'
import { bothUnchanged, guardSql } from '../../../db/guard'
import type { Statement } from '../../../db/statement'
import { SECOND } from '../../../lib/units'
import type { Scope } from '../../../runtime/context'
import { startOfPage } from '../../../runtime/pages'
import { deleteNested } from '../nested.repository'

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

/** The columns of a `BoostUser`. `now` is the parameter with the moment. */
const personColumns = (now: string) => `id, iid, seq, tz, (SELECT count(*) FROM points_boosts b
  WHERE b.user_iid = users.iid AND b."end" >= date(${now} / ${SECOND}, 'unixepoch')
    AND b.deleted IS NULL) AS boosts`

const PEOPLE = `
  SELECT ${personColumns('?3')} FROM users
  WHERE tenant_id = ?1 AND id IN (SELECT value FROM json_each(?2))`

const PEOPLE_OF_SOME = `
  SELECT ${personColumns('?5')} FROM users WHERE tenant_id = ?1 AND id IN (
    SELECT user_id FROM points_boosts WHERE no IN (${NAMED}) AND +tenant_id = ?1)`

const BoostUser = z.object({
  id: z.string(),
  iid: z.string(),
  seq: z.number(),
  tz: z.string().nullable(),
  boosts: z.number(),
})

/**
 * A user who may own a boost: the zone whose midnights count (P5), and the number of own boosts that are not
 * over.
 */
export type BoostUser = z.infer<typeof BoostUser>

const byId = (rows: readonly unknown[]) =>
  new Map(
    z
      .array(BoostUser)
      .parse(rows)
      .map((person) => [person.id, person]),
  )

/** A page of a system's boosts, including users' own, oldest first (G7). Throws 429 like any scan (P11). */
export async function boostPage(scope: Scope, systemId: string, page: ListedPage): Promise<Boost[]> {
  const { db, tenant } = scope
  if (page.key !== undefined) {
    const asked = [tenant.id, systemId, JSON.stringify(page.key), page.limit, page.skip]
    return z.array(BoostRow).parse(await db.rows(db.statement(BY_KEY, ...asked)))
  }
  const start = await startOfPage(
    scope,
    {
      name: `boosts ${systemId}`,
      beginning: [0],
      skip: async (after, rows) => {
        const [row] = await db.rows(db.statement(NTH, tenant.id, systemId, ...after, rows))
        return row === undefined ? null : [z.object({ no: z.number() }).parse(row).no]
      },
    },
    page,
  )
  if (start === null) return []
  const asked = [tenant.id, systemId, ...start.after, page.limit, start.skip]
  return z.array(BoostRow).parse(await db.rows(db.statement(PAGE, ...asked)))
}

/**
 * The boosts of a system with these ids or keys that are not deleted, and the users who own some of them, as
 * of one moment.
 */
export async function namedBoosts(
  { db, tenant, now }: Scope,
  systemId: string,
  { ids = [], keys = [] }: Names,
): Promise<{ boosts: Boost[]; users: Map<string, BoostUser> }> {
  const asked = [tenant.id, systemId, JSON.stringify(ids), JSON.stringify(keys)]
  const { boosts, users } = await db.batchOf({
    boosts: db.statement(SOME, ...asked),
    users: db.statement(PEOPLE_OF_SOME, ...asked, now),
  })
  return { boosts: z.array(BoostRow).parse(boosts.results), users: byId(users.results) }
}

/** The existing users with these ids, by id. */
export async function boostUsersWithIds(
  { db, tenant, now }: Scope,
  ids: readonly string[],
): Promise<Map<string, BoostUser>> {
  if (ids.length === 0) return new Map()
  return byId(await db.rows(db.statement(PEOPLE, tenant.id, JSON.stringify(ids), now)))
}

/**
 * Guards that hold while the users of own boosts are as they were read. Then their boosts are unchanged too.
 */
export function ownersUnchanged(
  { db }: Scope,
  version: number,
  boosts: readonly Boost[],
  users: ReadonlyMap<string, BoostUser>,
): Statement[] {
  const owners = new Set(boosts.flatMap(({ userId }) => users.get(userId ?? '') ?? []))
  return [...owners].map((owner) => bothUnchanged(db, version, owner.id, owner))
}

/** Statements that store new boosts. A user's own boost also raises that user's `seq`. */
export function insertBoosts(scope: Scope, boosts: readonly Boost[]): Statement[] {
  const { db, tenant } = scope
  const rows = boosts.map((boost) => ({
    ...boost,
    userAttributes: JSON.stringify(boost.userAttributes),
    tenantId: tenant.id,
  }))
  return [...db.inserts(pointsBoosts, rows), ...boosts.flatMap((boost) => userChanged(scope, boost))]
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
  const rows = await db.rows(db.statement(TAKEN, tenant.id, systemId, JSON.stringify(keys)))
  return keysIn(z.array(z.object({ key: z.string() })).parse(rows))
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

/**
 * Statements that store changes to boosts. First, boosts that get another key have temporary ones, since one
 * may get the key that another had.
 */
export function updateBoosts(scope: Scope, boosts: readonly Boost[], before: readonly Boost[]): Statement[] {
  const updates = boosts.flatMap((boost) => {
    const { key, name, start, end, multiplier, rounding, updated } = boost
    const userAttributes = JSON.stringify(boost.userAttributes)
    return change(scope, boost, { key, name, start, end, multiplier, rounding, updated, userAttributes })
  })
  return [...freeKeys(scope, pointsBoosts, before, boosts), ...updates]
}

/** Statements that delete boosts. */
export function deleteBoosts(scope: Scope, boosts: readonly Boost[]): Statement[] {
  const ids = boosts.map(({ id }) => id)
  return [...deleteNested(scope, pointsBoosts, ids), ...boosts.flatMap((boost) => userChanged(scope, boost))]
}

function change(scope: Scope, boost: Boost, set: Partial<typeof pointsBoosts.$inferInsert>) {
  const { db, tenant } = scope
  const own = and(eq(pointsBoosts.tenantId, tenant.id), eq(pointsBoosts.id, boost.id))
  return [db.built(db.orm.update(pointsBoosts).set(set).where(own)), ...userChanged(scope, boost)]
}

/** A user's own boost is a part of the user's state, so every change to it raises `seq` in the same batch. */
function userChanged({ db, tenant }: Scope, { userId, userIid }: Boost): Statement[] {
  if (userIid === null) return []
  const raise = 'UPDATE users SET seq = seq + 1 WHERE tenant_id = ?1 AND id = ?2 AND iid = ?3'
  return [db.statement(raise, tenant.id, userId, userIid)]
}
