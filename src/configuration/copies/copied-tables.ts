/* The tables of the configuration that each database copies (B4), and their statements. */

/** Columns of every configured resource (`resource` in columns.ts). */
const RESOURCE = ['no', 'id', 'tenant_id', 'created', 'updated', 'deleted'] as const

/**
 * The copied tables and their columns. A test compares them with the tables of the schema. Boosts have no
 * `no`, because each database numbers its own; those of one user are not copied, since they are the user's.
 */
export const COPIED = {
  attributes: [...RESOURCE, 'type', 'key', 'name', 'writable_by'],
  metrics: [...RESOURCE, 'key', 'name', 'unit_type', 'units'],
  points_systems: [...RESOURCE, 'key', 'name', 'description', 'badge_url', 'max_points'],
  points_levels: [...RESOURCE, 'system_id', 'key', 'name', 'description', 'badge_url', 'points'],
  points_triggers: [
    ...RESOURCE,
    'system_id',
    'type',
    'points',
    'status',
    'user_attributes',
    'event_attributes',
    'metric_id',
    'metric_threshold',
    'achievement_id',
    'streak_length',
    'time_unit',
    'time_interval',
    'block_if_out_of_points',
    'counter_id',
    'version',
    'anchor',
    'key',
  ],
  achievements: [
    ...RESOURCE,
    'key',
    'name',
    'description',
    'badge_url',
    'status',
    'trigger',
    'metric_id',
    'metric_value',
    'streak_length',
    'achievement_ids',
    'user_attributes',
    'event_attributes',
    'counter_id',
    'counted',
  ],
  leaderboards: [
    ...RESOURCE,
    'key',
    'name',
    'description',
    'status',
    'rank_by',
    'metric_id',
    'system_id',
    'max_participants',
    'start',
    'end',
    'start_time',
    'end_time',
    'breakdown',
    'run_unit',
    'run_interval',
    'finished',
    'upkeep',
  ],
  webhooks: [...RESOURCE, 'url', 'events', 'status', 'secret', 'key', 'previous_secret', 'gone_at'],
  notification_templates: [
    ...RESOURCE,
    'type',
    'channel',
    'title',
    'body',
    'user_attributes',
    'status',
    'origin',
    'key',
  ],
  points_boosts: [
    'id',
    'tenant_id',
    'created',
    'updated',
    'deleted',
    'system_id',
    'name',
    'start',
    'end',
    'multiplier',
    'rounding',
    'user_attributes',
    'notified',
    'key',
  ],
} as const satisfies Record<string, readonly string[]>

/** The copied columns of the tenant's own row. */
export const COPIED_OF_TENANT = [
  'id',
  'customer_id',
  'name',
  'status',
  'config_version',
  'config_change',
  'control_ratio',
  'recap_frequency',
  'created',
  'updated',
  'streaks',
  'link_secret',
] as const

/** The SQL of columns that get the values of a row that was not inserted. */
export const updates = (columns: readonly string[]) =>
  columns.map((column) => `"${column}" = excluded."${column}"`).join(', ')
/** The SQL of a list of columns. */
export const quoted = (columns: readonly string[]) => columns.map((column) => `"${column}"`).join(', ')
/** The SQL of the values of columns, if a row is a JSON list called `value`. */
export const values = (columns: readonly string[]) => columns.map((_, nth) => `value ->> ${nth}`).join(', ')

/** The statements of one copied table. Only constants of this file are joined. */
export const TABLES = Object.entries<readonly string[]>(COPIED).map(([table, columns]) => {
  const its = table === 'points_boosts' ? 'tenant_id = ?1 AND user_iid IS NULL' : 'tenant_id = ?1'
  return {
    table,
    read: `SELECT id AS name, json_array(${quoted(columns)}) AS content FROM ${table} WHERE ${its} ORDER BY no`,
    remove: `DELETE FROM ${table} WHERE ${its} AND id IN (SELECT value FROM json_each(?2))`,
    insert: `INSERT INTO ${table} (${quoted(columns)}) SELECT ${values(columns)} FROM json_each(?1)${
      // A boost that has changed keeps its place in the order.
      table === 'points_boosts' ? ` WHERE true ON CONFLICT (id) DO UPDATE SET ${updates(columns)}` : ''
    }`,
  }
})

const BOOST_COLUMNS: readonly string[] = COPIED.points_boosts
export const FREE_KEYS = `
  UPDATE points_boosts SET key = '~' || id WHERE tenant_id = ?1 AND deleted IS NULL
    AND (system_id, key) IN (SELECT value ->> ${BOOST_COLUMNS.indexOf('system_id')},
      value ->> ${BOOST_COLUMNS.indexOf('key')} FROM json_each(?2)
      WHERE value ->> ${BOOST_COLUMNS.indexOf('deleted')} IS NULL)`

export const VERSIONS = {
  read: `SELECT trigger_id || ':' || v.version AS name, json_array(trigger_id, v.version, document) AS content
    FROM points_triggers t JOIN trigger_versions v ON v.trigger_id = t.id WHERE t.tenant_id = ?1`,
  insert: `INSERT OR IGNORE INTO trigger_versions (trigger_id, version, document)
    SELECT ${values(['trigger_id', 'version', 'document'])} FROM json_each(?1)`,
}
