import * as z from 'zod'
import type { ReadableUser } from '../../api/shapes/users'
import { BOOST_LIST, BoostRow, configurationOf } from '../../configuration/configuration'
import { STREAK_FREQUENCIES } from '../../configuration/enumerations'
import { NO_PREFERENCES } from '../../configuration/model'
import { DAY, type Instant, instant, SECOND } from '../../lib/clock'
import { errors, type FieldError } from '../../lib/errors'
import { Json, jsonRow, packed } from '../../lib/packed'
import { systemNow } from '../../lib/system-clock'
import {
  type ColumnValues,
  columnList,
  columnNames,
  fieldsOf,
  json,
  jsonFieldsOf,
  Moment,
  readingOf,
} from '../../platform/columns'
import type { Scope } from '../../platform/context'
import { PLACEMENT, type Statement, type TenantDatabase } from '../../platform/database'
import type { Databases } from '../../platform/databases/databases'
import { stillPlaced } from '../../platform/databases/directory'
import { CONFLICT, onlyUnchanged, overUsers, type UsersAsRead } from '../../platform/guard'
import { dependsOnStored, profileErrors } from '../../rules/profile.rules'
import { NOTHING_REVOKED, type UserState } from '../../rules/state'
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
  judged: z.number().optional(),
})
const day = z.number().nullable().default(null)
const Earned = z.tuple([z.number(), z.number()]).nullable().default(null)
const StoredStreak = z.object({
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
  resets: z
    .array(z.tuple([z.number(), z.number(), z.number(), z.number(), z.number().nullable()]))
    .default([]),
  altered: Moment.nullable().default(null),
})

