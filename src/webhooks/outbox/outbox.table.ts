import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Messages to webhooks and users. They are written in the batch of their change, and deleted when the
 * delivery queues have them (W2). One row for each change of a user, or several if its messages are long. The
 * key is the order of a user's changes. WITHOUT ROWID.
 */
export const outbox = sqliteTable(
  'outbox',
  {
    tenantId: text('tenant_id').notNull(),
    /** When the change happened, in milliseconds. */
    at: integer('at').notNull(),
    /** The user's `seq` of the change, or 0 if it is not about a user. */
    seq: integer('seq').notNull(),
    /** A UUID v7 of that moment. The ids of the messages derive from it. */
    id: text('id').notNull(),
    /**
     * The internal id of the user, so that an erase deletes waiting messages (U8). Null if the change is not
     * about a user.
     */
    userIid: text('user_iid'),
    /** JSON: `[{id, type, body}]`, see outbox.messages.ts. */
    messages: text('messages').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.at, table.seq, table.id] })],
)

/**
 * The last sent state of a user's points in a system. It makes `points.changed` come at most once in 15
 * minutes, with all changes since the last one (W5). The first change that a webhook listens to inserts the
 * row. WITHOUT ROWID.
 */
export const pointsNotifications = sqliteTable(
  'points_notifications',
  {
    userIid: text('user_iid').notNull(),
    systemId: text('system_id').notNull(),
    tenantId: text('tenant_id').notNull(),
    /** The caller's id of the user. */
    userId: text('user_id').notNull(),
    /** The user's `seq`, the moment and the total that the last message covers. */
    seq: integer('seq').notNull(),
    at: integer('at').notNull(),
    total: integer('total').notNull(),
    /** Until when no other message is sent, in milliseconds. */
    until: integer('until').notNull(),
    /** When the next message is due. Null while nothing has changed. */
    dueAt: integer('due_at'),
  },
  (table) => [
    primaryKey({ columns: [table.userIid, table.systemId] }),
    index('points_notifications_by_due').on(table.tenantId, table.dueAt).where(sql`due_at IS NOT NULL`),
  ],
)
