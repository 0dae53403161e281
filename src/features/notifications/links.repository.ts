import { base64url } from 'jose'
import * as z from 'zod'
import { sameInConstantTime } from '../../access/keys.rules'
import type { AccountDatabase, TenantDatabase } from '../../platform/database'
import type { Statement } from '../../platform/statement'

/**
 * The user of a link: the iid as well as the caller's id, because an erased user who comes back is a new user
 * (U8).
 */
export type Linked = { tenantId: string; iid: string; userId: string }

const SECRET_BYTES = 32
/** Longer than any token. A user's id has at most 255 characters. */
const MOST_TOKEN_CHARACTERS = 4_096
/** The purpose is part of the signed text, so the signature is valid for nothing else. */
const PURPOSE = 'unsubscribe'

const Payload = z.tuple([z.string(), z.string(), z.string()])

/** A new secret for links: base64 of 32 random bytes. */
export function newLinkSecret(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))))
}

// The first secret stays, so that sent links work as long as the tenant exists.
const GIVE = 'UPDATE tenants SET link_secret = ?2 WHERE id = ?1 AND link_secret IS NULL'
const FIND = "SELECT link_secret AS secret FROM tenants WHERE id = ?1 AND status = 'active'"

/** Gives a tenant a secret for links if it has none. */
export function giveLinkSecret(db: TenantDatabase): Statement {
  return db.statement(GIVE, db.tenantId, newLinkSecret())
}

/** A tenant's secret for links. Null before the first template, and if there is no such active tenant. */
export async function linkSecretOf(db: AccountDatabase, tenantId: string): Promise<string | null> {
  const [row] = await db.rows(db.statement(FIND, tenantId))
  return row === undefined ? null : z.object({ secret: z.string().nullable() }).parse(row).secret
}

/** Signs the user of a link to unsubscribe. The token has letters, digits, `-`, `_` and a dot. */
export async function unsubscribeToken(secret: string, { tenantId, iid, userId }: Linked): Promise<string> {
  const payload = base64url.encode(JSON.stringify([tenantId, iid, userId]))
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign'])
  const signed = encoder.encode(`${PURPOSE}.${payload}`)
  return `${payload}.${base64url.encode(new Uint8Array(await crypto.subtle.sign('HMAC', key, signed)))}`
}

/** The user of a token; null if it is not exactly a token that Laurel signed. */
export async function linkedBy(db: AccountDatabase, token: string): Promise<Linked | null> {
  const claimed = token.length > MOST_TOKEN_CHARACTERS ? null : claimIn(token)
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
