import * as z from 'zod'
import { BOOST_LIST, BoostRow } from '../../configuration/configuration'
import { STREAK_FREQUENCIES } from '../../configuration/enumerations'
import { NO_PREFERENCES, Preferences } from '../../configuration/model'
import { DAY, type Instant, instant, SECOND } from '../../lib/clock'
import { micros } from '../../lib/decimal'
import { Json, jsonRow, packed } from '../../lib/packed'
import { type ColumnNames, type ColumnValues, columnList, json, Moment } from '../../platform/columns'
import { PLACEMENT, type Statement, type TenantDatabase } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { stillPlaced } from '../../platform/databases/directory'
import { CONFLICT, onlyUnchanged, overUsers, type UnchangedUsers } from '../../platform/guard'
import { type Completion, type Counter, NOTHING_REVOKED, type UserState } from '../../rules/state'
import { NO_STREAK, type StreakState } from '../../rules/streaks/streak-state.rules'
import { users } from '../tables.sql.ts'

const Run = z.object({
  started: z.number(),
  first: z.number(),
  last: z.number(),
  history: z.string(),
  length: z.number(),
  extended: Moment.nullable(),
  restored: Moment.optional(),
})
const day = z.number().nullable().default(null)
const Earned = z.tuple([z.number(), z.number()]).nullable().default(null)
const Stored = z.object({
  frequency: z.enum([...STREAK_FREQUENCIES, 'unknown']).nullable(),
  epoch: z.number().default(0),
  run: Run.nullable().default(null),
  freezes: z.number().default(0),
  born: day,
  earned: Earned,
  missed: day,
  spared: day,
  sums: z.array(z.tuple([z.number(), z.array(z.tuple([z.string(), z.number()]))])).default([]),
  pauses: z.array(z.object({ id: z.string(), start: z.number(), end: z.number() })).default([]),
  jumps: z.array(z.tuple([z.number(), z.number(), z.number()])).default([]),
  altered: Moment.nullable().default(null),
})

/** The streak from the columns `streak` and `streak_due` of a user's row. */
export function parseStreak(text: string | null, due: number | null): StreakState {
  if (text === null) return NO_STREAK
  return { ...Stored.parse(JSON.parse(text)), due: due === null ? null : instant(due) }
}

/** The value of the column `streak`, without empty fields. Null if there is no data at all. */
export function streakJson({ due: _due, ...streak }: StreakState): string | null {
  const kept = Object.entries(streak).filter(
    ([name, value]) =>
      name === 'frequency' ||
      !(value === null || value === 0 || (Array.isArray(value) && value.length === 0)),
  )
  return kept.length === 1 && streak.frequency === null ? null : JSON.stringify(Object.fromEntries(kept))
}

const counters = json(z.array(z.tuple([z.string(), z.number(), z.number()]))).transform(
  (list) =>
    new Map(list.map(([id, total, highest]) => [id, { total: micros(total), highest: micros(highest) }])),
)

const completions = json(z.array(z.tuple([z.string(), z.string(), Moment, z.number()]))).transform(
  (list) => new Map(list.map(([of, id, at, utcOffset]) => [of, { id, at, utcOffset }])),
)

const UserRow = z.object({
  id: z.string(),
  iid: z.string(),
  seq: z.number(),
  changed: Moment,
  email: z.string().nullable(),
  name: z.string().nullable(),
  tz: z.string().nullable(),
  subscribe_to_emails: z.number(),
  device_tokens: json(z.array(z.string())).nullable(),
  attributes: json(z.record(z.string(), z.string())),
  control: z.number(),
  created: Moment,
  updated: Moment,
  metrics: counters,
  points: json(z.record(z.string(), z.number())),
  counters,
  last_seq_by_input: json(z.record(z.string(), z.number())),
  streak: z.string().nullable(),
  streak_due: z.number().nullable(),
  achievements: completions,
  revoked: json(z.array(z.string())).nullable(),
  preferences: json(Preferences).nullable(),
  active_day: z.number().nullable(),
  left_zones: json(z.array(z.tuple([Moment, z.string()]))).nullable(),
  boosts: json(z.array(BoostRow)),
} satisfies Record<
  Exclude<ColumnNames<typeof users>, 'tenant_id' | 'counted' | 'bucket'> | 'boosts',
  z.ZodType
>)

/**
 * SQL: a user's own boosts that were not over two days ago. ?3 is the system time. ?4 is whether the test
 * clock counts.
 */
