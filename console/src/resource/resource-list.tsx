import type { FieldValues } from 'react-hook-form'
import { PagedTable } from '../api/paging'
import { NewButton } from '../ui/button'
import { Badge, Card, Page } from '../ui/page'
import type { Column } from '../ui/table'
import { useLookups } from './lookups'
import type { Resource } from './resource'
import { useResourceList } from './shown'

/** A status as a badge. */
export function Status({ status }: { status: string }) {
  const tone = status === 'active' ? 'good' : status === 'scheduled' ? 'warning' : 'plain'
  return <Badge tone={tone}>{status}</Badge>
}

/** The address of an item's page. An item whose key is a word of the address is named by its id. */
export function hrefOf<Item extends { id: string }, Values extends FieldValues, Draft>(
  resource: Resource<Item, Values, Draft>,
  item: Item,
): string {
  const key = resource.keyOf(item)
  return `${resource.path}/${encodeURIComponent(key === 'new' ? item.id : key)}`
}

/** The table of a resource, with the text if it is empty. */
export function ResourceTable<Item extends { id: string }, Values extends FieldValues, Draft>({
  resource,
  hrefOf: href,
  createLink,
}: {
  resource: Resource<Item, Values, Draft>
  hrefOf: (item: Item) => string
  createLink: React.ReactNode
}) {
  const lookups = useLookups(resource.needs)
  const status = resource.statusOf
  const columns: readonly Column<Item>[] = [
    ...resource.columns(lookups),
    ...(status === undefined
      ? []
      : [{ name: 'Status', cell: (item: Item) => <Status status={status(item) ?? ''} /> }]),
  ]
  return (
    <PagedTable
      label={resource.name}
      columns={columns}
      pages={useResourceList(resource)}
      isLoading={lookups.isLoading}
      hrefOf={href}
      empty={{ ...resource.empty, action: createLink }}
    />
  )
}

/** The page with the list of a resource. */
export function ResourceListPage<Item extends { id: string }, Values extends FieldValues, Draft>({
  resource,
}: {
  resource: Resource<Item, Values, Draft>
}) {
  const create = <NewButton one={resource.one} to={`${resource.path}/new`} />
  const isEmpty = useResourceList(resource).data?.length === 0
  return (
    // Without any items, the button is where they would be.
    <Page name={resource.name} intro={resource.intro} actions={!isEmpty && create}>
      <Card flush>
        <ResourceTable resource={resource} hrefOf={(item) => hrefOf(resource, item)} createLink={create} />
      </Card>
      {resource.ListSections !== undefined && <resource.ListSections />}
    </Page>
  )
}
