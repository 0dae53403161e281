import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'

/** The most parameters that D1 binds to one statement. */
const MOST_PARAMETERS = 100

/** Whether the column's value is among these. They are one parameter, since D1 binds 100 at most. */
export function among(column: SQLiteColumn, values: readonly string[]): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`
}

/** Whether the column is the tenant's. The plus keeps SQLite from walking all of a tenant's rows where others are asked for by id. */
export function ofTenant(column: SQLiteColumn, tenantId: string): SQL {
  return sql`+${column} = ${tenantId}`
}

/** The rows in groups, each of which fits one INSERT of so many columns within D1's parameters. */
export function groupsOf<T>(rows: readonly T[], columns: number): T[][] {
  const size = Math.floor(MOST_PARAMETERS / columns)
  const groups: T[][] = []
  for (let from = 0; from < rows.length; from += size) groups.push(rows.slice(from, from + size))
  return groups
}
