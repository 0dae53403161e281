import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { messageOf } from '../../api/errors'
import { useAdmin } from '../../api/laurel'
import type { Admin } from '../../resource/resource'
import { Button } from '../../ui/button'
import { Empty, Notice } from '../../ui/page'
import { type Column, Table } from '../../ui/table'

const PAGE = 25

/** The path of the page, with which the keys of all its reads begin. */
export const KEYS = '/api-keys'

type KeysListProps<T> = {
  label: string
  /** The names of the reads after the path. */
  queryKey: readonly string[]
  list: (admin: Admin, query: { limit: number; skip: number }) => PromiseLike<T[]>
  columns: readonly Column<T>[]
  empty: { title: string; text: string }
  /** Above the table, such as a filter. */
  children?: ReactNode
}

/** Keys as a table, page by page. */
export function KeysList<T extends { id: string }>({
  label,
  queryKey,
  list,
  columns,
  empty,
  children,
}: KeysListProps<T>) {
  const admin = useAdmin()
  const keys = useInfiniteQuery({
    queryKey: [KEYS, ...queryKey],
    // One more than is shown tells whether there is more.
    queryFn: async ({ pageParam }) => list(admin, { limit: PAGE + 1, skip: pageParam }),
    initialPageParam: 0,
    getNextPageParam: (last, all) => (last.length > PAGE ? all.length * PAGE : undefined),
    select: ({ pages }) => pages.flatMap((page) => page.slice(0, PAGE)),
  })
  if (keys.isError && keys.data === undefined)
    return (
      <div className="p-5">
        <Notice tone="danger" action={<Button onClick={() => keys.refetch()}>Try again</Button>}>
          {messageOf(keys.error)}
        </Notice>
      </div>
    )
  return (
    <>
      {children}
      {keys.data?.length === 0 ? (
        <Empty title={empty.title}>{empty.text}</Empty>
      ) : (
        <Table label={label} columns={columns} rows={keys.data} keyOf={({ id }) => id} expected={2} />
      )}
      {keys.hasNextPage && (
        <div className="border-t border-line p-3 text-center">
          <Button look="quiet" isBusy={keys.isFetchingNextPage} onClick={() => keys.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </>
  )
}
