/** A key's record: the data to check the key and to find its holder. It never changes (K2). */
export type KeyRecord = {
  id: string
  kind: 'application' | 'admin'
  /** Null for an admin key. */
  tenantId: string | null
  userId: string | null
  /** SHA-256 of the body, in hexadecimal (K1). */
  hash: string
}

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
export function newKey(kind: KeyRecord['kind']): { prefix: string; body: string; key: string } {
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
