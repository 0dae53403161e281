/** The SQL that tells a database that it was brought back to an earlier moment (M1). */

/** When work is due now: by the test clock if it is set. */
const NOW = 'coalesce((SELECT now FROM test_clock), (SELECT epoch FROM restores))'

const makeAllDue = (/** @type {string} */ kind, /** @type {string} */ subjects) =>
  `INSERT INTO due_work (tenant_id, kind, subject, due_at)
SELECT s.tenant_id, '${kind}', s.subject, ${NOW} FROM (${subjects}) s
JOIN tenants t ON t.id = s.tenant_id AND t.status = 'active' WHERE true
ON CONFLICT DO UPDATE SET due_at = min(due_at, excluded.due_at), asked = asked + 1`

/**
 * The statements, in order. They are one transaction. They raise the epoch and the version of each
 * configuration to numbers that were never used before: memory and leaderboards notice them. Leaderboards and
 * delivery queues are called soon. With `undelete` the deletions since then are not done again.
 *
 * @param {{ undelete: boolean }} options
 * @returns {string[]}
 */
export const restoredStatements = ({ undelete }) => [
  "UPDATE restores SET epoch = max(epoch + 1, CAST(unixepoch('subsec') * 1000 AS INTEGER)), progress = NULL WHERE id = 1",
  `UPDATE tenants SET config_version = max(config_version + 1, (SELECT epoch FROM restores))
WHERE config_version > 0`,
  makeAllDue('leaderboard', 'SELECT tenant_id, id AS subject FROM leaderboards WHERE deleted IS NULL'),
  makeAllDue(
    'delivery',
    `SELECT tenant_id, 'webhook:' || id AS subject FROM webhooks WHERE deleted IS NULL
  UNION ALL SELECT id, 'email:' || id FROM tenants UNION ALL SELECT id, 'push:' || id FROM tenants`,
  ),
  ...(undelete ? ['UPDATE restores SET redone = epoch'] : []),
]

/**
 * Asks for `left`: 1 while deletions have to be done again after a restore (M3), else 0. The second round of
 * an erasure is due later, and is not waited for: then the user's data is already gone.
 */
export const deletionsLeft = `SELECT EXISTS (SELECT 1 FROM restores WHERE redone < epoch)
OR EXISTS (SELECT 1 FROM due_work WHERE kind IN ('erasure', 'purge')
  AND due_at <= coalesce((SELECT now FROM test_clock), CAST(unixepoch('subsec') * 1000 AS INTEGER))) AS left`
