import { Laurel } from '@laurel/client'
import { useMemo } from 'react'
import { useSignedIn } from '../session/session-context'

/** A client of the server that served this page. */
export const clientOf = (apiKey: string, tenantId?: string | undefined): Laurel =>
  new Laurel({ url: location.origin, apiKey, ...(tenantId !== undefined && { tenant: tenantId }) })

/** The client of the session. It changes with the key and the tenant. */
export function useLaurel(): Laurel {
  const { apiKey, tenant } = useSignedIn()
  return useMemo(() => clientOf(apiKey, tenant?.id), [apiKey, tenant?.id])
}

/** The admin interface. Everything that the console does goes through it. */
export const useAdmin = (): Laurel['admin'] => useLaurel().admin
