import * as z from 'zod'

/**
 * The tables that have a row for each event or award are most of a database (docs/scale.md), and half of such a row were ids. So
 * there a UUID is its 16 bytes, and a resource is the number of its row, which it keeps for ever. Nothing outside of SQL knows that: these are
 * expressions to and from the ids that all else has.
 */

/** The bytes of a UUID, given as the SQL of its text. */
export const bytesOf = (id: string): string => `unhex(${id}, '-')`

/** A UUID that was read as `hex(column)`. */
export const HexId = z
  .string()
  .regex(/^[0-9A-F]{32}$/)
  .transform((hex) => hex.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'))

/** The resources that such rows refer to. */
type Numbered = 'metrics' | 'points_systems' | 'points_triggers'

/** The number of a resource, given as the SQL of its id, in which no `id` or `no` may stand alone. No row has it where there is no such resource. */
export const numberOf = (table: Numbered, id: string): string =>
  `(SELECT r.no FROM (SELECT id, no FROM ${table}) r WHERE r.id = ${id})`

/** The id of a resource, given as the SQL of its number, in which no `id` or `no` may stand alone. */
export const idOf = (table: Numbered, no: string): string =>
  `(SELECT r.id FROM (SELECT id, no FROM ${table}) r WHERE r.no = ${no})`

/** The logs of what happened to users: the column of what a row changes, whose number that is, and the column of by how much. */
export const LOGS = {
  events: { log: 'events', no: 'metric_no', table: 'metrics', amount: 'value' },
  awards: { log: 'awards', no: 'system_no', table: 'points_systems', amount: 'awarded' },
} as const
export type Log = (typeof LOGS)[keyof typeof LOGS]

/** Rows of a log that one statement is to read, at most, where that can be told: D1 ends it after 30 seconds, and reads so many in one or two. */
export const MOST_READ = 1_000_000
