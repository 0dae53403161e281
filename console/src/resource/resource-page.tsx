import { useNavigate, useParams } from '@tanstack/react-router'
import type { FieldValues } from 'react-hook-form'
import { type LookupName, useLookups } from './lookups'
import type { Resource } from './resource'
import { ResourceDetailPage, useResourceItem } from './resource-detail'
import { ResourceForm } from './resource-form'
import { hrefOf, ResourceListPage } from './resource-list'

/**
 * The pages of a resource: `/path` is the list, `/path/new` the same with the form of a new item,
 * `/path/$id` one item, and `/path/$id/edit` the same with its form.
 *
 * @param needs the other resources that its texts and forms name
 */
export function resourcePage<Item extends { id: string }, Values extends FieldValues, Draft>(
  resource: Resource<Item, Values, Draft>,
  needs: readonly LookupName[] = [],
) {
  return function ResourcePage() {
    const { id, action } = useParams({ strict: false })
    const navigate = useNavigate()
    const lookups = useLookups(needs)
    const itemKey = id === undefined || id === 'new' ? null : id
    const show = (item: Item) => navigate({ to: hrefOf(resource, item), replace: true })
    if (itemKey === null)
      return (
        <>
          <ResourceListPage resource={resource} lookups={lookups} />
          {id === 'new' && (
            <ResourceForm
              resource={resource}
              item={null}
              lookups={lookups}
              onClose={() => navigate({ to: resource.path })}
              onWritten={show}
            />
          )}
        </>
      )
    return (
      <>
        <ResourceDetailPage resource={resource} itemKey={itemKey} lookups={lookups} />
        {action === 'edit' && (
          <EditForm resource={resource} itemKey={itemKey} lookups={lookups} onWritten={show} />
        )}
      </>
    )
  }
}

function EditForm<Item extends { id: string }, Values extends FieldValues, Draft>({
  resource,
  itemKey,
  lookups,
  onWritten,
}: {
  resource: Resource<Item, Values, Draft>
  itemKey: string
  lookups: ReturnType<typeof useLookups>
  onWritten: (item: Item) => void
}) {
  const { data: item } = useResourceItem(resource, itemKey)
  const navigate = useNavigate()
  if (item === undefined) return null
  return (
    <ResourceForm
      resource={resource}
      item={item}
      lookups={lookups}
      onClose={() => navigate({ to: hrefOf(resource, item) })}
      onWritten={onWritten}
    />
  )
}
