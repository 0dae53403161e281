import { wait } from '../../lib/system-clock'
import type { Statement } from '../database'
import { isConflict, mayBeStored } from '../guard'

/** How often a change is tried. With the pauses, that takes longer than an interrupted change is under way. */
const TRIES = 250
/** The shortest pause while another change is under way, in ms. */
const PAUSE = 40

/** A change that other databases expect before the first one stores it (B4). */
export type Expected = {
  /** After it was stored: the others make it too. One that can't be reached does so later. */
  finish(): Promise<unknown>
  /** After it was not stored: the others expect it no more. */
  withdraw(): Promise<unknown>
}

type Change<T> = Expected & {
  store(): Promise<T>
  /** If the answer to the batch was lost: whether it was stored. Without it, that stays unknown. */
  isStored?(): Promise<boolean>
  /** The result, if it is known before. Then a lost answer does no harm. */
  known?: { result: T }
}

/**
 * Makes a change in the first database that others follow, one change after another (B4). `begin` makes the
 * others expect it, or returns null if another change is under way. It begins again after that, and after a
 * conflict. The pauses grow with the tries, by at most `mostPauses` times the shortest one. Throws the error
 * of `giveUp` in the end.
 */
export async function changeEverywhere<T>(
  begin: (isAgain: boolean) => Promise<Change<T> | null>,
  giveUp: () => Error,
  mostPauses = 1,
): Promise<T> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const change = await begin(tries > 0)
    if (change === null) {
      await wait(PAUSE * (1 + Math.random() * Math.min(tries + 1, mostPauses)))
      continue
    }
    try {
      const result = await change.store()
      await change.finish()
      return result
    } catch (error) {
      if (isConflict(error)) {
        await change.withdraw()
        continue
      }
      const isStored = (await change.isStored?.()) ?? false
      if (isStored) await change.finish()
      // The batch may still be stored later. The others expect it until it can't be any more.
      else if (!mayBeStored(error)) await change.withdraw()
      if (!isStored || change.known === undefined) throw error
      return change.known.result
    }
  }
  throw giveUp()
}

/**
 * Prepares a change at the first of some places, and then at all others side by side: so of several changes at
 * once, exactly one goes on. `prepare` returns null if another change is under way. Then this returns null too,
 * and if a place fails, it throws; in both cases `undo` comes first.
 */
export async function prepareEach<P, T>(
  places: readonly P[],
  prepare: (place: P) => Promise<T | null>,
  undo: (prepared: readonly T[]) => Promise<unknown>,
): Promise<T[] | null> {
  const prepared: T[] = []
  for (const some of [places.slice(0, 1), places.slice(1)]) {
    const results = await Promise.allSettled(some.map(prepare))
    const done = results.flatMap((one) =>
      one.status === 'fulfilled' && one.value !== null ? [one.value] : [],
    )
    prepared.push(...done)
    if (done.length === some.length) continue
    await undo(prepared)
    const failure = results.find((one) => one.status === 'rejected')
    if (failure !== undefined) throw failure.reason
    return null
  }
  return prepared
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
