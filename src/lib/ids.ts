import { v5 } from 'uuid'
import { type Instant, instant } from './clock'

/** Whether the text is a UUID of any version, in either case. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}

/**
 * The id of the n-th consequence (n from 0, below 4,095) of the item with this UUID v7. It is another UUID v7
 * with the same time. Each call gives the same id, so a retry makes the same ids.
 */
export function childId(id: string, n: number): string {
  const counter = (Number.parseInt(id.slice(15, 18), 16) + n + 1) & 0xfff
  return `${id.slice(0, 15)}${counter.toString(16).padStart(3, '0')}${id.slice(18)}`
}

/** A text that is greater than all UUIDs v7 from before a moment, and less than all later ones. */
export function firstIdAt(at: Instant): string {
  const time = at.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}`
}

/** A UUID v7 with the time `at` and the other bits of `id`. This is cheaper than a new id. */
export function retimed(id: string, at: Instant): string {
  return `${firstIdAt(at)}${id.slice(13)}`
}

const NAMES = '6f1d3b7e-4c1e-5a52-9a0f-3d0c7b9e2f41'

/** A UUID v7 of a moment and the hash of a name: the same ones always give the same id. */
export function namedId(at: Instant, name: string): string {
  const hashed = v5(name, NAMES)
  return retimed(`${hashed.slice(0, 14)}7${hashed.slice(15)}`, at)
}

/** The moment at which a UUID v7 was made; -1 if the text is not a UUID. */
export function timeOf(id: string): Instant {
  return instant(isId(id) ? Number.parseInt(id.replace('-', '').slice(0, 12), 16) : -1)
}

/** The number of buckets of each tenant. It never changes (B2). */
export const BUCKETS = 4_096

/**
 * The bucket of a user, from 0 to 4,095: a hash of the tenant's id and of the user's id, which the customer
 * chose. It is FNV-1a with 32 bits over the UTF-8 bytes of both, with a byte 0 in between, and then the last
 * mixing step of MurmurHash3, so that similar ids spread evenly. It must never change, because it says which
 * database holds the user (B2).
 */
export function bucketOf(tenantId: string, userId: string): number {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(`${tenantId}\0${userId}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % BUCKETS
}

/** Orders texts by code points, as SQLite does by UTF-8 bytes. JavaScript's own order is UTF-16's. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i += 1) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x === y) continue
    const [isHighX, isHighY] = [isSurrogate(x), isSurrogate(y)]
    return isHighX === isHighY ? x - y : isHighX ? 1 : -1
  }
  return a.length - b.length
}

const isSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdfff
