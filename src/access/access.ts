import type { Instant } from '../lib/clock'
import { type ApiError, errors, isNotFound } from '../lib/errors'
import { networkOf, unrepeated } from '../lib/net'
import { systemNow } from '../lib/system-clock'
import type { Access, AccountScope, Context, KeyScope, Scope, Tenant } from '../platform/context'
import type { TenantDatabase } from '../platform/database'
import { logProblem } from '../platform/log'
import {
  type Credential,
  type Entrance,
  isValid,
  openTicket,
  openUserToken,
  type Surface,
  sameInConstantTime,
  sha256,
  splitKey,
  type TokenUser,
} from './credentials'
import { findKeyRecord, type KeyRecord } from './keys.sql.ts'
import {
  findTenantId,
  findTenantIdOrArchived,
  IMPLICIT_TENANT_ID,
  isCalled,
  LOG_OF_ACCOUNT,
  parseRequestSnapshot,
  type RequestSnapshot,
  requestSnapshotStatement,
  tenantNamesOf,
} from './tenants.sql.ts'

/** The holder of a request's key or token. D1 has not confirmed it yet (K2). */
type Bearer = {
  access: Access
  /** The part that D1 must confirm; null for the key from a variable (K4). */
  credential: Credential | null
  keyTenantId: string | null
  /** The name under which the requests of this holder are counted. */
  limitKey: string
}

