/**
 * SQL that is known when the program is compiled: the literal type of a constant. A text that is built while
 * the program runs is a `string`, or contains one, and becomes `never`. A function that puts a part of a
 * query into another query takes `sql: T & FixedSql<T>`, so that no value can get into the text.
 */
export type FixedSql<T extends string> = Record<never, never> extends Record<T, unknown> ? never : T
