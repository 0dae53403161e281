import * as z from 'zod'
import { MOST_AT_ONCE, packsOf } from '../../../lib/packed'

/** Rows of a page. A column that can be long is read with its row only up to `SHORT` bytes. */
export const PAGE = 2_000
const SHORT = Math.floor(MOST_AT_ONCE / PAGE)

/** The SQL of a column that can be long: its text, or null if it is long, and its size in bytes. */
export const textOf = (column: string, otherwise: string) => `
    CASE WHEN coalesce(octet_length(${column}), 0) <= ${SHORT} THEN coalesce(${column}, '${otherwise}') END AS
      text,
    coalesce(octet_length(${column}), 0) AS bytes`
/** The columns of `textOf`. */
export const text = { text: z.string().nullable(), bytes: z.number() }
type Sized = { text: string | null; bytes: number }

const LongRows = z.array(z.object({ n: z.number(), text: z.string() }))

/**
 * Reads pages one after another, each after the last row of the page before, until one has fewer rows than
 * `PAGE`.
 */
export async function* pagesOf<R>(read: (after: R | null) => Promise<R[]>): AsyncGenerator<R[]> {
  for (let after: R | null = null; ; ) {
    const rows: R[] = await read(after)
    yield rows
    after = rows.at(-1) ?? null
    if (rows.length < PAGE) return
  }
}

/**
 * The same for rows with a column that can be long. Long columns are read separately, as many rows at once as
 * fit. `long` reads them: it returns `text`, and `n`, the index among the rows that it gets. Throws if a row
 * was deleted in between.
 */
export async function* longPagesOf<R extends Sized>(
  read: (after: R | null) => Promise<R[]>,
  long: (rows: readonly R[]) => Promise<unknown[]>,
): AsyncGenerator<(R & { text: string })[]> {
  for await (const rows of pagesOf(read))
    for (const some of packsOf(rows, MOST_AT_ONCE, ({ bytes }) => bytes)) yield await whole(some, long)
}

async function whole<R extends Sized>(
  rows: readonly R[],
  long: (rows: readonly R[]) => Promise<unknown[]>,
): Promise<(R & { text: string })[]> {
  const missing = rows.filter(({ text }) => text === null)
  const found = LongRows.parse(missing.length === 0 ? [] : await long(missing))
  const texts = new Map(found.map(({ n, text }) => [missing[n], text]))
  return rows.map((row) => {
    const text = row.text ?? texts.get(row)
    if (text === undefined) throw new Error('a part of the export was deleted while it was read')
    return { ...row, text }
  })
}
