import { MOST_RANK_HISTORY } from '../../lib/limits'
import { packed } from '../../lib/packed'
import type { Sql, Steps } from '../../platform/objects'
import type { Entry, Row } from '../board'
import { amountOf, type Score, scoreOf } from '../score.rules'
import type { Counted, GroupSize } from './ranking'

/** docs/storage.md lists these tables. To change one, add a step. Never change an existing step. */
const STEPS: Steps = [
  [
    `CREATE TABLE scores (user_id TEXT, iid TEXT, run INTEGER, grp TEXT, score INTEGER, reached INTEGER,
     cursor INTEGER, grouped INTEGER, PRIMARY KEY (user_id, iid, run)) WITHOUT ROWID`,
    `CREATE INDEX scores_by_rank ON scores (run, grp, score DESC, reached, user_id)
     WHERE score > 0 AND grp IS NOT NULL`,
    `CREATE TABLE finals (run INTEGER, grp TEXT, rank INTEGER, user_id TEXT, iid TEXT, score INTEGER,
     reached INTEGER, PRIMARY KEY (run, grp, rank)) WITHOUT ROWID`,
    'CREATE TABLE final_runs (run INTEGER PRIMARY KEY, max INTEGER)',
    `CREATE TABLE standings (run INTEGER, iid TEXT, rank INTEGER, score INTEGER,
     PRIMARY KEY (run, iid)) WITHOUT ROWID`,
    `CREATE TABLE history (run INTEGER, iid TEXT, day INTEGER, rank INTEGER, score INTEGER,
     previous_rank INTEGER, previous_score INTEGER, PRIMARY KEY (run, iid, day)) WITHOUT ROWID`,
    'CREATE TABLE participants (run INTEGER, day INTEGER, users INTEGER, PRIMARY KEY (run, day)) WITHOUT ROWID',
    'CREATE TABLE sent_lists (run INTEGER, grp TEXT, list TEXT, PRIMARY KEY (run, grp)) WITHOUT ROWID',
    'CREATE TABLE outbox (no INTEGER PRIMARY KEY, id TEXT, at INTEGER, facts TEXT)',
    'CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID',
  ],
]

/** A place in a final ranking, without a user if that one was erased: the others keep their places (U8). */
type FinalEntry = Pick<Entry, 'score' | 'reached'> & {
  rank: number
  userId: string | null
  iid: string | null
}

type Standing = { rank: number; score: Score }

/** A user's place at the end of a UTC day on which it had changed (L10). */
type HistoryEntry = {
  day: number
  rank: number | null
  score: Score | null
  previousRank: number | null
  previousScore: Score | null
}

const COLUMNS = 'user_id AS userId, iid, run, grp AS "group", score, reached, cursor, grouped'
const ENTRY = 'user_id AS userId, iid, score, reached'
/** Whether a group has all asked values. ?2 is JSON of values by place, null for any value. */
const MATCHES = `NOT EXISTS (SELECT 1 FROM json_each(?2) asked
  WHERE asked.value IS NOT NULL AND grp ->> asked.key IS NOT asked.value)`

/** The most groups of a run in a list, and the most characters of all of them. */
const MOST_GROUPS = 10_000
const MOST_CHARACTERS = 4_000_000
/** The largest groups of a run. ?2 is the most users that can be ranked in a group. */
const sizesIn = (rows: string) => `
  SELECT "group", users, read FROM (
    SELECT "group", users, read, sum(length("group")) OVER (ORDER BY users DESC, "group") AS characters FROM (
      SELECT grp AS "group", min(count(*), ?2) AS users, sum(count(*)) OVER () AS read FROM ${rows}
        GROUP BY grp
      ORDER BY users DESC, grp LIMIT ${MOST_GROUPS}))
  WHERE users > 0 AND characters <= ${MOST_CHARACTERS} ORDER BY users DESC, "group"`

