import type { TenantDatabase } from '../db/database'
import { systemNow } from '../lib/system-clock'

// `seq` moves, so that a change that was decided on the list as it was is decided again, and none is lost.
const REMOVE = `
  UPDATE users SET seq = seq + 1, changed = max(changed, at.now), updated = max(updated, at.now), device_tokens = (
    SELECT json_group_array(t.value ORDER BY t.key) FROM json_each(users.device_tokens) t
    WHERE t.value NOT IN (SELECT value FROM json_each(?4)))
  FROM (SELECT coalesce((SELECT now FROM test_clock WHERE ?6), ?5) AS now) at
  WHERE tenant_id = ?1 AND id = ?2 AND iid = ?3 AND EXISTS (
    SELECT 1 FROM json_each(users.device_tokens) t WHERE t.value IN (SELECT value FROM json_each(?4)))`

/** Takes device tokens out of a user's present list (N6), whatever else happens to it meanwhile; someone erased who has returned keeps theirs. */
export async function removeDeviceTokens(
  db: TenantDatabase,
  { userId, iid }: { userId: string; iid: string },
  tokens: readonly string[],
): Promise<void> {
  await db.batch([
    db.statement(REMOVE, db.tenantId, userId, iid, JSON.stringify(tokens), systemNow(), db.testClock ? 1 : 0),
  ])
}
