import { DAY } from '../../lib/units'
import { bytesOf, type Log, numberOf } from '../../platform/short-ids'
import { STREAK_CLASSES } from './analytics.rules'

/*
 * The parts that the statements of a step share. ?1 is the tenant. The users are those with ids after ?2, up
 * to ?3. Earlier rows than ?4 are counted, for users who are counted at all. ?5 is whether users without a
 * change are looked at too.
 */

/** Before all days. */
const EVER = -1_000_000
const COUNTED = `LEFT JOIN counted_users c ON c.user_iid = ${bytesOf('u.iid')}`
const HAS_NEWS = 'u.seq > u.counted'

/** The users of the step who have changed: their state now (`upto`) and as counted (`seen`). */
export const CHUNK = `
  chunk AS MATERIALIZED (
    SELECT ${bytesOf('u.iid')} AS iid, u.seq AS upto, u.counted AS seen, u.points, u.control,
      coalesce(u.streak ->> '$.born', u.created / ${DAY}) AS born,
      CASE WHEN coalesce(u.preferences ->> '$.streak.enabled', 1)
        THEN coalesce(u.streak ->> '$.run.length', 0) ELSE 0 END AS length,
      u.achievements, coalesce(c.days, '[]') AS days, coalesce(c.days_from, ${EVER}) AS days_from,
      c.streak, coalesce(c.completions, '[]') AS completions,
      coalesce(c.levels, '{}') AS levels,
      iif(u.counted = 0, 0, ?4) AS since
    FROM users u ${COUNTED}
    WHERE u.tenant_id = ?1 AND u.id > ?2 AND u.id <= ?3 AND (${HAS_NEWS} OR ?5))`

/** The logs of these users: their metrics, or points systems. The index finds each next one. */
export const used = ({ log, no }: Log) => `
  used(iid, seen, since, no) AS (
    SELECT iid, seen, since, (SELECT min(l.${no}) FROM ${log} l WHERE l.user_iid = chunk.iid) FROM chunk
    UNION ALL SELECT iid, seen, since, (
      SELECT min(l.${no}) FROM ${log} l WHERE l.user_iid = used.iid AND l.${no} > used.no)
      FROM used WHERE used.no IS NOT NULL),
  logs AS MATERIALIZED (SELECT iid, seen, since, no FROM used WHERE no IS NOT NULL)`

// D1 allows at most five terms in one compound SELECT, so there are several lists.
export const ADD = 'INSERT INTO analytics_figures (tenant_id, figure, subject_no, day, part, amount)'
/** Adds the rows of `added` (figure, subject_no, day, part, amount) to the figures. */
export const ADDED = `
  SELECT ?1, figure, subject_no, day, part, total(amount) AS sum FROM added
  WHERE subject_no IS NOT NULL AND part IS NOT NULL GROUP BY 2, 3, 4, 5 HAVING sum <> 0
  ON CONFLICT DO UPDATE SET amount = amount + excluded.amount`

/** The level of a total in a points system: the highest one whose points are at most the total (P9). */
export const levelOf = (system: string, total: string) =>
  `(SELECT l.level FROM ladder l WHERE l.system = ${system} AND l.points <= ${total}
    ORDER BY l.points DESC LIMIT 1)`

// ?7 is a list of [system id, level id, points].
export const LADDER = `
  ladder AS MATERIALIZED (
    SELECT value ->> 0 AS id, ${numberOf('points_systems', 'value ->> 0')} AS system,
      ${numberOf('points_levels', 'value ->> 1')} AS level, value ->> 2 AS points FROM json_each(?7)),
  levelled AS MATERIALIZED (SELECT DISTINCT id, system FROM ladder)`

/** The total of a user of the chunk in a points system with levels. */
export const TOTAL = `coalesce(c.points ->> ('$."' || s.id || '"'), 0)`

/** The class of a length: the shortest length in it. */
export const classOf = (length: string) =>
  `CASE ${STREAK_CLASSES.toReversed()
    .map(({ from }) => `WHEN ${length} >= ${from} THEN ${from}`)
    .join(' ')} END`
