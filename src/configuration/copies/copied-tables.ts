import { getTableName } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { tenants } from '../../access/tenants.table'
import { columnsOf, quoted, updates } from '../../platform/columns'
import { achievements } from '../tables/achievements.table'
import { attributes } from '../tables/attributes.table'
import { leaderboards } from '../tables/leaderboards.table'
import { metrics } from '../tables/metrics.table'
import {
  pointsBoosts,
  pointsLevels,
  pointsSystems,
  pointsTriggers,
  triggerVersions,
} from '../tables/points.table'
import { notificationTemplates } from '../tables/templates.table'
import { webhooks } from '../tables/webhooks.table'

/* The tables of the configuration that each database copies (B4), and their statements. */

/** The copied tables, with all columns but those of boosts and tenants below. A test looks for others. */
const COPIED = [
  attributes,
  metrics,
  pointsSystems,
  pointsLevels,
  pointsTriggers,
  achievements,
  leaderboards,
  webhooks,
  notificationTemplates,
  pointsBoosts,
]
/** Each database numbers its own boosts. Those of one user are not copied, since they are the user's. */
const OF_BOOSTS = columnsOf(pointsBoosts, ['no', 'user_id', 'user_iid'])
/** The copied columns of the tenant's own row, the id first. The others say how far each database is. */
export const OF_TENANT = columnsOf(tenants, ['is_copy', 'placement', 'changing', 'config_work'])
const OF_VERSIONS = columnsOf(triggerVersions)

/** The SQL of the values of columns, if a row is a JSON list called `value`. */
export const values = (columns: readonly SQLiteColumn[]) =>
  columns.map((_, nth) => `value ->> ${nth}`).join(', ')

/** The statements of one copied table. Only names of the schema are joined. */
export const TABLES = COPIED.map((table) => {
  const name = getTableName(table)
  const isBoosts = table === pointsBoosts
  const columns = isBoosts ? OF_BOOSTS : columnsOf(table)
  const its = isBoosts ? 'tenant_id = ?1 AND user_iid IS NULL' : 'tenant_id = ?1'
  return {
    table: name,
    read: `SELECT id AS name, json_array(${quoted(columns)}) AS content FROM ${name} WHERE ${its} ORDER BY no`,
    remove: `DELETE FROM ${name} WHERE ${its} AND id IN (SELECT value FROM json_each(?2))`,
    insert: `INSERT INTO ${name} (${quoted(columns)}) SELECT ${values(columns)} FROM json_each(?1)${
      // A boost that has changed keeps its place in the order.
      isBoosts ? ` WHERE true ON CONFLICT (id) DO UPDATE SET ${updates(columns)}` : ''
    }`,
  }
})

const nthOfBoost = (column: SQLiteColumn) => OF_BOOSTS.indexOf(column)
export const FREE_KEYS = `
  UPDATE points_boosts SET key = '~' || id WHERE tenant_id = ?1 AND deleted IS NULL
    AND (system_id, key) IN (SELECT value ->> ${nthOfBoost(pointsBoosts.systemId)},
      value ->> ${nthOfBoost(pointsBoosts.key)} FROM json_each(?2)
      WHERE value ->> ${nthOfBoost(pointsBoosts.deleted)} IS NULL)`

export const VERSIONS = {
  read: `SELECT trigger_id || ':' || version AS name, json_array(${quoted(OF_VERSIONS)}) AS content
    FROM trigger_versions WHERE trigger_id IN (SELECT id FROM points_triggers WHERE tenant_id = ?1)`,
  insert: `INSERT OR IGNORE INTO trigger_versions (${quoted(OF_VERSIONS)})
    SELECT ${values(OF_VERSIONS)} FROM json_each(?1)`,
}
