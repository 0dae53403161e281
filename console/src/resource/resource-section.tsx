import { useNavigate, useSearch } from '@tanstack/react-router'
import { Button, NewButton } from '../ui/button'
import { DetailSheet } from '../ui/dialog'
import { Card, Code, Facts } from '../ui/page'
import { targetOf } from '../ui/table'
import { useLookups } from './lookups'
import { keyOf, type Resource, titleOf } from './resource'
import { factsOf, Moves } from './resource-detail'
import { ResourceForm } from './resource-form'
import { ResourceTable, Status } from './resource-list'
import { useResourceItem, useResourceList } from './shown'

/**
 * The part of an address that says which item of a section is open: `levels.gold`, `levels.gold.edit`. The
 * rest of the address, such as the period of the charts, stays.
 */
type Opened = Record<string, unknown> & { open?: string }

/**
 * Things inside an item, such as the levels of a points system: a table on the item's page. The form of a new
 * one, and each of them, has an address of its own: `?open=levels.new`, `?open=levels.gold`.
 *
 * @param props.within the path of the item's page
 * @param props.name the name of the section in the address
 */
export function ResourceSection({
  resource,
  within,
  name,
}: {
  resource: Resource
  within: string
  name: string
}) {
  const search: Opened = useSearch({ strict: false })
  const navigate = useNavigate()
  const [section, key, action] = (search.open ?? '').split('.')
  const opened = section === name && key !== undefined ? key : null
  const { open: _open, ...others } = search
  const close = () => navigate({ to: within, search: others, resetScroll: false })
  const texts = Object.fromEntries(Object.entries(others).map(([key, value]) => [key, String(value)]))
  const addressOf = (part: string) =>
    `${within}?${new URLSearchParams({ ...texts, open: `${name}.${part}` })}`
  const create = <NewButton one={resource.one} to={addressOf('new')} look="plain" isSmall />
  const isEmpty = useResourceList(resource).data?.length === 0
  return (
    <Card title={resource.name} about={resource.intro} actions={!isEmpty && create} flush>
      <ResourceTable
        resource={resource}
        hrefOf={(item) => addressOf(keyOf(resource, item))}
        createLink={create}
      />
      {opened !== null && (opened === 'new' || action === 'edit') && (
        <ResourceForm
          resource={resource}
          itemKey={opened === 'new' ? null : opened}
          onClose={close}
          onWritten={close}
        />
      )}
      {opened !== null && opened !== 'new' && action !== 'edit' && (
        <Opened
          resource={resource}
          itemKey={opened}
          onClose={close}
          onEdit={() => navigate(targetOf(addressOf(`${opened}.edit`)))}
        />
      )}
    </Card>
  )
}

/** One item of a section, beside the page. */
function Opened({
  resource,
  itemKey,
  onClose,
  onEdit,
}: {
  resource: Resource
  itemKey: string
  onClose: () => void
  onEdit: () => void
}) {
  const lookups = useLookups(resource.needs)
  const { data: item } = useResourceItem(resource, itemKey)
  if (item === undefined) return null
  const status = resource.statusOf?.(item)
  return (
    <DetailSheet
      title={titleOf(resource, item, lookups)}
      about={resource.summary?.(item, lookups)}
      onClose={onClose}
      buttons={
        <>
          <Moves resource={resource} item={item} onGone={onClose} />
          <Button look="primary" onClick={onEdit}>
            Edit
          </Button>
        </>
      }
    >
      <Facts
        facts={[
          status ? ['Status', <Status key="status" status={status} />] : null,
          [resource.pathsBy === 'id' ? 'Id' : 'Key', <Code key="key">{keyOf(resource, item)}</Code>],
          ...factsOf(resource, item, lookups),
        ]}
      />
    </DetailSheet>
  )
}
