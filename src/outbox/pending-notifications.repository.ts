import * as z from 'zod'
import type { TenantDatabase } from '../db/database'
import { amongUnmoved, guardSql, overUsers, type Unmoved } from '../db/guard'
import { followEarliest } from '../jobs/due-work.repository'
import { type Instant, instant } from '../lib/clock'

const Notice = z.object({
  dueAt: z.number().transform(instant),
  id: z.string(),
  userId: z.string(),
  userIid: z.string(),
  achievementId: z.string(),
})
/** That a user is to be told of a completed achievement; `id` is the completion's. */
export type Notice = z.output<typeof Notice>

const KEEP = `
  INSERT INTO notices (tenant_id, due_at, id, user_id, user_iid, achievement_id)
  SELECT ?2, value ->> 1, value ->> 2, value ->> 3, value ->> 0, value ->> 4 FROM json_each(?1)
  WHERE ${amongUnmoved('value ->> 0')}
  ON CONFLICT DO NOTHING`

/** Keeps notices until they are due. */
export function keepNotices(
  db: TenantDatabase,
  notices: readonly Notice[],
  among: Unmoved,
): D1PreparedStatement[] {
  const rows = notices.map(({ dueAt, id, userId, userIid, achievementId }) => [
    userIid,
    dueAt,
    id,
    userId,
    achievementId,
  ])
  return overUsers(db, KEEP, rows, among)
}

const DUE = `
  SELECT due_at AS dueAt, id, user_id AS userId, user_iid AS userIid, achievement_id AS achievementId
  FROM notices WHERE tenant_id = ?1 AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3`

/** The notices that are due by a moment, so many at most, in order of due time. */
export async function dueNotices(db: TenantDatabase, by: Instant, limit: number): Promise<Notice[]> {
  return z.array(Notice).parse(await db.rows(db.statement(DUE, db.tenantId, by, limit)))
}

const keys = (notices: readonly Notice[]) => JSON.stringify(notices.map(({ dueAt, id }) => [dueAt, id]))

const PRESENT = guardSql(`
  NOT EXISTS (SELECT 1 FROM json_each(?2) asked WHERE NOT EXISTS (SELECT 1 FROM notices n
    WHERE n.tenant_id = ?1 AND n.due_at = asked.value ->> 0 AND n.id = asked.value ->> 1))`)

/** A guard (see db/guard.ts): holds while none of these notices was told of. */
export function noticesPresent(db: TenantDatabase, notices: readonly Notice[]): D1PreparedStatement {
  return db.statement(PRESENT, db.tenantId, keys(notices))
}

const FORGET = `
  DELETE FROM notices WHERE tenant_id = ?1 AND (due_at, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?2))`
const EARLIEST = '(SELECT min(due_at) FROM notices WHERE tenant_id = ?1)'

/** Forgets notices, and has the row of due work say when the next one is due. */
export function forgetNotices(db: TenantDatabase, notices: readonly Notice[]): D1PreparedStatement[] {
  return [db.statement(FORGET, db.tenantId, keys(notices)), ...followEarliest(db, 'notices', EARLIEST)]
}
