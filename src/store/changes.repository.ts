import * as z from 'zod'
import type { Configuration } from '../config/configuration.types'
import type { TenantDatabase } from '../db/database'
import { bytesOf } from '../db/short-ids'
import type { BulkChange } from '../engine/change.rules'
import { packed } from '../lib/packed'
import { streakParcelsOf } from '../outbox/change-messages.builder'
import { putParcelsOf } from '../outbox/outbox.repository'
import { AWARD_COLUMNS, awardIn, awardValues } from './awards.repository'
import { streakJson } from './streak-column.codec'
import { completionsJson, countersJson } from './users.repository'

// Materialised, since whatever JSON is referred to is read anew each time, and so that each user is found by the key.
const asked = (columns: string) => `
  WITH asked AS MATERIALIZED (SELECT value ->> 0 AS id, value ->> 1 AS iid, value ->> 2 AS seq, ${columns}
    FROM json_each(?2))`
const FOUND = `FROM asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.id AND u.iid = asked.iid
    AND u.seq = asked.seq`

const BOOK = `
  ${asked('value ->> 3 AS award')}
  INSERT INTO awards (user_iid, seq, ${AWARD_COLUMNS})
  SELECT ${bytesOf('u.iid')}, u.seq + 1, ${awardIn('award', 0)} ${FOUND}`

const FORGET_RUNS = `
  ${asked('1')}
  DELETE FROM streak_runs WHERE user_iid IN (SELECT u.iid ${FOUND})`

const END_RUNS = `
  ${asked('value ->> 3 AS run')}
  INSERT INTO streak_runs (user_iid, first, last, started, marks, length)
  SELECT u.iid, run ->> 0, run ->> 1, run ->> 2, run ->> 3, run ->> 4 ${FOUND}
  WHERE true ON CONFLICT DO UPDATE SET last = excluded.last, started = excluded.started, marks = excluded.marks,
    length = excluded.length`

const TALLY = `
  ${asked('value ->> 3 AS name')}
  INSERT INTO tallies (tenant_id, name, count) SELECT ?1, asked.name, count(*) ${FOUND} GROUP BY asked.name
  ON CONFLICT DO UPDATE SET count = count + excluded.count`

const STATE = `value ->> 3 AS changed, value ->> 4 AS points, value ->> 5 AS counters, value ->> 6 AS touched,
  value ->> 7 AS streak, value ->> 8 AS achievements, value ->> 9 AS due`
const storing = (columns: string) => `
  ${asked(STATE)}
  UPDATE users SET seq = users.seq + 1, changed = max(users.changed, asked.changed), ${columns}
  FROM asked
  WHERE users.tenant_id = ?1 AND users.id = asked.id AND users.iid = asked.iid AND users.seq = asked.seq
  RETURNING id`
const ALL = `points = asked.points, counters = asked.counters, touched = asked.touched, streak = asked.streak,
    achievements = asked.achievements`
const STREAK_ALONE = 'touched = asked.touched, streak = asked.streak'
// An indexed column that is set costs a row more, although it is set to what it was.
const DUE = 'streak_due = asked.due'
const STORE = storing(ALL)
const STORE_WITH_DUE = storing(`${ALL}, ${DUE}`)
const STORE_STREAK = storing(STREAK_ALONE)
const STORE_STREAK_WITH_DUE = storing(`${STREAK_ALONE}, ${DUE}`)

const who = ({ before }: BulkChange) => [before.id, before.iid, before.seq]

/**
 * What stores the changes, for one batch with a guard of the configuration; `stored` tells from its results who was changed. Of streaks that is
 * told to those who listen; of what else such changes bring, nothing is (A4, S9).
 */
export function storeChanges(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly BulkChange[],
): { statements: D1PreparedStatement[]; stored: (results: readonly D1Result[]) => Set<string> } {
  const each = (sql: string, rows: readonly unknown[][]) =>
    packed(rows.map((row) => JSON.stringify(row))).map((list) => db.statement(sql, db.tenantId, list))
  const awards = changes.flatMap((change) =>
    change.awards.map((award) => [...who(change), awardValues(award)]),
  )
  const runs = changes.flatMap((change) =>
    change.ended.map(({ first, last, started, marks, length }) => [
      ...who(change),
      [first, last, started, marks, length],
    ]),
  )
  const names = changes.flatMap((change) => change.completed.map((id) => [...who(change), id]))
  const isMoved = ({ before, after }: BulkChange) => before.streak.due !== after.streak.due
  const isAlone = ({ onlyStreak }: BulkChange) => onlyStreak === true
  const states = (list: readonly BulkChange[]) => list.map((change) => [...who(change), ...stateOf(change)])
  const stores = [
    ...each(STORE, states(changes.filter((change) => !isAlone(change) && !isMoved(change)))),
    ...each(STORE_WITH_DUE, states(changes.filter((change) => !isAlone(change) && isMoved(change)))),
    ...each(STORE_STREAK, states(changes.filter((change) => isAlone(change) && !isMoved(change)))),
    ...each(STORE_STREAK_WITH_DUE, states(changes.filter((change) => isAlone(change) && isMoved(change)))),
  ]
  const recounted = changes.filter(({ replacesRuns }) => replacesRuns === true)
  const parcels = changes.flatMap(({ before: was, after, notices }) =>
    streakParcelsOf(config, after, notices).map((parcel) => ({ parcel, was })),
  )
  const before = [
    ...putParcelsOf(db, parcels),
    ...each(BOOK, awards),
    ...each(FORGET_RUNS, recounted.map(who)),
    ...each(END_RUNS, runs),
    ...each(TALLY, names),
  ]
  return {
    statements: [...before, ...stores],
    stored: (results) =>
      new Set(
        results
          .slice(before.length, before.length + stores.length)
          .flatMap(({ results: rows }) => Ids.parse(rows).map(({ id }) => id)),
      ),
  }
}

const Ids = z.array(z.object({ id: z.string() }))

function stateOf({ after, onlyStreak }: BulkChange): unknown[] {
  return [
    after.changed,
    onlyStreak ? null : JSON.stringify(Object.fromEntries(after.points)),
    onlyStreak ? null : countersJson(after.counters),
    JSON.stringify(Object.fromEntries(after.touched)),
    streakJson(after.streak),
    onlyStreak ? null : completionsJson(after.achievements),
    after.streak.due,
  ]
}
