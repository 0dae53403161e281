import { getTableColumns } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'

/** What a column gets from a row: a value, stored as it is; or a value, and the SQL that makes of the value's SQL what is stored. */
type ColumnValue<R> = ((row: R) => unknown) | { of: (row: R) => unknown; as: (value: string) => string }

/**
 * What each column of a table gets from a row `R`, but for the columns `Given`, which the statement fills in by itself. The type check
 * fails for a column that is missing, and for one that the table does not have.
 */
export type ColumnValues<T extends SQLiteTable, R, Given extends keyof T['$inferInsert'] = never> = {
  readonly [Name in Exclude<keyof T['$inferInsert'], Given>]-?: ColumnValue<R>
}

/** The names that the columns of a table have in SQL. */
export type ColumnNames<T extends SQLiteTable> = T['_']['columns'][keyof T['_']['columns']]['_']['name']

/** The SQL of the n-th value of a row that is a list of JSON, from 0. */
export type JsonValue = `value ->> ${number}`

/** Columns of a table and the values that they get, in one order. */
export type ColumnList<R, Name extends string> = {
  /** The list of the columns, in SQL. */
  columns: string
  /** The values of a row. */
  values: (row: R) => unknown[]
  /** The list of what is stored in the columns, in SQL. `value` is the SQL of the n-th value; unless given, a row is a list of JSON. */
  sql: (value?: (nth: number) => string) => string
  /** The SQL of the value of one column, if a row is a list of JSON. */
  value: (name: Name) => JsonValue
  /** For ON CONFLICT DO UPDATE SET: all columns but these get what the row has for them. */
  update: (but: readonly Name[]) => string
}

/**
 * Makes the list of some columns of a table. It is made once, beside the statement that uses it. `from` is the place of the first value, if others
 * come before it in a row or among the parameters.
 */
export function columnList<R, Name extends string>(
  table: SQLiteTable,
  values: Readonly<Record<Name, ColumnValue<R>>>,
  from = 0,
): ColumnList<R, Name> {
  const columns = getTableColumns(table)
  const list = Object.entries<ColumnValue<R>>(values).map(([name, value], index) => {
    const column = columns[name]?.name
    if (column === undefined) throw new Error(`${name} is no column`)
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
