/** Items in the cache of reads, where writes show at once. */
import { type InfiniteData, type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { tagged, useAdmin } from '../api/laurel'
import { PAGE, useSkipPages } from '../api/paging'
import { keyOf, type Listed, type Resource, type Thing } from './resource'

/** The keys of the reads of a resource: its list, and one item by its key or id. */
export const listKey = (path: string) => [path, 'list']
const itemKey = (path: string, keyOrId: string | null) => [path, 'item', keyOrId]

/** The items of a resource, page by page. */
export function useResourceList<Item extends Thing>({ path, operations }: Listed<Item>) {
  const admin = useAdmin()
  return useSkipPages(listKey(path), (query) => operations(admin).list(query))
}

/** One item, by its key or id. Null reads nothing. */
export function useResourceItem<Item extends Thing>({ path, operations }: Listed<Item>, key: string | null) {
  const admin = useAdmin()
  const queries = useQueryClient()
  const queryKey = itemKey(path, key)
  return useQuery({
    queryKey,
    // By its id, once that is known: somebody may change its key.
    queryFn: () => tagged(operations(admin).get(queries.getQueryData<Item>(queryKey)?.id ?? key ?? '')),
    enabled: key !== null,
  })
}

/** Changes the pages of a list, if it was read. The last one may have an item more than is shown. */
function changeList(queries: QueryClient, path: string, change: (pages: Thing[][]) => Thing[][]): void {
  queries.setQueryData<InfiniteData<Thing[], number>>(
    listKey(path),
    (list) => list && { ...list, pages: change(list.pages) },
  )
}

/** Shows the item of a write as it is now, in its list and on its page. A new one is the last of the list. */
export function showWritten(queries: QueryClient, resource: Resource, item: Thing | undefined) {
  if (item === undefined) return
  const { path } = resource
  const { id } = item
  const isThis = (one: Thing) => one.id === id
  changeList(queries, path, (pages) => {
    if (pages.some((page) => page.some(isThis)))
      return pages.map((page) => page.map((one) => (isThis(one) ? item : one)))
    const last = pages.at(-1) ?? []
    return last.length > PAGE ? pages : [...pages.slice(0, -1), [...last, item]]
  })
  for (const name of new Set([id, keyOf(resource, item)])) queries.setQueryData(itemKey(path, name), item)
}

/** Leaves an item that is gone out of its list. */
export function hideItem(queries: QueryClient, path: string, { id }: Thing) {
  changeList(queries, path, (pages) => pages.map((page) => page.filter((one) => one.id !== id)))
}
