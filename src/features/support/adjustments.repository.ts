import * as z from 'zod'
import { type ColumnValues, columnList } from '../../platform/column-list'
import type { TenantDatabase } from '../../platform/database'
import { onlyUnchanged, overUsers, type UnchangedUsers } from '../../platform/guard'
import { bytesOf, HexId, numberOf } from '../../platform/short-ids'
import type { Statement } from '../../platform/statement'
import { adjustmentKeys } from '../../store/tables/events.table'

/** An adjustment that is in the ledger: the award's id, the applied points, and the total after them. */
export type Booked = { id: string; awarded: number; total: number }

const USED = `
  SELECT asked.value ->> 0 AS userIid, k.key, hex(k.award_id) AS id, k.awarded, k.total
  FROM json_each(?2) asked CROSS JOIN adjustment_keys k ON k.user_iid = ${bytesOf('asked.value ->> 0')}
    AND k.system_no = ${numberOf('points_systems', '?1')} AND k.key = asked.value ->> 1`

const UsedRows = z.array(
  z.object({ userIid: z.string(), key: z.string(), id: HexId, awarded: z.number(), total: z.number() }),
)

/** Finds which of these keys were used before in a system. A key is a pair of user iid and key. */
export async function usedAdjustmentKeys(
  db: TenantDatabase,
  systemId: string,
  pairs: readonly (readonly [iid: string, key: string])[],
): Promise<(Booked & { userIid: string; key: string })[]> {
  if (pairs.length === 0) return []
  return UsedRows.parse(await db.rows(db.statement(USED, systemId, JSON.stringify(pairs))))
}

type KeyRow = Booked & { userIid: string; systemId: string; key: string }
const KEY_VALUES: ColumnValues<typeof adjustmentKeys, KeyRow> = {
  userIid: { of: ({ userIid }) => userIid, as: bytesOf },
  systemNo: { of: ({ systemId }) => systemId, as: (id) => numberOf('points_systems', id) },
  key: ({ key }) => key,
  awardId: { of: ({ id }) => id, as: bytesOf },
  awarded: ({ awarded }) => awarded,
  total: ({ total }) => total,
}
const KEY_LIST = columnList(adjustmentKeys, KEY_VALUES)
const USE = `
  INSERT INTO adjustment_keys (${KEY_LIST.columns})
  SELECT ${KEY_LIST.sql()} FROM json_each(?1) WHERE ${onlyUnchanged(KEY_LIST.value('userIid'))}`

/** Marks idempotency keys of adjustments as used. One row each. */
export function useAdjustmentKeys(
  db: TenantDatabase,
  rows: readonly KeyRow[],
  among: UnchangedUsers,
): Statement[] {
  return overUsers(db, USE, rows.map(KEY_LIST.values), among)
}

const STORED = `
  SELECT hex(a.id) AS id FROM json_each(?2) asked CROSS JOIN awards a
    ON a.user_iid = ${bytesOf('asked.value ->> 0')} AND a.system_no = ${numberOf('points_systems', '?1')}
    AND a.at = asked.value ->> 1 AND a.seq = asked.value ->> 2 AND a.id = ${bytesOf('asked.value ->> 3')}`

/**
 * SQL: the ledger has the entry whose place and system are the subject of an entry of the audit log, as the
 * JSON of `[iid, system id, at, seq, award id]`.
 */
export const ENTRY_IS_STORED = `EXISTS (SELECT 1 FROM awards a
  WHERE a.user_iid = unhex((value ->> 0) ->> 0, '-')
    AND a.system_no = (SELECT s.no FROM points_systems s WHERE s.id = (value ->> 0) ->> 1)
    AND a.at = (value ->> 0) ->> 2 AND a.seq = (value ->> 0) ->> 3
    AND a.id = unhex((value ->> 0) ->> 4, '-'))`

/** The place of an entry in the ledger, with its id. */
export type LedgerPlace = readonly [iid: string, at: number, seq: number, id: string]

/** The ids of these entries that are in the ledger, after a write with a lost response. */
export async function storedEntries(
  db: TenantDatabase,
  systemId: string,
  places: readonly LedgerPlace[],
): Promise<Set<string>> {
  const rows = await db.rows(db.statement(STORED, systemId, JSON.stringify(places)))
  return new Set(
    z
      .array(z.object({ id: HexId }))
      .parse(rows)
      .map(({ id }) => id),
  )
}
