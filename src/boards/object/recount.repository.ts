import * as z from 'zod'
import type { RankBy } from '../../config/enumerations.types'
import type { TenantDatabase } from '../../db/database'
import { localDayOf, timeOfDayOf } from '../../db/local-time'
import { bytesOf, numberOf } from '../../db/short-ids'
import { lastDayOf, windowOf } from '../../engine/runs.rules'
import { lengthOn } from '../../engine/streaks/history.rules'
import type { StreakRun, StreakState } from '../../engine/streaks/streak-state.types'
import { firstPack, MOST_AT_ONCE, packsOf } from '../../lib/packed'
import { LAST_DAY } from '../../lib/periods'
import { FURTHEST_OFFSET, SECOND } from '../../lib/units'
import { dayBegins, dayIn } from '../../lib/zone'
import { parseStreak } from '../../store/streaks/streak-column.codec'
import { StreakRunRow } from '../../store/streaks/streaks.repository'
import { type Definition, groupOf } from '../board.messages'
import type { Recounted, UserCursor } from '../board.types'
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
    days: z
      .string()
      .transform((text): unknown => JSON.parse(text))
      .pipe(z.array(z.tuple([z.number(), z.number().transform(scoreOf), z.number().nullable()]))),
  }),
)
const GROUP = `(SELECT json_group_array(u.attributes ->> ('$."' || b.value || '"')) FROM json_each(?2) b)`
const IDS = `u.id AS userId, u.iid, u.seq, u.last_seq_by_input ->> ('$."' || ?3 || '"') AS cursor`
const MARK = `${IDS}, ${GROUP} AS "group"`

/** Users who are found at once, at most, and bytes of a group up to which it is read with the others: it may have ten long values. */
const MOST_FOUND = 1_000
const SHORT = Math.floor(MOST_AT_ONCE / MOST_FOUND)

// The page is of users who are walked past, not of those who are found, so that no query walks more than it is to.
const WALKED = `
  SELECT max(id) AS last FROM (SELECT id FROM users WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3)`
const MARKS = `
  SELECT ${IDS}, octet_length(${GROUP}) AS bytes, CASE WHEN octet_length(${GROUP}) <= ${SHORT} THEN ${GROUP} END AS "group"
  FROM users u WHERE u.tenant_id = ?1 AND u.id > ?4 AND u.id <= (
    SELECT max(id) FROM (SELECT id FROM users WHERE tenant_id = ?1 AND id > ?4 ORDER BY id LIMIT ?6))
    AND u.changed >= ?5 ORDER BY u.id LIMIT ${MOST_FOUND}`
const NAMED = `
  SELECT ${MARK} FROM json_each(?4) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

const Found = z.array(z.looseObject({ userId: z.string(), bytes: z.number(), group: z.string().nullable() }))

/** Users as D1 has them, and the last id up to which they are all there are; null at the end. */
export type UserCursorPage = { userCursors: UserCursor[]; last: string | null }

/**
 * The tenant's next so many users in order of id, after one of them; of these, those who have changed since a moment (0: all), as a
 * board would have to know them.
 */
export async function userCursorsAfter(
  db: TenantDatabase,
  { breakdown, input }: Definition,
  after: string,
  since: number,
  limit: number,
): Promise<UserCursorPage> {
  const groups = JSON.stringify(breakdown)
  const { walked, changed } = await db.batchOf({
    walked: db.statement(WALKED, db.tenantId, after, limit),
    changed: db.statement(MARKS, db.tenantId, groups, input, after, since, limit),
  })
  const { last } = z.object({ last: z.string().nullable() }).parse(walked.results[0])
  const found = Found.parse(changed.results)
  const some = firstPack(found, MOST_AT_ONCE, ({ bytes }) => bytes)
  const long = some.flatMap(({ userId, group }) => (group === null ? [userId] : []))
  const named = () => db.rows(db.statement(NAMED, db.tenantId, groups, input, JSON.stringify(long)))
  const whole = new Map(
    UserCursors.parse(long.length === 0 ? [] : await named()).map((mark) => [mark.userId, mark]),
  )
  const userCursors = some.flatMap((row) =>
    row.group === null ? (whole.get(row.userId) ?? []) : UserCursorRow.parse(row),
  )
  const isCut = some.length < found.length || found.length === MOST_FOUND
  return { last: isCut ? (some.at(-1)?.userId ?? last) : last, userCursors }
}

/** What is counted: changes with their local day and seconds since local midnight, one row a change of the user. */
const EVENTS = `
  SELECT at, value AS amount, ${localDayOf()} AS day,
    ${timeOfDayOf()} AS time FROM events
  WHERE user_iid = ${bytesOf('u.iid')} AND metric_no = ${numberOf('metrics', '?3')} AND at >= ?5 AND at <= ?6`
const AWARDS = `
  SELECT at, sum(awarded) AS amount, ${localDayOf()} AS day,
    ${timeOfDayOf()} AS time FROM awards
  WHERE user_iid = ${bytesOf('u.iid')} AND system_no = ${numberOf('points_systems', '?3')} AND at >= ?5 AND at <= ?6 GROUP BY at, seq`

/**
 * Sums by local day (or, where ?9 is 0, under the first one) inside the dates from ?7 on and the window ?8, as `[from, to]` in ms.
 * `total` counts in floats, where `sum` fails beyond 64 bits: what a daily window lets in may go as far as it likes (E1).
 */
const recountOf = (log: string) => `
  SELECT ${MARK}, (SELECT json_group_array(json_array(day, amount, reached)) FROM (
    SELECT CASE WHEN ?9 THEN day ELSE ?7 END AS day, total(amount) AS amount, max(CASE WHEN amount <> 0 THEN at END) AS reached
    FROM (${log}) WHERE day >= ?7 AND day <= ?10 AND (?8 IS NULL OR CASE WHEN ?8 ->> 0 <= ?8 ->> 1
      THEN time >= ?8 ->> 0 AND time < ?8 ->> 1 ELSE time >= ?8 ->> 0 OR time < ?8 ->> 1 END)
    GROUP BY 1)) AS days
  FROM json_each(?4) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

