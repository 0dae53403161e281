import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'

/** Whether the column's value is one of these. They are one parameter, because D1 accepts at most 100. */
export function among(column: SQLiteColumn, values: readonly string[]): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`
}

/**
 * Whether the row belongs to the tenant. The plus keeps SQLite away from the tenant's index: a query by id
 * would read all rows of the tenant.
 */
export function ofTenant(column: SQLiteColumn, tenantId: string): SQL {
  return sql`+${column} = ${tenantId}`
}
