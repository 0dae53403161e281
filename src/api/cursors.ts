import { base64url } from 'jose'
import * as z from 'zod'
import { rule } from './fields'
import { ListQuery } from './queries'

/** The description of the header `Link` in the OpenAPI documents. */
export const NEXT_LINK = 'The address of the next page, with rel="next"; absent on the last page.'

/** A cursor in a query: base64url of JSON. */
const cursorOf = (value: unknown): string => base64url.encode(JSON.stringify(value))

/** The content of a cursor. Throws if the text is not a cursor. */
function readCursor(text: string): unknown {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  return JSON.parse(decoder.decode(base64url.decode(text)))
}

/**
 * The parameter `after`: the cursor of the page before. Its content, by this schema, is the end of that page.
 */
export function cursorQuery<S extends z.ZodType>(schema: S) {
  return z.string('must be given once').transform((text, context): z.output<S> => {
    try {
      return schema.parse(readCursor(text))
    } catch {
      context.addIssue('must be the cursor in the Link header of the page before')
      return z.NEVER
    }
  })
}

/**
 * The query of a list that can be long: it pages by `limit` and the cursor `after`, and also by `skip`
 * (O3, G7). `schema` is of the cursor's content, and `further` has the list's other parameters.
 */
export function longListQuery<S extends z.ZodType, F extends z.ZodRawShape>(
  schema: S,
  further: F,
  paging: typeof ListQuery = ListQuery,
) {
  return z
    .object({ ...paging.shape, after: cursorQuery(schema).optional(), ...further })
    .refine(
      ({ skip, after }: { skip?: unknown; after?: unknown }) => !skip || after === undefined,
      rule('skip', 'must be left out if after is given. Pass only one of the two'),
    )
}

/** A page of a long list: its items, and the cursor of the page after it; null on the last one. */
export type LongPage<Items, Cursor> = { items: Items; next: Cursor | null }

/**
 * The reply with a page of a long list: the items, and the header `Link` while there is more (O3). The link
 * repeats the query, except `skip`.
 */
export function longPage<Items, Cursor>(
  at: { origin: string | null; path: string },
  query: Readonly<Record<string, unknown>>,
  { items, next }: LongPage<Items, Cursor>,
) {
  const { skip: _skip, after: _after, ...rest } = query
  const same = Object.entries(rest).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, textsOf(value)] as const],
  )
  const headers = next === null ? {} : { Link: nextLink(at, Object.fromEntries(same), next) }
  return { status: 200 as const, body: items, headers }
}

/**
 * A value of a query as texts, one for each repetition of the parameter. A single pair is given twice, so
 * that it is not split at a comma (G6).
 */
function textsOf(value: unknown): readonly string[] {
  if (!(value instanceof Map)) return [String(value)]
  const pairs = [...value].map(([key, of]) => `${key}:${of}`)
  return pairs.length === 1 ? [...pairs, ...pairs] : pairs
}

/**
 * The header `Link` to the next page of a list: the requested address, with this query and a cursor (RFC
 * 8288, G1).
 */
export function nextLink(
  { origin, path }: { origin: string | null; path: string },
  query: Readonly<Record<string, string | readonly string[]>>,
  cursor: unknown,
): string {
  const given = Object.entries(query).flatMap(([name, texts]) => [texts].flat().map((text) => [name, text]))
  const search = new URLSearchParams([...given, ['after', cursorOf(cursor)]])
  return `<${origin ?? ''}${path}?${search}>; rel="next"`
}
