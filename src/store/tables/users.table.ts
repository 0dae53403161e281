import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Users: their profiles and their state. A user is the unit of consistency, and every change raises `seq` in
 * the same batch. This writes the user's row in any case, so the running state is in the row too, at no extra
 * cost. One table each for metrics, points and counters would cost one more row for each event. WITHOUT
 * ROWID.
 */
export const users = sqliteTable(
  'users',
  {
    tenantId: text('tenant_id').notNull(),
    /** The identifier that the caller chose. */
    id: text('id').notNull(),
    /**
     * The internal id, new at each creation. It is the key of all data of a user, so a user who is erased and
     * comes back is a new one.
     */
    iid: text('iid').notNull(),
    /** The number of changes of the user. */
    seq: integer('seq').notNull(),
    /**
     * The `seq` up to which the analytics count the user (I1). Only they write it. The first change after it
     * makes a pass due: the triggers are in migrations/0019_analytics.sql.
     */
    counted: integer('counted').notNull().default(0),
    /** When the last change happened, in milliseconds. */
    changed: integer('changed').notNull(),
    email: text('email'),
    name: text('name'),
    tz: text('tz'),
    subscribeToEmails: integer('subscribe_to_emails').notNull(),
    /** JSON: an array of tokens, or null. */
    deviceTokens: text('device_tokens'),
    /** JSON: attribute id → value. */
    attributes: text('attributes').notNull(),
    /** Whether the user is in the control group, fixed at creation (U5). */
    control: integer('control').notNull(),
    created: integer('created').notNull(),
    /** When a field of the user last changed (U3). */
    updated: integer('updated').notNull(),
    /** JSON: `[[metric id, total, highest total]]`, in millionths. */
    metrics: text('metrics').notNull(),
    /** JSON: points system id → total. */
    points: text('points').notNull(),
    /**
     * JSON: `[[counter id, total, highest total]]` for triggers and achievements with a counter of their own
     * (P1), in millionths.
     */
    counters: text('counters').notNull(),
    /**
     * JSON: metric or points system id → `seq` of the last change of that total. The key `streak` is for the
     * streak's length.
     */
    lastSeqByInput: text('last_seq_by_input').notNull().default('{}'),
    /** JSON: the streak, see streak-state.types.ts. Null if there is no data about it. */
    streak: text('streak'),
    /**
     * When the streak next changes by itself, in milliseconds. Null for never. Written only if it changes.
     */
    streakDue: integer('streak_due'),
    /** JSON: `[[achievement id, completion id, moment, minutes ahead of UTC]]`. */
    achievements: text('achievements').notNull().default('[]'),
    /**
     * JSON: ids of achievements that were taken back from the user and whose conditions have been true since,
     * and marks of triggers that gave points for one, `<achievement id> <trigger id>` (V4). Null if there are
     * none.
     */
    revoked: text('revoked'),
    /** JSON: which notifications the user wants, and how the streak is counted (U7). Null if never set. */
    preferences: text('preferences'),
    /** The local date of the last event that counts, in days since 1970-01-01. Null for none (N2, V2). */
    activeDay: integer('active_day'),
    /** JSON: `[[moment, zone]]`, the zones that the user left last (N2). Null if the zone never changed. */
    leftZones: text('left_zones'),
    /**
     * The user's bucket (B2). Null as long as the account has had only one database, so that a new user costs
     * no index entry.
     */
    bucket: integer('bucket'),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    index('users_by_age').on(table.tenantId, table.created),
    index('users_by_streak_due').on(table.tenantId, table.streakDue).where(sql`streak_due IS NOT NULL`),
    index('users_by_bucket').on(table.tenantId, table.bucket).where(sql`bucket IS NOT NULL`),
  ],
)

/**
 * Since when users have their device tokens, in milliseconds of real time: the last one who has sent a token
 * keeps it (U2). WITHOUT ROWID.
 */
export const devices = sqliteTable(
  'devices',
  {
    userIid: text('user_iid').notNull(),
    token: text('token').notNull(),
    tenantId: text('tenant_id').notNull(),
    userId: text('user_id').notNull(),
    at: integer('at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.userIid, table.token] }),
    index('devices_by_token').on(table.tenantId, table.token, table.at),
  ],
)
