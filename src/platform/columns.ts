import { getTableColumns, sql } from 'drizzle-orm'
import { customType, integer, type SQLiteColumn, type SQLiteTable, text } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { DAY, type Instant, instant, MINUTE } from '../lib/clock'
import { Json } from '../lib/packed'

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
  /** When it was deleted, in milliseconds, or null. The row stays: history refers to its id (G5). */
  deleted: integer('deleted'),
})

/** A row that is not deleted, without the columns that only SQL reads. */
export type Living<T extends SQLiteTable> = Omit<T['$inferSelect'], HiddenColumn>

/** The columns of a resource that only SQL reads. */
export const HIDDEN_COLUMNS = ['no', 'tenantId', 'deleted'] as const
type HiddenColumn = (typeof HIDDEN_COLUMNS)[number]

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

/** A column with a moment, in milliseconds. */
export const momentColumn = customType<{ data: Instant; driverData: number }>({
  dataType: () => 'integer',
  fromDriver: instant,
})

/** A column with the address of a picture. One of another scheme is shown as null: it could be a script (G7). */
export const pictureColumn = customType<{ data: string | null; driverData: string }>({
  dataType: () => 'text',
  fromDriver: (stored) => (/^https?:\/\//i.test(stored) ? stored : null),
})

/** The schema of a column as D1 returns it, made from its type in Drizzle. */
export function schemaOf(column: SQLiteColumn): z.ZodType {
  const { name, dataType, enumValues, notNull } = column
  const present = () => {
    if (enumValues !== undefined) return z.enum(enumValues)
    if (dataType === 'string') return z.string()
    if (dataType === 'number') return z.number()
    if (dataType === 'boolean') return z.number().transform((n) => n === 1)
    if (dataType === 'custom') return z.unknown().transform((stored) => column.mapFromDriverValue(stored))
    throw new Error(`the column ${name} has a type that is not read yet`)
  }
  return notNull ? present() : present().nullable()
}

type Reading<R> = {
  /** The list of the columns in a SELECT, named as in `row`. `called` is the name of the table there. */
  columns: (called: string) => string
  row: z.ZodObject<{ [Name in keyof R]: z.ZodType<R[Name]> }>
}

/** Reads these columns of a table. Their schemas are made from the table. */
export function readingOf<T extends SQLiteTable, Name extends keyof T['$inferSelect']>(
  table: T,
  names: readonly Name[],
): Reading<Pick<T['$inferSelect'], Name>>
export function readingOf(table: SQLiteTable, names: readonly string[]): Reading<Record<string, unknown>> {
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => names.includes(name))
  return {
    columns: (called) =>
      columns.map(([name, { name: column }]) => `${called}."${column}" AS "${name}"`).join(', '),
    row: z.object(Object.fromEntries(columns.map(([name, column]) => [name, schemaOf(column)]))),
  }
}

/** Parses a column, or another value, that is a moment in milliseconds. */
export const Moment = z.number().transform(instant)

/** Parses a column, or another value, that is JSON text. */
export const json = <S extends z.ZodType>(schema: S) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema)

/** A column's value from a row. `as` makes the SQL of the stored value, if that is another one. */
type ColumnValue<R> = ((row: R) => unknown) | { of: (row: R) => unknown; as: (value: string) => string }

/**
 * The values that the columns of a table get from a row `R`, except the columns `Given`, which the statement
 * fills in itself. The type check fails if a column is missing, or if the table does not have it.
 */
export type ColumnValues<T extends SQLiteTable, R, Given extends keyof T['$inferInsert'] = never> = {
  readonly [Name in Exclude<keyof T['$inferInsert'], Given>]-?: ColumnValue<R>
}

/** The names of the columns of a table in its rows, except the columns `but`. */
export function columnNames<T extends SQLiteTable, But extends keyof T['$inferSelect']>(
  table: T,
  but: readonly But[],
): (Exclude<keyof T['$inferSelect'], But> & string)[]
export function columnNames(table: SQLiteTable, but: readonly string[]): string[] {
  return Object.keys(getTableColumns(table)).filter((name) => !but.includes(name))
}

/** The values of some columns from a row that has them under their own names. */
type Fields<T extends SQLiteTable, Name extends keyof T['$inferSelect']> = {
  [Each in Name]: (row: Pick<T['$inferSelect'], Name>) => unknown
}

/** The values of all columns of a table, except the columns `but`, from such a row. */
export function fieldsOf<T extends SQLiteTable, But extends keyof T['$inferSelect'] = never>(
  table: T,
  but?: readonly But[],
): Fields<T, Exclude<keyof T['$inferSelect'], But>>
export function fieldsOf(table: SQLiteTable, but: readonly string[] = []) {
  return stored(table, columnNames<SQLiteTable, string>(table, but), (value) => value)
}

/** The values of columns with JSON from such a row, for rows that are JSON lists (`jsonRow`). */
export function jsonFieldsOf<T extends SQLiteTable, Name extends keyof T['$inferSelect']>(
  table: T,
  names: readonly Name[],
): Fields<T, Name>
export function jsonFieldsOf(table: SQLiteTable, names: readonly string[]) {
  return stored(table, names, (text) => new Json(String(text)))
}

