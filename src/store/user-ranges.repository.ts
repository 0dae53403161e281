import * as z from 'zod'
import { compareText } from '../lib/ids'
import type { TenantDatabase } from '../platform/database'
import { askAll } from '../platform/databases/ask-all'
import type { Databases } from '../platform/databases/databases-databases'
import { inParts, type Pause, sizeOfPart } from '../platform/scans'

/** After all ids: no id is longer than 255 characters. */
export const LAST_ID = '\u{10FFFF}'.repeat(256)

/** Users in order of their ids: after one id, and up to another one. Of these, the first `limit`. */
export type UserRange = { after: string; until: string; limit: number }

/** How many users a part has read, and the last id of them. */
type Part = { users: number; last: string }

/** For a range that must be read completely. */
const NO_LIMIT = 2 ** 31 - 1

const NTH = 'SELECT id FROM users WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT 1 OFFSET ?3 - 1'
const NthRow = z.object({ id: z.string() })

/** The last id of the next `users` users after an id; null if there are fewer. */
async function nthId(db: TenantDatabase, after: string, users: number): Promise<string | null> {
  const [row] = await db.rows(db.statement(NTH, db.tenantId, after, users))
  return row === undefined ? null : NthRow.parse(row).id
}

/** The first of these ids; null if there is none. A null is after all ids. */
export function firstId(ids: readonly (string | null)[]): string | null {
  return ids.reduce((first, id) => {
    if (id === null || first === null) return first ?? id
    return compareText(id, first) < 0 ? id : first
  }, null)
}

/**
 * Reads all users of a tenant in parts, in order of their ids (see `inParts`). With several databases, each
 * step reads the same range of ids in all of them, side by side. So no user is read twice or missed, also if
 * the user is moved between two steps (B3, B5). `read` must read a range in one batch.
 */
export async function* usersInParts<P extends Part>(
  databases: Databases,
  tenantId: string,
  pause: Pause,
  read: (db: TenantDatabase, range: UserRange) => Promise<P>,
): AsyncGenerator<P> {
  if (!databases.isSeveral) {
    const home = databases.home(tenantId)
    yield* inParts('', pause, (after, limit) => read(home, { after, until: LAST_ID, limit }))
    return
  }
  // Each step costs up to four statements in each database, so the parts grow earlier.
  const statements = 4 * databases.names.length
  let after = ''
  let areMany = false
  for (let step = 0; ; step += 1) {
    const limit = sizeOfPart(step * statements)
    if (!areMany) {
      await pause()
      const range = { after, until: LAST_ID, limit }
      const parts = await askAll(databases, tenantId, (db) => read(db, range))
      const isWhole = parts.every(({ users }) => users < limit)
      const [only, ...others] = parts
      if (isWhole || others.length === 0) {
        yield* parts
        if (isWhole || only === undefined) return
        after = only.last
        continue
      }
      // The parts end at different ids, so they are read again, up to one id.
      areMany = true
    }
    await pause()
    const from = after
    const until = firstId(await askAll(databases, tenantId, (db) => nthId(db, from, limit)))
    await pause()
    const range = { after, until: until ?? LAST_ID, limit: NO_LIMIT }
    yield* await askAll(databases, tenantId, (db) => read(db, range))
    if (until === null) return
    after = until
  }
}
