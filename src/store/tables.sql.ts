import { sql } from 'drizzle-orm'
import { blob, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { CORRECTION_TYPES } from '../configuration/enumerations'
import { Preferences } from '../configuration/model'
import { micros } from '../lib/decimal'
import type { CivilDate } from '../lib/zone'
import { jsonColumn, Moment, momentColumn } from '../platform/columns'
import type { Completion, Counter, UserState } from '../rules/state'

const byId = <V>(name: string, value: z.ZodType<V>) => {
  const schema: z.ZodType<ReadonlyMap<string, V>> = z
    .record(z.string(), value)
    .transform((values) => new Map(Object.entries(values)))
  return jsonColumn(name, schema, (values) => Object.fromEntries(values))
}

const Counters: z.ZodType<ReadonlyMap<string, Counter>> = z
  .array(z.tuple([z.string(), z.number().transform(micros), z.number().transform(micros)]))
  .transform((list) => new Map(list.map(([id, total, highest]) => [id, { total, highest }])))

/** A column with counters: `[[id, total, highest total]]`, in millionths. */
const countersColumn = (name: string) =>
  jsonColumn(name, Counters, (counters) =>
    [...counters].map(([id, { total, highest }]) => [id, total, highest]),
  )

const Completions: z.ZodType<ReadonlyMap<string, Completion>> = z
  .array(z.tuple([z.string(), z.string(), Moment, z.number()]))
  .transform((list) => new Map(list.map(([of, id, at, utcOffset]) => [of, { id, at, utcOffset }])))

/** A column with completions: `[[achievement id, completion id, moment, minutes ahead of UTC]]`. */
const completionsColumn = (name: string) =>
  jsonColumn(name, Completions, (completions) =>
    [...completions].map(([of, { id, at, utcOffset }]) => [of, id, at, utcOffset]),
  )

const Texts: z.ZodType<readonly string[]> = z.array(z.string())
const Zones: z.ZodType<UserState['leftZones']> = z.array(z.tuple([Moment, z.string()]))

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
    /** The internal id, new at each creation: a user who was erased and comes back is a new one. */
    iid: text('iid').notNull(),
    /** The number of changes of the user. */
    seq: integer('seq').notNull(),
    /**
     * The `seq` up to which the analytics count the user (I1). Only they write it. The first change after it
     * makes a pass due: the triggers are in `migrations/0000_first.sql`.
     */
    counted: integer('counted').notNull().default(0),
    /** When the last change happened, in milliseconds. */
    changed: momentColumn('changed').notNull(),
    email: text('email'),
    name: text('name'),
    tz: text('tz'),
    subscribeToEmails: integer('subscribe_to_emails', { mode: 'boolean' }).notNull(),
    deviceTokens: jsonColumn('device_tokens', Texts),
    /** Values by attribute id. */
    attributes: byId('attributes', z.string()).notNull(),
    /** The date on which the user signed up (U9). Null if it was never set. */
    signUpDate: text('sign_up_date').$type<CivilDate>(),
    /** Whether the user is in the control group, fixed at creation (U5). */
    control: integer('control', { mode: 'boolean' }).notNull(),
    created: momentColumn('created').notNull(),
    /** When a field of the user last changed (U3). */
    updated: momentColumn('updated').notNull(),
    /** Counters by metric id. */
    metrics: countersColumn('metrics').notNull(),
    /** Totals by points system id. */
    points: byId('points', z.number()).notNull(),
    /** The counters of triggers and achievements that have one of their own (P1). */
    counters: countersColumn('counters').notNull(),
    /** The `seq` of the last change of a total, by metric or system id; under `streak`, of the streak. */
    lastSeqByInput: byId('last_seq_by_input', z.number()).notNull().default(sql`'{}'`),
    /** JSON: the streak, see streak-state.rules.ts. Null if there is no data about it. */
    streak: text('streak'),
    /** When the streak next changes by itself; null for never. Written only if it changes. */
    streakDue: momentColumn('streak_due'),
    achievements: completionsColumn('achievements').notNull().default(sql`'[]'`),
    /**
     * Ids of achievements that were taken back from the user and whose conditions have been true since,
     * and marks of triggers that gave points for one, `<achievement id> <trigger id>` (V4). Null if there are
     * none.
     */
    revoked: jsonColumn('revoked', Texts),
    /** Which notifications the user wants, and how the streak is counted (U7). Null if never set. */
    preferences: jsonColumn('preferences', Preferences),
    /** The local date of the last event that counts, in days since 1970-01-01. Null for none (N2, V2). */
    activeDay: integer('active_day'),
    /** The zones that the user left last (N2). Null if the zone never changed. */
    leftZones: jsonColumn('left_zones', Zones),
    /**
     * The day of the year on which the user signed up, and the zone: `02-29 Europe/Paris`, by which the users
     * of an anniversary are found (A7). Null without a date. Written only if it changes.
     */
    anniversary: text('anniversary'),
    /** The user's bucket (B2). Null in an account with one database, so that a user costs no index entry. */
    bucket: integer('bucket'),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    index('users_by_age').on(table.tenantId, table.created),
    index('users_by_streak_due').on(table.tenantId, table.streakDue).where(sql`streak_due IS NOT NULL`),
    index('users_by_anniversary').on(table.tenantId, table.anniversary).where(sql`anniversary IS NOT NULL`),
    index('users_by_bucket').on(table.tenantId, table.bucket).where(sql`bucket IS NOT NULL`),
  ],
)

