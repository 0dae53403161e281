import type { ReactNode } from 'react'
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

/** The address of an item's page. */
export const hrefOf = (resource: Resource, item: Thing): string =>
  `${resource.path}/${encodeURIComponent(keyOf(resource, item))}`

/**
 * The table of a resource, and the button that creates an item.
 *
 * @param create the button. Without any items, it is where they would be
 */
export function useResourceTable(resource: Resource, hrefOf: (item: Thing) => string, create: ReactNode) {
  const lookups = useLookups(resource.needs)
  const pages = useResourceList(resource)
  const { nameTitle = 'Name', statusOf } = resource
  const columns: readonly Column<Thing>[] = [
    { name: nameTitle, cell: (item) => titleOf(resource, item, lookups) },
    ...resource.columns(lookups),
    ...(statusOf
      ? [{ name: 'Status', cell: (item: Thing) => <Status status={statusOf(item) ?? ''} /> }]
      : []),
  ]
  const empty = { ...resource.empty, action: create }
  return {
    actions: pages.data?.length !== 0 && create,
    table: (
      <PagedTable
        label={resource.name}
        {...{ columns, hrefOf, empty }}
        pages={lookups.isLoading ? { ...pages, data: undefined } : pages}
      />
    ),
  }
}

/** The page with the list of a resource. */
export function ResourceListPage({ resource }: { resource: Resource }) {
  const { name, one, path, intro, ListSections } = resource
  const create = <NewButton one={one} to={`${path}/new`} />
  const { actions, table } = useResourceTable(resource, (item) => hrefOf(resource, item), create)
  return (
    <Page name={name} intro={intro} actions={actions}>
      <Card flush>{table}</Card>
      {ListSections !== undefined && <ListSections />}
    </Page>
  )
}
