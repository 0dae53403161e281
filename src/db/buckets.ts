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