// `score DESC, reached, user_id` is the order of L4, as in `compareEntries` (`ranking.ts`) and in the
// index `scores_by_rank` above.
const SQL = {
  sizes: sizesIn('scores WHERE run = ?1 AND score > 0 AND grp IS NOT NULL'),
  // An erased user's place is empty.
  finalSizes: sizesIn('finals WHERE run = ?1 AND grp IS NOT NULL AND iid IS NOT NULL'),
  ofUser: `SELECT ${COLUMNS} FROM scores WHERE user_id = ?1 AND iid = ?2 ORDER BY run`,
  put: `INSERT INTO scores (user_id, iid, run, grp, score, reached, cursor, grouped)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT DO UPDATE SET grp = ?4, score = ?5, reached = ?6, cursor = ?7, grouped = ?8`,
  best: `SELECT ${ENTRY} FROM scores WHERE run = ?1 AND grp = ?2 AND score > 0 AND grp IS NOT NULL
    ORDER BY score DESC, reached, user_id LIMIT ?3`,
  bestMatching: `SELECT ${ENTRY} FROM scores WHERE run = ?1 AND score > 0 AND grp IS NOT NULL AND ${MATCHES}
    ORDER BY score DESC, reached, user_id LIMIT ?3`,
  after: 'SELECT DISTINCT user_id AS userId, iid FROM scores WHERE user_id > ?1',
  between: 'SELECT DISTINCT user_id AS userId, iid FROM scores WHERE user_id > ?1 AND user_id <= ?2',
  // Goes from group to group by the index, so the number of users does not matter.
  groups: `WITH RECURSIVE groups(grp) AS (
      SELECT min(grp) FROM scores WHERE run = ?1 AND score > 0 AND grp IS NOT NULL
      UNION ALL SELECT (SELECT min(s.grp) FROM scores s WHERE s.run = ?1 AND s.grp > groups.grp
        AND s.score > 0
        AND s.grp IS NOT NULL) FROM groups WHERE groups.grp IS NOT NULL)
    SELECT grp AS "group" FROM groups WHERE grp IS NOT NULL`,
  finalsOf: `SELECT rank, ${ENTRY} FROM finals WHERE run = ?1 AND grp IS NOT NULL AND ${MATCHES}
    ORDER BY score DESC, reached, user_id LIMIT ?3`,
  finalGroup: `SELECT rank, ${ENTRY} FROM finals WHERE run = ?1 AND grp = ?2 ORDER BY rank`,
  finalOf: `SELECT rank, grp AS "group", ${ENTRY} FROM finals WHERE run = ?1 AND iid = ?2`,
  ofUserIn: `SELECT ${COLUMNS} FROM scores WHERE user_id = ?1 AND iid = ?2 AND run = ?3`,
  runsOfUser: `SELECT run FROM scores WHERE user_id = ?1 AND iid = ?2 AND run > ?3
    UNION SELECT run FROM finals WHERE iid = ?2 AND run > ?3
    UNION SELECT run FROM history WHERE iid = ?2 AND run > ?3 ORDER BY run`,
  finish: `INSERT OR REPLACE INTO finals (run, grp, rank, user_id, iid, score, reached)
    SELECT ?1, ?2, key + 1, value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?3)`,
  rememberMax: 'INSERT OR REPLACE INTO final_runs (run, max) VALUES (?1, ?2)',
  maxOf: 'SELECT max FROM final_runs WHERE run = ?1',
  // Runs in which a user is ranked, or was at the end of the last day. Goes from run to run by the index.
  openRuns: `WITH RECURSIVE ranked(run) AS (
      SELECT min(run) FROM scores WHERE run >= ?1 AND score > 0 AND grp IS NOT NULL
      UNION ALL SELECT (SELECT min(s.run) FROM scores s WHERE s.run > ranked.run AND s.score > 0
        AND s.grp IS NOT NULL)
        FROM ranked WHERE ranked.run IS NOT NULL),
    stood(run) AS (
      SELECT min(run) FROM standings WHERE run >= ?1
      UNION ALL SELECT (SELECT min(s.run) FROM standings s WHERE s.run > stood.run) FROM stood
        WHERE stood.run IS NOT NULL)
    SELECT run FROM ranked WHERE run IS NOT NULL UNION SELECT run FROM stood WHERE run IS NOT NULL
      ORDER BY run`,
  standings: 'SELECT iid, rank, score FROM standings WHERE run = ?1',
  record: `INSERT OR REPLACE INTO history (run, iid, day, rank, score, previous_rank, previous_score)
    SELECT ?1, value ->> 0, ?2, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?3)`,
  stand: `INSERT INTO standings (run, iid, rank, score)
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2) WHERE value ->> 1 IS NOT NULL
    ON CONFLICT DO UPDATE SET rank = excluded.rank, score = excluded.score`,
  leave: `DELETE FROM standings WHERE run = ?1
    AND iid IN (SELECT value ->> 0 FROM json_each(?2) WHERE value ->> 1 IS NULL)`,
  // Only if it differs from the last recorded day.
  recordSize: `INSERT INTO participants (run, day, users) SELECT ?1, ?2, ?3
    WHERE coalesce((SELECT users FROM participants WHERE run = ?1 ORDER BY day DESC LIMIT 1), 0) <> ?3
    ON CONFLICT DO UPDATE SET users = excluded.users`,
  sizesOf: 'SELECT day, users FROM participants WHERE run = ?1 ORDER BY day',
  dropSizes: 'DELETE FROM participants WHERE run >= ?1',
  forgetSizes: 'DELETE FROM participants WHERE run >= ?1 AND day >= ?2',
  trim: `DELETE FROM history WHERE run = ?1 AND (iid, day) IN (
    SELECT h.iid, h.day FROM json_each(?2) c CROSS JOIN history h ON h.run = ?1 AND h.iid = c.value ->> 0
      AND h.day < (SELECT o.day FROM history o WHERE o.run = ?1 AND o.iid = c.value ->> 0
        ORDER BY o.day DESC LIMIT 1 OFFSET ?3))`,
  standing: 'SELECT rank, score FROM standings WHERE run = ?1 AND iid = ?2',
  history: `SELECT day, rank, score, previous_rank AS previousRank, previous_score AS previousScore
    FROM history
    WHERE run = ?1 AND iid = ?2 ORDER BY day DESC LIMIT ?3`,
  course: `SELECT h.run, h.day, h.rank, h.score, h.previous_rank AS previousRank, h.previous_score AS
    previousScore
    FROM json_each(?1) asked CROSS JOIN history h ON h.run = asked.value AND h.iid = ?2
      ORDER BY h.run, h.day`,
  unsettle: 'UPDATE scores SET cursor = -1',
  distrust: 'UPDATE scores SET cursor = -1, grouped = -1',
  finalGroups: 'SELECT DISTINCT run, grp AS "group" FROM finals WHERE run >= ?1 ORDER BY run, grp',
  forgetDays: 'DELETE FROM history WHERE run >= ?1 AND day >= ?2',
  // A user's last day in the history says where the user was at the end of the last recorded day.
  standAgain: `INSERT INTO standings (run, iid, rank, score)
    SELECT run, iid, rank, score FROM history h WHERE run >= ?1 AND rank IS NOT NULL AND day = (
      SELECT max(day) FROM history o WHERE o.run = h.run AND o.iid = h.iid)`,
  dropScores: 'DELETE FROM scores WHERE run >= ?1',
  dropStandings: 'DELETE FROM standings WHERE run >= ?1',
  dropHistory: 'DELETE FROM history WHERE run >= ?1',
  dropFinals: 'DELETE FROM finals WHERE run >= ?1',
  dropFinished: 'DELETE FROM scores WHERE run < ?1',
  dropFinishedStandings: 'DELETE FROM standings WHERE run <= ?1',
  eraseScores: 'DELETE FROM scores WHERE user_id = ?1 AND iid = ?2',
  eraseStandings: 'DELETE FROM standings WHERE iid = ?1',
  eraseHistory: 'DELETE FROM history WHERE iid = ?1',
  // In pages that mix groups, the id decides about the order of users with the same score and moment. Fractions of a
  // millisecond keep that order after the id is deleted.
  keepOrder: `UPDATE finals SET reached = finals.reached + o.part FROM (
      SELECT run, grp, rank, (row_number() OVER (PARTITION BY run ORDER BY user_id) - 1.0)
        / count(*) OVER (PARTITION BY run) AS part FROM finals
      WHERE grp <> '[]' AND (run, score, reached) IN (SELECT run, score, reached FROM finals WHERE iid = ?1)) o
    WHERE finals.run = o.run AND finals.grp = o.grp AND finals.rank = o.rank AND o.part > 0`,
  eraseFinals: 'UPDATE finals SET user_id = NULL, iid = NULL WHERE iid = ?1',
} as const

