import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { messageOf } from '../api/errors'
import { useAdmin } from '../api/laurel'
import { Button } from '../ui/button'
import { Empty, Notice } from '../ui/page'
import { type Column, Table } from '../ui/table'
import type { Admin } from './resource'

/** How many entries a log shows at first, and how many more at a time. */
const PAGE = 25

/** A list of the client, which pages by a cursor. */
type CursorList<T> = { withResponse: () => Promise<{ data: T[]; response: Response }> }

type Reading<T> = {
  /** The key of the query. It begins with the path of the page. */
  queryKey: readonly unknown[]
  list: (
    admin: Admin,
    query: { limit: number; after?: string },
    options: { signal: AbortSignal },
  ) => CursorList<T>
  /** After how many milliseconds the shown entries are read again; null if they are not. */
  again?: (entries: readonly T[]) => number | null
}

/** The cursor in the `Link` header of a page; null on the last one. */
function cursorIn(link: string | null): string | null {
  const [, search] = /<[^>?]*\?([^>]*)>; rel="next"/.exec(link ?? '') ?? []
  return search === undefined ? null : new URLSearchParams(search).get('after')
}

/** The entries of a log, newest first, page by page. */
export function useCursorPages<T>({ queryKey, list, again }: Reading<T>) {
  const admin = useAdmin()
  return useInfiniteQuery({
    queryKey,
    queryFn: async ({ pageParam, signal }) => {
      const query = { limit: PAGE, ...(pageParam !== null && { after: pageParam }) }
      const { data, response } = await list(admin, query, { signal }).withResponse()
      return { entries: data, next: cursorIn(response.headers.get('Link')) }
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    select: ({ pages }) => pages.flatMap(({ entries }) => entries),
    refetchInterval: ({ state }) =>
      again?.(state.data?.pages.flatMap(({ entries }) => entries) ?? []) ?? false,
  })
}

type Pages<T> = {
  data: T[] | undefined
  error: Error | null
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => unknown
  refetch: () => unknown
}

/** A log as a table, with a button for the next page. */
export function LogTable<T>({
  label,
  pages,
  columns,
  keyOf,
  hrefOf,
  empty,
}: {
  label: string
  pages: Pages<T>
  columns: readonly Column<T>[]
  keyOf: (entry: T) => string
  hrefOf: (entry: T) => string
  /** The text if there are no entries. */
  empty: { title: string; text: ReactNode }
}) {
  const { data, error, hasNextPage } = pages
  if (error !== null && data === undefined)
    return (
      <div className="p-5">
        <Notice tone="danger" action={<Button onClick={() => pages.refetch()}>Try again</Button>}>
          {messageOf(error)}
        </Notice>
      </div>
    )
  return (
    <>
      {data?.length === 0 && !hasNextPage ? (
        <Empty title={empty.title}>{empty.text}</Empty>
      ) : (
        <Table label={label} columns={columns} rows={data} keyOf={keyOf} hrefOf={hrefOf} />
      )}
      {hasNextPage && (
        <div className="border-t border-line p-3 text-center">
          <Button look="quiet" isBusy={pages.isFetchingNextPage} onClick={() => pages.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </>
  )
}
