import type { TenantDatabase } from '../../db/database'
import type { UserState } from '../../engine/state'
import { userOf } from './users.repository'

// The page is found by the index alone; whole rows are read only of those who are on it.
const pageOf = (where: string) => `
  SELECT u.*, '[]' AS boosts FROM (
    SELECT id, created FROM users WHERE tenant_id = ?1 ${where} ORDER BY created, id LIMIT ?2 OFFSET ?3) page
  CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = page.id ORDER BY page.created, page.id`
const PAGE = pageOf('')
const SEARCH = pageOf(`AND (instr(lower(id), lower(?4)) > 0 OR instr(lower(name), lower(?4)) > 0
      OR instr(lower(email), lower(?4)) > 0)`)

/** A page of users, oldest first (G7); of those whose id, name or email contains a text, where there is one. A to Z mean a to z. */
export async function usersPage(
  db: TenantDatabase,
  { limit, skip, search }: { limit: number; skip: number; search: string | undefined },
): Promise<UserState[]> {
  const statement =
    search === undefined
      ? db.statement(PAGE, db.tenantId, limit, skip)
      : db.statement(SEARCH, db.tenantId, limit, skip, search)
  return (await db.rows(statement)).map(userOf)
}
