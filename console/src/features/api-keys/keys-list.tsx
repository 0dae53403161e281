import type { ReactNode } from 'react'
import { useAdmin } from '../../api/laurel'
import { PagedTable, useSkipPages } from '../../api/paging'
import type { Admin } from '../../resource/resource'
import type { Column } from '../../ui/table'

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
export function KeysList<T extends { id: string }>({ queryKey, list, children, ...table }: KeysListProps<T>) {
  const admin = useAdmin()
  const pages = useSkipPages([KEYS, ...queryKey], (query) => list(admin, query))
  return (
    <>
      {children}
      <PagedTable {...table} pages={pages} keyOf={({ id }) => id} expected={2} />
    </>
  )
}
