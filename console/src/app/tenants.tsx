import type { AdminTenant } from '@laurel/client'
import { useState } from 'react'
import { z } from 'zod'
import type { Move, Resource } from '../resource/resource'
import { ResourceForm } from '../resource/resource-form'
import { text } from '../resource/schemas'
import { isListed, removing } from '../resource/writes'
import { useSession, useSignedIn } from '../session/session-context'
import { Button } from '../ui/button'
import { Moment } from '../ui/format'
import { Icon } from '../ui/icon'
import { Code } from '../ui/page'
import { nameOr, say } from '../ui/text'

const Draft = z.object({ name: text(), customerId: text() })
type Values = z.input<typeof Draft>

/** The tenants of the account. */
export function useTenantsResource(): Resource<AdminTenant, Values, z.output<typeof Draft>> {
  const session = useSession()
  const { tenant: chosen } = useSignedIn()
  return {
    name: 'Tenants',
    one: 'tenant',
    path: '/tenants',
    page: '/settings',
    intro: 'Each has users and a configuration of its own. This list is about the whole account.',
    empty: { title: 'No tenants yet', text: 'Create one for each of your customers or products.' },
    pathsBy: 'id',
    nameOf: ({ name, customerId }) => nameOr(name, customerId),
    statusOf: ({ status, purging }) => (purging === true ? 'is being erased' : status),
    operations: (admin) => admin.tenants,
    columns: () => [
      { name: 'Customer id', cell: ({ customerId }) => <Code>{customerId}</Code>, isMinor: true },
    ],
    facts: ({ created }) => [['Created', <Moment key="created" iso={created} />]],
    summary: ({ status, purging }) =>
      status === 'active'
        ? null
        : purging === true
          ? 'All its data is being erased. This may take minutes.'
          : 'It is archived: calls for it are refused. Its data is kept until you erase it.',
    form: {
      schema: Draft,
      fields: [
        { kind: 'text', name: 'name', label: 'Name', placeholder: 'Acme' },
        {
          kind: 'text',
          name: 'customerId',
          label: 'Customer id',
          placeholder: 'acme',
          hint: 'Your own id of the tenant. Servers may send it in the header Tenant-ID.',
        },
      ],
    },
    moves: ({ id, customerId, status, purging }) => {
      if (purging === true) return []
      const erase: Move<AdminTenant, Values> = {
        label: 'Erase',
        did: 'is being erased',
        isDangerous: true,
        isRemoval: true,
        text: 'All its users, events and configuration are deleted for good. This cannot be undone.',
        typed: { label: say`Type the customer id ${customerId} to confirm`, text: customerId },
        act: removing<object>(
          (admin) => admin.tenants.purge(id).then(() => ({})),
          (admin) => isListed(admin.tenants.list(), id),
        ),
      }
      const archive: Move<AdminTenant, Values> = {
        label: 'Archive',
        did: 'was archived',
        isDangerous: true,
        text: 'From now on, all its calls are refused, and nothing is sent to its users. It cannot be activated again. Its data is kept until you erase it.',
        act: async (...clients) => {
          const answer = await removing(
            (admin) => admin.tenants.delete({ ids: [id] }),
            async (admin) => (await admin.tenants.get(id)).status === 'active',
          )(...clients)
          // No call for the chosen tenant works from now on.
          if (id === chosen?.id) session.chooseTenant(null)
          return answer
        },
      }
      return [status === 'active' ? archive : erase]
    },
  }
}

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
          onWritten={({ id, name }: AdminTenant) => session.chooseTenant({ id, name })}
        />
      )}
    </>
  )
}
