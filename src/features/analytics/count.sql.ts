import * as z from 'zod'
import type { Configuration } from '../../configuration/model'
import { DAY, FURTHEST_OFFSET, MINUTE } from '../../lib/clock'
import { MOST_ACTIVATION_DAYS } from '../../lib/limits'
import { bytesOf, LOGS, type Log, localDayOf, numberOf, numbersOfEach } from '../../platform/columns'
import type { Statement, TenantDatabase } from '../../platform/database'
import { EVER, LONGEST_WINDOW, STREAK_CLASSES } from './analytics.rules'

/*
 * The parts that the statements of a step share. ?1 is the tenant. The users are those with ids after ?2, up
 * to ?3. Earlier rows than ?4 are counted, for users who are counted at all. ?5 is whether users without a
 * change are looked at too.
 */

/** The users of the step who have changed: their state now (`upto`) and as counted (`seen`). */
const CHUNK = `
  chunk AS MATERIALIZED (
    SELECT ${bytesOf('u.iid')} AS iid, u.seq AS upto, u.counted AS seen, u.points, u.control,
      coalesce(u.streak ->> '$.born', u.created / ${DAY}) AS born,
      CASE WHEN coalesce(u.preferences ->> '$.streak.enabled', 1)
        THEN coalesce(u.streak ->> '$.run.length', 0) ELSE 0 END AS length,
      u.achievements, coalesce(c.days, '[]') AS days, coalesce(c.days_from, ${EVER}) AS days_from,
      c.streak, coalesce(c.completions, '[]') AS completions,
      coalesce(c.levels, '{}') AS levels,
      iif(u.counted = 0, 0, ?4) AS since
    FROM users u LEFT JOIN counted_users c ON c.user_iid = ${bytesOf('u.iid')}
    WHERE u.tenant_id = ?1 AND u.id > ?2 AND u.id <= ?3 AND (u.seq > u.counted OR ?5))`

/** The logs of these users: their metrics, or points systems. */
const used = (log: Log) => `
  ${numbersOfEach(log, 'used', 'iid, seen, since')},
  logs AS MATERIALIZED (SELECT iid, seen, since, no FROM used WHERE no IS NOT NULL)`

// D1 allows at most five terms in one compound SELECT, so there are several lists.
const ADD = 'INSERT INTO analytics_figures (tenant_id, figure, subject_no, day, part, amount)'
/** Adds the rows of `added` (figure, subject_no, day, part, amount) to the figures. */
const ADDED = `
  SELECT ?1, figure, subject_no, day, part, total(amount) AS sum FROM added
  WHERE subject_no IS NOT NULL AND part IS NOT NULL GROUP BY 2, 3, 4, 5 HAVING sum <> 0
  ON CONFLICT DO UPDATE SET amount = amount + excluded.amount`

/** The level of a total in a points system: the highest one whose points are at most the total (P9). */
const levelOf = (system: string, total: string) =>
  `(SELECT l.level FROM ladder l WHERE l.system = ${system} AND l.points <= ${total}
    ORDER BY l.points DESC LIMIT 1)`

// ?7 is a list of [system id, level id, points]. Without a level, it is the step from which users have points: it
// has the level 1, and is in a system of its own, with the negative number.
const LADDER = `
  ladder AS MATERIALIZED (
    SELECT value ->> 0 AS id, iif(value ->> 1 IS NULL, -1, 1) * ${numberOf('points_systems', 'value ->> 0')} AS system,
      iif(value ->> 1 IS NULL, 1, ${numberOf('points_levels', 'value ->> 1')}) AS level, value ->> 2 AS points
    FROM json_each(?7)),
  levelled AS MATERIALIZED (SELECT DISTINCT id, system FROM ladder)`

/** The total of a user of the chunk in a points system with levels. */
const TOTAL = `coalesce(c.points ->> ('$."' || s.id || '"'), 0)`

/** The class of a length: the shortest length in it. */
const classOf = (length: string) =>
  `CASE ${STREAK_CLASSES.toReversed()
    .map(({ from }) => `WHEN ${length} >= ${from} THEN ${from}`)
    .join(' ')} END`

/*
 * A pass counts the changes of users since they were last counted (I1). A row of a log belongs to a change of
 * its user by `seq`, and so does a void. So each statement knows a user's log as it was counted, and as it is
 * now, and adds the difference to the figures. All statements of a step are one transaction, which also
 * stores how far each user is counted. So nothing is counted twice, and an event between two statements does
 * no harm.
 */