/** The streak from the columns `streak` and `streak_due` of a user's row. */
export function parseStreak(text: string | null, due: number | null): StreakState {
  if (text === null) return NO_STREAK
  return { ...StoredStreak.parse(JSON.parse(text)), due: due === null ? null : instant(due) }
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

/** The columns of a user that have JSON, so they may be long. */
export const JSON_COLUMNS = [
  'deviceTokens',
  'attributes',
  'metrics',
  'points',
  'counters',
  'lastSeqByInput',
  'streak',
  'achievements',
  'revoked',
  'preferences',
  'leftZones',
] as const

/** The columns of a user that `userOf` reads. */
export const USER_COLUMNS = columnNames(users, ['tenantId', 'counted', 'anniversary', 'bucket'])
const USER = readingOf(users, USER_COLUMNS)
const UserRow = USER.row.extend({ boosts: json(z.array(BoostRow)) })

/**
 * SQL: own boosts that were not over two days before a moment, ?3. If there may be a test clock, which is ?4, it is
 * all of them: it may have been moved past their ends before work that is due in their time (P5, C1).
 */
export const OWN_BOOSTS = `
  (SELECT ${BOOST_LIST}
   FROM points_boosts b WHERE b.user_iid = u.iid
     AND (?4 OR b."end" >= date(?3 / ${SECOND} - ${(2 * DAY) / SECOND}, 'unixepoch'))
     AND b.deleted IS NULL) AS boosts`

const WHOLE = `${USER.columns('u')}, ${OWN_BOOSTS}`
const ONE = `SELECT ${WHOLE} FROM users u WHERE u.tenant_id = ?1 AND u.id = ?2`

const IIDS = 'SELECT id, iid FROM users WHERE tenant_id = ?1 AND id IN (SELECT value FROM json_each(?2))'

/** The internal ids of those of some users who exist, by the callers' ids. */
export async function iidsOf(
  db: TenantDatabase,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const row = z.object({ id: z.string(), iid: z.string() })
  const found = await db.list(row, IIDS, db.tenantId, JSON.stringify(userIds))
  return new Map(found.map(({ id, iid }) => [id, iid]))
}

/** The internal id of a user; null if there is no such user. */
export const findIid = async (db: TenantDatabase, userId: string): Promise<string | null> =>
  (await iidsOf(db, [userId])).get(userId) ?? null

/** Reads a user's whole state, with the own boosts that were not over two days ago. Parsed by `parseUser`. */
export function userStatement(db: TenantDatabase, userId: string, systemNow: Instant): Statement {
  return db.statement(ONE, db.tenantId, userId, systemNow, db.testClock ? 1 : 0)
}

/** The state that `userStatement` has read, or null if the user does not exist. */
export function parseUser(result: D1Result): UserState | null {
  const row = result.results[0]
  return row === undefined ? null : userOf(row)
}

/** The state in a row of `userStatement` or a similar statement. `rowOf` is the way back. */
export function userOf(row: unknown): UserState {
  const { streak, streakDue, revoked, preferences, leftZones, ...rest } = UserRow.parse(row)
  const { email, name, tz, subscribeToEmails, deviceTokens, attributes, signUpDate, ...state } = rest
  return {
    ...state,
    profile: { email, name, tz, subscribeToEmails, deviceTokens, attributes, signUpDate },
    streak: parseStreak(streak, streakDue),
    revoked: revoked === null ? NOTHING_REVOKED : new Set(revoked),
    preferences: preferences ?? NO_PREFERENCES,
    leftZones: leftZones ?? [],
  }
}

type StoredUser = Omit<typeof users.$inferSelect, 'tenantId' | 'counted'>

/** The row of a user, without the columns that the statements fill in. */
function rowOf(
  db: TenantDatabase,
  { profile, boosts: _, streak, revoked, preferences, leftZones, ...state }: UserState,
): StoredUser {
  return {
    ...state,
    ...profile,
    streak: streakJson(streak),
    streakDue: streak.due,
    revoked: revoked.size === 0 ? null : [...revoked],
    preferences: preferences === NO_PREFERENCES ? null : preferences,
    leftZones: leftZones.length === 0 ? null : leftZones,
    anniversary: anniversaryKey(profile),
    bucket: db.bucketOf(state.id),
  }
}

/** The guard (platform/guard.ts) in the statement: stores a user who is as read, or raises a conflict. */
const CONDITION = `(SELECT config_version FROM tenants WHERE id = ?1 AND status = 'active'
      AND ${stillPlaced('?7')}) = ?2
    AND coalesce((SELECT iid || ':' || seq FROM users WHERE tenant_id = ?1 AND id = ?3), '') = ?4
    AND coalesce((SELECT now FROM test_clock WHERE ?5), 0) = ?6`

const USER_VALUES: ColumnValues<typeof users, StoredUser, 'tenantId' | 'counted'> = {
  ...fieldsOf(users, ['tenantId', 'counted', ...JSON_COLUMNS]),
  ...jsonFieldsOf(users, JSON_COLUMNS),
}
const USER_LIST = columnList(users, USER_VALUES)
// Without the bucket, which never changes, and the indexed columns that are replaced only if they have changed.
const REPLACED = USER_LIST.update(['id', 'iid', 'control', 'created', 'streakDue', 'anniversary', 'bucket'])

/** The day of the year and the zone of a user's anniversaries, as the index has them (A7); null without any. */
export const anniversaryKey = ({ signUpDate, tz }: UserState['profile']): string | null =>
  signUpDate === null ? null : `${signUpDate.slice(5)} ${tz ?? 'UTC'}`

type Indexed = { streak: Pick<StreakState, 'due'>; profile: UserState['profile'] }

/**
 * SQL: the indexed columns that a change of a user replaces. An indexed column that is set costs one more row,
 * even if the value is the same.
 */
function moved(was: Indexed | null, after: Indexed): string {
  if (was === null) return ''
  const isMoved = anniversaryKey(was.profile) !== anniversaryKey(after.profile)
  const due = was.streak.due === after.streak.due ? '' : ', streak_due = excluded.streak_due'
  return isMoved ? `${due}, anniversary = excluded.anniversary` : due
}

const GUARDED_VALUES: typeof USER_VALUES = {
  ...USER_VALUES,
  seq: {
    of: ({ seq }) => seq,
    as: (value) => `CASE WHEN ${CONDITION} THEN ${value} ELSE ${CONFLICT} END`,
  },
}
// The condition has the parameters before ?8.
const GUARDED_LIST = columnList(users, GUARDED_VALUES, 8)

const STORE = `
  INSERT INTO users (tenant_id, ${GUARDED_LIST.columns}) VALUES (?1, ${GUARDED_LIST.sql((nth) => `?${nth}`)})
  ON CONFLICT DO UPDATE SET ${REPLACED}`

/**
 * Stores the whole state of a user: one written row, and one more for each indexed column that has changed.
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
    was: (Pick<UserState, 'iid' | 'seq'> & Indexed) | null
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
    ...GUARDED_LIST.values(rowOf(db, user)).map((value) => (value instanceof Json ? value.text : value)),
  ]
  return { sql: `${STORE}${moved(was, user)}`, params, isPlaced: true }
}

const STORE_SEVERAL = `
  INSERT INTO users (tenant_id, ${USER_LIST.columns})
  SELECT ?2, ${USER_LIST.sql()} FROM json_each(?1) WHERE ${onlyUnchanged(USER_LIST.value('iid'))}
  ON CONFLICT DO UPDATE SET ${REPLACED}`

type Stored = { was: UserState | null; after: UserState }

/** Statements for users, by the indexed columns that they replace. */
const byMoves = <C extends Stored>(
  changes: readonly C[],
  make: (moved: string, some: readonly C[]) => Statement[],
): Statement[] =>
  [...Map.groupBy(changes, ({ was, after }) => moved(was, after))].flatMap(([columns, some]) =>
    make(columns, some),
  )

/**
 * Stores the states of several users, at the same cost per user as `storeUser`. `among` selects the users who
 * are still as read. If it is null, the caller has guards (`usersUnchanged`). `parseStored` returns the
 * stored users from the results.
 */
export const storeUsers = (db: TenantDatabase, changes: readonly Stored[], among: UsersAsRead): Statement[] =>
  byMoves(changes, (columns, some) => {
    const rows = some.map(({ after }) => USER_LIST.values(rowOf(db, after)))
    return overUsers(db, `${STORE_SEVERAL}${columns} RETURNING iid`, rows, among)
  })

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

/**
 * Stores only the streaks of users whose other data was not read. Skips users who have changed meanwhile.
 * This statement finds the row of each user anyway, so it compares that row with `was` itself: the condition
 * `onlyUnchanged` would read each user once more. The batch needs a guard of the configuration.
 */
export const storeStreaks = (
  db: TenantDatabase,
  changes: readonly { was: UserState; after: UserState }[],
): Statement[] =>
  byMoves(changes, (columns, some) => {
    const due = columns === '' ? '' : `, streak_due = ${asked('streakDue')}`
    const rows = some.map(({ was, after }) => jsonRow([was.seq, ...STREAK_LIST.values(rowOf(db, after))]))
    return packed(rows).map((list) => db.statement(`${STORE_STREAK}${due} ${WHOSE}`, list, db.tenantId))
  })

/** The internal ids of the users that statements of `storeUsers` have stored. */
export function parseStored(results: readonly D1Result[]): Set<string> {
  const rows = z.array(z.object({ iid: z.string() }))
  return new Set(results.flatMap((result) => rows.parse(result.results)).map(({ iid }) => iid))
}

const SEVERAL = `
  SELECT ${WHOLE} FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1
    AND u.id = asked.value`
/** Reads several users like `userStatement`, except those who do not exist. Read by `userOf`. */
export function usersStatement(db: TenantDatabase, ids: readonly string[]): Statement {
  return db.statement(SEVERAL, db.tenantId, JSON.stringify(ids), systemNow(), db.testClock ? 1 : 0)
}

const NAMES = `
  SELECT u.id, u.iid, u.name FROM json_each(?2) asked
  CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

const NameRow = z.object({ id: z.string(), iid: z.string(), name: z.string().nullable() })

/** Users' names, null for none, by one of their ids, from their databases (B5). Unknown ids are left out. */
export async function namesOf(
  databases: Databases,
  tenantId: string,
  userIds: readonly string[],
  by: 'id' | 'iid' = 'iid',
): Promise<Map<string, string | null>> {
  const lists = await databases
    .usersOf(tenantId)
    .askAbout(userIds, (db, own) => db.list(NameRow, NAMES, db.tenantId, JSON.stringify(own)))
  return new Map(lists.flat().map((user) => [user[by], user.name]))
}

const PROFILE = readingOf(users, ['id', 'email', 'tz', 'signUpDate'])
const PROFILES = `
  SELECT ${PROFILE.columns('u')} FROM json_each(?2) asked
  CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

/** The fields of those of these users who exist that decide whether passed ones are valid. */
export const storedFields = (db: TenantDatabase, userIds: readonly string[]) =>
  db.list(PROFILE.row, PROFILES, db.tenantId, JSON.stringify(userIds))

/** A user's whole state, or null if the user does not exist. */
export async function stateOf({ databases, tenant, now }: Scope, userId: string): Promise<UserState | null> {
  const db = databases.usersOf(tenant.id).of(userId)
  const result = await db.run(userStatement(db, userId, now))
  return parseUser(result)
}

/** A user's whole state. Throws 404 if the user does not exist. */
export async function findUser(scope: Scope, userId: string): Promise<UserState> {
  const user = await stateOf(scope, userId)
  if (user === null) throw errors.notFound('This user')
  return user
}

/**
 * The other field errors of a user with the wrong shape, as far as the fields can be read (G3, U4). `at` is
 * the path of the user in the body, such as `user.`. Reads the stored user only if that matters.
 */
export async function furtherUserErrors(
  scope: Scope,
  given: z.output<typeof ReadableUser>,
  at: string,
): Promise<FieldError[]> {
  const { id } = given
  const state = dependsOnStored(given) && id !== undefined ? await stateOf(scope, id) : null
  return profileErrors(await configurationOf(scope), state, given, at, scope.now)
}
