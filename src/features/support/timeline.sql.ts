import * as z from 'zod'
import { micros } from '../../lib/decimal'
import { MOST_AT_ONCE } from '../../lib/packed'
import { bytesOf, HexId, idOf, json, LOGS, Moment, numbersIn } from '../../platform/columns'
import type { TenantDatabase } from '../../platform/database'
import { ReachedLevels, StoredAwardRow } from '../../store/awards.sql.ts'
import { StoredHistoryRow, StoredStreakEntry } from '../../store/events.sql.ts'
import { LostRunRow, RUN_COLUMNS } from '../../store/users/streaks.sql.ts'

/*
 * Each source of a timeline is read by its own primary key, from the end of the page before. A window is the
 * next rows of a source. If a window is full, there may be more rows after it.
 */

/** The place of a row: its moment, the user's `seq`, and its position in the change. */
type RowPlace = readonly [at: number, seq: number, position: number]

/** The rows of a window, and the place of the last row that was read. Null if there are no more rows. */
export type Window<R> = { rows: R[]; last: RowPlace | null }

/** A window from a place on. Without `isAll`: only events that changed the streak, and awards the level. */
export type AskedWindow = { from: RowPlace; size: number; isAll: boolean }

const IID = bytesOf('?1')
const FROM = { events: '?3, ?4', awards: '?3, ?4, ?5' } as const
const KEYS = { events: 'at, seq', awards: 'at, seq, position' } as const

const descending = (order: string) => order.replaceAll(/\w+/g, (column) => `${column} DESC`)

/** SQL: the first rows that have four megabytes together, at least one row. `found` counts all rows. */
const fitting = (rows: string, order: string) => `
  SELECT * FROM (SELECT *, count(*) OVER () AS found, coalesce(sum(bytes) OVER (ORDER BY ${order}
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS ahead FROM (${rows}))
  WHERE ahead <= ${MOST_AT_ONCE} ORDER BY ${order}`

/**
 * SQL of the log or the ledger, which are ordered by a number (metric, system) and then by time. Of each
 * number a window of ?2 rows is read. The rows are those down to the first end of a full window, `last`. If
 * there are none, the only row is `last` with nulls.
 */
function windows(table: 'events' | 'awards', columns: string, wanted: string): string {
  const [{ no }, key, from] = [LOGS[table], KEYS[table], FROM[table]]
  const own = key.replaceAll(/\w+/g, (column) => `l.${column}`)
  const rows = `
  WITH RECURSIVE ${numbersIn(LOGS[table], IID)},
  ends AS MATERIALIZED (
    SELECT (
      SELECT json_array(${key}) FROM ${table} l WHERE l.user_iid = ${IID} AND l.${no} = u.no
        AND (${own}) <= (${from}) ORDER BY ${descending(key)} LIMIT 1 OFFSET ?2 - 1) AS last
    FROM used u WHERE u.no IS NOT NULL),
  bound AS MATERIALIZED (
    SELECT last FROM (SELECT last FROM ends UNION ALL SELECT NULL)
    ORDER BY last IS NULL, last ->> 0 DESC, last ->> 1 DESC, last ->> 2 DESC LIMIT 1)
  SELECT bound.last, hex(l.id) AS id, l.at, l.seq, l.utc_offset AS utcOffset, ${columns}
  FROM bound LEFT JOIN used u ON u.no IS NOT NULL
  LEFT JOIN ${table} l ON l.user_iid = ${IID} AND l.${no} = u.no AND (${own}) <= (${from})
    AND (l.at, l.seq) >= (coalesce(bound.last ->> 0, 0), coalesce(bound.last ->> 1, 0)) AND (${wanted})`
  return fitting(rows, descending(key))
}

const EVENTS = windows(
  'events',
  `${idOf('metrics', 'l.metric_no')} AS metricId, l.value, coalesce(l.attributes, '{}') AS attributes,
    coalesce(l.streak, '[]') AS streak, 0 AS position, octet_length(l.attributes) AS bytes`,
  '?5 OR l.streak IS NOT NULL',
)
const AWARDS = windows(
  'awards',
  `${idOf('points_systems', 'l.system_no')} AS systemId, l.position, l.awarded, l.total,
    ${idOf('points_triggers', 'l.trigger_no')} AS triggerId, l.trigger_version AS triggerVersion, l.boosts,
    l.levels, l.type, l.reason, octet_length(l.boosts) AS bytes`,
  // Reversals have the moment of the award that they reverse. The timeline has them at their own.
  "(?6 OR l.levels IS NOT NULL OR l.type IS NOT NULL) AND l.type IS NOT 'reversal'",
)
const VOIDED_EVENTS = fitting(
  `SELECT hex(id) AS id, at, seq, ${idOf('metrics', 'metric_no')} AS metricId, value, utc_offset AS utcOffset,
     coalesce(attributes, '{}') AS attributes, coalesce(streak, '[]') AS streak, voided_at AS voidedAt,
     0 AS position, octet_length(attributes) AS bytes
   FROM voided_events WHERE user_iid = ${IID} AND (at, seq) <= (?3, ?4) ORDER BY at DESC, seq DESC LIMIT ?2`,
  'at DESC, seq DESC',
)
const VOIDS = `
  SELECT hex(id) AS id, ${idOf('metrics', 'metric_no')} AS metricId, value, reason, voided_at AS at,
    voided_seq AS seq, 0 AS position
  FROM voided_events WHERE user_iid = ${IID} AND (voided_at, voided_seq) <= (?3, ?4)
  ORDER BY voided_at DESC, voided_seq DESC LIMIT ?2`
