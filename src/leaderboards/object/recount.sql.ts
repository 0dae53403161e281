import * as z from 'zod'
import type { RankBy } from '../../configuration/enumerations'
import { FURTHEST_OFFSET, SECOND } from '../../lib/clock'
import { compareText } from '../../lib/ids'
import { firstPack, MOST_AT_ONCE, packsOf } from '../../lib/packed'
import { dayBegins, dayIn, LAST_DAY } from '../../lib/zone'
import { bytesOf, json, localDayOf, numberOf, timeOfDayOf } from '../../platform/columns'
import type { TenantDatabase } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { withLongRows } from '../../platform/scans'
import { lastDayOf, windowOf } from '../../rules/runs.rules'
import { lengthOn } from '../../rules/streaks/history.rules'
import type { StreakState } from '../../rules/streaks/streak-state.rules'
import { firstId } from '../../store/users/pages.sql.ts'
import { LostRunRow, RUN_OBJECT } from '../../store/users/streaks.sql.ts'
import { parseStreak } from '../../store/users/users.sql.ts'
import { type Definition, groupOf, type Recounted, type UserCursor } from '../board'
import { scoreOf } from '../score.rules'

const UserCursorRow = z.object({
  userId: z.string(),
  iid: z.string(),
  seq: z.number(),
  cursor: z.number().nullable(),
  group: z.string().transform((text) => groupOf(z.array(z.string().nullable()).parse(JSON.parse(text)))),
})
const UserCursors: z.ZodType<UserCursor[]> = z.array(UserCursorRow)

const RecountedRow: z.ZodType<Recounted> = z.intersection(
  UserCursorRow,
  z.object({
    days: json(z.array(z.tuple([z.number(), z.number().transform(scoreOf), z.number().nullable()]))),
  }),
)
/** The values of a user's group, of which one is null if the user has none (`groupIn`, `groupingOf`). */
const GROUP = `CASE WHEN EXISTS (SELECT 1 FROM json_each(?2, '$.filters') f
    WHERE u.attributes ->> ('$."' || (f.value ->> 'attributeId') || '"') IS NOT f.value ->> 'attributeValue')
  THEN '[null]' ELSE (SELECT json_group_array(u.attributes ->> ('$."' || b.value || '"'))
    FROM json_each(?2, '$.breakdown') b) END`
const groupingOf = ({ breakdown, userAttributes: filters }: Definition) =>
  JSON.stringify({ breakdown, filters })
const IDS = `u.id AS userId, u.iid, u.seq, u.last_seq_by_input ->> ('$."' || ?3 || '"') AS cursor`
const CURSOR = `${IDS}, ${GROUP} AS "group"`

/** The most users that one query finds, and the most bytes of a group that is read with them. */
const MOST_FOUND = 1_000
const SHORT = Math.floor(MOST_AT_ONCE / MOST_FOUND)

// A page limits the users that a query walks past, not the users that it finds. So the work of a query is
// bounded. The last page has no last user: another database may have users after those of this one.
const WALKED = `
  SELECT iif(count(*) < ?3, NULL, max(id)) AS last FROM (SELECT id FROM users WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3)`
const CURSORS = `
  SELECT ${IDS}, octet_length(${GROUP}) AS bytes, CASE WHEN octet_length(${GROUP}) <= ${SHORT} THEN ${GROUP}
    END AS "group"
  FROM users u WHERE u.tenant_id = ?1 AND u.id > ?4 AND u.id <= (
    SELECT max(id) FROM (SELECT id FROM users WHERE tenant_id = ?1 AND id > ?4 ORDER BY id LIMIT ?6))
    AND u.changed >= ?5 ORDER BY u.id LIMIT ?7`