/** The holder of the text in the header `X-API-KEY`. Null if it is no key, and no token (K1, K4, K6). */
async function findBearer(ctx: Context, key: string): Promise<Bearer | null> {
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

/** The access of a key. Null unless its record is an admin key, or that of a tenant's user (K3, K4). */
function accessBy({ id, kind, tenantId, userId, scope, name = null }: KeyRecord): Access | null {
  if (kind === 'admin')
    return tenantId === null && userId === null ? { kind, keyId: id, keyName: name } : null
  return tenantId === null || userId === null ? null : { kind, userId, scope }
}

/** The holder of a ticket. Null if it is no ticket, or if its time is over (Y2). */
async function findTicketHolder(ctx: Context, ticket: string): Promise<Bearer | null> {
  const holder = await openTicket(ctx.variables, ticket)
  if (holder === null) return null
  const { access, credential, tenantId } = holder
  const limitKey = credential?.user ? tokenLimitKey(credential.user) : (credential?.prefix ?? '')
  return { access, credential, keyTenantId: tenantId, limitKey }
}

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

/**
 * Counts a request against a limit: the limit of its key, or of the user of its token. If the key is unknown,
 * it is the limit of its IPv4 address or IPv6 network (/64). Throws 429 if the limit is reached. Cloudflare
 * counts separately at each of its locations. If a limiter fails, the request continues.
 */
export async function limit(
  { env, variables }: Context,
  bearer: Pick<Bearer, 'access' | 'limitKey'> | null,
  headers: Headers,
): Promise<void> {
  if (variables.RATE_LIMITS === 'off') return
  const [limiter, key] =
    bearer === null
      ? [env.ADDRESS_LIMIT, networkOf(headers.get('cf-connecting-ip') ?? '')]
      : [bearer.access.kind === 'admin' ? env.ADMIN_LIMIT : env.APPLICATION_LIMIT, bearer.limitKey]
  if (!(await isWithin(limiter, key))) throw errors.tooMany()
}

/** Counts a test message to a user against a limit of the tenant (N4). Throws 429 if it is reached. */
export async function limitTestMessages({ env, variables }: Context, tenantId: string): Promise<void> {
  if (variables.RATE_LIMITS === 'off') return
  const isAllowed = await isWithin(env.ADDRESS_LIMIT, `test messages of ${tenantId}`)
  if (!isAllowed) throw errors.tooMany()
}

async function isWithin(limiter: RateLimit, key: string): Promise<boolean> {
  try {
    return (await limiter.limit({ key })).success
  } catch (error) {
    logProblem('warn', { error: `the request was not counted: ${String(error)}` })
    return true
  }
}

/** The access that a request's headers claim. D1 has not confirmed it yet (K2). */
export type Claim = Omit<Bearer, 'limitKey'> & {
  needs: KeyScope
  /** The id of the tenant, or the error if there is none. */
  tenantId: string | ApiError
  /** The tenant's name in the header `Tenant-ID`; null if there is no header. */
  tenantName: string | null
  archived: boolean
  /** Is true if the request is for the whole account. It then has no tenant (T2). */
  isOfAccount: boolean
}

/**
 * Reads the key and, except for operations of the whole account, the tenant from the headers
 * (K1, K4, T1, T2). Instead of a key, an operation with `ticket` takes the ticket from the query (Y2). Throws
 * 429 if there were too many requests. Otherwise throws 401 if the key is missing or not valid.
 */
export async function readClaim(
  ctx: Context,
  headers: Headers,
  entrance: Omit<Entrance, 'ticket'> & { needs: KeyScope },
  ticket: string | null = null,
): Promise<Claim> {
  const { needs, account = false, tenantOrAccount = false, archived = false } = entrance
  const key = unrepeated(headers.get('x-api-key') ?? '')
  const bearer = key ? await findBearer(ctx, key) : ticket ? await findTicketHolder(ctx, ticket) : null
  await limit(ctx, bearer, headers)
  if (bearer === null) throw key ? errors.keyInvalid() : ticket ? errors.ticketInvalid() : errors.keyMissing()
  const { access, credential, keyTenantId } = bearer
  const hasTenants = ctx.variables.MULTI_TENANCY === 'on'
  const named = headers.get('tenant-id') || null
  const isOfAccount = account || (tenantOrAccount && hasTenants && named === null)
  const isAnyTenant = isOfAccount && hasTenants
  const tenantName = isAnyTenant ? null : named
  const tenantId = isAnyTenant
    ? IMPLICIT_TENANT_ID
    : await tenantOf(ctx, { keyTenantId, tenantName, archived })
  return { access, credential, needs, tenantId, tenantName, keyTenantId, archived, isOfAccount }
}

/** The tenant that the key and the `Tenant-ID` header name together (T1, T2). */
async function tenantOf(
  ctx: Context,
  { keyTenantId, tenantName: name, archived }: Pick<Claim, 'keyTenantId' | 'tenantName' | 'archived'>,
) {
  if (ctx.variables.MULTI_TENANCY === 'off') {
    if (keyTenantId !== null && keyTenantId !== IMPLICIT_TENANT_ID) throw errors.keyInvalid()
    return name === null ? IMPLICIT_TENANT_ID : errors.tenantUnexpected()
  }
  if (name === null) return keyTenantId ?? errors.tenantMissing()
  // Not from the cache: a cached tenant may be archived, and its name may belong to another tenant by now.
  // With `archived`, D1 also confirms archived tenants, so it would not notice.
  if (archived) return (await findTenantIdOrArchived(ctx.db, name)) ?? errors.tenantUnknown()
  const tenantNames = tenantNamesOf(ctx.instance)
  const known = tenantNames.get(name)
  // D1 confirms a cached tenant before the request does anything. It would not confirm an error, so no error
  // comes from the cache.
  if (known !== undefined && (keyTenantId === null || keyTenantId === known)) return known
  const tenantId = await findTenantId(ctx.db, name)
  // An application key gets the same error for every name except its own tenant's. So it can't find out which
  // names are in use.
  if (tenantId === null) return keyTenantId === null ? errors.tenantUnknown() : errors.tenantOther()
  tenantNames.set(name, tenantId)
  return keyTenantId === null || keyTenantId === tenantId ? tenantId : errors.tenantOther()
}

/**
 * Confirms a claim by a snapshot from D1, and makes its scope. `about` is the user of the request, if it has
 * one: its scope then has the database of that user (B2). Throws, in G2's order, 401, 403 for the kind of
 * key, and the tenant's errors.
 */
export function confirm(
  ctx: Context,
  surface: Surface,
  claim: Claim,
  snapshot: RequestSnapshot,
  about: string | null = null,
): Scope {
  const now = snapshot.clock ?? systemNow()
  confirmKey(surface, claim, snapshot, now)
  if (typeof claim.tenantId !== 'string') throw claim.tenantId
  const { tenant } = snapshot
  if (tenant === null || !isMeant(tenant, claim)) throw errors.tenantUnknown()
  return {
    ...ctx,
    db: databaseFor(ctx, tenant.id, about),
    access: claim.access,
    tenant,
    now,
    auditLog: tenant.id,
  }
}

const databaseFor = ({ databases }: Context, tenantId: string, about: string | null): TenantDatabase =>
  about === null ? databases.home(tenantId) : databases.usersOf(tenantId).of(about)

function confirmKey(
  surface: Surface,
  { access, credential, needs }: Claim,
  { present }: RequestSnapshot,
  now: Instant,
): void {
  if (credential !== null && !isValid(credential, present, now)) throw errors.keyInvalid()
  if (access.kind === 'admin') return
  if (surface === 'admin') throw errors.adminKeyNeeded()
  if (!permits(access, needs)) throw errors.readOnly()
}

/** Whether access has the scope that an operation needs (K5). */
export const permits = (access: Access, needs: KeyScope): boolean =>
  access.kind === 'admin' || access.scope === 'write' || needs === 'read'

const isMeant = (tenant: Tenant, { tenantName }: Claim): boolean =>
  tenantName === null || isCalled(tenant, tenantName)

/** Confirms a claim in a round trip of its own, in the database of its user. Throws like `confirm`. */
export async function enter(
  ctx: Context,
  surface: Surface,
  claim: Claim,
  about: string | null = null,
): Promise<Scope> {
  return byPresentName(ctx, claim, async (present) =>
    confirm(ctx, surface, present, await snapshotOf(ctx, present, about), about),
  )
}

/** Enters a tenant as an admin, for work without a request and its key. The audit log has the name (Z1). */
export const enterAs = (ctx: Context, keyName: string, tenantId: string): Promise<Scope> =>
  enter(ctx, 'admin', {
    access: { kind: 'admin', keyId: null, keyName },
    credential: null,
    needs: 'write',
    tenantId,
    tenantName: null,
    keyTenantId: null,
    archived: false,
    isOfAccount: false,
  })

/**
 * Does work with a claim. The tenant's name may belong to another tenant since it was looked up. So if the
 * work ends in 404 and the name has changed its tenant, the work is done again for the other tenant (T2).
 */
export async function byPresentName<T>(
  ctx: Context,
  claim: Claim,
  work: (claim: Claim) => Promise<T>,
): Promise<T> {
  try {
    return await work(claim)
  } catch (error) {
    const { tenantName } = claim
    // If no tenant had the name a moment ago, it was not cached.
    const mayBeStale = tenantName !== null && typeof claim.tenantId === 'string'
    if (!mayBeStale || !isNotFound(error)) throw error
    tenantNamesOf(ctx.instance).delete(tenantName)
    const tenantId = await tenantOf(ctx, claim)
    if (tenantId === claim.tenantId) throw error
    return work({ ...claim, tenantId })
  }
}

/** Confirms a claim to the whole account. Without multi-tenancy, a request must not name a tenant (T1). */
export async function enterAccount(ctx: Context, surface: Surface, claim: Claim): Promise<AccountScope> {
  const snapshot = await snapshotOf(ctx, claim)
  const now = snapshot.clock ?? systemNow()
  confirmKey(surface, claim, snapshot, now)
  if (typeof claim.tenantId !== 'string') throw claim.tenantId
  const auditLog = ctx.variables.MULTI_TENANCY === 'on' ? LOG_OF_ACCOUNT : IMPLICIT_TENANT_ID
  return { ...ctx, access: claim.access, now, auditLog }
}

/** Confirms the key alone, for any tenant. Throws 429, 401, and the 403 of application keys (K2, O5). */
export async function confirmKeyOnly(ctx: Context, surface: Surface, headers: Headers): Promise<void> {
  const claim = await readClaim(ctx, headers, { account: true, needs: 'read' })
  const snapshot = await snapshotOf(ctx, claim)
  confirmKey(surface, claim, snapshot, snapshot.clock ?? systemNow())
}

async function snapshotOf(ctx: Context, claim: Claim, about: string | null = null): Promise<RequestSnapshot> {
  const tenantId = typeof claim.tenantId === 'string' ? claim.tenantId : IMPLICIT_TENANT_ID
  const credentials = claim.credential === null ? [] : [claim.credential]
  // The user of a token is in that user's database.
  const user = claim.credential?.user ?? null
  const isOfTenant = user?.tenantId === tenantId
  const db =
    user !== null && isOfTenant
      ? ctx.databases.usersOf(tenantId).of(user.id)
      : typeof claim.tenantId === 'string'
        ? databaseFor(ctx, tenantId, about)
        : ctx.db
  const read = db.run(requestSnapshotStatement(ctx.db, tenantId, credentials, claim))
  if (user === null || isOfTenant) return parseRequestSnapshot(await read)
  // A token of another tenant, or for the whole account.
  const its = ctx.databases.usersOf(user.tenantId).of(user.id)
  const [result, own] = await Promise.all([
    read,
    its.run(requestSnapshotStatement(its, user.tenantId, credentials, claim)),
  ])
  const snapshot = parseRequestSnapshot(result)
  return { ...snapshot, present: new Set([...snapshot.present, ...parseRequestSnapshot(own).present]) }
}
