import { getTableColumns, sql } from 'drizzle-orm'
import { integer, type SQLiteColumn, type SQLiteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * The columns of every configured resource. `no` increases, so it gives the order of creation. Ids do not
 * give it, because the test clock does not move by itself.
 */
export const resource = () => ({
  no: integer('no').primaryKey({ autoIncrement: true }),
  id: text('id').notNull().unique(),
  tenantId: text('tenant_id').notNull(),
  created: integer('created').notNull(),
  updated: integer('updated').notNull(),
  /**
   * When it was deleted, in milliseconds; null if it is not deleted. The row stays, because history refers to
   * its id (G5).
   */
  deleted: integer('deleted'),
})

/** For unique indexes: the rows of resources that are not deleted. Their keys are in use. */
export const living = sql`deleted IS NULL`

/** The columns of a table without some, given by name. */
export const columnsOf = (table: SQLiteTable, but: readonly string[] = []): readonly SQLiteColumn[] =>
  Object.values(getTableColumns(table)).filter(({ name }) => !but.includes(name))

/** The SQL of a list of columns. */
export const quoted = (columns: readonly SQLiteColumn[]) => columns.map(({ name }) => `"${name}"`).join(', ')
/** The SQL of columns that get the values of a row that was not inserted. */
export const updates = (columns: readonly SQLiteColumn[]) =>
  columns.map(({ name }) => `"${name}" = excluded."${name}"`).join(', ')
