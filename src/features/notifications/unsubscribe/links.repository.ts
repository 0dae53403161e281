import { base64url } from 'jose'
import * as z from 'zod'
import { sameInConstantTime } from '../../../access/keys.rules'
import type { AccountDatabase, TenantDatabase } from '../../../db/database'

/** Whom a link is for: our id beside the caller's, since someone erased who returns is a new user (U8). */
export type Linked = { tenantId: string; iid: string; userId: string }

const SECRET_BYTES = 32
/** Longer than any token: a user's id has 255 characters at most. */
const TOKEN_MAX = 4_096
/** What the signature is for, so that it is good for nothing else. */
const PURPOSE = 'unsubscribe'

const Payload = z.tuple([z.string(), z.string(), z.string()])

/** A new secret for links: base64 of 32 random bytes. */
export function newLinkSecret(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))))
}

// The first one stays: links that were sent lead somewhere as long as the tenant lives.
const GIVE = 'UPDATE tenants SET link_secret = ?2 WHERE id = ?1 AND link_secret IS NULL'
const FIND = "SELECT link_secret AS secret FROM tenants WHERE id = ?1 AND status = 'active'"

/** Gives a tenant a secret for links unless there is one. */
export function giveLinkSecret(db: TenantDatabase): D1PreparedStatement {
  return db.statement(GIVE, db.tenantId, newLinkSecret())
}

/** A tenant's secret for links; null before the first template, and where there is no such active tenant. */
export async function linkSecretOf(db: AccountDatabase, tenantId: string): Promise<string | null> {
  const [row] = await db.rows(db.statement(FIND, tenantId))
  return row === undefined ? null : z.object({ secret: z.string().nullable() }).parse(row).secret
}

/** Signs what a link to unsubscribe says: whom it is for. Letters, digits, `-`, `_` and a dot. */
export async function unsubscribeToken(secret: string, { tenantId, iid, userId }: Linked): Promise<string> {
  const payload = base64url.encode(JSON.stringify([tenantId, iid, userId]))
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign'])
  const signed = encoder.encode(`${PURPOSE}.${payload}`)
  return `${payload}.${base64url.encode(new Uint8Array(await crypto.subtle.sign('HMAC', key, signed)))}`
}

/** Whom a token is for; null where it is not exactly one that we have signed. */
export async function linkedBy(db: AccountDatabase, token: string): Promise<Linked | null> {
  const claimed = token.length > TOKEN_MAX ? null : claimIn(token)
  const secret = claimed && (await linkSecretOf(db, claimed.tenantId))
  if (claimed === null || secret === null) return null
  return sameInConstantTime(token, await unsubscribeToken(secret, claimed)) ? claimed : null
}

function claimIn(token: string): Linked | null {
  try {
    const [payload = ''] = token.split('.')
    const text = new TextDecoder().decode(base64url.decode(payload))
    const [tenantId, iid, userId] = Payload.parse(JSON.parse(text))
    return { tenantId, iid, userId }
  } catch {
    return null
  }
}

const encoder = new TextEncoder()
