import { type Instant, SECOND } from '../lib/clock'
import { errors } from '../lib/errors'
import { MOST_STREAMS_OF_KEY, MOST_STREAMS_OF_TENANT } from '../lib/limits'
import { wait } from '../lib/system-clock'
import { type Context, perInstance, type Scope } from '../platform/context'
import { type Claim, confirm } from './access'
import { type Credential, credentialName, type Surface } from './credentials'
import { parseRequestSnapshot, type RequestSnapshot, requestSnapshotStatement } from './tenants.sql.ts'

/** For how long a snapshot confirms further claims, in milliseconds. */
const FRESH = 20 * SECOND
/** How often, and for how long, a claim waits for a snapshot that another request is reading. */
const PAUSE = SECOND / 4
const PATIENCE = 5 * SECOND

/** The most claims that one snapshot confirms, so that their names fit into a parameter. */
const MOST_AT_ONCE = 1_000

type Confirmed = { snapshot: RequestSnapshot; at: Instant; asked: ReadonlySet<string> }

class TenantClaims {
  readonly claims = new Set<Claim>()
  last: Confirmed | null = null
  /** Since when a request has been reading a snapshot; null if none is. */
  readingSince: Instant | null = null

  freshFor({ credential }: Claim, now: Instant): Confirmed | null {
    const { last } = this
    // After the clock was set back, the last snapshot seems to be of a later time.
    if (last === null || now < last.at || now - last.at >= FRESH) return null
    return credential === null || last.asked.has(credentialName(credential)) ? last : null
  }

  /** The credentials of a claim and of the claims that were not asked for the longest time. */
  next(claim: Claim): Credential[] {
    const some = [claim, ...this.claims].slice(0, MOST_AT_ONCE)
    for (const one of some) if (this.claims.delete(one)) this.claims.add(one)
    return some.flatMap(({ credential }) => credential ?? [])
  }
}

/**
 * The claims of the open streams of this isolate, by tenant. One read of D1 confirms all claims of a tenant.
 * Only results are shared: no request waits for the read of another one. Bound: the open streams.
 */
class OpenClaims {
  readonly #tenants = new Map<string, TenantClaims>()

  /** Throws 429 if the application key, or the user of the token, has too many streams, 503 if the tenant has (Y3). */
  add(claim: Claim): () => void {
    const id = tenantIdOf(claim)
    const tenant = this.#tenants.get(id) ?? new TenantClaims()
    const holder = holderOf(claim)
    const own = holder === null ? [] : [...tenant.claims].filter((one) => holderOf(one) === holder)
    if (own.length >= MOST_STREAMS_OF_KEY) throw errors.tooManyStreams()
    if (tenant.claims.size >= MOST_STREAMS_OF_TENANT) throw errors.tooManyWatchers()
    this.#tenants.set(id, tenant)
    tenant.claims.add(claim)
    return () => {
      tenant.claims.delete(claim)
      if (tenant.claims.size === 0) this.#tenants.delete(id)
    }
  }

  /** A snapshot that says whether the claim still holds. It is at most 20 seconds old. `now` is real time. */
  async snapshotFor(ctx: Context, claim: Claim, now: () => Instant): Promise<Confirmed> {
    const id = tenantIdOf(claim)
    const tenant = this.#tenants.get(id) ?? new TenantClaims()
    for (;;) {
      const fresh = tenant.freshFor(claim, now())
      if (fresh !== null) return fresh
      if (tenant.readingSince === null || now() - tenant.readingSince > PATIENCE) break
      await wait(PAUSE)
    }
    const at = now()
    tenant.readingSince = at
    try {
      const credentials = tenant.next(claim)
      const asked = new Set(credentials.map(credentialName))
      tenant.last = { snapshot: await snapshotOfAll(ctx, id, credentials), at, asked }
      return tenant.last
    } finally {
      tenant.readingSince = null
    }
  }
}

/** A snapshot for many credentials. The users of tokens are in their own databases. */
async function snapshotOfAll(
  ctx: Context,
  tenantId: string,
  credentials: readonly Credential[],
): Promise<RequestSnapshot> {
  const { databases } = ctx
  const first = parseRequestSnapshot(
    await ctx.db.run(requestSnapshotStatement(ctx.db, tenantId, credentials)),
  )
  const tokens = credentials.filter(({ user }) => user !== null && user.tenantId === tenantId)
  if (databases.others.length === 0 || tokens.length === 0) return first
  const others = await databases
    .usersOf(tenantId)
    .askAll(async (db) => parseRequestSnapshot(await db.run(requestSnapshotStatement(db, tenantId, tokens))))
  return { ...first, present: new Set([first, ...others].flatMap(({ present }) => [...present])) }
}

/** Whose streams are limited: an application key, or the user of a token. Null for an admin key. */
export const holderOf = ({ access, credential }: Claim): string | null =>
  access.kind === 'admin' || credential === null ? null : credentialName(credential)

const tenantIdOf = ({ tenantId }: Claim): string => (typeof tenantId === 'string' ? tenantId : '')

const openClaimsOf = perInstance(() => new OpenClaims())

/**
 * Remembers the claim of a stream that opens, to confirm it together with others. The result forgets it. Throws
 * if there are too many (Y3).
 */
export const rememberOpen = ({ instance }: Context, claim: Claim): (() => void) =>
  openClaimsOf(instance).add(claim)

/**
 * Confirms the claim of an open stream again. `now` is real time. Returns the stream's scope, and the moment
 * at which the claim held. Throws the API error of a key, user or tenant that has ended (Y2).
 */
export async function confirmAgain(
  ctx: Context,
  surface: Surface,
  claim: Claim,
  now: () => Instant,
): Promise<{ scope: Scope; at: Instant }> {
  const { snapshot, at } = await openClaimsOf(ctx.instance).snapshotFor(ctx, claim, now)
  return { scope: confirm(ctx, surface, claim, snapshot), at }
}
