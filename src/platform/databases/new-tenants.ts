import * as z from 'zod'
import { BUCKETS, bucketOf } from '../../lib/ids'
import type { Statement } from '../statement'
import type { Databases } from './databases-databases'
import { FIRST } from './directory'

const WEIGHTS = 'SELECT name, weight FROM database_weights'
const PLACE = `
  INSERT INTO directory (tenant_id, version, places, placements)
  SELECT id, 1, json_array(json_array(0, ?2)), '{}' FROM tenants WHERE id = ?1`

const Weights = z.array(z.object({ name: z.string(), weight: z.number() }))

/** The share of a tenant among the others, from 0 up to 1: a hash of its random id. */
const shareOf = (tenantId: string): number => bucketOf(tenantId, '') / BUCKETS

/**
 * The statements that place new tenants: each one lives whole in one database until it is spread (B2). The
 * databases get tenants by their weights. A tenant in the first database needs no directory. They follow the
 * statements that store the tenants, and do nothing for one that was not stored.
 */
export async function placementsOfNew(
  databases: Databases,
  tenantIds: readonly string[],
): Promise<Statement[]> {
  if (!databases.isSeveral) return []
  const { first } = databases
  const stored = Weights.parse(await first.rows(first.statement(WEIGHTS)))
  const weights = databases.names.map((name) => ({
    name,
    weight: stored.find((one) => one.name === name)?.weight ?? 1,
  }))
  return tenantIds.flatMap((id) => {
    const name = chosen(weights, shareOf(id))
    return name === FIRST ? [] : [first.statement(PLACE, id, name)]
  })
}

/** The database at a share of the sum of all weights. */
function chosen(weights: readonly { name: string; weight: number }[], share: number): string {
  // A sum of huge weights would be infinite.
  const most = Math.max(...weights.map(({ weight }) => weight))
  let left = share * weights.reduce((sum, { weight }) => sum + weight / most, 0)
  for (const { name, weight } of weights) {
    if (left < weight / most) return name
    left -= weight / most
  }
  return FIRST
}