function stored(table: SQLiteTable, names: readonly string[], make: (value: unknown) => unknown) {
  const columns = getTableColumns(table)
  const fieldOf = (name: string) => (row: Record<string, unknown>) => {
    const value = row[name] ?? null
    return value === null ? null : make(columns[name]?.mapToDriverValue(value))
  }
  return Object.fromEntries(names.map((name) => [name, fieldOf(name)]))
}

/** The SQL of the n-th value (from 0) of a row that is a JSON list. */
export type JsonValue = `value ->> ${number}`

/** Columns of a table and the values that they get, in one order. */
type ColumnList<R, Name extends string> = {
  columns: string
  values: (row: R) => unknown[]
  /** The list of the stored values, in SQL. `value` is the n-th one of a row that is no JSON list. */
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

/*
 * SQL of the local time of rows that store `at` and `utc_offset` (E8). `row` is the name of the row in the
 * statement; leave it out if the row has no name.
 */

const local = (row?: string) => {
  const of = row === undefined ? '' : `${row}.`
  return `(${of}at + ${of}utc_offset * ${MINUTE})`
}

/** The local day of a row, in days since 1970-01-01. */
export const localDayOf = (row?: string): string => `${local(row)} / ${DAY}`

/** Milliseconds from local midnight to a row's moment. */
export const timeOfDayOf = (row?: string): string => `${local(row)} % ${DAY}`

/** A column that has its value as JSON text. `asJson` makes the value of which `schema` is the way back. */
export function jsonColumn<V>(
  name: string,
  schema: z.ZodType<V>,
  asJson: (value: V) => unknown = (value) => value,
) {
  // Made once: to make a schema takes ten times as long as to parse a short text.
  const stored = json(schema)
  return customType<{ data: V; driverData: string }>({
    dataType: () => 'text',
    toDriver: (value) => JSON.stringify(asJson(value)),
    fromDriver: (text) => stored.parse(text),
  })(name)
}

/**
 * The tables with a row for each event or award are most of a database (docs/scale.md), and ids were half of
 * each row. So these tables store a UUID as its 16 bytes, and a resource as the number of its row, which
 * never changes. Only SQL knows these forms: the expressions here convert from and to the ids that all other
 * code uses.
 */

/** The SQL of a UUID's bytes. `id` is the SQL of its text. */
export const bytesOf = (id: string): string => `unhex(${id}, '-')`

/** A UUID that was read as `hex(column)`. */
export const HexId = z
  .string()
  .regex(/^[0-9A-F]{32}$/)
  .transform((hex) => hex.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'))

type Numbered = 'metrics' | 'points_systems' | 'points_triggers' | 'points_levels' | 'achievements'

/**
 * The SQL of a resource's number. `id` is the SQL of its id, in which columns named `id` or `no` need the
 * name of their table. If the resource does not exist, the number is null, which no row has.
 */
export const numberOf = (table: Numbered, id: string): string =>
  `(SELECT r.no FROM (SELECT id, no FROM ${table}) r WHERE r.id = ${id})`

/** The SQL of a resource's id by that of its number. Columns `id` or `no` in it need their table's name. */
export const idOf = (table: Numbered, no: string): string =>
  `(SELECT r.id FROM (SELECT id, no FROM ${table}) r WHERE r.no = ${no})`

/**
 * The logs of users' events and awards: the column with the number of the resource that a row changes, the
 * table of that resource, and the column with the amount.
 */
export const LOGS = {
  events: { log: 'events', no: 'metric_no', table: 'metrics', amount: 'value' },
  awards: { log: 'awards', no: 'system_no', table: 'points_systems', amount: 'awarded' },
} as const
export type Log = (typeof LOGS)[keyof typeof LOGS]

/**
 * SQL: a recursive list `used` of the numbers of the metrics or points systems in the log of a user. The
 * index finds each next one. The last number is null. `iid` is the SQL of the user's id as bytes.
 */
export const numbersIn = ({ log, no }: Log, iid: string): string => `
  used (no) AS (
    SELECT min(${no}) FROM ${log} WHERE user_iid = ${iid}
    UNION ALL SELECT (SELECT min(l.${no}) FROM ${log} l WHERE l.user_iid = ${iid} AND l.${no} > used.no)
      FROM used WHERE used.no IS NOT NULL)`

/** The same in the logs of the users of a list `chunk`. `columns` are those of the chunk, `iid` among them. */
export const numbersOfEach = ({ log, no }: Log, name: string, columns: string): string => `
  ${name} (${columns}, no) AS (
    SELECT ${columns}, (SELECT min(l.${no}) FROM ${log} l WHERE l.user_iid = chunk.iid) FROM chunk
    UNION ALL SELECT ${columns}, (
      SELECT min(l.${no}) FROM ${log} l WHERE l.user_iid = ${name}.iid AND l.${no} > ${name}.no)
      FROM ${name} WHERE ${name}.no IS NOT NULL)`

/**
 * The maximum number of rows of a log that one statement reads, if the number is known before. D1 reads this
 * many in one or two seconds, and ends a statement after 30.
 */
export const MOST_READ = 1_000_000
