import { base64url, compactVerify, SignJWT } from 'jose'
import * as z from 'zod'
import { type Instant, instant, SECOND } from '../lib/clock'
import { errors } from '../lib/errors'
import { systemNow } from '../lib/system-clock'
import { type Access, KEY_SCOPES, type KeyScope } from '../platform/context'
import type { Variables } from '../platform/env'

/** The interface that an operation belongs to (G1). */
export const SURFACES = ['application', 'admin'] as const
export type Surface = (typeof SURFACES)[number]

/** The rules of an operation for access. */
export type Entrance = {
  /** The scope that an application key needs (K5): by default `read` for GET, and `write` for all others. */
  needs?: KeyScope

  /** Is true if a ticket in the query, `ticket`, may take the place of the key (Y2). */
  ticket?: boolean
  /** Is true for operations of the whole account. They take no `Tenant-ID` (T2). */
  account?: boolean
  /** Is true if `Tenant-ID` is optional. Without it, the operation is for the whole account (Z1). */
  tenantOrAccount?: boolean
  /** Is true if the operation also serves archived tenants: their users can be exported and erased (U8). */
  archived?: boolean
}

/**
 * The part of a key or a token that must still be confirmed, by a read that the request makes anyway: its row
 * must exist, and its end must not be past (K2, K5, K6).
 */
export type Credential = {
  /** The prefix of the key's row; null for a token. */
  prefix: string | null
  /** The user of a token; null for a key. */
  user: { tenantId: string; id: string; iid: string } | null
  expires: Instant | null
}

/** The name of a credential: the prefix of a key, or the internal id of a token's user. */
export const credentialName = ({ prefix, user }: Credential): string => prefix ?? user?.iid ?? ''

/** Whether a credential is valid. `present`: names of those whose rows exist. `now`: by the clock of C1. */
export const isValid = (credential: Credential, present: ReadonlySet<string>, now: Instant): boolean =>
  present.has(credentialName(credential)) && (credential.expires === null || now < credential.expires)

/** Splits a key into its two parts. Null if the text can't be a key, so that no lookup is needed (K1). */
export function splitKey(key: string): { prefix: string; body: string } | null {
  const [, prefix, body] = FORM.exec(key) ?? []
  return prefix === undefined || body === undefined ? null : { prefix, body }
}

const FORM = /^((?:app|adm)_[\w-]{12})\.([\w-]{43})$/
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

function randomText(length: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(length)), (byte) => ALPHABET[byte & 63]).join('')
}

/** A new key: 72 random bits name it, 258 random bits are its secret (K1). */
export function newKey(kind: 'application' | 'admin'): { prefix: string; body: string; key: string } {
  const prefix = `${kind === 'application' ? 'app' : 'adm'}_${randomText(12)}`
  const body = randomText(43)
  return { prefix, body, key: `${prefix}.${body}` }
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** SHA-256 of a text, in hexadecimal. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => HEX[byte]).join('')
}

/** Compares two texts in a time that depends on their lengths, but not on the place of a difference. */
export function sameInConstantTime(a: string, b: string): boolean {
  const left = new TextEncoder().encode(a)
  const right = new TextEncoder().encode(b)
  return left.byteLength === right.byteLength && crypto.subtle.timingSafeEqual(left, right)
}

/**
 * The uses of signed tokens, in their claim `aud`. A token of one purpose is never valid for another one:
 * `user` tokens are sent as API keys (K6), `live` tokens are tickets that open streams.
 */
type TokenPurpose = 'user' | 'live'

type Secrets = Pick<Variables, 'TOKEN_SECRET' | 'TOKEN_SECRET_PREVIOUS'>

type SignedToken = { token: string; expires: Instant }

/** Longer than any token that `signToken` makes: a user's id has at most 255 characters. */
const MOST_CHARACTERS = 4_096
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/
const ALGORITHM = 'HS256'

const audience = (purpose: TokenPurpose) => `laurel:${purpose}`

/** The name of a secret in the header `kid` of its tokens: it says which secret has signed, and no more. */
const nameOf = async (secret: string) => (await sha256(`laurel kid ${secret}`)).slice(0, 16)

const isTokenShaped = (text: string): boolean => text.length <= MOST_CHARACTERS && JWT.test(text)

/**
 * Signs claims for one purpose, with the current secret. The token ends `ttl` whole seconds after `now`,
 * rounded up to a whole second. Throws 422 if the deployment has no secret (K6).
 */
export async function signToken(
  { TOKEN_SECRET: secret }: Secrets,
  purpose: TokenPurpose,
  claims: Readonly<Record<string, string>>,
  { now, ttl }: { now: Instant; ttl: number },
): Promise<SignedToken> {
  if (secret === undefined) throw errors.tokenSecretMissing()
  const seconds = Math.ceil(now / SECOND) + ttl
  const token = await new SignJWT({ ...claims })
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid: await nameOf(secret) })
    .setAudience(audience(purpose))
    .setIssuedAt(Math.floor(now / SECOND))
    .setExpirationTime(seconds)
    .sign(new TextEncoder().encode(secret))
  return { token, expires: instant(seconds * SECOND) }
}