/** How many of the latest days of a user are known without the log: a window, and days that come late. */
const KNOWN_DAYS = LONGEST_WINDOW + 3

/** All rows of a local day, or a later one, are at this moment or after it, in every zone. */
const beginOf = (day: string) => `(${day}) * ${DAY} - ${FURTHEST_OFFSET * MINUTE}`
/** All rows of a local day, or an earlier one, are before this moment, in every zone. */
const endOf = (day: string) => `(${day} + 1) * ${DAY} + ${FURTHEST_OFFSET * MINUTE}`

const ON_DAY = (day: string) =>
  `e.at >= ${beginOf(day)} AND e.at < ${endOf(day)} AND ${localDayOf('e')} = ${day}`

// `voided` has the events that are counted and were voided since. `news` has the new and the voided events by
// user, metric and local day. `days` says of these days whether the user was active in the metric before, and
// is now. `touched` says whether the user is now active in any metric.
const NEWS = `
  ${used(LOGS.events)},
  voided AS MATERIALIZED (
    SELECT c.iid, c.seen, v.metric_no AS no, ${localDayOf('v')} AS day, v.value FROM chunk c
    CROSS JOIN voided_events v ON v.user_iid = c.iid AND v.voided_at >= c.since
      AND v.seq <= c.seen AND v.voided_seq > c.seen),
  news AS MATERIALIZED (
    SELECT l.iid, l.seen, l.no, ${localDayOf('e')} AS day, count(*) AS events, total(e.value) AS value
    FROM logs l CROSS JOIN events e ON e.user_iid = l.iid AND e.metric_no = l.no AND e.at >= l.since
      AND e.seq > l.seen
    GROUP BY 1, 3, 4
    UNION ALL SELECT iid, seen, no, day, -count(*), -total(value) FROM voided GROUP BY 1, 3, 4),
  days AS MATERIALIZED (
    SELECT d.iid, d.no, d.day, d.events > 0 OR EXISTS (
        SELECT 1 FROM events e WHERE e.user_iid = d.iid AND e.metric_no = d.no AND ${ON_DAY('d.day')}) AS is_now,
      d.seen > 0 AND (d.voided < 0 OR EXISTS (SELECT 1 FROM events e
        WHERE e.user_iid = d.iid AND e.metric_no = d.no AND ${ON_DAY('d.day')} AND e.seq <= d.seen)) AS was
    FROM (SELECT iid, seen, no, day, max(events) AS events, min(events) AS voided FROM news
      GROUP BY iid, no, day) d),
  touched AS MATERIALIZED (
    SELECT d.iid, d.day, d.is_now OR EXISTS (SELECT 1 FROM logs l CROSS JOIN events e ON e.user_iid = l.iid
      AND e.metric_no = l.no AND ${ON_DAY('d.day')} WHERE l.iid = d.iid) AS is_now
    FROM (SELECT iid, day, max(is_now) AS is_now FROM days GROUP BY iid, day) d)`

/** Whether a day \`k\` of a list of a user \`of\` has no changes. */
const isSame = (of: string) =>
  `NOT EXISTS (SELECT 1 FROM touched t WHERE t.iid = ${of}.iid AND t.day = k.value)`