export const OWN_BOOSTS = `
  (SELECT ${BOOST_LIST}
   FROM points_boosts b WHERE b.user_iid = u.iid
     AND b."end" >= date(coalesce((SELECT now FROM test_clock
       WHERE ?4), ?3) / ${SECOND} - ${(2 * DAY) / SECOND}, 'unixepoch')
     AND b.deleted IS NULL) AS boosts`

const USER = `SELECT u.*, ${OWN_BOOSTS} FROM users u WHERE u.tenant_id = ?1 AND u.id = ?2`

const IID = 'SELECT iid FROM users WHERE tenant_id = ?1 AND id = ?2'

/** The internal id of a user; null if there is no such user. */
export async function findIid(db: TenantDatabase, userId: string): Promise<string | null> {
  const [row] = await db.rows(db.statement(IID, db.tenantId, userId))
  return row === undefined ? null : z.object({ iid: z.string() }).parse(row).iid
}

const IIDS = 'SELECT id, iid FROM users WHERE tenant_id = ?1 AND id IN (SELECT value FROM json_each(?2))'

/** The internal ids of those of some users who exist, by the callers' ids. */
export async function iidsOf(
  db: TenantDatabase,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await db.rows(db.statement(IIDS, db.tenantId, JSON.stringify(userIds)))
  const found = z.array(z.object({ id: z.string(), iid: z.string() })).parse(rows)
  return new Map(found.map(({ id, iid }) => [id, iid]))
}

/** Reads a user's whole state, with the own boosts that were not over two days ago. Parsed by `parseUser`. */
export function userStatement(db: TenantDatabase, userId: string, systemNow: Instant): Statement {
  return db.statement(USER, db.tenantId, userId, systemNow, db.testClock ? 1 : 0)
}

/** The state that `userStatement` has read, or null if the user does not exist. */
export function parseUser(result: D1Result): UserState | null {
  const row = result.results[0]
  return row === undefined ? null : userOf(row)
}

/** The state in a row of `userStatement` or a similar statement. */
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
    lastSeqByInput: new Map(Object.entries(rest.last_seq_by_input)),
    streak: parseStreak(rest.streak, rest.streak_due),
    achievements: rest.achievements,
    revoked: rest.revoked === null ? NOTHING_REVOKED : new Set(rest.revoked),
    preferences: rest.preferences ?? NO_PREFERENCES,
    activeDay: rest.active_day,
    leftZones: rest.left_zones ?? [],
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

/** The guard (platform/guard.ts) in the statement: stores a user who is as read, or raises a conflict. */
const CONDITION = `(SELECT config_version FROM tenants WHERE id = ?1 AND status = 'active'
      AND ${stillPlaced('?7')}) = ?2
    AND coalesce((SELECT iid || ':' || seq FROM users WHERE tenant_id = ?1 AND id = ?3), '') = ?4
    AND coalesce((SELECT now FROM test_clock WHERE ?5), 0) = ?6`

/** A user's state with the user's bucket, which is null if there is only one database. */
type StoredUser = UserState & { bucket: number | null }

const storedUser = (db: TenantDatabase, user: UserState): StoredUser => ({
  ...user,
  bucket: db.bucketOf(user.id),
})

const USER_VALUES: ColumnValues<typeof users, StoredUser, 'tenantId' | 'counted'> = {
  id: (user) => user.id,
  iid: (user) => user.iid,
  seq: (user) => user.seq,
  changed: (user) => user.changed,
  email: ({ profile }) => profile.email,
  name: ({ profile }) => profile.name,
  tz: ({ profile }) => profile.tz,
  subscribeToEmails: ({ profile }) => (profile.subscribeToEmails ? 1 : 0),
  deviceTokens: ({ profile }) => profile.deviceTokens && new Json(JSON.stringify(profile.deviceTokens)),
  attributes: ({ profile }) => jsonOf(profile.attributes),
  control: (user) => (user.control ? 1 : 0),
  created: (user) => user.created,
  updated: (user) => user.updated,
  metrics: (user) => new Json(countersJson(user.metrics)),
  points: (user) => jsonOf(user.points),
  counters: (user) => new Json(countersJson(user.counters)),
  lastSeqByInput: (user) => jsonOf(user.lastSeqByInput),
  streak: (user) => {
    const streak = streakJson(user.streak)
    return streak && new Json(streak)
  },
  achievements: (user) => new Json(completionsJson(user.achievements)),
  revoked: ({ revoked }) => (revoked.size === 0 ? null : new Json(JSON.stringify([...revoked]))),
  preferences: ({ preferences }) =>
    preferences === NO_PREFERENCES ? null : new Json(JSON.stringify(preferences)),
  activeDay: (user) => user.activeDay,
  leftZones: ({ leftZones }) => (leftZones.length === 0 ? null : new Json(JSON.stringify(leftZones))),
  streakDue: (user) => user.streak.due,
  bucket: (user) => user.bucket,
}
const USER_LIST = columnList(users, USER_VALUES)
// Without the streak's deadline, which is replaced only if it has changed, and the bucket, which never does.
const REPLACED = USER_LIST.update(['id', 'iid', 'control', 'created', 'streakDue', 'bucket'])

