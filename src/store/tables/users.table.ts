import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Users: who they are, and what they have. A user is the unit of consistency, and every change raises `seq` in the same
 * batch; since that writes this row anyway, the running state stands here too and costs no row of its own (a state
 * table each for metrics, points and counters would cost one more row an event each). WITHOUT ROWID.
 */
export const users = sqliteTable(
  'users',
  {
    tenantId: text('tenant_id').notNull(),
    /** The caller's own identifier. */
    id: text('id').notNull(),
    /** Ours, new at each creation: everything of a user is keyed by it, so that someone erased who returns is new. */
    iid: text('iid').notNull(),
    /** Counts the changes to the user. */
    seq: integer('seq').notNull(),
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
    /** JSON: `[[counter id, total, highest total]]` of the triggers that count on their own (P1), in millionths. */
    counters: text('counters').notNull(),
    /** JSON: metric or points system id → `seq` of the last change of the user's total in it; likewise `streak`, of its length. */
    lastSeqByInput: text('last_seq_by_input').notNull().default('{}'),
    /** JSON: the streak, see streaks.state.ts; null where nothing was ever done that concerns it. */
    streak: text('streak'),
    /** When something will happen to the streak by itself, in milliseconds; null for never. Written only where it changes. */
    streakDue: integer('streak_due'),
    /** JSON: `[[achievement id, completion id, when, minutes ahead of UTC there]]`. */
    achievements: text('achievements').notNull().default('[]'),
    /** JSON: what the user wants to be told, and how the streak is to be counted (U7); null where nothing was ever set. */
    preferences: text('preferences'),
    /** The local date of the last event, in days since 1970-01-01; null where there was none (N2). */
    activeDay: integer('active_day'),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    index('users_by_age').on(table.tenantId, table.created),
    index('users_by_streak_due').on(table.tenantId, table.streakDue).where(sql`streak_due IS NOT NULL`),
  ],
)
