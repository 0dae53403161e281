/** Items in the cache of reads, so that writes show at once. */
import type { InfiniteData, QueryClient } from '@tanstack/react-query'
import { PAGE } from '../api/paging'

/** The keys of the reads of a resource: its list, and one item by its key or id. */
export const listKey = (path: string) => [path, 'list']
export const itemKey = (path: string, keyOrId: string) => [path, 'item', keyOrId]

/** The parts of a resource by which its items are found in the cache. */
type Kind<Item> = { path: string; keyOf: (item: Item) => string }
type HasId = { id: string }

/** Changes the pages of a list, if it was read. The last one may have an item more than is shown. */
function changeList<Item>(queries: QueryClient, path: string, change: (pages: Item[][]) => Item[][]): void {
  queries.setQueryData<InfiniteData<Item[], number>>(
    listKey(path),
    (list) => list && { ...list, pages: change(list.pages) },
  )
}

/** Shows an item as it is now, in its list and on its page. A new one is the last of the list. */
export function showItem<Item extends HasId>(queries: QueryClient, { path, keyOf }: Kind<Item>, item: Item) {
  const { id } = item
  const isThis = (one: Item) => one.id === id
  changeList<Item>(queries, path, (pages) => {
    if (pages.some((page) => page.some(isThis)))
      return pages.map((page) => page.map((one) => (isThis(one) ? item : one)))
    const last = pages.at(-1) ?? []
    return last.length > PAGE ? pages : [...pages.slice(0, -1), [...last, item]]
  })
  for (const name of new Set([id, keyOf(item)])) queries.setQueryData(itemKey(path, name), item)
}

/** Leaves an item that is gone out of its list. */
export function hideItem(queries: QueryClient, path: string, { id }: HasId) {
  changeList<HasId>(queries, path, (pages) => pages.map((page) => page.filter((one) => one.id !== id)))
}