type Stored<T extends { score: Score }> = Omit<T, 'score'> & { score: number }
type StoredHistory = Omit<HistoryEntry, 'score' | 'previousScore'> &
  Record<'score' | 'previousScore', number | null>

const scored = <T extends { score: number }>(row: T) => ({ ...row, score: scoreOf(row.score) })
const scoreOrNull = (amount: number | null) => (amount === null ? null : scoreOf(amount))
const scoredHistory = <T extends StoredHistory>(row: T) => ({
  ...row,
  score: scoreOrNull(row.score),
  previousScore: scoreOrNull(row.previousScore),
})

/** The tables of one leaderboard's object. `BoardEventStore` uses the tables of webhook events. */
export class BoardStore {
  readonly sql: Sql

  constructor(sql: Sql) {
    this.sql = sql
    sql.migrate(STEPS)
  }

  /** A user's scores, by run. */
  ofUser(userId: string, iid: string): Row[] {
    return this.sql.rows<Stored<Row>>(SQL.ofUser, userId, iid).map(scored)
  }

  put({ userId, iid, run, group, score, reached, cursor, grouped }: Row): void {
    this.sql.run(SQL.put, userId, iid, run, group, amountOf(score), reached, cursor, grouped)
  }

  /** The best entries of a run and group, in the order of L4. */
  best(run: number, group: string, limit: number): Entry[] {
    return this.sql.rows<Stored<Entry>>(SQL.best, run, group, limit).map(scored)
  }