const NAMED = `
  SELECT ${CURSOR} FROM json_each(?4) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

const Named = z.array(z.looseObject({ userId: z.string() }))
const Found = z.array(z.looseObject({ userId: z.string(), bytes: z.number(), group: z.string().nullable() }))

/** Users as D1 has them. The page is complete up to the id `last`; null at the end. */
export type UserCursorPage = { userCursors: UserCursor[]; last: string | null }

/** A page: of the next `limit` users after an id, those that have changed since a moment (0: all). */
type Asked = { after: string; since: number; limit: number }

/**
 * Reads the tenant's next `limit` users in order of id, after one of them. Returns the users who have changed
 * since a moment (0: all), with the data that a board must know of them. With several databases, it reads the
 * next users of all of them, side by side, up to the first end of these pages. So a comparison goes on after
 * an id, and meets each user once, also if buckets are moved meanwhile (B3, B5).
 */
async function userCursorsAfter(
  databases: Databases,
  tenantId: string,
  definition: Definition,
  asked: Asked,
): Promise<UserCursorPage> {
  const share = (await databases.usersOf(tenantId).holders()).length
  // A comparison of changed users walks past most of them, so each database walks as far as it may.
  const limit = asked.since === 0 ? Math.ceil(asked.limit / share) : asked.limit
  const pages = await databases
    .usersOf(tenantId)
    .askAll((db) => userCursorsIn(db, definition, { ...asked, limit }, share))
  const last = firstId(pages.map((page) => page.last))
  return {
    last,
    userCursors: pages
      .flatMap(({ userCursors }) => userCursors)
      .filter(({ userId }) => last === null || compareText(userId, last) <= 0),
  }
}

/** A page of one database. All databases together have room for the users that they find: `share` of them. */
async function userCursorsIn(
  db: TenantDatabase,
  definition: Definition,
  { after, since, limit }: Asked,
  share: number,
): Promise<UserCursorPage> {
  const { input } = definition
  const groups = groupingOf(definition)
  const most = Math.ceil(MOST_FOUND / share)
  const { walked, changed } = await db.batchOf({
    walked: db.statement(WALKED, db.tenantId, after, limit),
    changed: db.statement(CURSORS, db.tenantId, groups, input, after, since, limit, most),
  })
  const { last } = z.object({ last: z.string().nullable() }).parse(walked.results[0])
  const found = Found.parse(changed.results)
  const some = firstPack(found, MOST_AT_ONCE / share, ({ bytes }) => bytes)
  const isLong = ({ group }: (typeof some)[number]) => group === null
  const rows = await withLongRows(some, 'userId', isLong, async (long) => {
    const ids = JSON.stringify(long.map(({ userId }) => userId))
    return Named.parse(await db.rows(db.statement(NAMED, db.tenantId, groups, input, ids)))
  })
  const isCut = some.length < found.length || found.length === most
  return { last: isCut ? (some.at(-1)?.userId ?? last) : last, userCursors: UserCursors.parse(rows) }
}

/** The counted changes of the user, a row each, with local day and seconds since local midnight. */
const EVENTS = `
  SELECT at, value AS amount, ${localDayOf()} AS day,
    ${timeOfDayOf()} AS time FROM events
  WHERE user_iid = ${bytesOf('u.iid')} AND metric_no = ${numberOf('metrics', '?3')} AND at >= ?5 AND at <= ?6`
const AWARDS = `
  SELECT at, sum(awarded) AS amount, ${localDayOf()} AS day,
    ${timeOfDayOf()} AS time FROM awards
  WHERE user_iid = ${bytesOf('u.iid')} AND system_no = ${numberOf('points_systems', '?3')} AND at >= ?5
    AND at <= ?6 GROUP BY at, seq`

/**
 * Sums by local day, inside the dates from ?7 to ?10 and the daily window ?8, as `[from, to]` in ms. If ?9 is
 * 0, there is one sum, under the first day. `total` adds floats, since `sum` fails beyond 64 bits. The sum of
 * a daily window has no limit (E1).
 */
const recountOf = (log: string) => `
  SELECT ${CURSOR}, (SELECT json_group_array(json_array(day, amount, reached)) FROM (
    SELECT CASE WHEN ?9 THEN day ELSE ?7 END AS day, total(amount) AS amount, max(CASE
      WHEN amount <> 0 THEN at END) AS reached
    FROM (${log}) WHERE day >= ?7 AND day <= ?10 AND (?8 IS NULL OR CASE WHEN ?8 ->> 0 <= ?8 ->> 1
      THEN time >= ?8 ->> 0 AND time < ?8 ->> 1 ELSE time >= ?8 ->> 0 OR time < ?8 ->> 1 END)
    GROUP BY 1)) AS days
  FROM json_each(?4) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

const RECOUNT_EVENTS = recountOf(EVENTS)
const RECOUNT_AWARDS = recountOf(AWARDS)