// `spans` has the first and the last changed day of each user, and the active day before the first one, as
// far as the user's list of days knows it. `rare` are users with a list that begins too late: their log is
// read. `seen` has the days of these users, before and now: all that can be in a window with a changed day.
const ACTIVITY = `
  WITH RECURSIVE ${CHUNK}, ${NEWS},
  spans AS MATERIALIZED (
    SELECT s.iid, s.first, s.last, c.days, s.first < c.days_from + ${LONGEST_WINDOW - 1} AS is_rare,
      coalesce((SELECT max(k.value) FROM json_each(c.days) k WHERE k.value < s.first), s.first) AS since
    FROM (SELECT iid, min(day) AS first, max(day) AS last FROM news GROUP BY iid) s
    CROSS JOIN chunk c ON c.iid = s.iid),
  rare AS MATERIALIZED (SELECT iid, first, last FROM spans WHERE is_rare),
  seen AS MATERIALIZED (
    SELECT iid, day, max(was) AS was, max(is_now) AS is_now FROM (
      SELECT s.iid, k.value AS day, 1 AS was, ${isSame('s')} AS is_now
        FROM spans s CROSS JOIN json_each(s.days) k WHERE NOT s.is_rare AND k.value >= s.since
      UNION ALL SELECT iid, day, 0, is_now FROM touched WHERE iid NOT IN (SELECT iid FROM rare)
      UNION ALL SELECT l.iid, ${localDayOf('e')}, e.seq <= l.seen, 1
        FROM rare r CROSS JOIN logs l ON l.iid = r.iid
        CROSS JOIN events e ON e.user_iid = l.iid AND e.metric_no = l.no
          AND e.at >= ${beginOf(`r.first - ${LONGEST_WINDOW - 1}`)}
          AND e.at < ${endOf(`r.last + ${LONGEST_WINDOW - 1}`)}
      UNION ALL SELECT iid, day, 1, 0 FROM voided WHERE iid IN (SELECT iid FROM rare))
    GROUP BY iid, day),
  gaps AS MATERIALIZED (
    SELECT day, was, is_now, day - max(day) FILTER (WHERE was) OVER earlier AS gap_was,
      day - max(day) FILTER (WHERE is_now) OVER earlier AS gap_now
    FROM seen WINDOW earlier AS (PARTITION BY iid ORDER BY day
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
  sums (figure, subject_no, day, part, amount) AS (
    SELECT 'events', no, day, 0, events FROM news
    UNION ALL SELECT 'events', 0, day, 0, events FROM news
    UNION ALL SELECT 'value', no, day, 0, value FROM news),
  activity (figure, subject_no, day, part, amount) AS (
    SELECT 'active', no, day, 0, is_now - was FROM days
    UNION ALL SELECT 'active', 0, day, 0, is_now - was FROM seen
    UNION ALL SELECT 'gap', 0, day, gap_now, 1 FROM gaps WHERE is_now AND gap_now < ${LONGEST_WINDOW}
    UNION ALL SELECT 'gap', 0, day, gap_was, -1 FROM gaps WHERE was AND gap_was < ${LONGEST_WINDOW}
    UNION ALL SELECT 'kept ' || (s.day - c.born), 0, c.born, c.control, s.is_now - s.was
      FROM seen s CROSS JOIN chunk c ON c.iid = s.iid
      WHERE s.day - c.born BETWEEN 1 AND ${MOST_ACTIVATION_DAYS}),
  added AS (SELECT * FROM sums UNION ALL SELECT * FROM activity)
  ${ADD} ${ADDED}`

// `fresh` has the new entries of the ledger. A correction has the moment of the award that it reverses, so
// it is found by its change. `standing` has each user's total in each system with levels: as counted, and as
// it is now. `course` has the totals at the begin and the end of each day from the first new entry on. A user
// who travels to an earlier date may have entries before the day of the creation. No level moves before it.
const POINTS = `
  WITH RECURSIVE ${CHUNK}, ${used(LOGS.awards)}, ${LADDER},
  fresh AS MATERIALIZED (
    SELECT l.iid, l.no, ${localDayOf('a')} AS day, a.trigger_no, a.awarded
    FROM logs l CROSS JOIN awards a ON a.user_iid = l.iid AND a.system_no = l.no AND a.at >= l.since
      AND a.seq > l.seen AND a.type IS NULL
    UNION ALL SELECT c.iid, a.system_no, ${localDayOf('a')}, a.trigger_no, a.awarded
    FROM chunk c CROSS JOIN awards a ON a.user_iid = c.iid AND a.seq > c.seen AND a.type IS NOT NULL),
  earned AS MATERIALIZED (
    SELECT iid, no, sum(awarded) AS points, min(day) AS first FROM fresh GROUP BY iid, no),
  standing AS MATERIALIZED (
    SELECT c.iid, c.seen, c.born, s.system, ${TOTAL} AS total,
      ${TOTAL} - coalesce(e.points, 0) AS counted, e.first,
      iif(c.seen = 0, c.born, max(c.born, ?6)) AS known_on, c.levels ->> ('$."' || s.system || '"') AS known
    FROM chunk c CROSS JOIN levelled s LEFT JOIN earned e ON e.iid = c.iid AND e.no = abs(s.system)),
  sums AS MATERIALIZED (
    SELECT s.iid, s.system, s.total, s.counted, ${localDayOf('a')} AS day, s.born,
      sum(a.awarded) AS change, coalesce(sum(a.awarded) FILTER (WHERE a.seq <= s.seen), 0) AS change_counted
    FROM standing s CROSS JOIN awards a ON a.user_iid = s.iid AND a.system_no = abs(s.system)
      AND a.at >= ${beginOf('s.first')}
    WHERE s.first IS NOT NULL GROUP BY s.iid, s.system, 5 HAVING day >= s.first),
  course AS MATERIALIZED (
    SELECT system, max(day, born) AS on_day, change, change_counted,
      total - coalesce(sum(change) OVER later, 0) AS total,
      counted - coalesce(sum(change_counted) OVER later, 0) AS counted
    FROM sums WINDOW later AS (PARTITION BY iid, system ORDER BY day DESC
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
  -- The levels at the begin and the end of each day, as they are now, and as counted.
  moves AS (
    SELECT system, on_day AS day, total, 1 AS amount FROM course WHERE change <> 0
    UNION ALL SELECT system, on_day, total - change, -1 FROM course WHERE change <> 0
    UNION ALL SELECT system, on_day, counted, -1 FROM course WHERE change_counted <> 0
    UNION ALL SELECT system, on_day, counted - change_counted, 1 FROM course WHERE change_counted <> 0
    UNION ALL SELECT system, known_on, counted, 1 FROM standing),
  added (figure, subject_no, day, part, amount) AS (
    SELECT 'points', no, day, 0, awarded FROM fresh
    UNION ALL SELECT 'trigger', no, day, trigger_no, awarded FROM fresh WHERE trigger_no > 0
    UNION ALL SELECT 'level', system, day, ${levelOf('moves.system', 'moves.total')}, amount FROM moves
    UNION ALL SELECT 'level', system, known_on, known, -1 FROM standing
    -- Levels of a system that has none any more.
    UNION ALL SELECT 'level', CAST(k.key AS INTEGER), max(c.born, ?6), k.value, -1 FROM chunk c
      CROSS JOIN json_each(c.levels) k WHERE CAST(k.key AS INTEGER) NOT IN (SELECT system FROM levelled))
  ${ADD} ${ADDED}`

