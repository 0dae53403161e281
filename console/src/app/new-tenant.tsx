import { useState } from 'react'
import { ResourceForm } from '../resource/resource-form'
import { useSession } from '../session/session-context'
import { Button } from '../ui/button'
import { Icon } from '../ui/icon'
import { useTenantsResource } from './tenants.resource'

/** The button and the form of a new tenant, on the page on which a tenant is chosen. It is chosen at once. */
export default function NewTenant() {
  const session = useSession()
  const resource = useTenantsResource()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <Icon name="plus" size={15} />
        New tenant
      </Button>
      {isOpen && (
        <ResourceForm
          resource={resource}
          itemKey={null}
          onClose={() => setOpen(false)}
          onWritten={({ id, name }) => session.chooseTenant({ id, name })}
        />
      )}
    </>
  )
}
