import type { Access, Context, Scope } from '../context'
import { type Refusal, refusals } from '../errors'
import { findKeyRecord } from '../modules/keys/keys.repository'
import { sameInConstantTime, sha256, splitKey } from '../modules/keys/keys.rules'
import {
  findTenantId,
  IMPLICIT_TENANT_ID,
  parseStanding,
  type Standing,
  standingStatement,
} from '../modules/tenants/tenants.repository'
import { systemNow } from '../shared/clock'
import type { Surface } from './operation'

/** What a request's headers claim; D1 has not confirmed it yet (K2). */
export type Claim = {
  access: Access
  /** The key's row that must exist; null for the key that comes from a variable (K4). */
  prefix: string | null
  /** The tenant that is meant, or why there is none. */
  tenantId: string | Refusal
}

/** Reads the key and the tenant from the headers (K1, K4, T1, T2). Throws 401. */
export async function readClaim(ctx: Context, headers: Headers): Promise<Claim> {
  const key = headers.get('x-api-key')
  if (!key) throw refusals.keyMissing()
  const reference = headers.get('tenant-id')
  const first = ctx.variables.ADMIN_API_KEY
  if (first !== undefined && sameInConstantTime(key, first)) {
    return { access: { kind: 'admin' }, prefix: null, tenantId: await tenantOf(ctx, null, reference) }
  }
  const parts = splitKey(key)
  const record = parts && (await findKeyRecord(ctx, parts.prefix))
  if (!record || !sameInConstantTime(await sha256(parts.body), record.hash)) throw refusals.keyInvalid()
  const access: Access =
    record.userId === null ? { kind: 'admin' } : { kind: 'application', userId: record.userId }
  return { access, prefix: parts.prefix, tenantId: await tenantOf(ctx, record.tenantId, reference) }
}

/** The tenant that a key and the `Tenant-ID` header name together (T1, T2). */
async function tenantOf(ctx: Context, keyTenantId: string | null, reference: string | null) {
  if (ctx.variables.MULTI_TENANCY === 'off') {
    if (keyTenantId !== null && keyTenantId !== IMPLICIT_TENANT_ID) throw refusals.keyInvalid()
    return reference === null ? IMPLICIT_TENANT_ID : refusals.tenantUnexpected()
  }
  if (reference === null) return keyTenantId ?? refusals.tenantMissing()
  const tenantId = await findTenantId(ctx.db, reference)
  if (tenantId === null) return refusals.tenantUnknown()
  return keyTenantId === null || keyTenantId === tenantId ? tenantId : refusals.tenantOther()
}

/** The claim as D1 confirms it. Throws, in G2's order, 401, 403 for the kind of key, and the tenant's errors. */
export function confirm(ctx: Context, surface: Surface, claim: Claim, standing: Standing): Scope {
  if (claim.prefix !== null && !standing.keys.has(claim.prefix)) throw refusals.keyInvalid()
  if (surface === 'admin' && claim.access.kind === 'application') throw refusals.adminKeyNeeded()
  if (typeof claim.tenantId !== 'string') throw claim.tenantId
  if (standing.tenant === null) throw refusals.tenantUnknown()
  return { ...ctx, access: claim.access, tenant: standing.tenant, now: standing.clock ?? systemNow() }
}

/** Confirms a claim by a round trip of its own. Throws as `confirm`. */
export async function enter(ctx: Context, surface: Surface, claim: Claim): Promise<Scope> {
  const tenantId = typeof claim.tenantId === 'string' ? claim.tenantId : IMPLICIT_TENANT_ID
  const prefixes = claim.prefix === null ? [] : [claim.prefix]
  const [result] = await ctx.db.batch([standingStatement(ctx.db, tenantId, prefixes)])
  return confirm(ctx, surface, claim, parseStanding(result))
}
