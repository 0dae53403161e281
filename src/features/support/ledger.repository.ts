import * as z from 'zod'
import { instant } from '../../lib/clock'
import type { TenantDatabase } from '../../platform/database'
import { bytesOf, HexId, idOf } from '../../platform/short-ids'
import type { Statement } from '../../platform/statement'

/*
 * The awards of a user that a correction reverses. The user's totals name the systems, so no award of a
 * deleted system is found.
 */

const awardsAt = (at: string, seq: string) => `
  CROSS JOIN json_each(u.points) p CROSS JOIN awards a ON a.user_iid = ${bytesOf('u.iid')}
    AND a.system_no = (SELECT s.no FROM points_systems s WHERE s.id = p.key) AND a.at = ${at} AND a.seq ${seq}
    AND a.type IS NULL
  CROSS JOIN trigger_versions v ON v.trigger_id = ${idOf('points_triggers', 'a.trigger_no')}
    AND v.version = a.trigger_version`
const COLUMNS = `hex(a.id) AS id, p.key AS systemId, a.at, a.utc_offset AS utcOffset, a.awarded,
    v.trigger_id AS triggerId, a.trigger_version AS triggerVersion`

const OF_EVENT = `
  SELECT ${COLUMNS} FROM users u
  CROSS JOIN json_each(u.metrics) m CROSS JOIN events e ON e.user_iid = ${bytesOf('u.iid')}
    AND e.metric_no = (SELECT n.no FROM metrics n WHERE n.id = m.value ->> 0) AND e.at = ?3
    AND e.id = ${bytesOf('?4')}
  ${awardsAt('e.at', '= e.seq')}
  WHERE u.tenant_id = ?1 AND u.id = ?2 AND v.document ->> '$.type' = 'metric'
  ORDER BY a.system_no, a.position`

/** The awards that metric triggers gave for an event at a moment (V2). Parsed by `parseAwards`. */
export const awardsOfEvent = (
  db: TenantDatabase,
  userId: string,
  { at, id }: { at: number; id: string },
): Statement => db.statement(OF_EVENT, db.tenantId, userId, at, id)

/** SQL: the hexadecimal digits of an id that all ids of one change share (see `childId`). */
const shared = (hex: string) => `substr(${hex}, 1, 13) || substr(${hex}, 17)`

// The awards of a completion are of the same change. Under a test clock, several completions may have the
// same moment, so the ids decide.
const OF_COMPLETION = `
  SELECT ${COLUMNS} FROM users u
  CROSS JOIN json_each(u.achievements) c
  ${awardsAt('c.value ->> 2', '>= 0')}
  WHERE u.tenant_id = ?1 AND u.id = ?2 AND c.value ->> 0 = ?3 AND v.document ->> '$.type' = 'achievement'
    AND v.document ->> '$.achievementId' = ?3
    AND ${shared('hex(a.id)')} = ${shared("upper(replace(c.value ->> 1, '-', ''))")}
  ORDER BY a.system_no, a.seq, a.position`

/** The awards that the user's completion of an achievement gave (V4). Parsed by `parseAwards`. */
export const awardsOfCompletion = (db: TenantDatabase, userId: string, achievementId: string): Statement =>
  db.statement(OF_COMPLETION, db.tenantId, userId, achievementId)

const Rows = z.array(
  z.object({
    id: HexId,
    systemId: z.string(),
    at: z.number().transform(instant),
    utcOffset: z.number(),
    awarded: z.number(),
    triggerId: z.string(),
    triggerVersion: z.number(),
  }),
)

/** Parses the result of `awardsOfEvent` or `awardsOfCompletion`. */
export const parseAwards = (result: D1Result) => Rows.parse(result.results)
