import * as z from 'zod'
import { PointsBoost, PointsTrigger } from '../api/shapes/points'
import { CORRECTION_TYPES } from '../configuration/enumerations'
import { micros } from '../lib/decimal'
import {
  bytesOf,
  type ColumnValues,
  columnList,
  HexId,
  idOf,
  json,
  Moment,
  numberOf,
} from '../platform/columns'
import type { Statement, TenantDatabase } from '../platform/database'
import { onlyUnchanged, overUsers, type UsersAsRead } from '../platform/guard'
import type { Change } from '../rules/change.rules'
import type { StoredAward } from '../rules/points/points.rules'
import type { AwardRecord } from '../rules/state'
import { awards } from './tables.sql.ts'

/** The column values of an award in the ledger, without its user. */
export const AWARD_VALUES: ColumnValues<typeof awards, AwardRecord, 'userIid'> = {
  seq: (award) => award.seq,
  systemNo: { of: (award) => award.systemId, as: (id) => numberOf('points_systems', id) },
  at: (award) => award.at,
  position: (award) => award.position,
  id: { of: (award) => award.id, as: bytesOf },
  awarded: (award) => award.awarded,
  total: (award) => award.total,
  utcOffset: (award) => award.utcOffset,
  triggerNo: {
    of: (award) => award.triggerId,
    as: (id) => `coalesce(${numberOf('points_triggers', id)}, 0)`,
  },
  triggerVersion: (award) => award.triggerVersion,
  boosts: (award) => (award.boosts.length === 0 ? null : award.boosts),
  counterBefore: ({ counter }) => counter?.before ?? null,
  counterAfter: ({ counter }) => counter?.after ?? null,
  levels: ({ levels }) => levels,
  type: ({ correction }) => correction?.type ?? null,
  amount: ({ correction }) => correction?.amount ?? null,
  reason: ({ correction }) => correction?.reason ?? null,
  reverses: { of: ({ correction }) => correction?.reverses ?? null, as: bytesOf },
}
// In a JSON row, the user comes first.
const AWARD_LIST = columnList(awards, AWARD_VALUES, 1)

const BOOK = `
  INSERT INTO awards (user_iid, ${AWARD_LIST.columns})
  SELECT ${bytesOf('value ->> 0')}, ${AWARD_LIST.sql()}
  FROM json_each(?1) WHERE ${onlyUnchanged('value ->> 0')}`

/** Books the awards of changes in the ledger, one row each (P8), by one statement if they are not long. */
export function bookAwards(db: TenantDatabase, changes: readonly Change[], among: UsersAsRead): Statement[] {
  const rows = changes.flatMap(({ after, awards }) =>
    awards.map((award) => [after.iid, ...AWARD_LIST.values(award)]),
  )
  return overUsers(db, BOOK, rows, among)
}

const NEWEST = `
  SELECT hex(id) AS id, at, awarded, total, ${idOf('points_triggers', 'trigger_no')} AS triggerId,
    trigger_version AS triggerVersion, boosts, type FROM awards
  WHERE user_iid = ${bytesOf('?1')} AND system_no = ${numberOf('points_systems', '?2')} AND seq <= ?3
  ORDER BY at DESC, seq DESC, position DESC LIMIT ?4`

const Level = z.object({ id: z.string(), key: z.string(), name: z.string(), points: z.number() }).nullable()
/** The column `levels`, parsed as JSON: the levels before and after (X2). */
export const ReachedLevels = z.tuple([Level, Level])

/** Parses a row of the ledger as a `StoredAward`. */
export const StoredAwardRow = z.object({
  id: HexId,
  at: Moment,
  awarded: z.number(),
  total: z.number(),
  type: z.enum(CORRECTION_TYPES).nullable(),
  triggerId: z.string().nullable(),
  triggerVersion: z.number(),
  boosts: json(z.array(PointsBoost)).nullable(),
})

/** SQL: the columns that `LedgerRow` parses, except `triggerVersion` and `boosts`. */
export const LEDGER_COLUMNS = `
    hex(id) AS id, at, seq, awarded, total, utc_offset AS utcOffset, type, amount, reason,
    ${idOf('points_triggers', 'trigger_no')} AS triggerId, hex(reverses) AS reverses,
    counter_before AS counterBefore, counter_after AS counterAfter`

const Counted = z.number().transform(micros).nullable()
/** A whole row of the ledger: an award or a correction, as in `AwardRecord`. */
export const LedgerRow = StoredAwardRow.extend({
  seq: z.number(),
  utcOffset: z.number(),
  counterBefore: Counted,
  counterAfter: Counted,
  amount: z.number().nullable(),
  reason: z.string().nullable(),
  reverses: HexId.or(z.literal('').transform(() => null)),
})

/** The user as read. Awards with a later `seq` are left out. */
type Reader = { iid: string; seq: number }

