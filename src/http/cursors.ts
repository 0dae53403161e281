import { base64url } from 'jose'
import * as z from 'zod'

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
 * The header `Link` to the next page of a list: the requested address, with this query and a cursor (RFC
 * 8288, G1).
 */
export function nextLink(
  { origin, path }: { origin: string | null; path: string },
  query: Readonly<Record<string, string>>,
  cursor: unknown,
): string {
  const search = new URLSearchParams({ ...query, after: cursorOf(cursor) })
  return `<${origin ?? ''}${path}?${search}>; rel="next"`
}
