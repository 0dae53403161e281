/**
 * SQL that is known when the program is compiled: the literal type of a constant of ours. A text that is put together while the program runs
 * is a `string`, or has one in it, and becomes `never`. A function that puts a part of a query into another takes `sql: T & FixedSql<T>`, so
 * that no value can get there.
 */
export type FixedSql<T extends string> = Record<never, never> extends Record<T, unknown> ? never : T
