import * as z from 'zod'
import { BoostRow } from '../config/configuration.repository'
import { NO_PREFERENCES, Preferences } from '../config/preferences.types'
import type { TenantDatabase } from '../db/database'
import { amongUnmoved, CONFLICT, overUsers, type Unmoved } from '../db/guard'
import type { Completion, Counter, UserState } from '../engine/state.types'
import type { StreakState } from '../engine/streaks/streak-state.types'
import { type Instant, instant } from '../lib/clock'
import { micros } from '../lib/decimal'
import { Json } from '../lib/packed'
import { DAY, SECOND } from '../lib/units'
import { spelledZone } from '../lib/zone'
import { parseStreak, streakJson } from './streaks/streak-column.codec'

/** A column of JSON text. */
export const json = <S extends z.ZodType>(schema: S) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema)

const counters = json(z.array(z.tuple([z.string(), z.number(), z.number()]))).transform(
  (list) =>
    new Map(list.map(([id, total, highest]) => [id, { total: micros(total), highest: micros(highest) }])),
)

/** The column `achievements`. */
const completions = json(
  z.array(z.tuple([z.string(), z.string(), z.number().transform(instant), z.number()])),
).transform((list) => new Map(list.map(([of, id, at, utcOffset]) => [of, { id, at, utcOffset }])))

const UserRow = z.object({
  id: z.string(),
  iid: z.string(),
  seq: z.number(),
  changed: z.number().transform(instant),
  email: z.string().nullable(),
  name: z.string().nullable(),
  // Rows of earlier versions may have it in another letter case.
  tz: z.string().transform(spelledZone).nullable(),
  subscribe_to_emails: z.number(),
  device_tokens: json(z.array(z.string())).nullable(),
  attributes: json(z.record(z.string(), z.string())),
  control: z.number(),
  created: z.number().transform(instant),
  updated: z.number().transform(instant),
  metrics: counters,
  points: json(z.record(z.string(), z.number())),
  counters,
  touched: json(z.record(z.string(), z.number())),
  streak: z.string().nullable(),
  streak_due: z.number().nullable(),
  achievements: completions,
  preferences: json(Preferences).nullable(),
  active_day: z.number().nullable(),
  boosts: json(z.array(BoostRow)),
})

/** The boosts `b` as a list of what makes a `BoostRow`. */
export const BOOST_LIST = `json_group_array(json_object('id', b.id, 'created', b.created, 'updated', b.updated,
     'systemId', b.system_id, 'userId', b.user_id, 'userIid', b.user_iid, 'name', b.name, 'start', b.start, 'end', b."end",
     'multiplier', b.multiplier, 'rounding', b.rounding, 'userAttributes', b.user_attributes))`

/** The SQL of a user's own boosts that were not over two days ago: ?3 is the present time of the system, ?4 whether the test clock counts. */
export const OWN_BOOSTS = `
  (SELECT ${BOOST_LIST}
   FROM points_boosts b WHERE b.user_iid = u.iid
     AND b."end" >= date(coalesce((SELECT now FROM test_clock WHERE ?4), ?3) / ${SECOND} - ${(2 * DAY) / SECOND}, 'unixepoch')
     AND b.deleted IS NULL) AS boosts`

const USER = `SELECT u.*, ${OWN_BOOSTS} FROM users u WHERE u.tenant_id = ?1 AND u.id = ?2`

/** Reads all of a user's state, with the own boosts that were not over two days ago. Parsed by `parseUser`. */
export function userStatement(db: TenantDatabase, userId: string, systemNow: Instant): D1PreparedStatement {
  return db.statement(USER, db.tenantId, userId, systemNow, db.testClock ? 1 : 0)
}

/** The state that `userStatement` has read, or null where there is no such user. */
export function parseUser(result: D1Result): UserState | null {
  const row = result.results[0]
  return row === undefined ? null : userOf(row)
}

/** The state in a row of what `userStatement` and its like read. */
export function userOf(row: unknown): UserState {
  const { id, iid, seq, changed, created, updated, metrics, counters, boosts, ...rest } = UserRow.parse(row)
  return {
    id,
    iid,
    seq,
    changed,
    created,
    updated,
    metrics,
    counters,
    boosts,
    control: rest.control === 1,
    points: new Map(Object.entries(rest.points)),
    touched: new Map(Object.entries(rest.touched)),
    streak: parseStreak(rest.streak, rest.streak_due),
    achievements: rest.achievements,
    preferences: rest.preferences ?? NO_PREFERENCES,
    activeDay: rest.active_day,
    profile: {
      email: rest.email,
      name: rest.name,
      tz: rest.tz,
      subscribeToEmails: rest.subscribe_to_emails === 1,
      deviceTokens: rest.device_tokens,
      attributes: new Map(Object.entries(rest.attributes)),
    },
  }
}