/** Since when users have device tokens, in real ms: the last sender of one keeps it (U2). WITHOUT ROWID. */
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

/** The columns of an event. For ids, see platform/columns.ts. */
const loggedEvent = () => ({
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
  /** JSON: the triggers' counters that counted the event (P1, V2). Null if a version did not note them. */
  counterIds: text('counter_ids'),
  /** JSON: the effects on the streak (`StreakEntry[]`), without a loss. Null if there are none (X2). */
  streak: text('streak'),
})

/**
 * The log: one row for each event that counts, never changed. A user's total in a metric is the sum of the
 * values. A void moves the row to `voided_events` (V2). For ids, see platform/columns.ts. WITHOUT ROWID.
 */
export const events = sqliteTable('events', loggedEvent(), (table) => [
  primaryKey({ columns: [table.userIid, table.metricNo, table.at, table.seq] }),
])

/**
 * Events that were voided: their rows of the log, and the void (V2). No code that counts the log reads them.
 * For ids, see platform/columns.ts. WITHOUT ROWID.
 */
export const voidedEvents = sqliteTable(
  'voided_events',
  {
    ...loggedEvent(),
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

/**
 * The ledger: one row for each award, adjustment and reversal, never changed. A user's total in a system is
 * the sum of these rows (P8, V5). For the ids, see src/platform/columns.ts. WITHOUT ROWID.
 */
export const awards = sqliteTable(
  'awards',
  {
    userIid: blob('user_iid').notNull(),
    systemNo: integer('system_no').notNull(),
    /** Milliseconds. Of a time trigger: when it was due. Of a reversal: the moment of its award. */
    at: integer('at').notNull(),
    /** The `seq` of the user's change that the award is part of. */
    seq: integer('seq').notNull(),
    position: integer('position').notNull(),
    id: blob('id').notNull(),
    /** The points that were applied, after boosts, cap and floor (P6). */
    awarded: integer('awarded').notNull(),
    total: integer('total').notNull(),
    /** Minutes ahead of UTC in the user's zone at that moment. It never changes (E8). */
    utcOffset: integer('utc_offset').notNull(),
    /** The trigger that fired. A reversal has that of its award, and an adjustment has 0. */
    triggerNo: integer('trigger_no').notNull(),
    triggerVersion: integer('trigger_version').notNull(),
    /** JSON: the boosts that applied, as they were then; null if none applied. */
    boosts: text('boosts'),
    /** Null for an award of a trigger (V5). */
    type: text('type', { enum: CORRECTION_TYPES }),
    /** The points of a correction before cap and floor (X1). Null for an award of a trigger. */
    amount: integer('amount'),
    reason: text('reason'),
    /** The id of the award that a reversal reverses, or null. */
    reverses: blob('reverses'),
    /**
     * The highest total of the trigger's counter before and after, in millionths (X1). Null if the trigger
     * has no counter, and for awards of versions that did not store it.
     */
    counterBefore: integer('counter_before'),
    counterAfter: integer('counter_after'),
    /**
     * JSON: the user's level before and after, as they were then (`ReachedLevel`). Null if the level stayed,
     * and for awards of versions that did not store it (X2).
     */
    levels: text('levels'),
  },
  (table) => [
    primaryKey({ columns: [table.userIid, table.systemNo, table.at, table.seq, table.position] }),
    // Reversals have moments of the past, so they are found by their `seq`. Awards of triggers are not in it.
    index('awards_corrections').on(table.userIid, table.seq).where(sql`type IS NOT NULL`),
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
    /** A hash of the body that came with the key, to know whether another one comes (`hashOf`). */
    body: integer('body'),
  },
  (table) => [primaryKey({ columns: [table.userIid, table.metricNo, table.key] })],
)

/** Keys of adjustments, kept for ever, with their entries (V1). Ids: platform/columns.ts. WITHOUT ROWID. */
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

/** Past streaks; the present one is in the user's row. Days since 1970-01-01. WITHOUT ROWID. */
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
    /** When it was lost, in ms (X2). Null if unknown: it was counted again, or lost in an old version. */
    lost: momentColumn('lost'),
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
    /** First and last day, since 1970-01-01. A deleted pause ends with the last period that was over (S7). */
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