/** The number of the achievement of a completion `a`, and its local day. */
const COMPLETED_NO = numberOf('achievements', 'a.value ->> 0')
const COMPLETED_DAY = `(a.value ->> 2 + a.value ->> 3 * ${MINUTE}) / ${DAY}`

const STATES = `
  WITH ${CHUNK},
  changes AS MATERIALIZED (
    SELECT ${COMPLETED_NO} AS no, ${COMPLETED_DAY} AS day, 1 AS amount
      FROM chunk c CROSS JOIN json_each(c.achievements) a
    UNION ALL SELECT k.value ->> 0, k.value ->> 1, -1 FROM chunk c CROSS JOIN json_each(c.completions) k),
  added (figure, subject_no, day, part, amount) AS (
    SELECT 'created', 0, born, control, 1 FROM chunk WHERE seen = 0
    UNION ALL SELECT 'streak', 0, 0, ${classOf('length')}, 1 FROM chunk
    UNION ALL SELECT 'streak', 0, 0, streak, -1 FROM chunk WHERE seen > 0
    UNION ALL SELECT 'completions', no, day, 0, amount FROM changes
    UNION ALL SELECT 'completions', 0, day, 0, amount FROM changes)
  ${ADD} ${ADDED}`

const COUNT = `
  WITH RECURSIVE ${CHUNK}, ${NEWS}, ${LADDER},
  altered AS MATERIALIZED (
    SELECT c.iid, c.days FROM chunk c WHERE EXISTS (SELECT 1 FROM touched t WHERE t.iid = c.iid
      AND t.is_now <> EXISTS (SELECT 1 FROM json_each(c.days) k WHERE k.value = t.day))),
  present AS MATERIALIZED (
    SELECT a.iid, k.value AS day FROM altered a CROSS JOIN json_each(a.days) k WHERE ${isSame('a')}
    UNION ALL SELECT iid, day FROM touched WHERE is_now AND iid IN (SELECT iid FROM altered)),
  lists AS MATERIALIZED (
    SELECT a.iid, (SELECT max(p.day) - ${KNOWN_DAYS - 1} FROM present p WHERE p.iid = a.iid) AS first
    FROM altered a),
  counted AS (
    SELECT c.*, (SELECT l.iid FROM lists l WHERE l.iid = c.iid) AS altered,
      (SELECT l.first FROM lists l WHERE l.iid = c.iid) AS first FROM chunk c)
  INSERT INTO counted_users (user_iid, days, days_from, streak, completions, levels)
  SELECT c.iid, iif(c.altered IS NULL, c.days, (
      SELECT json_group_array(p.day) FROM present p WHERE p.iid = c.iid AND p.day >= c.first)),
    max(c.days_from, coalesce(c.first, c.days_from)),
    ${classOf('c.length')},
    (SELECT json_group_array(json_array(${COMPLETED_NO}, ${COMPLETED_DAY})) FROM json_each(c.achievements) a),
    coalesce((SELECT json_group_object(s.system, ${levelOf('s.system', TOTAL)}) FROM levelled s
      WHERE ${levelOf('s.system', TOTAL)} IS NOT NULL), '{}')
  FROM counted c WHERE true
  ON CONFLICT DO UPDATE SET days = excluded.days, days_from = excluded.days_from, streak = excluded.streak,
    completions = excluded.completions, levels = excluded.levels
  WHERE (excluded.days, excluded.days_from, excluded.streak, excluded.completions, excluded.levels)
    <> (days, days_from, streak, completions, levels)`

