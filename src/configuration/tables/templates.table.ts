import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { jsonColumn, living, resource } from '../../platform/columns'
import { NOTIFICATION_CHANNELS, NOTIFICATION_TYPES, SWITCH_STATUSES } from '../enumerations'
import { Filters } from './stored'

/** Templates of notifications (N3). */
export const notificationTemplates = sqliteTable(
  'notification_templates',
  {
    ...resource(),
    /** Unique in its tenant (O2). */
    key: text('key').notNull(),
    type: text('type', { enum: NOTIFICATION_TYPES }).notNull(),
    channel: text('channel', { enum: NOTIFICATION_CHANNELS }).notNull(),
    /** The subject of an email, the title of a push message. Liquid. */
    title: text('title').notNull(),
    /** HTML of an email, text of a push message. Liquid. */
    body: text('body').notNull(),
    userAttributes: jsonColumn('user_attributes', Filters).notNull(),
    status: text('status', { enum: SWITCH_STATUSES }).notNull(),
    /** The address through which the template was last written. Links use it while PUBLIC_URL is not set. */
    origin: text('origin').notNull(),
  },
  (table) => [
    index('notification_templates_by_tenant').on(table.tenantId).where(living),
    uniqueIndex('notification_templates_key').on(table.tenantId, table.key).where(living),
  ],
)

/**
 * Notifications that are not sent yet (N2): of completed achievements, each with its time in the user's day,
 * and of changes of zone that skip the hour of other notifications, due at once. WITHOUT ROWID.
 */
export const pendingNotifications = sqliteTable(
  'pending_notifications',
  {
    tenantId: text('tenant_id').notNull(),
    dueAt: integer('due_at').notNull(),
    /** The completion's id, or the id of the change of zone. */
    id: text('id').notNull(),
    userId: text('user_id').notNull(),
    userIid: text('user_iid').notNull(),
    /** Empty for a change of zone. */
    achievementId: text('achievement_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.dueAt, table.id] })],
)
