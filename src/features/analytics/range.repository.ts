import * as z from 'zod'
import type { TenantDatabase } from '../../platform/database'

/** Users that are looked at in search of changed ones. Users and changes that one step counts. */
const MOST_WALKED = 20_000
const MOST_USERS = 300
const MOST_CHANGES = 3_000
/** The most pairs of a user and a points system with levels that one step looks at. */
const MOST_LEVELS = 20_000

const FOUND = `
  SELECT count(*) AS users, max(id) FILTER (WHERE nth = 1 OR before < ${MOST_CHANGES}) AS last, sum(nth > 1
    AND before >= ${MOST_CHANGES}) AS rest FROM (
    SELECT id, row_number() OVER (ORDER BY id) AS nth, sum(news) OVER (ORDER BY id) - news AS before FROM (
      SELECT id, news FROM (
        SELECT id, seq - counted AS news FROM users WHERE tenant_id = ?1 AND id > ?2
        ORDER BY id LIMIT ${MOST_WALKED})
      WHERE news > 0 OR ?3 LIMIT ?4))`
const WALKED = `
  SELECT id FROM users WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT 1 OFFSET ${MOST_WALKED - 1}`

const FoundRow = z.object({ users: z.number(), last: z.string().nullable(), rest: z.number().nullable() })
const WalkedRow = z.array(z.object({ id: z.string() }))

/** The last id of all users: no id is longer than 255 characters, and none has this one. */
const END = '\u{10FFFF}'.repeat(256)

/**
 * The range of users of the next step, after an id: its last id, how many users in it are to be counted, and
 * whether it is the end of all users. A range has at most 300 changed users with 3,000 changes (one user
 * alone may have more), or 20,000 users who have not changed.
 */
export async function nextRange(
  db: TenantDatabase,
  after: string,
  { isAll, levelled }: { isAll: boolean; levelled: number },
): Promise<{ last: string; users: number; isEnd: boolean }> {
  const limit = Math.max(1, Math.min(MOST_USERS, Math.floor(MOST_LEVELS / Math.max(1, levelled))))
  const [found] = await db.rows(db.statement(FOUND, db.tenantId, after, isAll ? 1 : 0, limit))
  const { users: all, last, rest } = FoundRow.parse(found)
  const users = all - (rest ?? 0)
  if (last !== null && (all === limit || users < all)) return { last, users, isEnd: false }
  const [end] = WalkedRow.parse(await db.rows(db.statement(WALKED, db.tenantId, after)))
  return { last: end?.id ?? END, users, isEnd: end === undefined }
}
