import { useAddress } from '../ui/address'
import { Button, NewButton } from '../ui/button'
import { DetailSheet } from '../ui/dialog'
import { Card, Code, Facts } from '../ui/page'
import { useLookups } from './lookups'
import { keyOf, type Resource, titleOf } from './resource'
import { factsOf, Moves } from './resource-detail'
import { ResourceForm } from './resource-form'
import { Status, useResourceTable } from './resource-list'
import { useResourceItem } from './shown'

/**
 * Things inside an item, such as the levels of a points system: a table on the item's page. The form of a new
 * one, and each of them, has an address of its own: `?open=levels.new`, `?open=levels.gold`, `?open=levels.gold.edit`.
 * The rest of the address, such as the period of the charts, stays.
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
  const { search, open } = useAddress()
  const [section, key, action] = String(search.open ?? '').split('.')
  const opened = section === name && key !== undefined ? key : null
  const close = () => open({ open: '' })
  const addressOf = (part: string) => {
    const parts = Object.entries({ ...search, open: `${name}.${part}` })
    return `${within}?${new URLSearchParams(parts.map(([key, value]) => [key, String(value)]))}`
  }
  const create = <NewButton one={resource.one} to={addressOf('new')} look="plain" isSmall />
  const { actions, table } = useResourceTable(resource, (item) => addressOf(keyOf(resource, item)), create)
  const itemKey = opened === 'new' ? null : opened
  return (
    <Card title={resource.name} about={resource.intro} actions={actions} flush>
      {table}
      {opened !== null && (itemKey === null || action === 'edit') && (
        <ResourceForm {...{ resource, itemKey }} onClose={close} onWritten={close} />
      )}
      {itemKey !== null && action !== 'edit' && (
        <Opened
          {...{ resource, itemKey }}
          onClose={close}
          onEdit={() => open({ open: `${name}.${itemKey}.edit` })}
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
          [item.key ? 'Key' : 'Id', <Code key="key">{item.key ?? item.id}</Code>],
          ...factsOf(resource, item, lookups),
        ]}
      />
    </DetailSheet>
  )
}
