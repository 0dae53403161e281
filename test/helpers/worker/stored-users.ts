/** Rows of users, read and changed behind Laurel's back: what no request shows or does. */
import { rowsEverywhere } from './harness'

type Tenant = { id: string }

/** Laurel's internal id of a user; an empty text if there is no such user. */
export async function iidOf(tenant: Tenant, id = 'ada'): Promise<string> {
  const sql = 'SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2'
  const [found] = await rowsEverywhere<{ iid: string }>(sql, tenant.id, id)
  return found?.iid ?? ''
}

/** Removes the rows of these users alone, or of all: an erasure at the moment of its first write. */
export async function removeUsers(tenant: Tenant, ...ids: string[]): Promise<void> {
  const sql =
    'DELETE FROM users WHERE tenant_id = ?1 AND (?2 IS NULL OR id IN (SELECT value FROM json_each(?2)))'
  await rowsEverywhere(sql, tenant.id, ids.length === 0 ? null : JSON.stringify(ids))
}

/** A change of all users by another isolate, which changes nothing that is shown: writes under way are refused (E3). */
export async function disturbUsers(tenant: Tenant): Promise<void> {
  await rowsEverywhere('UPDATE users SET seq = seq + 1 WHERE tenant_id = ?1', tenant.id)
}
