import type { Statement } from '../database'

/**
 * Prepares a change at the first of some places, and then at all others side by side: so of several changes at
 * once, exactly one goes on. `prepare` returns null if another change is under way. Returns what was prepared,
 * whether that is everywhere, and the first error.
 */
export async function prepareEach<P, T>(places: readonly P[], prepare: (place: P) => Promise<T | null>) {
  const prepared: T[] = []
  for (const some of [places.slice(0, 1), places.slice(1)]) {
    const results = await Promise.allSettled(some.map(prepare))
    const done = results.flatMap((one) =>
      one.status === 'fulfilled' && one.value !== null ? [one.value] : [],
    )
    prepared.push(...done)
    const error: unknown = results.find((one) => one.status === 'rejected')?.reason
    if (done.length < some.length) return { prepared, isAll: false, error }
  }
  return { prepared, isAll: true, error: undefined }
}

const IS_HERE = (id: string, iid: string) =>
  `EXISTS (SELECT 1 FROM users u WHERE u.tenant_id = ?1 AND u.id = ${id} AND u.iid = ${iid})`

/*
 * The first database has all boosts of users, too: it decides about their keys and their order, and serves
 * admins. Each other database has those of its own users, for their events. A change of boosts is made by
 * other statements in the first database, and by these in the copies.
 */
const IN_COPIES = {
  /** Own boosts get temporary keys, since one may get the key that another had. */
  freeOwnBoosts: `
  UPDATE points_boosts SET key = '~' || id WHERE tenant_id = ?1 AND id IN (SELECT value FROM json_each(?2))
    AND user_iid IS NOT NULL`,
  keepOwnBoosts: `
  INSERT INTO points_boosts (tenant_id, id, created, updated, system_id, user_id, user_iid, key, name, start,
    "end", multiplier, rounding, user_attributes)
  SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
    value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12 FROM json_each(?2)
  WHERE ${IS_HERE('value ->> 4', 'value ->> 5')}
  ON CONFLICT (id) DO UPDATE SET updated = excluded.updated, key = excluded.key, name = excluded.name,
    start = excluded.start, "end" = excluded."end", multiplier = excluded.multiplier,
    rounding = excluded.rounding, user_attributes = excluded.user_attributes`,
  deleteOwnBoosts: `
  UPDATE points_boosts SET deleted = ?3 WHERE tenant_id = ?1 AND id IN (SELECT value FROM json_each(?2))
    AND user_iid IS NOT NULL AND deleted IS NULL`,
  deleteOwnBoostsOfSystem: `
  UPDATE points_boosts SET deleted = ?3 WHERE tenant_id = ?1 AND system_id = ?2 AND user_iid IS NOT NULL
    AND deleted IS NULL`,
} as const

/**
 * Statements about users. If a change of the configuration has some of them, or of those that begin work on
 * users (`WORK_EVERYWHERE`), each database of the tenant does them for its own users (B4). The first database
 * notes them by their names. The tenant is ?1.
 */
export const EVERYWHERE = {
  ...IN_COPIES,
  /** Writes messages once, of users who are in this database. */
  keepMessages: `
  INSERT INTO outbox (tenant_id, at, seq, id, user_iid, messages)
  SELECT ?1, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?2)
  WHERE ${IS_HERE('value ->> 0', 'value ->> 4')} ON CONFLICT DO NOTHING`,
  /** A user's own boost is a part of the user's state, so every change to it raises `seq`. */
  raiseSeq: 'UPDATE users SET seq = seq + 1 WHERE tenant_id = ?1 AND id = ?2 AND iid = ?3',
  noteBoosts: `
  UPDATE points_boosts SET notified = asked.value ->> 1 FROM json_each(?2) asked
  WHERE points_boosts.id = asked.value ->> 0 AND points_boosts.tenant_id = ?1`,
} as const

/** Such a statement with its parameters. */
export const everywhere = (name: keyof typeof EVERYWHERE, ...params: unknown[]): Statement => ({
  sql: EVERYWHERE[name],
  params,
  everywhere: name,
})

/** Such a statement of a change that the first database makes in another way. */
export const inCopies = (name: keyof typeof IN_COPIES, ...params: unknown[]): Statement => ({
  ...everywhere(name, ...params),
  isForCopies: true,
})