/** The guard (see db/guard.ts) stands in the statement itself: a user is stored on what was read, or nothing is. */
const CONDITION = `(SELECT config_version FROM tenants WHERE id = ?1 AND status = 'active') = ?24
    AND coalesce((SELECT iid || ':' || seq FROM users WHERE tenant_id = ?1 AND id = ?2), '') = ?25
    AND coalesce((SELECT now FROM test_clock WHERE ?26), 0) = ?27`

const COLUMNS = `id, iid, seq, changed, email, name, tz, subscribe_to_emails, device_tokens, attributes, control, created,
    updated, metrics, points, counters, touched, streak, achievements, preferences, active_day, streak_due`

const STORE = `
  INSERT INTO users (tenant_id, ${COLUMNS})
  VALUES (?1, ?2, ?3, CASE WHEN ${CONDITION} THEN ?4 ELSE ${CONFLICT} END, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
    ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)
  ON CONFLICT DO UPDATE SET seq = excluded.seq, changed = ?5, email = ?6, name = ?7, tz = ?8, subscribe_to_emails = ?9,
    device_tokens = ?10, attributes = ?11, updated = ?14, metrics = ?15, points = ?16, counters = ?17, touched = ?18,
    streak = ?19, achievements = ?20, preferences = ?21, active_day = ?22`
// An indexed column that is set costs a row more, although it is set to what it was.
const STORE_WITH_DUE = `${STORE}, streak_due = ?23`

/**
 * Stores the whole of a user's state: one row written, and one more where the streak's deadline is another one. Raises a conflict, which undoes the batch, unless the tenant is active, the configuration at
 * this version, the test clock stands where it did (`clock`; null where it is not set), and the user is as it was read, or, where
 * null, absent.
 */
export function storeUser(
  db: TenantDatabase,
  user: UserState,
  {
    version,
    clock,
    was,
  }: {
    version: number
    clock: Instant | null
    was: (Pick<UserState, 'iid' | 'seq'> & { streak: Pick<StreakState, 'due'> }) | null
  },
): D1PreparedStatement {
  return db.statement(
    was?.streak.due === user.streak.due ? STORE : STORE_WITH_DUE,
    db.tenantId,
    ...valuesOf(user).map((value) => (value instanceof Json ? value.text : value)),
    version,
    was === null ? '' : `${was.iid}:${was.seq}`,
    db.testClock ? 1 : 0,
    clock ?? 0,
  )
}

/** What the columns of a user hold, from `id` to `streak_due` in the order of `STORE`. */
function valuesOf(user: UserState): (string | number | null | Json)[] {
  const { profile, preferences } = user
  const streak = streakJson(user.streak)
  return [
    user.id,
    user.iid,
    user.seq,
    user.changed,
    profile.email,
    profile.name,
    profile.tz,
    profile.subscribeToEmails ? 1 : 0,
    profile.deviceTokens && new Json(JSON.stringify(profile.deviceTokens)),
    new Json(JSON.stringify(Object.fromEntries(profile.attributes))),
    user.control ? 1 : 0,
    user.created,
    user.updated,
    new Json(countersJson(user.metrics)),
    new Json(JSON.stringify(Object.fromEntries(user.points))),
    new Json(countersJson(user.counters)),
    new Json(JSON.stringify(Object.fromEntries(user.touched))),
    streak && new Json(streak),
    new Json(completionsJson(user.achievements)),
    preferences === NO_PREFERENCES ? null : new Json(JSON.stringify(preferences)),
    user.activeDay,
    user.streak.due,
  ]
}

const STORE_SEVERAL = `
  INSERT INTO users (tenant_id, ${COLUMNS})
  SELECT ?2, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
    value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, value ->> 13, value ->> 14, value ->> 15,
    value ->> 16, value ->> 17, value ->> 18, value ->> 19, value ->> 20, value ->> 21
  FROM json_each(?1) WHERE ${amongUnmoved('value ->> 1')}
  ON CONFLICT DO UPDATE SET seq = excluded.seq, changed = excluded.changed, email = excluded.email, name = excluded.name,
    tz = excluded.tz, subscribe_to_emails = excluded.subscribe_to_emails, device_tokens = excluded.device_tokens,
    attributes = excluded.attributes, updated = excluded.updated, metrics = excluded.metrics, points = excluded.points,
    counters = excluded.counters, touched = excluded.touched, streak = excluded.streak,
    achievements = excluded.achievements, preferences = excluded.preferences, active_day = excluded.active_day`
const STORE_SEVERAL_WITH_DUE = `${STORE_SEVERAL}, streak_due = excluded.streak_due RETURNING iid`
const STORE_SEVERAL_AS_DUE = `${STORE_SEVERAL} RETURNING iid`

/**
 * Stores the states of several users as `storeUser` does that of one, at the same price: of those among them, or of all, where the
 * guards are the caller's (`usersUnchanged`). `parseStored` tells from the results whose were stored.
 */
