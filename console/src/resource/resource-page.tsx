import { useNavigate, useParams } from '@tanstack/react-router'
import type { Resource } from './resource'
import { ResourceDetailPage } from './resource-detail'
import { ResourceForm } from './resource-form'
import { hrefOf, ResourceListPage } from './resource-list'

/**
 * The pages of a resource: `/path` is the list, `/path/new` the same with the form of a new item,
 * `/path/$id` one item, and `/path/$id/edit` the same with its form.
 */
export function resourcePage(resource: Resource) {
  return function ResourcePage() {
    const { id, action } = useParams({ strict: false })
    const navigate = useNavigate()
    const itemKey = id === undefined || id === 'new' ? null : id
    const page = itemKey === null ? resource.path : `${resource.path}/${encodeURIComponent(itemKey)}`
    return (
      <>
        {itemKey === null ? (
          <ResourceListPage resource={resource} />
        ) : (
          <ResourceDetailPage resource={resource} itemKey={itemKey} />
        )}
        {(id === 'new' || action === 'edit') && (
          <ResourceForm
            resource={resource}
            itemKey={itemKey}
            onClose={() => navigate({ to: page })}
            onWritten={(item) => navigate({ to: hrefOf(resource, item), replace: true })}
          />
        )}
      </>
    )
  }
}
