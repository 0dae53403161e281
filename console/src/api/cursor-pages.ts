import type { List } from '@laurel/client'
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query'

/** How many entries a list shows at first, and how many more at a time. */
const PAGE = 25

/** The cursor of the next page in the header `Link`; null on the last page. */
function nextCursor(link: string | null): string | null {
  const [, search] = /<[^>?]*\?([^>]*)>; rel="next"/.exec(link ?? '') ?? []
  return search === undefined ? null : new URLSearchParams(search).get('after')
}

/** The part of a request that asks for one page of a list with cursors. */
export type CursorQuery = { limit: number; after?: string }

/** A list with cursors, such as users: only the pages that are shown. `list` asks for one of them. */
export function useCursorPages<T>(
  queryKey: QueryKey,
  list: (query: CursorQuery, signal: AbortSignal) => List<T>,
) {
  return useInfiniteQuery({
    queryKey,
    queryFn: async ({ pageParam, signal }) => {
      const query = { limit: PAGE, ...(pageParam !== null && { after: pageParam }) }
      const { data, response } = await list(query, signal).withResponse()
      return { items: data, next: nextCursor(response.headers.get('Link')) }
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  })
}
