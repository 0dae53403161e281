import type { Access, Context } from '../platform/context'
import type { KeyRecord } from './keys.cache'
import { findKeyRecord } from './keys.repository'
import { type Credential, sameInConstantTime, sha256, splitKey } from './keys.rules'
import { openTicket } from './tokens/tickets.service'
import { openUserToken, type TokenUser } from './tokens/user-tokens.service'

/** The holder of a request's key or token. D1 has not confirmed it yet (K2). */
export type Bearer = {
  access: Access
  /** The part that D1 must confirm; null for the key from a variable (K4). */
  credential: Credential | null
  /** The tenant that the key or the token belongs to; null for an admin key. */
  keyTenantId: string | null
  /** The name under which the requests of this holder are counted. */
  limitKey: string
}

/** The holder of the text in the header `X-API-KEY`. Null if it is no key, and no token (K1, K4, K6). */
export async function findBearer(ctx: Context, key: string): Promise<Bearer | null> {
  const first = ctx.variables.ADMIN_API_KEY
  if (first !== undefined && sameInConstantTime(key, first)) {
    return {
      access: { kind: 'admin', keyId: null, keyName: 'ADMIN_API_KEY' },
      credential: null,
      keyTenantId: null,
      limitKey: '',
    }
  }
  const parts = splitKey(key)
  if (parts === null) return byToken(ctx, key)
  const { prefix } = parts
  const record = await findKeyRecord(ctx, prefix)
  if (!record || !sameInConstantTime(await sha256(parts.body), record.hash)) return null
  const access = accessBy(record)
  if (access === null) return null
  const credential = { prefix, user: null, expires: record.expires }
  return { access, credential, keyTenantId: record.tenantId, limitKey: prefix }
}

/**
 * The access that a key gives. Null if its record is neither an admin key nor the key of a tenant's user
 * (K3, K4).
 */
function accessBy({ id, kind, tenantId, userId, scope, name = null }: KeyRecord): Access | null {
  if (kind === 'admin')
    return tenantId === null && userId === null ? { kind, keyId: id, keyName: name } : null
  return tenantId === null || userId === null ? null : { kind, userId, scope }
}

/** The holder of a ticket. Null if it is no ticket, or if its time is over (Y2). */
export async function findTicketHolder(ctx: Context, ticket: string): Promise<Bearer | null> {
  const holder = await openTicket(ctx.variables, ticket)
  if (holder === null) return null
  const { access, credential, tenantId } = holder
  const limitKey = credential?.user ? tokenLimitKey(credential.user) : (credential?.prefix ?? '')
  return { access, credential, keyTenantId: tenantId, limitKey }
}

/** All tokens of a user are counted together. */
const tokenLimitKey = ({ tenantId, iid }: TokenUser) => JSON.stringify([tenantId, iid])

async function byToken(ctx: Context, token: string): Promise<Bearer | null> {
  const opened = await openUserToken(ctx.variables, token)
  if (opened === null) return null
  const { user, scope, expires } = opened
  return {
    access: { kind: 'application', userId: user.id, scope },
    credential: { prefix: null, user, expires },
    keyTenantId: user.tenantId,
    limitKey: tokenLimitKey(user),
  }
}