const MARK = `
  UPDATE users SET counted = seq WHERE tenant_id = ?1 AND id > ?2 AND id <= ?3 AND seq > counted`

/** The levels of all points systems: [system id, level id, points]. The first one of each says who has points. */
export const ladderOf = ({ systems }: Configuration): (readonly [string, string | null, number])[] =>
  systems.flatMap(({ id, levels }) => [
    [id, null, 1] as const,
    ...levels.map((level) => [id, level.id, level.points] as const),
  ])

/** The first four are ?2 to ?5 of the shared parts above, `since` in milliseconds. `today` is the UTC day. */
type StepScope = { after: string; last: string; since: number; isAll: boolean; today: number }

/** The statements that count the users of a step. They must be in one batch, with a guard of the pass. */
export function countUsers(
  db: TenantDatabase,
  config: Configuration,
  { after, last, since, isAll, today }: StepScope,
): Statement[] {
  const chunk = [db.tenantId, after, last, since, isAll ? 1 : 0] as const
  const ladder = JSON.stringify(ladderOf(config))
  return [
    db.statement(ACTIVITY, ...chunk),
    db.statement(POINTS, ...chunk, today, ladder),
    db.statement(STATES, ...chunk),
    // After the figures, because they note what is counted. COUNT does not use ?6.
    db.statement(COUNT, ...chunk, today, ladder),
    db.statement(MARK, db.tenantId, after, last),
  ]
}

/** Users that are looked at in search of changed ones. Users and changes that one step counts. */
const MOST_WALKED = 20_000
const MOST_USERS = 300
const MOST_CHANGES = 3_000
/** The most pairs of a user and a points system with levels that one step looks at. */
const MOST_LEVELS = 20_000

const FOUND = `
  SELECT count(*) AS users, max(id) FILTER (WHERE nth = 1 OR before < ${MOST_CHANGES}) AS last, sum(nth > 1
    AND before >= ${MOST_CHANGES}) AS rest FROM (
    SELECT id, row_number() OVER (ORDER BY id) AS nth, sum(news) OVER (ORDER BY id) - news AS before FROM (
      SELECT id, news FROM (
        SELECT id, seq - counted AS news FROM users WHERE tenant_id = ?1 AND id > ?2
        ORDER BY id LIMIT ${MOST_WALKED})
      WHERE news > 0 OR ?3 LIMIT ?4))`
const WALKED = `
  SELECT id FROM users WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT 1 OFFSET ${MOST_WALKED - 1}`

const FoundRow = z.object({ users: z.number(), last: z.string().nullable(), rest: z.number().nullable() })
const WalkedRow = z.array(z.object({ id: z.string() }))

/** The last id of all users: no id is longer than 255 characters, and none has this one. */
const END = '\u{10FFFF}'.repeat(256)

/**
 * The next range of users after an id: at most 300 changed users with 3,000 changes (one user alone may have
 * more), or 20,000 users who have not changed.
 */
export async function nextRange(
  db: TenantDatabase,
  after: string,
  { isAll, levelled }: { isAll: boolean; levelled: number },
): Promise<{ last: string; users: number; isEnd: boolean }> {
  const limit = Math.max(1, Math.min(MOST_USERS, Math.floor(MOST_LEVELS / Math.max(1, levelled))))
  const { users: all, last, rest } = await db.one(FoundRow, FOUND, db.tenantId, after, isAll ? 1 : 0, limit)
  const users = all - (rest ?? 0)
  if (last !== null && (all === limit || users < all)) return { last, users, isEnd: false }
  const [end] = WalkedRow.parse(await db.rows(db.statement(WALKED, db.tenantId, after)))
  return { last: end?.id ?? END, users, isEnd: end === undefined }
}
