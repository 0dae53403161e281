import { DAY, MINUTE } from '../lib/units'

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
