import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'

/** Whether the column's value is among these. They are one parameter, since D1 binds 100 at most. */
export function among(column: SQLiteColumn, values: readonly string[]): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`
}

/** Whether the column is the tenant's. The plus keeps SQLite from walking all of a tenant's rows where others are asked for by id. */
export function ofTenant(column: SQLiteColumn, tenantId: string): SQL {
  return sql`+${column} = ${tenantId}`
}
