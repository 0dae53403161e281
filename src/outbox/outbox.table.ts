import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * What is to be told to the outside: written in the batch of the change that it tells of, and deleted once the couriers have it (W2). One row
 * a change of a user; its key is the order in which a user's changes happened. WITHOUT ROWID.
 */
export const outbox = sqliteTable(
  'outbox',
  {
    tenantId: text('tenant_id').notNull(),
    /** When the change happened, in milliseconds. */
    at: integer('at').notNull(),
    /** The user's `seq` of the change; 0 where it is no user's. */
    seq: integer('seq').notNull(),
    /** A UUID v7 of that moment; its messages have their ids from it. */
    id: text('id').notNull(),
    /** Whose change it is: our id of the user, so that what waits goes with an erased one (U8); null where it is no user's. */
    userIid: text('user_iid'),
    /** JSON: `[{id, type, body}]`, see outbox.ts. */
    messages: text('messages').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.at, table.seq, table.id] })],
)

/**
 * What was last told of a user's points in a system, so that `points.changed` comes once in 15 minutes and then with all that happened
 * since (W5). A row is made by the first change that somebody listens to. WITHOUT ROWID.
 */
export const pointsNotifications = sqliteTable(
  'points_notifications',
  {
    userIid: text('user_iid').notNull(),
    systemId: text('system_id').notNull(),
    tenantId: text('tenant_id').notNull(),
    /** The caller's id of the user. */
    userId: text('user_id').notNull(),
    /** The user's `seq`, the moment and the total up to which all was told. */
    seq: integer('seq').notNull(),
    at: integer('at').notNull(),
    total: integer('total').notNull(),
    /** Until when nothing more is told, in milliseconds. */
    until: integer('until').notNull(),
    /** When the next is to be told; null while nothing has changed. */
    dueAt: integer('due_at'),
  },
  (table) => [
    primaryKey({ columns: [table.userIid, table.systemId] }),
    index('points_notifications_by_due').on(table.tenantId, table.dueAt).where(sql`due_at IS NOT NULL`),
  ],
)