  /** The best entries of all matching groups, by L4. `group`: values by place, null for any value (L6). */
  bestMatching(run: number, group: readonly (string | null)[], limit: number): Entry[] {
    return this.sql.rows<Stored<Entry>>(SQL.bestMatching, run, JSON.stringify(group), limit).map(scored)
  }

  /** All users with scores, by user id, after the first id and up to the last one. Null: to the end. */
  usersBetween(after: string, last: string | null): { userId: string; iid: string }[] {
    return last === null ? this.sql.rows(SQL.after, after) : this.sql.rows(SQL.between, after, last)
  }

  /** The final ranking of a group, by rank. */
  finalGroup(run: number, group: string): FinalEntry[] {
    return this.sql.rows<Stored<FinalEntry>>(SQL.finalGroup, run, group).map(scored)
  }

  /** The final rankings of all groups that match, in the order of L4. */
  finalsMatching(run: number, group: readonly (string | null)[], limit: number): FinalEntry[] {
    return this.sql.rows<Stored<FinalEntry>>(SQL.finalsOf, run, JSON.stringify(group), limit).map(scored)
  }

  /** A user's place in a final run. */
  finalOf(run: number, iid: string): (FinalEntry & Pick<Row, 'group'>) | undefined {
    return this.sql.rows<Stored<FinalEntry & Pick<Row, 'group'>>>(SQL.finalOf, run, iid).map(scored)[0]
  }

  groups(run: number): string[] {
    return this.sql.rows<{ group: string }>(SQL.groups, run).map(({ group }) => group)
  }

  /** The groups of a run with their ranked users, at most `max`: the largest first, then by their values. */
  groupSizes(run: number, max: number, isFinal: boolean): Counted {
    const rows = this.sql.rows<GroupSize & { read: number }>(isFinal ? SQL.finalSizes : SQL.sizes, run, max)
    return { sizes: rows.map(({ group, users }) => ({ group, users })), read: rows[0]?.read ?? 0 }
  }

  /** Freezes the ranking of a run, and deletes the scores of the runs before it (L8). */
  finish(run: number, max: number): void {
    for (const group of this.groups(run)) {
      const ranked = this.best(run, group, max).map((one) => [one.userId, one.iid, one.score, one.reached])
      this.sql.run(SQL.finish, run, group, JSON.stringify(ranked))
    }
    this.sql.run(SQL.rememberMax, run, max)
    this.sql.run(SQL.dropFinishedStandings, run)
    this.sql.run(SQL.dropFinished, run)
  }

  /** The most participants of a run when it was made final (L8). */
  maxOf(run: number): number {
    return this.sql.rows<{ max: number }>(SQL.maxOf, run)[0]?.max ?? 0
  }

  /** The runs from this one on in which a user is ranked, or was at the end of the last recorded day. */
  openRuns(from: number): number[] {
    return this.sql.rows<{ run: number }>(SQL.openRuns, from).map(({ run }) => run)
  }

