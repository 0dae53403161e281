/**
 * After databases were brought back to an earlier moment (M1): the SQL that tells them. `npm run serve` has this file
 * inside the Worker, so it imports nothing.
 */

/** The present moment: by the test clock if it is set. */
const NOW = "coalesce((SELECT now FROM test_clock), CAST(unixepoch('subsec') * 1000 AS INTEGER))"

const makeAllDue = (/** @type {string} */ kind, /** @type {string} */ subjects) =>
  `INSERT INTO due_work (tenant_id, kind, subject, due_at)
SELECT s.tenant_id, '${kind}', s.subject, ${NOW} FROM (${subjects}) s
JOIN tenants t ON t.id = s.tenant_id AND t.status = 'active' WHERE true
ON CONFLICT DO UPDATE SET due_at = min(due_at, excluded.due_at), asked = asked + 1`

/** Makes the upkeep of all leaderboards due. A board without data is then made again from the log. */
export const allBoardsDue = makeAllDue(
  'leaderboard',
  'SELECT tenant_id, id AS subject FROM leaderboards WHERE deleted IS NULL',
)

/**
 * The statements, in order. They are one transaction. They raise the epoch and the version of each
 * configuration to numbers that were never used before: memory and leaderboards notice them. Leaderboards and
 * delivery queues are called soon. With `undelete` the deletions since then are not done again. With several
 * databases, these are the statements of the first one, and `epoch` is what `nextEpoch` says.
 *
 * @param {{ undelete: boolean; epoch?: number }} options
 */
export const restoredStatements = ({ undelete, epoch }) => [
  `UPDATE restores SET epoch = ${epoch ?? "max(epoch + 1, CAST(unixepoch('subsec') * 1000 AS INTEGER))"}, progress = NULL WHERE id = 1`,
  `UPDATE tenants SET config_version = max(config_version + 1, (SELECT epoch FROM restores))
WHERE config_version > 0`,
  allBoardsDue,
  makeAllDue(
    'delivery',
    `SELECT tenant_id, 'webhook:' || id AS subject FROM webhooks WHERE deleted IS NULL
  UNION ALL SELECT id, 'email:' || id FROM tenants UNION ALL SELECT id, 'push:' || id FROM tenants`,
  ),
  ...(undelete ? ['UPDATE restores SET redone = epoch'] : []),
]

/** The statements of each other database. Due work and the list of deletions are in the first one. */
export const restoredStatementsOfOthers = (/** @type {number} */ epoch) => [
  `UPDATE restores SET epoch = ${epoch}, redone = ${epoch}, progress = NULL WHERE id = 1`,
  // Each copy of a configuration is compared with the original before it is used.
  "UPDATE tenants SET config_version = -1, changing = json_object('change', '', 'until', 0) WHERE is_copy = 1",
]

/**
 * The state of a database after a restore. `moment` is the real time, in milliseconds, that the
 * cron trigger has last written to all databases: the same number in each. It is null if it never has.
 *
 * @typedef {{ epoch: number; version: number; moment: number | null; hasUsers: number }} State
 */

/** Asks a database for its State. */
export const stateQuestion = `SELECT r.epoch,
coalesce((SELECT max(config_version) FROM tenants), 0) AS version,
(SELECT moment FROM restores WHERE id = 1) AS moment, EXISTS (SELECT 1 FROM users) AS hasUsers
FROM restores r WHERE r.id = 1`

/** The epoch of all databases, and the version of all configurations in them. None was used before. */
export const nextEpoch = (/** @type {readonly State[]} */ states, /** @type {number} */ now) =>
  Math.max(now, ...states.map(({ epoch, version }) => Math.max(epoch, version) + 1))

/**
 * Asks for `left`: 1 while work of these kinds is due, or while deletions have to be done again after a restore,
 * else 0. The second round of an erasure is due later, and is not waited for: then the user's data is already gone.
 */
export const workLeft = (/** @type {readonly string[]} */ kinds) => `SELECT EXISTS (SELECT 1 FROM restores
WHERE redone < epoch) OR EXISTS (SELECT 1 FROM due_work
WHERE kind IN (${kinds.map((kind) => `'${kind}'`).join()}) AND due_at <= ${NOW}) AS left`
