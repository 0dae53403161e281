import { getTableColumns } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'

/**
 * The value that a column gets from a row. `as` makes the SQL of the stored value from the SQL of this one;
 * without it, the value is stored unchanged.
 */
type ColumnValue<R> = ((row: R) => unknown) | { of: (row: R) => unknown; as: (value: string) => string }

/**
 * The values that the columns of a table get from a row `R`, except the columns `Given`, which the statement
 * fills in itself. The type check fails if a column is missing, or if the table does not have it.
 */
export type ColumnValues<T extends SQLiteTable, R, Given extends keyof T['$inferInsert'] = never> = {
  readonly [Name in Exclude<keyof T['$inferInsert'], Given>]-?: ColumnValue<R>
}

/** The names that the columns of a table have in SQL. */
export type ColumnNames<T extends SQLiteTable> = T['_']['columns'][keyof T['_']['columns']]['_']['name']

/** The SQL of the n-th value (from 0) of a row that is a JSON list. */
export type JsonValue = `value ->> ${number}`

/** Columns of a table and the values that they get, in one order. */
export type ColumnList<R, Name extends string> = {
  /** The list of the columns, in SQL. */
  columns: string
  /** The values of a row. */
  values: (row: R) => unknown[]
  /**
   * The list of the stored values, in SQL. `value` makes the SQL of the n-th value; without it, a row is a
   * JSON list called `value`.
   */
  sql: (value?: (nth: number) => string) => string
  /** The SQL of the value of one column, before `as`, if a row is a JSON list called `value`. */
  value: (name: Name) => JsonValue
  /** The list for ON CONFLICT DO UPDATE SET: all columns except these get the values of the row. */
  update: (but: readonly Name[]) => string
}

/**
 * Makes the list of some columns of a table. Make it once, next to the statement that uses it. `from` is the
 * index of the first value, if other values come before it. Throws if the table does not have a column.
 */
export function columnList<R, Name extends string>(
  table: SQLiteTable,
  values: Readonly<Record<Name, ColumnValue<R>>>,
  from = 0,
): ColumnList<R, Name> {
  const columns = getTableColumns(table)
  const list = Object.entries<ColumnValue<R>>(values).map(([name, value], index) => {
    const column = columns[name]?.name
    if (column === undefined) throw new Error(`the table has no column ${name}`)
    return {
      name,
      nth: from + index,
      column: `"${column}"`,
      ...(typeof value === 'function' ? { of: value, as: asItIs } : value),
    }
  })
  return {
    columns: list.map(({ column }) => column).join(', '),
    values: (row) => list.map(({ of }) => of(row)),
    sql: (value = jsonValue) => list.map(({ as, nth }) => as(value(nth))).join(', '),
    value: (name) => jsonValue(from + list.findIndex((one) => one.name === name)),
    update: (but) =>
      list
        .filter(({ name }) => !but.some((one) => one === name))
        .map(({ column }) => `${column} = excluded.${column}`)
        .join(', '),
  }
}

const asItIs = (value: string): string => value

const jsonValue = (nth: number): JsonValue => `value ->> ${nth}`
