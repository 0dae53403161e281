/** Items in the cache of reads, so that writes show at once. */
import type { InfiniteData, QueryClient } from '@tanstack/react-query'

/** How many items a list shows at first, and how many more at a time. */
export const PAGE = 25

/** The keys of the reads of a resource: its list, and one item by its key or id. */
export const listKey = (path: string) => [path, 'list']
export const itemKey = (path: string, keyOrId: string) => [path, 'item', keyOrId]

/** The parts of a resource by which its items are found in the cache. */
type Kind<Item> = { path: string; idOf: (item: Item) => string; keyOf: (item: Item) => string }

/** Changes the pages of a list, if it was read. The last one may have an item more than is shown. */
function changeList<Item>(queries: QueryClient, path: string, change: (pages: Item[][]) => Item[][]): void {
  queries.setQueryData<InfiniteData<Item[], number>>(
    listKey(path),
    (list) => list && { ...list, pages: change(list.pages) },
  )
}

/** Shows an item as it is now, in its list and on its page. A new one is the last of the list. */
export function showItem<Item>(queries: QueryClient, { path, idOf, keyOf }: Kind<Item>, item: Item): void {
  const id = idOf(item)
  const isThis = (one: Item) => idOf(one) === id
  changeList<Item>(queries, path, (pages) => {
    if (pages.some((page) => page.some(isThis)))
      return pages.map((page) => page.map((one) => (isThis(one) ? item : one)))
    const last = pages.at(-1) ?? []
    return last.length > PAGE ? pages : [...pages.slice(0, -1), [...last, item]]
  })
  for (const name of new Set([id, keyOf(item)])) queries.setQueryData(itemKey(path, name), item)
}

/** Leaves an item that is gone out of its list. */
export function hideItem<Item>(queries: QueryClient, { path, idOf }: Kind<Item>, item: Item): void {
  const id = idOf(item)
  changeList<Item>(queries, path, (pages) => pages.map((page) => page.filter((one) => idOf(one) !== id)))
}

/**
 * Shows an item as it will be, before the interface has answered, wherever it is shown now.
 *
 * @returns a function that shows everything as it was, for a write that fails
 */
export async function showExpected<Item>(
  queries: QueryClient,
  { path, idOf }: Kind<Item>,
  item: Item,
): Promise<() => void> {
  const shown = [listKey(path), [path, 'item']]
  // An answer that is on its way does not know of the write.
  await Promise.all(shown.map((queryKey) => queries.cancelQueries({ queryKey })))
  const before = shown.flatMap((queryKey) => queries.getQueriesData({ queryKey }))
  const replaced = (one: Item) => (idOf(one) === idOf(item) ? item : one)
  changeList<Item>(queries, path, (pages) => pages.map((page) => page.map(replaced)))
  queries.setQueriesData<Item>({ queryKey: [path, 'item'] }, (one) => one && replaced(one))
  return () => {
    for (const [queryKey, data] of before) queries.setQueryData(queryKey, data)
  }
}