/**
 * The claims of a token of this purpose, and when it ends. Null if it is anything but a token that
 * `signToken` made with the current or the previous secret. The caller compares `expires` with the clock of
 * its rule: user tokens go by the clock of C1, tickets by real time. Claims that are not in the schema are
 * left out.
 */
export async function openToken<Claims>(
  secrets: Secrets,
  purpose: TokenPurpose,
  schema: z.ZodType<Claims>,
  token: string,
): Promise<{ claims: Claims; expires: Instant } | null> {
  if (!isTokenShaped(token)) return null
  try {
    if (!token.split('.').every(isCanonical)) return null
    const { payload } = await compactVerify(token, ({ kid }) => secretNamed(secrets, kid), {
      algorithms: [ALGORITHM],
    })
    const json: unknown = JSON.parse(new TextDecoder().decode(payload))
    const { exp } = z.object({ aud: z.literal(audience(purpose)), exp: z.int() }).parse(json)
    return { claims: schema.parse(json), expires: instant(exp * SECOND) }
  } catch {
    // The reason is for nobody: it would help only the author of a forged token.
    return null
  }
}

/** Whether base64url has no spare bits that are set: each token then has one spelling only. */
const isCanonical = (part: string) => base64url.encode(base64url.decode(part)) === part

async function secretNamed(
  { TOKEN_SECRET, TOKEN_SECRET_PREVIOUS }: Secrets,
  kid: string | undefined,
): Promise<Uint8Array> {
  for (const secret of [TOKEN_SECRET, TOKEN_SECRET_PREVIOUS]) {
    if (secret !== undefined && (await nameOf(secret)) === kid) return new TextEncoder().encode(secret)
  }
  throw new Error('no accepted secret has this name')
}

/** How long a ticket opens streams, in seconds of real time (Y2). */
const TICKET_SECONDS = 60

type TicketHolder = { access: Access; credential: Credential | null; tenantId: string }

const TicketClaims = z.object({
  tenant: z.string(),
  kind: z.enum(['admin', 'application']),
  prefix: z.string().optional(),
  keyId: z.string().optional(),
  sub: z.string().optional(),
  iid: z.string().optional(),
  scope: z.enum(KEY_SCOPES).optional(),
  /** When the key or the user token ends, in milliseconds. */
  ends: z.string().optional(),
})

/** Signs a ticket. It opens streams as its holder may, for 60 s. Throws 422 without a secret (Y2). */
export function signTicket(
  variables: Variables,
  { access, credential, tenantId }: TicketHolder,
): Promise<SignedToken> {
  const claims: Record<string, string> = {
    tenant: tenantId,
    kind: access.kind,
    ...(access.kind === 'admin'
      ? access.keyId !== null && { keyId: access.keyId }
      : { sub: access.userId, scope: access.scope }),
    ...(credential?.prefix != null && { prefix: credential.prefix }),
    ...(credential?.user != null && { iid: credential.user.iid }),
    ...(credential?.expires != null && { ends: String(credential.expires) }),
  }
  return signToken(variables, 'live', claims, { now: systemNow(), ttl: TICKET_SECONDS })
}

/** The holder of a ticket. Null if Laurel did not sign it, or if its time is over. */
export async function openTicket(variables: Variables, ticket: string): Promise<TicketHolder | null> {
  const opened = await openToken(variables, 'live', TicketClaims, ticket)
  if (opened === null || systemNow() >= opened.expires) return null
  const { tenant: tenantId, kind, prefix, keyId = null, sub = '', iid, scope = 'read', ends } = opened.claims
  const user = iid === undefined ? null : { tenantId, id: sub, iid }
  const expires = ends === undefined ? null : instant(Number(ends))
  return {
    tenantId,
    access: kind === 'admin' ? { kind, keyId, keyName: null } : { kind, userId: sub, scope },
    credential: prefix === undefined && user === null ? null : { prefix: prefix ?? null, user, expires },
  }
}

/** The user of a token, also by the internal id: an erased user who comes back is a new user (K6). */
export type TokenUser = { tenantId: string; id: string; iid: string }

const UserClaims = z.object({
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
  const claims: z.infer<typeof UserClaims> = { tenant: tenantId, sub: id, iid, scope }
  return signToken(variables, 'user', claims, { now, ttl })
}

/** The content of a user token; null if Laurel did not sign it. The user or the end may be past (K6). */
export async function openUserToken(
  variables: Variables,
  token: string,
): Promise<{ user: TokenUser; scope: KeyScope; expires: Instant } | null> {
  const opened = await openToken(variables, 'user', UserClaims, token)
  if (opened === null) return null
  const { tenant, sub, iid, scope } = opened.claims
  return { user: { tenantId: tenant, id: sub, iid }, scope, expires: opened.expires }
}
