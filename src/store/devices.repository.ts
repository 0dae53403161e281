import { systemNow } from '../lib/system-clock'
import type { TenantDatabase } from '../platform/database'
import { bytesOf } from '../platform/short-ids'

const NOW = '(SELECT coalesce((SELECT now FROM test_clock WHERE ?6), ?5) AS now) at'
const REST = `(
    SELECT json_group_array(t.value ORDER BY t.key) FROM json_each(users.device_tokens) t
    WHERE t.value NOT IN (SELECT value FROM json_each(?4)))`
const HAS_THEM = `tenant_id = ?1 AND id = ?2 AND iid = ?3 AND EXISTS (
    SELECT 1 FROM json_each(users.device_tokens) t WHERE t.value IN (SELECT value FROM json_each(?4)))`

// Raises `seq`, so that a change that was decided with the old list is decided again, and no change is lost.
const REMOVE = `
  UPDATE users SET seq = seq + 1, changed = max(changed, at.now), updated = max(updated, at.now),
    device_tokens = ${REST}
  FROM ${NOW}
  WHERE ${HAS_THEM}`

// The same change in the user's history (X2), made before the list is changed.
const REMEMBER = `
  INSERT INTO user_changes (user_iid, at, seq, position, entries)
  SELECT ${bytesOf('users.iid')}, max(changed, at.now), seq + 1, 0, json_object('streak', json('[]'),
    'fields', json_array(json_array('deviceTokens', json(device_tokens), json(${REST}))))
  FROM ${NOW} CROSS JOIN users WHERE ${HAS_THEM}`

/**
 * Removes device tokens from a user's present list (N6), even if the user changes at the same time. A user
 * who was erased and has returned keeps the tokens.
 */
export async function removeDeviceTokens(
  db: TenantDatabase,
  { userId, iid }: { userId: string; iid: string },
  tokens: readonly string[],
): Promise<void> {
  const asked = [db.tenantId, userId, iid, JSON.stringify(tokens), systemNow(), db.testClock ? 1 : 0]
  await db.batch([db.statement(REMEMBER, ...asked), db.statement(REMOVE, ...asked)])
}
