import * as z from 'zod'
import type { Instant } from '../../lib/clock'
import { type ColumnValues, columnList } from '../../platform/columns'
import type { Statement, TenantDatabase } from '../../platform/database'
import type { Pause } from '../../rules/streaks/streak-state.rules'
import { streakPauses } from '../tables.sql.ts'

/** Parses rows of pauses. */
export const PauseRows = z.array(z.object({ id: z.string(), start: z.number(), end: z.number() }))

/** SQL: the internal id of the user ?2, the caller's id. */
export const IID = '(SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2)'
const OWN_PAUSES = `
  SELECT id, start, "end" FROM streak_pauses
  WHERE user_iid = ${IID} AND "end" >= start AND deleted IS NULL`
/** SQL: the pauses of the user ?2 that are not deleted, oldest first. */
export const ALL_PAUSES = `${OWN_PAUSES} ORDER BY start, id`

// In order of creation. Ids of the same millisecond are in no special order.
const PAUSES_PAGE = `${OWN_PAUSES} ORDER BY rowid LIMIT ?3 OFFSET ?4`

/** A page of the pauses of a user that are not deleted, by the caller's id of the user, oldest first (G7). */
export async function pausesPage(
  db: TenantDatabase,
  userId: string,
  { limit, skip }: { limit: number; skip: number },
): Promise<Pause[]> {
  return PauseRows.parse(await db.rows(db.statement(PAUSES_PAGE, db.tenantId, userId, limit, skip)))
}

const PAUSES_OF_SEVERAL = `
  SELECT p.user_iid AS userIid, p.id, p.start, p."end" FROM json_each(?1) asked
  CROSS JOIN streak_pauses p ON p.user_iid = asked.value
  WHERE p."end" >= p.start AND (?2 OR p.deleted IS NULL) ORDER BY p.start, p.id`

/**
 * The pauses of users that count (`living`) or did count, by internal id, oldest first. A deleted pause has
 * the days on which it counted.
 */
export async function pausesOfSeveral(
  db: TenantDatabase,
  userIids: readonly string[],
  which: 'living' | 'all' = 'all',
): Promise<ReadonlyMap<string, Pause[]>> {
  const asked = [JSON.stringify(userIids), which === 'all' ? 1 : 0] as const
  const rows = z
    .array(z.object({ userIid: z.string(), id: z.string(), start: z.number(), end: z.number() }))
    .parse(await db.rows(db.statement(PAUSES_OF_SEVERAL, ...asked)))
  return Map.groupBy(rows, ({ userIid }) => userIid)
}

const PAUSES = `
  SELECT id, start, "end" FROM streak_pauses WHERE user_iid = ?1 AND "end" >= start AND deleted IS NULL
    ORDER BY start, id`

/** The pauses of a user that are not deleted, oldest first. */
export async function pausesOf(db: TenantDatabase, userIid: string): Promise<Pause[]> {
  return PauseRows.parse(await db.rows(db.statement(PAUSES, userIid)))
}

/** A pause with its user. */
export type OwnPause = Pause & { userId: string; userIid: string }

const PAUSE_VALUES: ColumnValues<typeof streakPauses, OwnPause, 'tenantId' | 'deleted'> = {
  id: ({ id }) => id,
  userId: ({ userId }) => userId,
  userIid: ({ userIid }) => userIid,
  start: ({ start }) => start,
  end: ({ end }) => end,
}
const PAUSE_LIST = columnList(streakPauses, PAUSE_VALUES)

const PAUSE = `
  INSERT INTO streak_pauses (tenant_id, ${PAUSE_LIST.columns}) SELECT ?1, ${PAUSE_LIST.sql()}
    FROM json_each(?2)`

/** Stores new pauses. */
export function keepPauses(db: TenantDatabase, pauses: readonly OwnPause[]): Statement {
  return db.statement(PAUSE, db.tenantId, JSON.stringify(pauses.map(PAUSE_LIST.values)))
}

const FIND_PAUSES = `
  SELECT p.id, p.user_id AS userId, p.user_iid AS userIid, p.start, p."end" FROM json_each(?2) asked
  CROSS JOIN streak_pauses p ON p.id = asked.value AND +p.tenant_id = ?1 AND p.deleted IS NULL`

/** The pauses of a tenant with these ids. Unknown ids are left out. */
export async function findPauses(db: TenantDatabase, ids: readonly string[]): Promise<OwnPause[]> {
  const Rows = z.array(
    z.object({
      id: z.string(),
      userId: z.string(),
      userIid: z.string(),
      start: z.number(),
      end: z.number(),
    }),
  )
  return Rows.parse(await db.rows(db.statement(FIND_PAUSES, db.tenantId, JSON.stringify(ids))))
}

const DELETE_PAUSES = `
  WITH asked AS MATERIALIZED (SELECT value ->> 0 AS id, value ->> 1 AS last FROM json_each(?2))
  UPDATE streak_pauses SET deleted = ?3, "end" = min("end", asked.last) FROM asked
  WHERE streak_pauses.id = asked.id AND streak_pauses.tenant_id = ?1 AND deleted IS NULL`

/** Deletes pauses. Each one still counts up to the day `last`, for the periods that are over by then (S7). */
export function deletePauses(
  db: TenantDatabase,
  pauses: readonly { id: string; last: number }[],
  now: Instant,
): Statement {
  const rows = JSON.stringify(pauses.map(({ id, last }) => [id, last]))
  return db.statement(DELETE_PAUSES, db.tenantId, rows, now)
}