const REVERSALS = `
  SELECT hex(a.id) AS id, a.at, a.seq, a.position, ${idOf('points_systems', 'a.system_no')} AS systemId,
    a.awarded, a.total, a.levels, a.reason, hex(a.reverses) AS reverses
  FROM json_each(?2) asked CROSS JOIN awards a INDEXED BY awards_corrections ON a.user_iid = ${IID}
    AND a.seq = asked.value AND a.type IS NOT NULL
  WHERE a.type = 'reversal' ORDER BY a.seq, a.position`
const HISTORY = fitting(
  `SELECT at, seq, position, entries, octet_length(entries) AS bytes FROM user_changes
   WHERE user_iid = ${IID} AND (at, seq, position) <= (?3, ?4, ?5)
   ORDER BY at DESC, seq DESC, position DESC LIMIT ?2`,
  'at DESC, seq DESC, position DESC',
)
const RUNS = `
  SELECT ${RUN_COLUMNS}, r.lost FROM streak_runs r WHERE r.user_iid = ?1 AND r.first <= ?3
  ORDER BY r.first DESC LIMIT ?2`

const position = { at: Moment, seq: z.number(), position: z.number() }
/** An event, in the log or voided. */
export const EventRow = z.object({
  ...position,
  id: HexId,
  metricId: z.string(),
  value: z.number().transform(micros),
  utcOffset: z.number(),
  attributes: json(z.record(z.string(), z.string())),
  streak: json(z.array(StoredStreakEntry)),
  /** When the event was voided. Absent in the log. */
  voidedAt: Moment.optional(),
})
export type EventRow = z.output<typeof EventRow>

const AwardRow = StoredAwardRow.extend({
  ...position,
  systemId: z.string(),
  utcOffset: z.number(),
  levels: json(ReachedLevels).nullable(),
  reason: z.string().nullable(),
})
export type AwardRow = z.output<typeof AwardRow>

const HistoryRow = z.object({ ...position, entries: json(StoredHistoryRow) })
export type HistoryRow = z.output<typeof HistoryRow>

const VoidRow = EventRow.omit({ utcOffset: true, attributes: true, streak: true, voidedAt: true }).extend({
  reason: z.string().nullable(),
})
export type VoidRow = z.output<typeof VoidRow>

const ReversalRow = z.object({
  ...position,
  id: HexId,
  systemId: z.string(),
  awarded: z.number(),
  total: z.number(),
  levels: json(ReachedLevels).nullable(),
  reason: z.string().nullable(),
  reverses: HexId,
})
export type ReversalRow = z.output<typeof ReversalRow>

export type RunRow = z.output<typeof LostRunRow>

const Bound = z.looseObject({
  last: z.string().nullish(),
  id: z.string().optional(),
  found: z.number().default(0),
})
const Last = json(z.tuple([z.number(), z.number()]).rest(z.number()))

type Placed = { at: number; seq: number; position: number }

/**
 * Reads a window, whose key has the first parts of a place. If some rows did not fit, it ends with the last one
 * that did. The SQL of `windows` says where it ends. A window of one range ends with its last row if it is full.
 */
const windowOf =
  <S extends z.ZodType<Placed>>(sql: string, schema: S, key: 2 | 3, isRange = false) =>
  async (
    db: TenantDatabase,
    iid: string,
    { from, size, isAll }: AskedWindow,
  ): Promise<Window<z.output<S>>> => {
    const values = [iid, size, ...from.slice(0, key), ...(isRange ? [] : [isAll ? 1 : 0])]
    const all = await db.list(Bound, sql, ...values)
    const rows = z.array(schema).parse(all.filter(({ id }) => id !== ''))
    const [first, end] = [all[0], rows.at(-1)]
    if (first === undefined) return { rows, last: null }
    const isCut = all.length < first.found || (isRange && rows.length === size)
    if (isCut && end !== undefined) return { rows, last: [end.at, end.seq, end.position] }
    if (first.last == null) return { rows, last: null }
    const [at, seq, position = 0] = Last.parse(first.last)
    return { rows, last: [at, seq, position] }
  }

/** A user's events from a place on, newest first. */
export const eventWindow = windowOf(EVENTS, EventRow, 2)
/** A user's awards from a place on, newest first. */
export const awardWindow = windowOf(AWARDS, AwardRow, 3)
/** The rows of a user's history from a place on, newest first. */
export const historyWindow = windowOf(HISTORY, HistoryRow, 3, true)
/** A user's voided events from a place on, newest first by the moment at which they happened. */
export const voidedEventWindow = windowOf(VOIDED_EVENTS, EventRow, 2, true)
/** The voids of a user's events from a place on, newest first. */
export const voidWindow = windowOf(VOIDS, VoidRow, 2, true)

/** The reversals that these changes of a user made, by the `seq` of the change. */
export async function reversalsOf(
  db: TenantDatabase,
  iid: string,
  changes: readonly { seq: number }[],
): Promise<Map<number, ReversalRow[]>> {
  if (changes.length === 0) return new Map()
  const seqs = changes.map(({ seq }) => seq)
  const rows = await db.rows(db.statement(REVERSALS, iid, JSON.stringify(seqs)))
  return Map.groupBy(z.array(ReversalRow).parse(rows), ({ seq }) => seq)
}

/** A user's past streaks that began on a day or before, the newest first. `size` is the most. */
export async function runWindow(
  db: TenantDatabase,
  iid: string,
  { day, size }: { day: number; size: number },
): Promise<RunRow[]> {
  return db.list(LostRunRow, RUNS, iid, size, day)
}