const RECOUNT_EVENTS = recountOf(EVENTS)
const RECOUNT_AWARDS = recountOf(AWARDS)

const STREAKS = `
  SELECT ${MARK}, u.tz, u.streak, u.preferences ->> '$.streak.enabled' AS enabled, (SELECT json_object('first', first, 'last', last, 'started', started, 'history', history,
      'length', length) FROM streak_runs WHERE user_iid = u.iid AND first <= ?5 ORDER BY first DESC LIMIT 1) AS past
  FROM json_each(?4) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

/** A user's marks with the present streak and the newest one that is over. */
const Streaking = z.intersection(
  UserCursorRow,
  z.object({
    tz: z.string().nullable(),
    /** Whether the user has streaks on; null where that was never set. */
    enabled: z.literal([0, 1]).nullable(),
    streak: z
      .string()
      .nullable()
      .transform((text) => parseStreak(text, null)),
    past: z
      .string()
      .nullable()
      .transform((text): unknown => (text === null ? null : JSON.parse(text)))
      .pipe(StreakRunRow.nullable()),
  }),
)

/** The length of each user's streak, on the last day that counts where that is over (L3). */
async function recountStreaks(
  db: TenantDatabase,
  { breakdown, input }: Definition,
  userIds: readonly string[],
  { from, to }: RecountScope,
): Promise<Recounted[]> {
  const ids = JSON.stringify(userIds)
  const rows = await db.rows(db.statement(STREAKS, db.tenantId, JSON.stringify(breakdown), input, ids, to))
  return z
    .array(Streaking)
    .parse(rows)
    .map(({ tz, streak, enabled, past, ...mark }) => {
      const [length, reached] = lengthBy({ streak, past, tz, isOff: enabled === 0 }, to)
      return { ...mark, days: [[from, scoreOf(length), reached]] }
    })
}

/**
 * The length that a streak had by the end of a day, and when it was reached, by an event, by being restored, or because it was switched
 * on; null where there is none, or where that can't be told any more, since the streak was extended after that day.
 */
function lengthBy(
  {
    streak,
    past,
    tz,
    isOff,
  }: { streak: StreakState; past: StreakRun | null; tz: string | null; isOff: boolean },
  day: number,
): [length: number, reached: number | null] {
  const { run, altered } = streak
  const wasAltered = altered !== null && dayIn(tz, altered) <= day
  // One that was switched off after that day counts.
  if (isOff && (altered === null || wasAltered)) return [0, null]
  const length = lengthOn(streak, past, day)
  if (run === null) return [length, null]
  if (run.extended === null || dayIn(tz, run.extended) <= day)
    return [length, Math.max(run.extended ?? 0, run.restored ?? 0, wasAltered ? altered : 0)]
  // The period in which it was extended may have begun by that day, and counts not yet.
  return [run.last <= day ? length - 1 : length, null]
}

/** What of the log is counted. */
export type RecountScope = {
  /** First and last local day. */
  from: number
  to: number
  /** The daily window in milliseconds since local midnight, or null. */
  window: readonly [number, number] | null
  /** Nothing after this moment counts, in milliseconds: the board was finished by hand. */
  until: number
  /** Whether sums are wanted by day. */
  byDay: boolean
}

/** What a board asks D1; of users in packs, see `recountable`. */
export type Source = {
  recount: (definition: Definition, userIds: readonly string[], extent: RecountScope) => Promise<Recounted[]>
  userCursorsAfter: (
    definition: Definition,
    after: string,
    since: number,
    limit: number,
  ) => Promise<UserCursorPage>
}

/** What of the log the runs of a board count that start on this day or later. */
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

/** Bytes that a value of an attribute takes at most as JSON, that a user takes besides, and that a day's sum takes. */
const [VALUE, USER, DAY_SUM] = [6_010, 1_500, 45]

/** A user to be counted, and how many changes there are of the user at most, if that is known. */
export type Countable = { userId: string; seq?: number }

/** Users in packs, each of which one query has room to count, if each user has as much as may be; `days` is how many there are to sum up. */
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

/** What counts the scores of each kind of leaderboard from the log. Streaks are counted by rules, not by SQL. */
const RECOUNT = { metric: RECOUNT_EVENTS, points: RECOUNT_AWARDS } as const satisfies Record<
  Exclude<RankBy, 'streak'>,
  string
>

/** Counts users' scores from the log, as of one moment (L12). Users who are gone are not among the answers. */
export async function recountUsers(
  db: TenantDatabase,
  definition: Definition,
  userIds: readonly string[],
  extent: RecountScope,
): Promise<Recounted[]> {
  const { breakdown, input, rankBy } = definition
  if (rankBy === 'streak') return recountStreaks(db, definition, userIds, extent)
  const { from, to, window, until, byDay } = extent
  const statement = db.statement(
    RECOUNT[rankBy],
    db.tenantId,
    JSON.stringify(breakdown),
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
