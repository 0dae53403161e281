/** The kinds of resources that have entries in an audit log (Z1). */
export const AUDIT_KINDS = [
  'attribute',
  'metric',
  'event_batch',
  'event',
  'points_system',
  'points_level',
  'points_trigger',
  'points_boost',
  'points_adjustment',
  'achievement',
  'achievement_completion',
  'leaderboard',
  'streak_settings',
  'streak',
  'streak_freezes',
  'streak_pause',
  'user',
  'settings',
  'webhook',
  'notification_template',
  'application_key',
  'admin_key',
  'tenant',
  'test_clock',
  'databases',
] as const
export type AuditKind = (typeof AUDIT_KINDS)[number]

/** The changes that an admin can make to a resource (Z1). */
export const AUDIT_ACTIONS = [
  'create',
  'update',
  'delete',
  'grant',
  'restore',
  'void',
  'rotate',
  'send_sample',
  'redeliver',
  'archive',
  'purge',
  'reset',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/** The value of a field before and after a change, in the form of the admin interface. */
export type FieldChange = { before: unknown; after: unknown }

/** The user that an entry is about, by the internal id or by the id that the caller chose. */
export type AuditedUser = { iid: string } | { id: string }

/** An entry of an audit log, without the actor, the request and the time, which the request adds. */
export type AuditEntry = {
  action: AuditAction
  kind: AuditKind
  /** Null if there is only one such resource. Entries about a user have the user's internal id instead. */
  resourceId: string | null
  /** Null if resources of this kind have no key. */
  key: string | null
  /** Set if it is about something of one user. The erasure of the user empties its fields (U8). */
  user: AuditedUser | null
  fields: Readonly<Record<string, FieldChange>>
}
