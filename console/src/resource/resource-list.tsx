import { PagedTable } from '../api/paging'
import { NewButton } from '../ui/button'
import { Badge, Card, Page } from '../ui/page'
import type { Column } from '../ui/table'
import { useLookups } from './lookups'
import { keyOf, type Resource, type Thing, titleOf } from './resource'
import { useResourceList } from './shown'

/** A status as a badge. */
export function Status({ status }: { status: string }) {
  const tone = status === 'active' ? 'good' : status === 'scheduled' ? 'warning' : 'plain'
  return <Badge tone={tone}>{status}</Badge>
}

/** The address of an item's page. An item whose key is a word of the address is named by its id. */
export function hrefOf(resource: Resource, item: Thing): string {
  const key = keyOf(resource, item)
  return `${resource.path}/${encodeURIComponent(key === 'new' ? item.id : key)}`
}

/** The table of a resource, with the text if it is empty. */
export function ResourceTable({
  resource,
  hrefOf: href,
  createLink,
}: {
  resource: Resource
  hrefOf: (item: Thing) => string
  createLink: React.ReactNode
}) {
  const lookups = useLookups(resource.needs)
  const { nameTitle = 'Name', statusOf: status } = resource
  const columns: readonly Column<Thing>[] = [
    { name: nameTitle, cell: (item) => titleOf(resource, item, lookups) },
    ...resource.columns(lookups),
    ...(status === undefined
      ? []
      : [{ name: 'Status', cell: (item: Thing) => <Status status={status(item) ?? ''} /> }]),
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
export function ResourceListPage({ resource }: { resource: Resource }) {
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
