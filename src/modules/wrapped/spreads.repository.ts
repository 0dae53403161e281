import { z } from 'zod'
import type { Database } from '../../db/database'
import type { Instant } from '../../shared/clock'
import type { DueWork } from '../timekeeper/timekeeper.repository'
import { momentsOf } from './wrapped.repository'
import type { Days } from './wrapped.rules'

/** Users of one step of a build, and the changes that they may have made in all their lives; one user may have made more. */
const MOST_USERS = 500
const MOST_CHANGES = 100_000
/** Different changes of one spread; beyond that, neighbours count as the least of them, until there are so few groups of like size. */
const MOST_VALUES = 5_000
const FEWER_VALUES = 2_500

/** Whose spreads of which year; `name` is the year with four digits. */
export type SpreadsOf = { tenantId: string; name: string }

/** What all rows of a year begin with, those that are served and those that are being built. */
const servedAs = ({ name }: SpreadsOf) => `${name} `
const buildingAs = ({ name }: SpreadsOf) => `building ${name} `
/** The row that says that a year's spreads are there. */
const markerOf = ({ name }: SpreadsOf) => `${name} built`

const ASKED = `SELECT EXISTS (SELECT 1 FROM due_work WHERE tenant_id = ?1 AND kind = 'spreads' AND subject = ?2)
  OR EXISTS (SELECT 1 FROM change_spreads WHERE tenant_id = ?1 AND period = ?3 AND subject = '') AS isKnown`

/** Whether a year's spreads are there, or will be. Parsed by `parseKnown`. */
export function knownStatement(db: Database, of: SpreadsOf, subject: string): D1PreparedStatement {
  return db.statement(ASKED, of.tenantId, subject, markerOf(of))
}

export const parseKnown = (result: D1Result | undefined): boolean =>
  z.object({ isKnown: z.number() }).parse(result?.results[0]).isKnown === 1

/** A change to be placed: the period as the table names it without the year, and the metric or points system. */
export type Placing = { period: string; subject: string; change: number }

// The first change that is not less says how many have less; where there is none, all have.
const PLACES = `
  SELECT asked.key AS nth, s.document ->> '$.users' AS users, coalesce(
    (SELECT step.value ->> 1 FROM json_each(s.document, '$.spread') step WHERE step.value ->> 0 >= asked.value ->> 2
      ORDER BY step.key LIMIT 1), s.document ->> '$.users') AS less
  FROM json_each(?3) asked CROSS JOIN change_spreads s
    ON s.tenant_id = ?1 AND s.period = ?2 || (asked.value ->> 0) AND s.subject = asked.value ->> 1`

/** How many users were active and how many had less, by place in the list; parsed by `parsePlaces`. */
export function placesStatement(
  db: Database,
  of: SpreadsOf,
  placings: readonly Placing[],
): D1PreparedStatement {
  const list = placings.map(({ period, subject, change }) => [period, subject, change])
  return db.statement(PLACES, of.tenantId, servedAs(of), JSON.stringify(list))
}

const PlaceRows = z.array(z.object({ nth: z.number(), users: z.number(), less: z.number() }))

export const parsePlaces = (result: D1Result | undefined) => PlaceRows.parse(result?.results)

const UNCHANGED = `
  SELECT CASE WHEN EXISTS (SELECT 1 FROM due_work
    WHERE tenant_id = ?1 AND kind = 'spreads' AND subject = ?2 AND due_at = ?3 AND progress IS ?4)
    THEN 1 ELSE json('conflict') END`

/** A guard (see db/guard.ts): holds while a build is as far as this, and nobody has done the step. */
export function spreadsUnchanged(
  db: Database,
  tenantId: string,
  { subject, dueAt, progress }: DueWork,
): D1PreparedStatement {
  return db.statement(UNCHANGED, tenantId, subject, dueAt, progress)
}