  /** Records users whose served place differs from the last day (L10), and the count of ranked users (I2). */
  snapshot(run: number, day: number, max: number, served: (score: Score) => number): void {
    const before = new Map(
      this.sql
        .rows<{ iid: string; rank: number; score: number }>(SQL.standings, run)
        .map(({ iid, rank, score }): [string, Standing] => [iid, { rank, score: scoreOf(score) }]),
    )
    const moved: [string, number | null, Score | null, number | null, Score | null][] = []
    let users = 0
    for (const group of this.groups(run)) {
      for (const [index, { iid, score }] of this.best(run, group, max).entries()) {
        users += 1
        const was = before.get(iid)
        before.delete(iid)
        if (was?.rank === index + 1 && served(was.score) === served(score)) continue
        moved.push([iid, index + 1, score, was?.rank ?? null, was?.score ?? null])
      }
    }
    for (const [iid, was] of before) moved.push([iid, null, null, was.rank, was.score])
    this.sql.run(SQL.recordSize, run, day, users)
    // With many groups, tens of thousands of users may have moved: too many for one parameter.
    for (const list of packed(moved.map((one) => JSON.stringify(one)))) {
      this.sql.run(SQL.record, run, day, list)
      this.sql.run(SQL.stand, run, list)
      this.sql.run(SQL.leave, run, list)
      this.sql.run(SQL.trim, run, list, MOST_RANK_HISTORY - 1)
    }
  }

  /** The number of ranked users of a run at the end of each UTC day on which it had changed, in order. */
  sizesOf(run: number): { day: number; users: number }[] {
    return this.sql.rows(SQL.sizesOf, run)
  }

  /** A user's place when it was last recorded. */
  standing(run: number, iid: string): Standing | undefined {
    return this.sql.rows<Stored<Standing>>(SQL.standing, run, iid).map(scored)[0]
  }

  /** A user's last days on which rank or value had changed, newest first (L10). */
  history(run: number, iid: string, limit: number): HistoryEntry[] {
    return this.sql.rows<StoredHistory>(SQL.history, run, iid, limit).map(scoredHistory)
  }

  /** A user's history in these runs, by run and day. */
  course(runs: readonly number[], iid: string): (HistoryEntry & { run: number })[] {
    return this.sql
      .rows<StoredHistory & { run: number }>(SQL.course, JSON.stringify(runs), iid)
      .map(scoredHistory)
  }

  ofUserIn(userId: string, iid: string, run: number): Row | undefined {
    return this.sql.rows<Stored<Row>>(SQL.ofUserIn, userId, iid, run).map(scored)[0]
  }

  /** The runs after one with stored data about a user, in order. */
  runsOfUser(userId: string, iid: string, after: number): number[] {
    return this.sql.rows<{ run: number }>(SQL.runsOfUser, userId, iid, after).map(({ run }) => run)
  }

  /** Makes every user need a recount. */
  unsettle(): void {
    this.sql.run(SQL.unsettle)
  }

  /** Makes every user need a recount, after which no earlier score or group is left. */
  distrust(): void {
    this.sql.run(SQL.distrust)
  }

  finalGroups(from: number): { run: number; group: string }[] {
    return this.sql.rows(SQL.finalGroups, from)
  }

  /**
   * Deletes the days from this one on from the history of the runs from `run` on; null: all days. The places
   * of the last recorded day are then those of the day before it.
   */
  forgetDays(run: number, day: number | null): void {
    this.sql.run(SQL.forgetDays, run, day ?? Number.MIN_SAFE_INTEGER)
    this.sql.run(SQL.forgetSizes, run, day ?? Number.MIN_SAFE_INTEGER)
    this.sql.run(SQL.dropStandings, run)
    this.sql.run(SQL.standAgain, run)
  }

  /** Deletes the scores, places and history of the runs from this one on. */
  forgetFrom(run: number): void {
    for (const statement of [SQL.dropScores, SQL.dropStandings, SQL.dropHistory, SQL.dropSizes])
      this.sql.run(statement, run)
  }

  forgetFinals(run: number): void {
    this.sql.run(SQL.dropFinals, run)
  }

  /** Deletes a user everywhere. In final rankings an empty place stays (U8). */
  erase(userId: string, iid: string): void {
    this.sql.run(SQL.eraseScores, userId, iid)
    for (const statement of [SQL.eraseStandings, SQL.eraseHistory, SQL.keepOrder, SQL.eraseFinals])
      this.sql.run(statement, iid)
  }
}
