/** Lists that are read page by page, and how a page shows that it could not be read. */
import type { List } from '@laurel/client'
import { type QueryKey, type UseInfiniteQueryResult, useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button } from '../ui/button'
import { Card, Empty, Fault, Notice, Page, Skeleton, Waiting } from '../ui/page'
import { Table, type TableProps } from '../ui/table'
import { isNotFound, messageOf } from './errors'

/** How many entries a list shows at first, and how many more at a time. */
export const PAGE = 25

/** A list that pages by `skip`. `list` asks for one page. */
export const useSkipPages = <T,>(
  queryKey: QueryKey,
  list: (query: { limit: number; skip: number }) => PromiseLike<T[]>,
  size = PAGE,
) =>
  useInfiniteQuery({
    queryKey,
    // One more than is shown tells whether there is more.
    queryFn: async ({ pageParam }) => list({ limit: size + 1, skip: pageParam }),
    initialPageParam: 0,
    getNextPageParam: (last: T[], all: T[][]) => (last.length > size ? all.length * size : undefined),
    select: ({ pages }) => pages.flatMap((page) => page.slice(0, size)),
  })

/** The cursor of the next page in the header `Link`; null on the last page. */
function nextCursor(link: string | null): string | null {
  const [, search] = /<[^>?]*\?([^>]*)>; rel="next"/.exec(link ?? '') ?? []
  return search === undefined ? null : new URLSearchParams(search).get('after')
}

/**
 * A list with cursors, such as users: only the pages that are shown.
 *
 * @param list asks for one page
 * @param again after how many milliseconds the shown entries are read again; null if they are not
 */
export const useCursorPages = <T,>(
  queryKey: QueryKey,
  list: (query: { limit: number; after?: string }, signal: AbortSignal) => List<T>,
  again?: (entries: readonly T[]) => number | null,
) =>
  useInfiniteQuery({
    queryKey,
    queryFn: async ({ pageParam, signal }) => {
      const query = { limit: PAGE, ...(pageParam !== null && { after: pageParam }) }
      const { data, response } = await list(query, signal).withResponse()
      return { items: data, next: nextCursor(response.headers.get('Link')) }
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
    // All shown pages are read again: the more there are, the later.
    refetchInterval: ({ state: { data } }) =>
      data ? (again?.(data.pages.flatMap(({ items }) => items)) ?? 0) * data.pages.length : false,
  })

/** The state of a list, as the hooks above give it, or as one query does that reads all of it. */
export type Pages<T> = Pick<UseInfiniteQueryResult<T[]>, 'data' | 'error'> &
  Partial<Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>> & {
    refetch: () => unknown
  }

/** The button for the next page of a list, if there is one. It is not disabled meanwhile: it would lose the focus. */
export const ShowMore = ({ pages }: { pages: Omit<Pages<unknown>, 'data' | 'refetch'> }) =>
  pages.hasNextPage && (
    <div className="border-t border-line p-3 text-center">
      <Fault>{pages.error ? messageOf(pages.error) : undefined}</Fault>
      <Button look="quiet" aria-busy={pages.isFetchingNextPage} onClick={() => pages.fetchNextPage?.()}>
        Show more
      </Button>
    </div>
  )

/** Says why something could not be read, with a button that reads it again. */
export const Unread = ({ of: { error, refetch } }: { of: { error: unknown; refetch: () => unknown } }) => (
  <Notice tone="danger" action={<Button onClick={() => refetch()}>Try again</Button>}>
    {messageOf(error)}
  </Notice>
)

/** Something that was read, as soon as it is there. Until then its place, or why it could not be read. */
export function Loaded<T>({
  query,
  className = 'h-40',
  none,
  children,
}: {
  query: { data: T | undefined; error: unknown; refetch: () => unknown }
  /** The height of its place. */
  className?: string
  /** Says that it does not exist. */
  none?: string
  children: (data: T) => ReactNode
}) {
  const { data, error } = query
  if (data !== undefined) return children(data)
  if (error === null) return <Waiting className={className} />
  return none !== undefined && isNotFound(error) ? (
    <Notice tone="danger">{none}</Notice>
  ) : (
    <Unread of={query} />
  )
}

/** A list as a table, page by page. */
export function PagedTable<T extends { id: string }>({
  pages,
  empty,
  ...table
}: Omit<TableProps<T>, 'rows'> & {
  pages: Pages<T>
  /** Is shown if the list is empty. */
  empty: { title: string; text: ReactNode; action?: ReactNode }
}) {
  const { data, error, hasNextPage } = pages
  if (error !== null && data === undefined)
    return (
      <div className="p-5">
        <Unread of={pages} />
      </div>
    )
  return (
    <>
      {data?.length === 0 && !hasNextPage ? (
        <Empty title={empty.title} action={empty.action}>
          {empty.text}
        </Empty>
      ) : (
        <Table {...table} rows={data} />
      )}
      <ShowMore pages={pages} />
    </>
  )
}

/** The page of one thing as long as that is not there: it is loading, could not be read, or does not exist. */
export const AbsentPage = ({
  name,
  above,
  query,
  none,
}: {
  name: string
  above: ReactNode
  query: { error: Error | null; refetch: () => unknown }
  /** Is shown if the item does not exist. */
  none: { title: string; text: string }
}) =>
  isNotFound(query.error) ? (
    <Page name="Not found" above={above}>
      <Empty title={none.title}>{none.text}</Empty>
    </Page>
  ) : (
    <Page name={name} above={above} isLoading={query.error === null}>
      {query.error === null ? (
        <Card>
          <Skeleton className="h-64 w-full" />
        </Card>
      ) : (
        <Unread of={query} />
      )}
    </Page>
  )