const LAST = `
  SELECT max(id) AS last FROM (
    SELECT id, sum(seq) OVER (ORDER BY id) - seq AS before
    FROM (SELECT id, seq FROM users WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3))
  WHERE before < ?4`

/** The last user of the next step, in order of their ids; null where there is nobody left. */
export async function lastOfStep(db: Database, tenantId: string, after: string): Promise<string | null> {
  const [row] = await db.rows(db.statement(LAST, tenantId, after, MOST_USERS, MOST_CHANGES))
  return z.object({ last: z.string().nullable() }).parse(row).last
}

const FORGET = "DELETE FROM change_spreads WHERE tenant_id = ?1 AND period BETWEEN ?2 AND ?2 || '~'"

/** Takes away what a build has left. */
export function forgetBuild(db: Database, of: SpreadsOf): D1PreparedStatement {
  return db.statement(FORGET, of.tenantId, buildingAs(of))
}

/** The metrics or points systems of the step's users, from one to the next by the index. */
const used = (name: string, log: string, subject: string) => `
  ${name}(iid, id) AS (
    SELECT iid, (SELECT min(l.${subject}) FROM ${log} l WHERE l.user_iid = chunk.iid) FROM chunk
    UNION ALL SELECT iid, (SELECT min(l.${subject}) FROM ${log} l WHERE l.user_iid = ${name}.iid AND l.${subject} > ${name}.id)
      FROM ${name} WHERE ${name}.id IS NOT NULL)`

/** The users' changes by subject and period of the calendar, by stored local day (E8). */
const changes = (usedName: string, log: string, subject: string, amount: string) => `
    SELECT d.iid, d.subject, c.period, sum(d.change) AS change
    FROM (SELECT u.iid, u.id AS subject, (l.at + l.utc_offset * 60000) / 86400000 AS day, sum(l.${amount}) AS change
      FROM ${usedName} u CROSS JOIN ${log} l
        ON l.user_iid = u.iid AND l.${subject} = u.id AND l.at BETWEEN ?4 AND ?5 GROUP BY 1, 2, 3) d
    CROSS JOIN calendar c ON c.day = d.day GROUP BY 1, 2, 3`

// What stands under an empty subject counts those who were active. Old counts are added where there are new ones.
const COUNT = `
  WITH RECURSIVE
  chunk AS MATERIALIZED (SELECT iid FROM users WHERE tenant_id = ?1 AND id > ?2 AND id <= ?3),
  calendar AS MATERIALIZED (SELECT value ->> 0 AS day, value ->> 1 AS period FROM json_each(?6)),
  ${used('metrics', 'events', 'metric_id')},
  ${used('systems', 'awards', 'system_id')},
  done AS MATERIALIZED (${changes('metrics', 'events', 'metric_id', 'value')}),
  active AS MATERIALIZED (SELECT DISTINCT iid, period FROM done),
  earned AS (${changes('systems', 'awards', 'system_id', 'awarded')}),
  fresh AS MATERIALIZED (
    SELECT period, '' AS subject, 0 AS change, count(*) AS users FROM active GROUP BY period
    UNION ALL SELECT period, subject, change, count(*) FROM done GROUP BY 1, 2, 3
    UNION ALL SELECT e.period, e.subject, e.change, count(*)
      FROM earned e JOIN active a ON a.iid = e.iid AND a.period = e.period GROUP BY 1, 2, 3),
  counts AS (
    SELECT * FROM fresh
    UNION ALL SELECT t.period, t.subject, c.value ->> 0, c.value ->> 1
      FROM (SELECT DISTINCT period, subject FROM fresh) t
      CROSS JOIN change_spreads s ON s.tenant_id = ?1 AND s.period = ?7 || t.period AND s.subject = t.subject
      CROSS JOIN json_each(s.document) c),
  merged AS (SELECT period, subject, change, sum(users) AS users FROM counts GROUP BY 1, 2, 3),
  placed AS (
    SELECT *, sum(users) OVER (PARTITION BY period, subject ORDER BY change) - users AS less,
      sum(users) OVER (PARTITION BY period, subject) AS total, count(*) OVER (PARTITION BY period, subject) AS width
    FROM merged),
  bounded AS (
    SELECT period, subject, min(change) AS change, sum(users) AS users FROM placed
    GROUP BY 1, 2, CASE WHEN width > ${MOST_VALUES} THEN less * ${FEWER_VALUES} / total ELSE change END)
  INSERT INTO change_spreads (tenant_id, period, subject, document)
  SELECT ?1, ?7 || period, subject, json_group_array(json_array(change, users)) FROM bounded WHERE true GROUP BY 2, 3
  ON CONFLICT DO UPDATE SET document = excluded.document`