const jsonOf = (map: ReadonlyMap<string, string | number>) =>
  new Json(JSON.stringify(Object.fromEntries(map)))

const GUARDED_VALUES: typeof USER_VALUES = {
  ...USER_VALUES,
  seq: { of: ({ seq }) => seq, as: (value) => `CASE WHEN ${CONDITION} THEN ${value} ELSE ${CONFLICT} END` },
}
// The condition has the parameters before ?8.
const GUARDED_LIST = columnList(users, GUARDED_VALUES, 8)

const STORE = `
  INSERT INTO users (tenant_id, ${GUARDED_LIST.columns}) VALUES (?1, ${GUARDED_LIST.sql((nth) => `?${nth}`)})
  ON CONFLICT DO UPDATE SET ${REPLACED}`
// An indexed column that is set costs one more row, even if the value is the same.
const STORE_WITH_DUE = `${STORE}, streak_due = excluded.streak_due`

/**
 * Stores the whole state of a user: one written row, and one more if the streak's deadline has changed.
 * Raises a conflict, which undoes the batch, unless the tenant is active, the configuration has this version,
 * the test clock is the same (`clock`, null if it is not set), and the user is as read (`was`, null if the
 * user did not exist).
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
): Statement {
  const params = [
    db.tenantId,
    version,
    user.id,
    was === null ? '' : `${was.iid}:${was.seq}`,
    db.testClock ? 1 : 0,
    clock ?? 0,
    PLACEMENT,
    ...GUARDED_LIST.values(storedUser(db, user)).map((value) => (value instanceof Json ? value.text : value)),
  ]
  return { sql: was?.streak.due === user.streak.due ? STORE : STORE_WITH_DUE, params, isPlaced: true }
}

const STORE_SEVERAL = `
  INSERT INTO users (tenant_id, ${USER_LIST.columns})
  SELECT ?2, ${USER_LIST.sql()} FROM json_each(?1) WHERE ${onlyUnchanged(USER_LIST.value('iid'))}
  ON CONFLICT DO UPDATE SET ${REPLACED}`
const STORE_SEVERAL_WITH_DUE = `${STORE_SEVERAL}, streak_due = excluded.streak_due RETURNING iid`
const STORE_SEVERAL_AS_DUE = `${STORE_SEVERAL} RETURNING iid`

/**
 * Stores the states of several users, at the same cost per user as `storeUser`. `among` selects the users who
 * are still as read. If it is null, the caller has guards (`usersUnchanged`). `parseStored` returns the
 * stored users from the results.
 */
export function storeUsers(
  db: TenantDatabase,
  changes: readonly { was: UserState | null; after: UserState }[],
  among: UnchangedUsers,
): Statement[] {
  const isMoved = ({ was, after }: { was: UserState | null; after: UserState }) =>
    was !== null && was.streak.due !== after.streak.due
  const each = (sql: string, some: typeof changes) =>
    overUsers(
      db,
      sql,
      some.map(({ after }) => USER_LIST.values(storedUser(db, after))),
      among,
    )
  return [
    ...each(
      STORE_SEVERAL_AS_DUE,
      changes.filter((user) => !isMoved(user)),
    ),
    ...each(STORE_SEVERAL_WITH_DUE, changes.filter(isMoved)),
  ]
}

const STREAK_VALUES = {
  id: USER_VALUES.id,
  iid: USER_VALUES.iid,
  seq: USER_VALUES.seq,
  changed: USER_VALUES.changed,
  lastSeqByInput: USER_VALUES.lastSeqByInput,
  streak: USER_VALUES.streak,
  revoked: USER_VALUES.revoked,
  streakDue: USER_VALUES.streakDue,
}
// In a JSON row, the `seq` of the user as read comes first.
const STREAK_LIST = columnList(users, STREAK_VALUES, 1)
const asked = (name: keyof typeof STREAK_VALUES) => `asked.${STREAK_LIST.value(name)}`

