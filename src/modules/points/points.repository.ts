import type { Database } from '../../db/database'
import type { AwardRecord } from '../../engine/state'

const BOOK = `
  INSERT INTO awards (user_iid, system_id, at, seq, position, id, awarded, total, utc_offset, trigger_id,
    trigger_version, boosts)
  SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
    value ->> 8, value ->> 9, value ->> 10 FROM json_each(?2)`

/** Books awards of one user in the ledger: one row each. */
export function bookAwards(
  db: Database,
  userIid: string,
  awards: readonly AwardRecord[],
): D1PreparedStatement {
  const rows = awards.map((award) => [
    award.systemId,
    award.at,
    award.seq,
    award.position,
    award.id,
    award.awarded,
    award.total,
    award.utcOffset,
    award.triggerId,
    award.triggerVersion,
    award.boosts.length === 0 ? null : JSON.stringify(award.boosts),
  ])
  return db.statement(BOOK, userIid, JSON.stringify(rows))
}