/** Counts the changes of the users after the first and up to the last id; the calendar is of pairs of a day and a period that holds it. */
export function countChanges(
  db: Database,
  of: SpreadsOf,
  { after, last }: { after: string; last: string },
  year: Days,
  calendar: readonly (readonly [number, string])[],
): D1PreparedStatement {
  const { from, to } = momentsOf(year)
  return db.statement(COUNT, of.tenantId, after, last, from, to, JSON.stringify(calendar), buildingAs(of))
}

const ADVANCE = `
  UPDATE due_work SET progress = ?3, due_at = ?4 WHERE tenant_id = ?1 AND kind = 'spreads' AND subject = ?2`
const DONE = "DELETE FROM due_work WHERE tenant_id = ?1 AND kind = 'spreads' AND subject = ?2"

/** Stores how far a build is, and when it goes on; takes its row away where that is never. */
export function moveOn(
  db: Database,
  tenantId: string,
  { subject }: DueWork,
  { progress, dueAt }: { progress: string | null; dueAt: Instant | null },
): D1PreparedStatement {
  return dueAt === null
    ? db.statement(DONE, tenantId, subject)
    : db.statement(ADVANCE, tenantId, subject, progress, dueAt)
}

// Who was active and had nothing to do with the subject has changed it by 0.
const SERVE = `
  WITH rows AS (SELECT substr(period, length(?2) + 1) AS period, subject, document FROM change_spreads
    WHERE tenant_id = ?1 AND period BETWEEN ?2 AND ?2 || '~'),
  active AS (SELECT period, document ->> '$[0][1]' AS users FROM rows WHERE subject = ''),
  counts AS (
    SELECT period, subject, c.value ->> 0 AS change, c.value ->> 1 AS users
    FROM rows CROSS JOIN json_each(document) c WHERE subject <> ''),
  whole AS (
    SELECT * FROM counts
    UNION ALL SELECT c.period, c.subject, 0, a.users - sum(c.users)
      FROM counts c JOIN active a ON a.period = c.period GROUP BY 1, 2 HAVING a.users > sum(c.users)),
  merged AS (SELECT period, subject, change, sum(users) AS users FROM whole GROUP BY 1, 2, 3),
  placed AS (
    SELECT *, sum(users) OVER (PARTITION BY period, subject ORDER BY change) - users AS less FROM merged)
  INSERT INTO change_spreads (tenant_id, period, subject, document)
  SELECT ?1, ?3 || period, subject,
    json_object('users', sum(users), 'spread', json_group_array(json_array(change, less) ORDER BY change))
  FROM placed GROUP BY period, subject`
const MARK = `
  INSERT INTO change_spreads (tenant_id, period, subject, document) VALUES (?1, ?2, '', json_object('at', ?3))`

/** Puts the spreads that were built in the place of those of before. */
export function serveBuild(db: Database, of: SpreadsOf, now: Instant): D1PreparedStatement[] {
  return [
    db.statement(FORGET, of.tenantId, servedAs(of)),
    db.statement(SERVE, of.tenantId, buildingAs(of), servedAs(of)),
    db.statement(MARK, of.tenantId, markerOf(of), now),
    forgetBuild(db, of),
  ]
}