export function storeUsers(
  db: TenantDatabase,
  users: readonly { was: UserState | null; after: UserState }[],
  among: Unmoved,
): D1PreparedStatement[] {
  const isMoved = ({ was, after }: { was: UserState | null; after: UserState }) =>
    was !== null && was.streak.due !== after.streak.due
  const each = (sql: string, some: typeof users) =>
    overUsers(
      db,
      sql,
      some.map(({ after }) => valuesOf(after)),
      among,
    )
  return [
    ...each(
      STORE_SEVERAL_AS_DUE,
      users.filter((user) => !isMoved(user)),
    ),
    ...each(STORE_SEVERAL_WITH_DUE, users.filter(isMoved)),
  ]
}

const STORE_STREAK = `
  WITH asked AS MATERIALIZED (SELECT value FROM json_each(?1) WHERE ${amongUnmoved('value ->> 1')})
  UPDATE users SET seq = asked.value ->> 2, changed = asked.value ->> 3, touched = asked.value ->> 4, streak = asked.value ->> 5`
const WHOSE = 'FROM asked WHERE users.tenant_id = ?2 AND users.id = asked.value ->> 0 RETURNING iid'
const STORE_STREAK_AS_DUE = `${STORE_STREAK} ${WHOSE}`
const STORE_STREAK_WITH_DUE = `${STORE_STREAK}, streak_due = asked.value ->> 6 ${WHOSE}`

/** The same of nothing but streaks, of users of whom nothing else need be known. */
export function storeStreaks(
  db: TenantDatabase,
  users: readonly { was: UserState; after: UserState }[],
  among: Unmoved,
): D1PreparedStatement[] {
  const rows = (some: typeof users) =>
    some.map(({ after: { id, iid, seq, changed, touched, streak } }) => {
      const column = streakJson(streak)
      const json = [new Json(JSON.stringify(Object.fromEntries(touched))), column && new Json(column)]
      return [id, iid, seq, changed, ...json, streak.due]
    })
  const isMoved = ({ was, after }: (typeof users)[number]) => was.streak.due !== after.streak.due
  return [
    ...overUsers(db, STORE_STREAK_AS_DUE, rows(users.filter((user) => !isMoved(user))), among),
    ...overUsers(db, STORE_STREAK_WITH_DUE, rows(users.filter(isMoved)), among),
  ]
}

/** The own ids of the users whom statements of `storeUsers` have stored. */
export function parseStored(results: readonly D1Result[]): Set<string> {
  const rows = z.array(z.object({ iid: z.string() }))
  return new Set(results.flatMap((result) => rows.parse(result.results)).map(({ iid }) => iid))
}

/** The column `achievements`. */
export function completionsJson(achievements: ReadonlyMap<string, Completion>): string {
  return JSON.stringify([...achievements].map(([of, { id, at, utcOffset }]) => [of, id, at, utcOffset]))
}

/** The columns `metrics` and `counters`. */
export function countersJson(counters: ReadonlyMap<string, Counter>): string {
  return JSON.stringify([...counters].map(([id, { total, highest }]) => [id, total, highest]))
}

const SEVERAL = `
  SELECT u.*, ${OWN_BOOSTS} FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`
const NEXT = `
  SELECT u.*, ${OWN_BOOSTS} FROM users u WHERE u.tenant_id = ?1 AND u.id > ?2 ORDER BY u.id LIMIT ?5`

/** Which users to read: those with these ids, or the next so many in order of their ids. */
export type Several = { ids: readonly string[] } | { after: string; limit: number }

/** Reads several users as `userStatement` reads one. Those who don't exist are not among them. Parsed by `userOf`. */
export function usersStatement(
  db: TenantDatabase,
  several: Several,
  systemNow: Instant,
): D1PreparedStatement {
  const testClock = db.testClock ? 1 : 0
  return 'ids' in several
    ? db.statement(SEVERAL, db.tenantId, JSON.stringify(several.ids), systemNow, testClock)
    : db.statement(NEXT, db.tenantId, several.after, systemNow, testClock, several.limit)
}

const NAMES = `
  SELECT u.iid, u.name FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

/** The names of users by our own ids, null for those without one; those who are gone are not among them. */
export async function namesOf(
  db: TenantDatabase,
  userIds: readonly string[],
): Promise<Map<string, string | null>> {
  if (userIds.length === 0) return new Map()
  const rows = await db.rows(db.statement(NAMES, db.tenantId, JSON.stringify(userIds)))
  const named = z.array(z.object({ iid: z.string(), name: z.string().nullable() })).parse(rows)
  return new Map(named.map(({ iid, name }) => [iid, name]))
}

const WITH_EMAIL = `
  SELECT u.id FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value
  WHERE u.email IS NOT NULL`

/** Those of these users of whom an email address is known. */
export async function withEmail(
  db: TenantDatabase,
  userIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.rows(db.statement(WITH_EMAIL, db.tenantId, JSON.stringify(userIds)))
  return new Set(
    z
      .array(z.object({ id: z.string() }))
      .parse(rows)
      .map(({ id }) => id),
  )
}
