import { type Call, Laurel } from '@laurel/client'
import type { SignedIn } from '../session/session'
import { useSignedIn } from '../session/session-context'

/** The address by which the console asks (G14): ad blockers stop `analytics`, and ADMIN_HOST has another `/v1` (G1). */
const askedAt = (url: string): string =>
  url
    .replace(`${location.origin}/v1/`, `${location.origin}/api/`)
    .replace(/\/admin\/v1\/analytics\/(?=\w+(?:\?|$))/, '/admin/v1/figures/')
    .replace(/\/admin\/v1\/(\w+\/[^/?]+)\/analytics(?=\?|$)/, '/admin/v1/figures/$1')

/** A client of the server that served this page. */
export const clientOf = (apiKey: string, tenantId?: string | undefined): Laurel =>
  new Laurel({
    url: location.origin,
    apiKey,
    fetch: (url, init) => fetch(askedAt(url), init),
    ...(tenantId !== undefined && { tenant: tenantId }),
  })

const clients = new WeakMap<SignedIn, Laurel>()

/** The client of the session. It changes with the key and the tenant, and knows the time of the server. */
export function useLaurel(): Laurel {
  const signedIn = useSignedIn()
  const client = clients.get(signedIn) ?? clientOf(signedIn.apiKey, signedIn.tenant?.id)
  clients.set(signedIn, client)
  return client
}

/** The admin interface. Everything that the console does goes through it. */
export const useAdmin = (): Laurel['admin'] => useLaurel().admin

/** Something that was read, with the name of its state if it has one (G15). */
export type Tagged<T> = T & { etag?: string | undefined }

/** An answer with its ETag. */
export async function tagged<T extends object>(call: PromiseLike<T> | Call<T>): Promise<Tagged<T>> {
  if (!('withResponse' in call)) return call
  const { data, response } = await call.withResponse()
  return { ...data, etag: response.headers.get('etag') ?? undefined }
}

/** The reads of settings, which several pages share. */
export const settingsRead = (admin: Laurel['admin']) => ({
  queryKey: ['/settings'],
  queryFn: () => tagged(admin.settings.get()),
})
export const streakSettingsRead = (admin: Laurel['admin']) => ({
  queryKey: ['/streaks', 'settings'],
  queryFn: () => tagged(admin.streaks.settings.get()),
})
