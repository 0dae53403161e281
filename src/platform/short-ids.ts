import * as z from 'zod'

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

/**
 * The SQL of a resource's id. `no` is the SQL of its number, in which columns named `id` or `no` need the
 * name of their table.
 */
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
 * The maximum number of rows of a log that one statement reads, if the number is known before. D1 reads this
 * many in one or two seconds, and ends a statement after 30.
 */
export const MOST_READ = 1_000_000
