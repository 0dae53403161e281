import { Laurel } from '@laurel/client'
import { useMemo } from 'react'
import { useSignedIn } from '../session/session-context'

/** The path of figures that ad blockers let pass, and the server knows too (G14): without `analytics`. */
const unblocked = (url: string): string =>
  url
    .replace(/\/admin\/v1\/analytics\/(?=\w+(?:\?|$))/, '/admin/v1/figures/')
    .replace(/\/admin\/v1\/(\w+\/[^/?]+)\/analytics(?=\?|$)/, '/admin/v1/figures/$1')

/** A client of the server that served this page. */
export const clientOf = (apiKey: string, tenantId?: string | undefined): Laurel =>
  new Laurel({
    url: location.origin,
    apiKey,
    fetch: (url, init) => fetch(unblocked(url), init),
    ...(tenantId !== undefined && { tenant: tenantId }),
  })

/** The client of the session. It changes with the key and the tenant. */
export function useLaurel(): Laurel {
  const { apiKey, tenant } = useSignedIn()
  return useMemo(() => clientOf(apiKey, tenant?.id), [apiKey, tenant?.id])
}

/** The admin interface. Everything that the console does goes through it. */
export const useAdmin = (): Laurel['admin'] => useLaurel().admin
