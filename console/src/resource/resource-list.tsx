import { useInfiniteQuery } from '@tanstack/react-query'
import type { FieldValues } from 'react-hook-form'
import { messageOf } from '../api/errors'
import { useAdmin } from '../api/laurel'
import { Button } from '../ui/button'
import { NewButton } from '../ui/new-button'
import { Badge, Card, Empty, Notice, Page } from '../ui/page'
import { type Column, Table } from '../ui/table'
import type { Lookups } from './lookups'
import type { Resource } from './resource'
import { listKey, PAGE } from './shown'

/** The items of a resource, page by page. */
export function useResourceList<Item extends object, Values extends FieldValues, Draft>({
  path,
  list,
}: Resource<Item, Values, Draft>) {
  const admin = useAdmin()
  return useInfiniteQuery({
    queryKey: listKey(path),
    // One more than is shown tells whether there is more.
    queryFn: async ({ pageParam }) => list(admin, { limit: PAGE + 1, skip: pageParam }),
    initialPageParam: 0,
    getNextPageParam: (last: Item[], all: Item[][]) => (last.length > PAGE ? all.length * PAGE : undefined),
    select: ({ pages }) => pages.flatMap((page) => page.slice(0, PAGE)),
  })
}

/** A status as a badge. */
export function Status({ status }: { status: string }) {
  const tone = status === 'active' ? 'good' : status === 'scheduled' ? 'warning' : 'plain'
  return <Badge tone={tone}>{status}</Badge>
}

/** The address of an item's page. An item whose key is a word of the address is named by its id. */
export function hrefOf<Item extends object, Values extends FieldValues, Draft>(
  resource: Resource<Item, Values, Draft>,
  item: Item,
): string {
  const key = resource.keyOf(item)
  return `${resource.path}/${encodeURIComponent(key === 'new' ? resource.idOf(item) : key)}`
}

/** The table of a resource, with the text if it is empty. */
export function ResourceTable<Item extends object, Values extends FieldValues, Draft>({
  resource,
  lookups,
  hrefOf: href,
  createLink,
}: {
  resource: Resource<Item, Values, Draft>
  lookups: Lookups
  hrefOf: (item: Item) => string
  createLink: React.ReactNode
}) {
  const items = useResourceList(resource)
  if (items.isError)
    return (
      <div className="p-5">
        <Notice tone="danger" action={<Button onClick={() => items.refetch()}>Try again</Button>}>
          {messageOf(items.error)}
        </Notice>
      </div>
    )
  if (items.data?.length === 0)
    return (
      <Empty title={resource.empty.title} action={createLink}>
        {resource.empty.text}
      </Empty>
    )
  const status = resource.statusOf
  const columns: readonly Column<Item>[] = [
    ...resource.columns(lookups),
    ...(status === undefined
      ? []
      : [{ name: 'Status', cell: (item: Item) => <Status status={status(item) ?? ''} /> }]),
  ]
  return (
    <>
      <Table
        label={resource.name}
        columns={columns}
        rows={lookups.isLoading ? undefined : items.data}
        keyOf={resource.idOf}
        hrefOf={href}
      />
      {items.hasNextPage && (
        <div className="border-t border-line p-3 text-center">
          <Button look="quiet" isBusy={items.isFetchingNextPage} onClick={() => items.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </>
  )
}

/** The page with the list of a resource. */
export function ResourceListPage<Item extends object, Values extends FieldValues, Draft>({
  resource,
  lookups,
}: {
  resource: Resource<Item, Values, Draft>
  lookups: Lookups
}) {
  const create = <NewButton one={resource.one} to={`${resource.path}/new`} />
  const isEmpty = useResourceList(resource).data?.length === 0
  return (
    // Without any items, the button is where they would be.
    <Page name={resource.name} intro={resource.intro} actions={!isEmpty && create}>
      <Card flush>
        <ResourceTable
          resource={resource}
          lookups={lookups}
          hrefOf={(item) => hrefOf(resource, item)}
          createLink={create}
        />
      </Card>
      {resource.ListSections !== undefined && <resource.ListSections />}
    </Page>
  )
}
