import * as z from 'zod'
import { jsonRow, packed } from '../../lib/packed'
import { systemNow } from '../../lib/system-clock'
import { bytesOf } from '../../platform/columns'
import type { Statement, TenantDatabase } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import type { UserState } from '../../rules/state'
import { schedule } from '../../time/due-work.sql.ts'
import { defineJob } from '../../time/job'

/*
 * In these statements, ?2 is a list of device tokens: [user id, iid, token, since when]. The table `devices`
 * has when a user has sent a token. Users may be many: all may have sent the same one.
 */

/** The statements that take tokens from users. `lost` is the SQL of these tokens: user id, iid, token. */
function removal(lost: string) {
  const beginning = `WITH at (now) AS (SELECT coalesce((SELECT now FROM test_clock WHERE ?4), ?3)),
    lost (user_id, iid, token) AS MATERIALIZED (${lost}),
    losers AS MATERIALIZED (SELECT user_id, iid, json_group_array(token) AS tokens FROM lost GROUP BY 1, 2)`
  const areIn = 't.value IN (SELECT value FROM json_each(losers.tokens))'
  const rest = `(SELECT json_group_array(t.value ORDER BY t.key) FROM json_each(users.device_tokens) t
    WHERE NOT ${areIn})`
  const have = `users.tenant_id = ?1 AND users.id = losers.user_id AND users.iid = losers.iid
    AND EXISTS (SELECT 1 FROM json_each(users.device_tokens) t WHERE ${areIn})`
  return [
    // The change in the user's history (X2), made before the list is changed.
    `${beginning} INSERT INTO user_changes (user_iid, at, seq, position, entries)
    SELECT ${bytesOf('users.iid')}, max(changed, at.now), seq + 1, 0, json_object('streak', json('[]'),
      'fields', json_array(json_array('deviceTokens', json(device_tokens), json(${rest}))))
    FROM at CROSS JOIN losers CROSS JOIN users WHERE ${have}`,
    // Raises `seq`, so that a change that was decided with the old list is decided again.
    `${beginning} UPDATE users SET seq = seq + 1, changed = max(changed, at.now),
      updated = max(updated, at.now), device_tokens = ${rest}
    FROM at CROSS JOIN losers WHERE ${have}`,
    `${beginning} DELETE FROM devices WHERE (user_iid, token) IN (SELECT iid, token FROM lost)`,
  ]
}

const GONE = removal('SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2)')
// Another user of this database has sent them later, or the user of the list.
const TAKEN = removal(`SELECT d.user_id, d.user_iid, d.token FROM (
    SELECT value ->> 2 AS token, value ->> 1 AS iid, value ->> 3 AS at, (SELECT user_iid FROM devices
      WHERE tenant_id = ?1 AND token = value ->> 2 ORDER BY at DESC, user_iid DESC LIMIT 1) AS last
    FROM json_each(?2) GROUP BY 1) asked
  CROSS JOIN devices d ON d.tenant_id = ?1 AND d.token = asked.token
  WHERE d.user_iid <> asked.last OR (d.at, d.user_iid) < (asked.at, asked.iid)`)

// The last one in a database is the latest, whatever the clocks say. A user who was not stored gets none.
const CLAIM = `
  INSERT OR REPLACE INTO devices (user_iid, token, tenant_id, user_id, at)
  SELECT u.iid, asked.value ->> 2, ?1, u.id, max(?3, (SELECT coalesce(max(at) + 1, 0) FROM devices
    WHERE tenant_id = ?1 AND token = asked.value ->> 2))
  FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value ->> 0
    AND u.iid = asked.value ->> 1
  WHERE EXISTS (SELECT 1 FROM json_each(u.device_tokens) t WHERE t.value = asked.value ->> 2)`

const removals = (db: TenantDatabase, sql: readonly string[], tokens: string): Statement[] =>
  sql.map((one) => db.statement(one, db.tenantId, tokens, systemNow(), db.testClock ? 1 : 0))

/** Removes tokens from a user's present list (N6), not from that of a user who was erased and is back. */
export async function removeDeviceTokens(
  db: TenantDatabase,
  { userId, iid }: { userId: string; iid: string },
  tokens: readonly string[],
): Promise<void> {
  await db.batch(removals(db, GONE, JSON.stringify(tokens.map((token) => [userId, iid, token]))))
}

/**
 * The end of a batch that stores users: takes their new device tokens from the other users of the database,
 * and makes it due to take them from users of others (U2). Nothing if no token is new.
 */
export function claimDevices(
  db: TenantDatabase,
  stored: readonly { was: UserState | null; after: UserState }[],
): Statement[] {
  const claims = stored.map(({ was, after }) => {
    const known = new Set(was?.profile.deviceTokens)
    return { after, tokens: (after.profile.deviceTokens ?? []).filter((token) => !known.has(token)) }
  })
  const rows = claims.flatMap(({ after: { id, iid }, tokens }) =>
    tokens.map((token) => jsonRow([id, iid, token, 0])),
  )
  const due = db.hasOthers ? claims.filter(({ tokens }) => tokens.length > 0) : []
  return [
    ...packed(rows).flatMap((list) => [
      db.statement(CLAIM, db.tenantId, list, systemNow()),
      ...removals(db, TAKEN, list),
    ]),
    ...due.map(({ after }) => schedule(db, 'devices', { at: after.changed, subject: after.id })),
  ]
}

const HELD = `
  SELECT json_group_array(json_array(d.user_id, d.user_iid, d.token, d.at)) AS tokens
  FROM users u, json_each(u.device_tokens) t CROSS JOIN devices d ON d.user_iid = u.iid AND d.token = t.value
  WHERE u.tenant_id = ?1 AND u.id = ?2`

/** Takes a user's device tokens from all users who sent them earlier, in every database (U2). */
export async function takeDevices(databases: Databases, tenantId: string, userId: string): Promise<void> {
  const db = databases.usersOf(tenantId).of(userId)
  const { tokens } = await db.one(z.object({ tokens: z.string() }), HELD, tenantId, userId)
  // It may be repeated, because nothing is taken twice.
  await databases.usersOf(tenantId).askAll((place) => place.batch(removals(place, TAKEN, tokens)))
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    devices: true
  }
}

/** Takes the new device tokens of a user, the subject, from users of other databases (U2). */
export const devicesJob = defineJob({
  kind: 'devices',
  of: 'users',
  step: async ({ databases, db }, work) => {
    await takeDevices(databases, db.tenantId, work.subject)
    await db.batch([work.end()])
  },
})
