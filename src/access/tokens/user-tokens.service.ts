import * as z from 'zod'
import type { Instant } from '../../lib/clock'
import type { Variables } from '../../platform/env'
import { KEY_SCOPES, type KeyScope } from '../../platform/key-scopes.types'
import { openToken, type SignedToken, signToken } from './signing.service'

/**
 * The user of a token: the internal id as well as the caller's id, because an erased user who comes back is a
 * new user (K6).
 */
export type TokenUser = { tenantId: string; id: string; iid: string }

/** The claims of a user token. */
const Claims = z.object({
  tenant: z.string(),
  sub: z.string(),
  iid: z.string(),
  scope: z.enum(KEY_SCOPES),
})

/** Signs a token for a user, for `ttl` seconds from `now`. Throws 422 without a secret (K6). */
export function signUserToken(
  variables: Variables,
  { tenantId, id, iid }: TokenUser,
  { scope, now, ttl }: { scope: KeyScope; now: Instant; ttl: number },
): Promise<SignedToken> {
  const claims: z.infer<typeof Claims> = { tenant: tenantId, sub: id, iid, scope }
  return signToken(variables, 'user', claims, { now, ttl })
}

/**
 * The user, the scope and the end of a user token. Null if Laurel did not sign it. The user may be gone, and
 * the end may be past (K6).
 */
export async function openUserToken(
  variables: Variables,
  token: string,
): Promise<{ user: TokenUser; scope: KeyScope; expires: Instant } | null> {
  const opened = await openToken(variables, 'user', Claims, token)
  if (opened === null) return null
  const { tenant, sub, iid, scope } = opened.claims
  return { user: { tenantId: tenant, id: sub, iid }, scope, expires: opened.expires }
}
