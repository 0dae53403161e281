import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { messageOf } from '../api/errors'
import { useAdmin } from '../api/laurel'
import { Button } from '../ui/button'
import { Empty, Notice, Skeleton } from '../ui/page'
import { useSession, useSignedIn } from './session-context'

/** How many tenants the picker shows at once. */
const SHOWN = 100

function useTenants() {
  const admin = useAdmin()
  return useQuery({
    queryKey: ['/tenants', 'active'],
    queryFn: async () =>
      (await admin.tenants.list({ limit: SHOWN })).filter(({ status }) => status === 'active'),
  })
}

/** The page on which a tenant is chosen, with multi-tenancy. `create` is the button of a new tenant. */
export function TenantPage({ create }: { create: ReactNode }) {
  const session = useSession()
  const tenants = useTenants()
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const found = tenants.data?.filter(({ name, customerId }) =>
    `${name} ${customerId}`.toLowerCase().includes(wanted),
  )
  return (
    <main
      className="mx-auto flex min-h-dvh w-full max-w-md flex-col gap-5 px-6 py-[12vh]"
      aria-busy={tenants.isPending}
    >
      <div className="flex items-end justify-between gap-4">
        <h1 className="text-2xl font-semibold tracking-tight">Choose a tenant</h1>
        <Button look="quiet" isSmall onClick={() => session.end()}>
          Sign out
        </Button>
      </div>
      {tenants.isError && <Notice tone="danger">{messageOf(tenants.error)}</Notice>}
      <input
        className="control"
        aria-label="Find a tenant"
        placeholder="Find a tenant"
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <ul className="flex flex-col divide-y divide-line rounded-lg border border-line bg-surface">
        {tenants.isPending && (
          <li className="px-4 py-3">
            <Skeleton className="w-40" />
          </li>
        )}
        {found?.map(({ id, name, customerId }) => (
          <li key={id}>
            <button
              type="button"
              className="flex w-full flex-col px-4 py-3 text-left hover:bg-hover"
              onClick={() => session.chooseTenant({ id, name })}
            >
              <span className="font-medium">{name}</span>
              <span className="text-sm text-quiet">{customerId}</span>
            </button>
          </li>
        ))}
        {found?.length === 0 && (
          <li>
            {wanted === '' ? (
              <Empty title="No tenants yet">Create one for each of your customers or products.</Empty>
            ) : (
              <Empty title="No tenant fits">Only active tenants are here. Type less, or create one.</Empty>
            )}
          </li>
        )}
      </ul>
      <div>{create}</div>
    </main>
  )
}

/** The name of the chosen tenant, which leads back to the choice. */
export function TenantSwitch() {
  const session = useSession()
  const { tenant } = useSignedIn()
  return (
    <Button isSmall className="justify-start!" onClick={() => session.chooseTenant(null)}>
      <span className="truncate">{tenant?.name}</span>
      <span className="sr-only">(change the tenant)</span>
    </Button>
  )
}
