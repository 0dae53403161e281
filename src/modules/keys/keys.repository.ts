import { z } from 'zod'
import type { Context } from '../../context'
import type { KeyRecord } from './keys.rules'

const Stored = z.object({
  id: z.string(),
  kind: z.enum(['application', 'admin']),
  tenantId: z.string().nullable(),
  userId: z.string().nullable(),
  hash: z.string(),
})

const BY_PREFIX = `
  SELECT id, kind, tenant_id AS tenantId, user_id AS userId, hash FROM api_keys WHERE prefix = ?1`

/** Seconds for which the edge may keep a record: long, since records never change. */
const EDGE_TTL = 86_400

const kvKey = (prefix: string) => `key:${prefix}`

/**
 * The record of a key by its prefix: from memory, else KV, else D1, each filling the one before. Whether the key still
 * exists is for D1 to say, in the read that the request makes anyway (K2). KV out of reach only costs a round trip.
 */
export async function findKeyRecord(ctx: Context, prefix: string): Promise<KeyRecord | null> {
  const remembered = ctx.instance.keys.get(prefix)
  if (remembered !== undefined) return remembered
  const cached = await ctx.env.KEYS.get(kvKey(prefix), { type: 'json', cacheTtl: EDGE_TTL }).catch(() => null)
  const fromKv = Stored.safeParse(cached)
  if (fromKv.success) {
    ctx.instance.keys.set(prefix, fromKv.data)
    return fromKv.data
  }
  const [row] = await ctx.db.rows(ctx.db.statement(BY_PREFIX, prefix))
  if (row === undefined) return null
  const record = Stored.parse(row)
  ctx.instance.keys.set(prefix, record)
  ctx.waitUntil(ctx.env.KEYS.put(kvKey(prefix), JSON.stringify(record)).catch(() => undefined))
  return record
}

/** Forgets deleted keys where they were only cached; D1 has refused them already (K2). */
export function forgetKeys(ctx: Context, prefixes: readonly string[]): void {
  for (const prefix of prefixes) {
    ctx.instance.keys.delete(prefix)
    ctx.waitUntil(ctx.env.KEYS.delete(kvKey(prefix)).catch(() => undefined))
  }
}
