import * as z from 'zod'
import { instant } from '../../lib/clock'
import { micros } from '../../lib/decimal'
import { timeOf } from '../../lib/ids'
import type { TenantDatabase } from '../../platform/database'
import { json } from '../../platform/json-column'
import { bytesOf, HexId, idOf, numberOf } from '../../platform/short-ids'
import { StoredAwardRow } from '../../store/awards.repository'

const OWN = `user_iid = ${bytesOf('?1')}`

const COLUMNS = `
  SELECT hex(id) AS id, at, seq, awarded, total, utc_offset AS utcOffset,
    ${idOf('points_triggers', 'trigger_no')} AS triggerId, trigger_version AS triggerVersion, boosts,
    counter_before AS counterBefore, counter_after AS counterAfter, type, amount, reason,
    hex(reverses) AS reverses`
// A reversal has the moment of the award that it reverses. So the first read is of the corrections, which
// have an index. Another award is not before the time in its id. So the second read begins at that time,
// and ends at the award. It is left out if the first one has found a row.
const ENTRY = `
  SELECT * FROM (${COLUMNS}
    FROM awards INDEXED BY awards_corrections WHERE ${OWN} AND type IS NOT NULL
      AND system_no = ${numberOf('points_systems', '?2')} AND id = ${bytesOf('?4')})
  UNION ALL
  SELECT * FROM (${COLUMNS}
    FROM awards WHERE ${OWN} AND system_no = ${numberOf('points_systems', '?2')} AND at >= ?3
      AND id = ${bytesOf('?4')}
    ORDER BY at LIMIT 1)
  LIMIT 1`

const Counted = z.number().transform(micros).nullable()
const AwardRow = StoredAwardRow.extend({
  seq: z.number(),
  utcOffset: z.number(),
  counterBefore: Counted,
  counterAfter: Counted,
  amount: z.number().nullable(),
  reason: z.string().nullable(),
  reverses: HexId.or(z.literal('').transform(() => null)),
})
export type AwardRow = z.output<typeof AwardRow>

/** An award or a correction of a user in a system, or null. */
export async function findAward(
  db: TenantDatabase,
  userIid: string,
  { systemId, awardId }: { systemId: string; awardId: string },
): Promise<AwardRow | null> {
  const rows = await db.rows(db.statement(ENTRY, userIid, systemId, timeOf(awardId), awardId))
  return z.array(AwardRow).parse(rows)[0] ?? null
}

const EVENT_COLUMNS = `
    hex(e.id) AS id, ${idOf('metrics', 'e.metric_no')} AS metricId, e.at, e.value,
    e.utc_offset AS utcOffset, coalesce(e.attributes, '{}') AS attributes,
    (SELECT i.key FROM idempotency_keys i WHERE i.user_iid = e.user_iid AND i.metric_no = e.metric_no
      AND i.event_id = e.id LIMIT 1) AS idempotencyKey`
// The log of a user is ordered by metric. So the read looks for the change once in each metric of the user.
const EVENT = `
  WITH RECURSIVE used (no) AS (
    SELECT min(metric_no) FROM events WHERE ${OWN}
    UNION ALL
    SELECT (SELECT min(metric_no) FROM events WHERE ${OWN} AND metric_no > used.no) FROM used
      WHERE used.no IS NOT NULL)
  SELECT ${EVENT_COLUMNS}
  FROM used CROSS JOIN events e ON e.user_iid = ${bytesOf('?1')} AND e.metric_no = used.no AND e.at = ?2
    AND e.seq = ?3
  UNION ALL SELECT ${EVENT_COLUMNS} FROM voided_events e
  WHERE e.user_iid = ${bytesOf('?1')} AND e.at = ?2 AND e.seq = ?3`

const EventRows = z.array(
  z.object({
    id: HexId,
    metricId: z.string(),
    at: z.number().transform(instant),
    value: z.number().transform(micros),
    utcOffset: z.number(),
    attributes: json(z.record(z.string(), z.string())),
    idempotencyKey: z.string().nullable(),
  }),
)

/** The event of a user's change, voided or not, with its idempotency key. Null if the change had no event. */
export async function eventOfChange(
  db: TenantDatabase,
  userIid: string,
  { at, seq }: { at: number; seq: number },
): Promise<z.output<typeof EventRows>[number] | null> {
  return EventRows.parse(await db.rows(db.statement(EVENT, userIid, at, seq)))[0] ?? null
}
