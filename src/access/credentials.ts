import type { Instant } from '../lib/clock'
import type { KeyScope } from '../platform/context'

/** The interface that an operation belongs to (G1). */
export const SURFACES = ['application', 'admin'] as const
export type Surface = (typeof SURFACES)[number]

/** The rules of an operation for access. */
export type Entrance = {
  /**
   * The scope that an application key needs (K5). By default, GET needs `read`, and all other methods need
   * `write`.
   */
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
  /** When it ends; null for never. */
  expires: Instant | null
}

/** The name of a credential: the prefix of a key, or the internal id of a token's user. */
export const credentialName = ({ prefix, user }: Credential): string => prefix ?? user?.iid ?? ''

/**
 * Whether a credential is valid. `present` are the names of the credentials whose rows exist, and `now` is
 * the time of the clock of C1.
 */
export const isValid = (credential: Credential, present: ReadonlySet<string>, now: Instant): boolean =>
  present.has(credentialName(credential)) && (credential.expires === null || now < credential.expires)

/**
 * Splits a key into its two parts. Returns null if the text can't be a key, so that no lookup is needed (K1).
 */
export function splitKey(key: string): { prefix: string; body: string } | null {
  const [, prefix, body] = FORM.exec(key) ?? []
  return prefix === undefined || body === undefined ? null : { prefix, body }
}

/** The form of the keys that `newKey` makes. */
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

/**
 * Whether two texts are the same. The time does not depend on the place of the first difference. It may
 * depend on the lengths.
 */
export function sameInConstantTime(a: string, b: string): boolean {
  const left = new TextEncoder().encode(a)
  const right = new TextEncoder().encode(b)
  return left.byteLength === right.byteLength && crypto.subtle.timingSafeEqual(left, right)
}