const STREAKS = `
  SELECT ${CURSOR}, u.tz, u.streak, u.preferences ->> '$.streak.enabled' AS enabled,
    (SELECT ${RUN_OBJECT} FROM streak_runs r WHERE r.user_iid = u.iid AND r.first <= ?5
     ORDER BY r.first DESC LIMIT 1) AS past
  FROM json_each(?4) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

/** A user's cursor with the present streak and the newest streak that has ended. */
const Streaking = z.intersection(
  UserCursorRow,
  z.object({
    tz: z.string().nullable(),
    /** Whether the user has streaks on; null if that was never set. */
    enabled: z.literal([0, 1]).nullable(),
    streak: z
      .string()
      .nullable()
      .transform((text) => parseStreak(text, null)),
    past: json(LostRunRow).nullable(),
  }),
)

/** The length of each user's streak. If the board has ended, its length on the last day that counts (L3). */
async function recountStreaks(
  db: TenantDatabase,
  definition: Definition,
  userIds: readonly string[],
  { from, to }: RecountScope,
): Promise<Recounted[]> {
  const ids = JSON.stringify(userIds)
  const asked = [db.tenantId, groupingOf(definition), definition.input, ids, to] as const
  const rows = await db.list(Streaking, STREAKS, ...asked)
  return rows.map(({ tz, streak, enabled, past, ...userCursor }) => {
    const [length, reached] = lengthBy({ streak, past, tz, isOff: enabled === 0 }, to)
    return { ...userCursor, days: [[from, scoreOf(length), reached]] }
  })
}

/**
 * The length of a streak at the end of a day, and when it was reached: by an event, by a restore, or because
 * it was switched on. The moment is null if there is no present streak, or if the streak was extended after
 * that day, since then the moment is unknown.
 */
function lengthBy(
  {
    streak,
    past,
    tz,
    isOff,
  }: { streak: StreakState; past: z.infer<typeof LostRunRow> | null; tz: string | null; isOff: boolean },
  day: number,
): [length: number, reached: number | null] {
  const { run, altered } = streak
  const wasAltered = altered !== null && dayIn(tz, altered) <= day
  // If streaks were switched off after that day, the length counts.
  if (isOff && (altered === null || wasAltered)) return [0, null]
  const lost = past && { ...past, lostOn: past.lost && dayIn(tz, past.lost) }
  const isLater = run !== null && run.extended !== null && dayIn(tz, run.extended) > day
  // An extension after that day does not count yet, although its period may have begun by then. If it was the
  // first one, the streak before it may not have been lost on that day (S11).
  const known = isLater && run.length === 1 ? { ...streak, run: null } : streak
  const length = lengthOn(known, lost, day)
  if (run === null) return [length, null]
  if (isLater) return [known.run !== null && run.last <= day ? length - 1 : length, null]
  return [length, Math.max(run.extended ?? 0, run.restored ?? 0, wasAltered ? altered : 0)]
}

/** The part of the log that counts. */
type RecountScope = {
  /** First and last local day. */
  from: number
  to: number
  /** The daily window in milliseconds since local midnight, or null. */
  window: readonly [number, number] | null
  /** Nothing after this moment counts, in milliseconds: the board was finished by hand. */
  until: number
  /** Whether there is a sum for each day. */
  byDay: boolean
}

/** The part of the log that counts for runs of a board that start on this day or later. */
export function recountScopeOf(definition: Definition, from: number): RecountScope {
  const { end, finished, runUnit } = definition
  const window = windowOf(definition)
  return {
    from,
    to: lastDayOf({ end }) ?? LAST_DAY,
    window: window && [window.from * SECOND, window.to * SECOND],
    until: finished ?? Number.MAX_SAFE_INTEGER,
    byDay: runUnit !== null,
  }
}

/** The most bytes of an attribute's value as JSON, of a user's other data, and of a day's sum. */
const [VALUE, USER, DAY_SUM] = [6_010, 1_500, 45]

/** A user to recount. `seq` is the most changes that the user can have, if known. */
export type Countable = { userId: string; seq?: number }

/** Packs users so that a query has room to count each pack at the worst. `days` is how many it sums up. */
export function recountable(
  { breakdown, runUnit }: Definition,
  users: readonly Countable[],
  days: number,
): Countable[][] {
  const sums = (seq: number) => (runUnit === null ? 1 : Math.min(days, seq + 1))
  return packsOf(
    users,
    MOST_AT_ONCE,
    ({ seq = days }) => USER + breakdown.length * VALUE + sums(seq) * DAY_SUM,
  )
}

/** The query that counts scores from the log. Rules count streaks, not SQL. */
const RECOUNT = { metric: RECOUNT_EVENTS, points: RECOUNT_AWARDS } as const satisfies Record<
  Exclude<RankBy, 'streak'>,
  string
>

/** Counts users' scores from the log, each user's as of one moment (L12). Erased users are left out. */
async function recountUsers(
  databases: Databases,
  tenantId: string,
  definition: Definition,
  userIds: readonly string[],
  extent: RecountScope,
): Promise<Recounted[]> {
  const lists = await databases
    .usersOf(tenantId)
    .askAbout(userIds, (db, own) => recountIn(db, definition, own, extent))
  return lists.flat()
}

async function recountIn(
  db: TenantDatabase,
  definition: Definition,
  userIds: readonly string[],
  extent: RecountScope,
): Promise<Recounted[]> {
  const { input, rankBy } = definition
  if (rankBy === 'streak') return recountStreaks(db, definition, userIds, extent)
  const { from, to, window, until, byDay } = extent
  const statement = db.statement(
    RECOUNT[rankBy],
    db.tenantId,
    groupingOf(definition),
    input,
    JSON.stringify(userIds),
    dayBegins(from, FURTHEST_OFFSET),
    until,
    from,
    window === null ? null : JSON.stringify(window),
    byDay ? 1 : 0,
    to,
  )
  return z.array(RecountedRow).parse(await db.rows(statement))
}

/**
 * How far the upkeep of a leaderboard had got, as D1 knows it. If D1 is brought back to an earlier moment,
 * this says what the leaderboard's object had done by then (M2).
 */
export const UpkeepNote = z.object({
  /** Runs that start before this day are final. */
  openFrom: z.number(),
  /** The UTC day on which ranks last moved; null if they never did. Earlier days are in the history. */
  day: z.number().nullable(),
  /** When the last comparison with D1 began, in milliseconds. */
  compared: z.number(),
})
export type UpkeepNote = z.infer<typeof UpkeepNote>

/** The note of a new leaderboard: nothing is final. */
export const NO_UPKEEP = noteOf({ openFrom: 0, day: null, compared: 0 })

/** The stored form of a note. Equal notes have the same form. */
function noteOf({ openFrom, day, compared }: UpkeepNote): string {
  return JSON.stringify({ openFrom, day, compared })
}

const Row = z.object({ upkeep: json(UpkeepNote) })

const READ = 'SELECT upkeep FROM leaderboards WHERE id = ?2 AND tenant_id = ?1'

/** The note of D1 about the upkeep of a leaderboard. Null if the leaderboard does not exist. */
async function readUpkeep(db: TenantDatabase, boardId: string): Promise<UpkeepNote | null> {
  return (await db.find(Row, READ, db.tenantId, boardId))?.upkeep ?? null
}

const WRITE = `
  UPDATE leaderboards SET upkeep = ?4 WHERE id = ?2 AND tenant_id = ?1 AND upkeep IS ?3`

/**
 * Notes how far the upkeep of a leaderboard has got. Does nothing if D1 has another note than before: then it
 * was brought back to an earlier moment meanwhile (M2). Writes no row if nothing has changed. Returns whether
 * D1 has the note.
 */
async function noteUpkeep(
  db: TenantDatabase,
  boardId: string,
  { before, after }: { before: UpkeepNote | null; after: UpkeepNote },
): Promise<boolean> {
  const notes = [before && noteOf(before), noteOf(after)] as const
  if (notes[0] === notes[1]) return true
  const { meta } = await db.run(db.statement(WRITE, db.tenantId, boardId, ...notes))
  return meta.changes > 0
}

/** The queries of a tenant's boards to D1. `recountable` packs users for them. */
export const sourceOf = (databases: Databases, tenantId: string) => ({
  recount: (board: Definition, userIds: readonly string[], extent: RecountScope) =>
    recountUsers(databases, tenantId, board, userIds, extent),
  userCursorsAfter: (board: Definition, after: string, since: number, limit: number) =>
    userCursorsAfter(databases, tenantId, board, { after, since, limit }),
  readNote: ({ id }: Definition) => readUpkeep(databases.home(tenantId), id),
  writeNote: ({ id }: Definition, notes: { before: UpkeepNote | null; after: UpkeepNote }) =>
    noteUpkeep(databases.home(tenantId), id, notes),
})
export type Source = ReturnType<typeof sourceOf>
