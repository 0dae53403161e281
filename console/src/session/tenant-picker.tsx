import { type ReactNode, useEffect, useState } from 'react'
import { useAdmin } from '../api/laurel'
import { Unread, useSkipPages } from '../api/paging'
import { Button } from '../ui/button'
import { Empty, Skeleton } from '../ui/page'
import { nameOr, trimmed } from '../ui/text'
import { LeaveButton } from './leave-button'
import { useSession, useSignedIn } from './session-context'

/** How many tenants are shown at once. One more than these is the most that the interface gives. */
const PAGE = 99
/** While fewer tenants than this fit a search, more of them are read. */
const ENOUGH = 10

/** The page on which a tenant is chosen, with multi-tenancy. `create` is the button of a new tenant. */
export function TenantPage({ create }: { create: ReactNode }) {
  const session = useSession()
  const admin = useAdmin()
  const tenants = useSkipPages(['/tenants', 'active'], (query) => admin.tenants.list(query), PAGE)
  const [text, setText] = useState('')
  const wanted = trimmed(text).toLowerCase()
  const found = tenants.data?.filter(
    ({ name, customerId, status }) =>
      status === 'active' && `${name} ${customerId}`.toLowerCase().includes(wanted),
  )
  const { hasNextPage, isFetching, isError, fetchNextPage } = tenants
  const isSearching = wanted !== '' && hasNextPage && !isError && (found?.length ?? 0) < ENOUGH
  useEffect(() => {
    if (isSearching && !isFetching) fetchNextPage()
  }, [isSearching, isFetching, fetchNextPage])
  return (
    <main
      className="mx-auto flex min-h-dvh w-full max-w-md flex-col gap-5 px-6 py-[12vh]"
      aria-busy={tenants.isPending || isSearching}
    >
      <div className="flex items-end justify-between gap-4">
        <h1 className="text-2xl font-semibold tracking-tight">Choose a tenant</h1>
        <LeaveButton look="quiet" isSmall onLeave={() => session.end()}>
          Sign out
        </LeaveButton>
      </div>
      {isError && <Unread of={tenants} />}
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
              <span className="font-medium">{nameOr(name, customerId)}</span>
              <span className="text-sm text-quiet">{customerId}</span>
            </button>
          </li>
        ))}
        {found?.length === 0 && !isSearching && !isError && (
          <li>
            {wanted === '' ? (
              <Empty title="No tenants yet">Create one for each of your customers or products.</Empty>
            ) : (
              <Empty title="No tenant fits">Only active tenants are here. Type less, or create one.</Empty>
            )}
          </li>
        )}
      </ul>
      {hasNextPage && (
        <Button look="quiet" isBusy={tenants.isFetchingNextPage} onClick={() => fetchNextPage()}>
          Show more
        </Button>
      )}
      <div>{create}</div>
    </main>
  )
}

/** The name of the chosen tenant, which leads back to the choice. */
export function TenantSwitch() {
  const session = useSession()
  const { tenant } = useSignedIn()
  return (
    <LeaveButton isSmall className="justify-start!" onLeave={() => session.chooseTenant(null)}>
      <span className="truncate">{tenant && nameOr(tenant.name, tenant.id)}</span>
      <span className="sr-only">(change the tenant)</span>
    </LeaveButton>
  )
}
