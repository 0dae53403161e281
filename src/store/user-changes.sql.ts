import * as z from 'zod'
import { Json } from '../lib/packed'
import { type ColumnValues, columnList } from '../platform/columns'
import type { Statement, TenantDatabase } from '../platform/database'
import { onlyUnchanged, overUsers, type UnchangedUsers } from '../platform/guard'
import { bytesOf } from '../platform/short-ids'
import type { Change } from '../rules/change.rules'
import { STREAK_ENTRY_KINDS } from '../rules/streaks/streak-state.rules'
import { historyRowsOf } from '../rules/user-changes.rules'
import { userChanges } from './tables.sql.ts'

/** An entry about the streak, as stored (X2). Days are days since 1970-01-01. */
export const StoredStreakEntry = z.object({
  kind: z.enum(STREAK_ENTRY_KINDS),
  length: z.number().optional(),
  earned: z.number().optional(),
  freezes: z.number().optional(),
  pause: z.object({ id: z.string(), start: z.number(), end: z.number() }).optional(),
})

/** The column `entries`, parsed. */
export const StoredHistoryRow = z.object({
  fields: z.array(z.tuple([z.string(), z.unknown(), z.unknown()])),
  streak: z.array(StoredStreakEntry),
})

type Row = { userIid: string; at: number; seq: number; position: number; entries: Json }

const ROW_VALUES: ColumnValues<typeof userChanges, Row> = {
  userIid: { of: ({ userIid }) => userIid, as: bytesOf },
  at: ({ at }) => at,
  seq: ({ seq }) => seq,
  position: ({ position }) => position,
  entries: ({ entries }) => entries,
}
const ROW_LIST = columnList(userChanges, ROW_VALUES)

const KEEP = `
  INSERT INTO user_changes (${ROW_LIST.columns})
  SELECT ${ROW_LIST.sql()} FROM json_each(?1) WHERE ${onlyUnchanged(ROW_LIST.value('userIid'))}`

/** Stores the part of users' history that no other row of the batch has (X2). */
export function keepHistory(
  db: TenantDatabase,
  changes: readonly Change[],
  among: UnchangedUsers,
): Statement[] {
  const rows = changes.flatMap((change) => {
    const { iid: userIid, changed: at, seq } = change.after
    return historyRowsOf(change).map((row, position) =>
      ROW_LIST.values({ userIid, at, seq, position, entries: new Json(JSON.stringify(row)) }),
    )
  })
  return overUsers(db, KEEP, rows, among)
}