const STORE_STREAK = `
  WITH asked AS MATERIALIZED (SELECT value FROM json_each(?1))
  UPDATE users SET seq = ${asked('seq')}, changed = ${asked('changed')}, last_seq_by_input =
    ${asked('lastSeqByInput')}, streak = ${asked('streak')}, revoked = ${asked('revoked')}`
const WHOSE = `
  FROM asked WHERE users.tenant_id = ?2 AND users.id = ${asked('id')} AND users.iid = ${asked('iid')}
    AND users.seq = asked.value ->> 0
  RETURNING iid`
const STORE_STREAK_AS_DUE = `${STORE_STREAK} ${WHOSE}`
const STORE_STREAK_WITH_DUE = `${STORE_STREAK}, streak_due = ${asked('streakDue')} ${WHOSE}`

/**
 * Stores only the streaks of users whose other data was not read. Skips users who have changed meanwhile.
 * This statement finds the row of each user anyway, so it compares that row with `was` itself: the condition
 * `onlyUnchanged` would read each user once more. The batch needs a guard of the configuration.
 */
export function storeStreaks(
  db: TenantDatabase,
  changes: readonly { was: UserState; after: UserState }[],
): Statement[] {
  const each = (sql: string, some: typeof changes) =>
    packed(
      some.map(({ was, after }) => jsonRow([was.seq, ...STREAK_LIST.values(storedUser(db, after))])),
    ).map((list) => db.statement(sql, list, db.tenantId))
  const isMoved = ({ was, after }: (typeof changes)[number]) => was.streak.due !== after.streak.due
  return [
    ...each(
      STORE_STREAK_AS_DUE,
      changes.filter((user) => !isMoved(user)),
    ),
    ...each(STORE_STREAK_WITH_DUE, changes.filter(isMoved)),
  ]
}

/** The internal ids of the users that statements of `storeUsers` have stored. */
export function parseStored(results: readonly D1Result[]): Set<string> {
  const rows = z.array(z.object({ iid: z.string() }))
  return new Set(results.flatMap((result) => rows.parse(result.results)).map(({ iid }) => iid))
}

/** The value of the column `achievements`. */
function completionsJson(achievements: ReadonlyMap<string, Completion>): string {
  return JSON.stringify([...achievements].map(([of, { id, at, utcOffset }]) => [of, id, at, utcOffset]))
}

/** The value of the columns `metrics` and `counters`. */
function countersJson(counters: ReadonlyMap<string, Counter>): string {
  return JSON.stringify([...counters].map(([id, { total, highest }]) => [id, total, highest]))
}

const SEVERAL = `
  SELECT u.*, ${OWN_BOOSTS} FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1
    AND u.id = asked.value`
const NEXT = `
  SELECT u.*, ${OWN_BOOSTS} FROM users u WHERE u.tenant_id = ?1 AND u.id > ?2 ORDER BY u.id LIMIT ?5`

/** The users to read: users with these ids, or the next `limit` ones in order of their ids. */
export type Several = { ids: readonly string[] } | { after: string; limit: number }

/**
 * Reads several users like `userStatement`. Users who do not exist are left out. Parse rows with `userOf`.
 */
export function usersStatement(db: TenantDatabase, several: Several, systemNow: Instant): Statement {
  const testClock = db.testClock ? 1 : 0
  return 'ids' in several
    ? db.statement(SEVERAL, db.tenantId, JSON.stringify(several.ids), systemNow, testClock)
    : db.statement(NEXT, db.tenantId, several.after, systemNow, testClock, several.limit)
}

const NAMES = `
  SELECT u.iid, u.name FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

const NameRows = z.array(z.object({ iid: z.string(), name: z.string().nullable() }))

/**
 * The names of users by internal id, or null for users without a name. Users who do not exist are left out.
 * Asks the databases that hold them (B5).
 */
export async function namesOf(
  databases: Databases,
  tenantId: string,
  userIds: readonly string[],
): Promise<Map<string, string | null>> {
  const lists = await databases
    .usersOf(tenantId)
    .askAbout(userIds, async (db, own) =>
      NameRows.parse(await db.rows(db.statement(NAMES, db.tenantId, JSON.stringify(own)))),
    )
  return new Map(lists.flat().map(({ iid, name }) => [iid, name]))
}

const WITH_EMAIL = `
  SELECT u.id FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value
  WHERE u.email IS NOT NULL`

/** The ids of these users who have an email address. */
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