/** A user's newest awards in a system, the newest first (P10). */
export async function newestAwards(
  db: TenantDatabase,
  { iid, seq }: Reader,
  systemId: string,
  limit: number,
): Promise<StoredAward[]> {
  return db.list(StoredAwardRow, NEWEST, iid, systemId, seq, limit)
}

const FORMS = `
  SELECT v.trigger_id AS triggerId, v.version, v.document FROM json_each(?1) asked
  CROSS JOIN trigger_versions v ON v.trigger_id = asked.value ->> 0 AND v.version = asked.value ->> 1`

const FormRows = z.array(
  z.object({
    triggerId: z.string(),
    version: z.number(),
    document: json(PointsTrigger),
  }),
)

/** The triggers that fired for these awards, as they were then. The keys are `id version` (P10). */
export async function triggerForms(
  db: TenantDatabase,
  asked: readonly Pick<StoredAward, 'type' | 'triggerId' | 'triggerVersion'>[],
): Promise<Map<string, z.infer<typeof PointsTrigger>>> {
  const fired = asked.filter(({ type }) => type === null)
  if (fired.length === 0) return new Map()
  const pairs = [...new Set(fired.map((one) => JSON.stringify([one.triggerId, one.triggerVersion])))]
  return formsOf(await db.rows(db.statement(FORMS, `[${pairs.join(',')}]`)))
}

const formsOf = (rows: readonly unknown[]) =>
  new Map(
    FormRows.parse(rows).map(({ triggerId, version, document }) => [`${triggerId} ${version}`, document]),
  )

// Reads from the n-th newest award of each system on, or from the first one if there are fewer. This is a
// range of the key, so no other awards are read.
const NEWEST_OF_EACH = `
  WITH reader AS MATERIALIZED (SELECT ${bytesOf('u.iid')} AS iid FROM users u WHERE u.tenant_id = ?1
    AND u.id = ?2),
  systems AS MATERIALIZED (
    SELECT asked.value AS id, ${numberOf('points_systems', 'asked.value')} AS no FROM json_each(?3) asked),
  newest AS MATERIALIZED (
    SELECT s.id AS systemId, a.id, a.at, a.seq, a.position, a.awarded, a.total, a.boosts, a.type,
      ${idOf('points_triggers', 'a.trigger_no')} AS triggerId, a.trigger_version AS triggerVersion
    FROM reader CROSS JOIN systems s CROSS JOIN awards a ON a.user_iid = reader.iid AND a.system_no = s.no
      AND (a.at, a.seq, a.position) >= (
        SELECT at, seq, position FROM (
          SELECT b.at, b.seq, b.position FROM awards b WHERE b.user_iid = reader.iid AND b.system_no = s.no
          ORDER BY b.at DESC, b.seq DESC, b.position DESC LIMIT 1 OFFSET ?4 - 1)
        UNION ALL SELECT 0, 0, 0 ORDER BY 1 DESC LIMIT 1))`
const AWARDS_OF_EACH = `${NEWEST_OF_EACH}
  SELECT systemId, hex(id) AS id, at, awarded, total, triggerId, triggerVersion, boosts, type FROM newest
  ORDER BY at DESC, seq DESC, position DESC`
const FORMS_OF_EACH = `${NEWEST_OF_EACH}
  SELECT v.trigger_id AS triggerId, v.version, v.document FROM (SELECT DISTINCT triggerId, triggerVersion
    FROM newest) n
  CROSS JOIN trigger_versions v ON v.trigger_id = n.triggerId AND v.version = n.triggerVersion`

/** A user's newest awards by system, the newest first, and their triggers of then, by `id version`. */
export type AwardsOfEach = {
  awards: ReadonlyMap<string, readonly StoredAward[]>
  forms: ReadonlyMap<string, z.infer<typeof PointsTrigger>>
}

/** Reads a user's newest awards in each system, with triggers (P10). Parsed by `parseAwardsOfEach`. */
export function awardsOfEachStatements(
  db: TenantDatabase,
  userId: string,
  { systemIds, limit }: { systemIds: readonly string[]; limit: number },
): Record<'awards' | 'forms', Statement> {
  const values = [db.tenantId, userId, JSON.stringify(systemIds), limit]
  return { awards: db.statement(AWARDS_OF_EACH, ...values), forms: db.statement(FORMS_OF_EACH, ...values) }
}

/** Parses the results of `awardsOfEachStatements`. */
export function parseAwardsOfEach({ awards, forms }: Record<'awards' | 'forms', D1Result>): AwardsOfEach {
  const rows = z.array(StoredAwardRow.extend({ systemId: z.string() })).parse(awards.results)
  return {
    awards: Map.groupBy(rows, ({ systemId }) => systemId),
    forms: formsOf(forms.results),
  }
}
