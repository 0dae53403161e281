import { DAY, MINUTE } from '../lib/units'

/* SQL of the local time of rows that store `at` and `utc_offset` (E8). `row` is what the statement calls the row; nothing if it has no name. */

const local = (row?: string) => {
  const of = row === undefined ? '' : `${row}.`
  return `(${of}at + ${of}utc_offset * ${MINUTE})`
}

/** The local day of a row, in days since 1970-01-01. */
export const localDayOf = (row?: string): string => `${local(row)} / ${DAY}`

/** How long after local midnight a row's moment is, in milliseconds. */
export const timeOfDayOf = (row?: string): string => `${local(row)} % ${DAY}`
