import { sql } from 'drizzle-orm'
import { blob, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

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
     * makes a pass due: the triggers are in `migrations/0000_first.sql`.
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
    /** JSON: the streak, see streak-state.rules.ts. Null if there is no data about it. */
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

/**
 * The log: one row for each event that counts, never changed. A user's total in a metric is the sum of the
 * values. A void moves the row to `voided_events` (V2). For ids, see platform/columns.ts. WITHOUT ROWID.
 */
export const events = sqliteTable(
  'events',
  {
    userIid: blob('user_iid').notNull(),
    metricNo: integer('metric_no').notNull(),
    /** When the event happened, in milliseconds. */
    at: integer('at').notNull(),
    /** The user's `seq` after this change. */
    seq: integer('seq').notNull(),
    id: blob('id').notNull(),
    /** In millionths (E1). */
    value: integer('value').notNull(),
    /** Minutes ahead of UTC in the user's zone at that moment. Never changes (E8). */
    utcOffset: integer('utc_offset').notNull(),
    /** JSON: attribute id → value. Null if there are none. */
    attributes: text('attributes'),
    /**
     * JSON: the ids of the triggers' own counters that counted the event (P1, V2). Null for events of
     * versions that did not note them.
     */
    counterIds: text('counter_ids'),
    /**
     * JSON: the effects of the event on the streak (`StreakEntry[]`), without a loss. Null if there are none
     * (X2).
     */
    streak: text('streak'),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.metricNo, table.at, table.seq] })],
)

/**
 * Events that were voided: their rows of the log, and the void (V2). No code that counts the log reads them.
 * For ids, see platform/columns.ts. WITHOUT ROWID.
 */
export const voidedEvents = sqliteTable(
  'voided_events',
  {
    userIid: blob('user_iid').notNull(),
    id: blob('id').notNull(),
    metricNo: integer('metric_no').notNull(),
    at: integer('at').notNull(),
    seq: integer('seq').notNull(),
    value: integer('value').notNull(),
    utcOffset: integer('utc_offset').notNull(),
    attributes: text('attributes'),
    counterIds: text('counter_ids'),
    streak: text('streak'),
    /** When it was voided, in milliseconds. */
    voidedAt: integer('voided_at').notNull(),
    /** The user's `seq` after the void. The reversals in the ledger have the same. */
    voidedSeq: integer('voided_seq').notNull(),
    reason: text('reason'),
    /** JSON: the response, which a repeated void gets again. */
    response: text('response').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.userIid, table.id] }),
    // A timeline has the event at its moment, and the void at its own (X2).
    index('voided_events_moments').on(table.userIid, table.at, table.seq),
    index('voided_events_voids').on(table.userIid, table.voidedAt, table.voidedSeq),
  ],
)

/** Idempotency keys, kept for ever (E4). For ids, see platform/columns.ts. WITHOUT ROWID. */
export const idempotencyKeys = sqliteTable(
  'idempotency_keys',
  {
    userIid: blob('user_iid').notNull(),
    metricNo: integer('metric_no').notNull(),
    key: text('key').notNull(),
    eventId: blob('event_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.metricNo, table.key] })],
)

/**
 * Idempotency keys of adjustments, kept for ever, each with its entry of the ledger (V1). For ids, see
 * platform/columns.ts. WITHOUT ROWID.
 */
export const adjustmentKeys = sqliteTable(
  'adjustment_keys',
  {
    userIid: blob('user_iid').notNull(),
    systemNo: integer('system_no').notNull(),
    key: text('key').notNull(),
    awardId: blob('award_id').notNull(),
    /** The points that were applied, and the total after them. */
    awarded: integer('awarded').notNull(),
    total: integer('total').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.systemNo, table.key] })],
)

/**
 * Past streaks, one row each. The present one is in the user's row. Days are days since 1970-01-01. WITHOUT
 * ROWID.
 */
export const streakRuns = sqliteTable(
  'streak_runs',
  {
    userIid: text('user_iid').notNull(),
    /** First day of its first period. */
    first: integer('first').notNull(),
    /** First day of its last period. */
    last: integer('last').notNull(),
    /** The first day as shown. It is before `first` if the streak was restored (S8). */
    started: integer('started').notNull(),
    /** The kinds of the periods, run-length encoded (see history.rules.ts). */
    history: text('history').notNull(),
    /** The length when it was lost. This is the greatest length that it ever had. */
    length: integer('length').notNull(),
    /**
     * When it was lost, in milliseconds (X2). Null if that is not known: it was counted again from the log,
     * or it was lost before this was stored.
     */
    lost: integer('lost'),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.first] })],
)

/** Pauses of streaks. The user's row has the pauses that are not over. */
export const streakPauses = sqliteTable(
  'streak_pauses',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id').notNull(),
    /** The caller's id of the user, and the internal id. */
    userId: text('user_id').notNull(),
    userIid: text('user_iid').notNull(),
    /**
     * First and last day, in days since 1970-01-01. A deleted pause ends with the last period that was over
     * then (S7).
     */
    start: integer('start').notNull(),
    end: integer('end').notNull(),
    /** When it was deleted, in milliseconds. Null while it counts. */
    deleted: integer('deleted'),
  },
  (table) => [index('streak_pauses_by_user').on(table.userIid)],
)

/**
 * The part of users' history that no other table has (X2): changes of the profile and the preferences,
 * completions that were taken back, and changes of the streak without an event. WITHOUT ROWID.
 */
export const userChanges = sqliteTable(
  'user_changes',
  {
    userIid: blob('user_iid').notNull(),
    /** When it happened, in milliseconds. */
    at: integer('at').notNull(),
    /** The user's `seq` after the change. */
    seq: integer('seq').notNull(),
    /** Its position among the rows of that change. There are several only if the fields are very long. */
    position: integer('position').notNull(),
    /** JSON: the changed fields and the entries about the streak (`HistoryRow`). */
    entries: text('entries').notNull(),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.at, table.seq, table.position] })],
)
