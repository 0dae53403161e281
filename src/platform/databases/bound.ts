import * as z from 'zod'
import { BoundedMap } from '../../lib/bounded'
import { BUCKETS, bucketOf } from '../../lib/ids'
import { type AccountDatabase, Connection, type Cost, type Statement } from '../database'
import { type Bindings, variables } from '../env'
import { type Instance, perInstance } from '../instance'
import { Databases, type WakeMover } from './databases'
import { type Directory, FIRST } from './directory'

/** Directories by tenant, at most 10,000. A database refuses a batch that was sent by an old one (B3). */
class Directories extends BoundedMap<string, Directory> {
  constructor() {
    super(10_000)
  }
}

const directoriesOf = perInstance(() => new Directories())

const MOST_DATABASES = 100

/**
 * The bound databases by name: `DB`, `DB_2`, `DB_3` and so on, without gaps (B1).
 */
export function boundDatabases(env: Bindings): { name: string; d1: D1Database }[] {
  const list = [{ name: FIRST, d1: env.DB }]
  for (let nth = 2; nth <= MOST_DATABASES; nth += 1) {
    const name = `DB_${nth}`
    const d1: unknown = Reflect.get(env, name)
    if (!isDatabase(d1)) break
    list.push({ name, d1 })
  }
  return list
}

const isDatabase = (binding: unknown): binding is D1Database =>
  typeof binding === 'object' && binding !== null && 'batch' in binding && 'prepare' in binding

/** All databases, for one request, call or alarm. Its round trips and rows are counted in `cost`. */
export function databasesOf(
  instance: Instance,
  env: Bindings,
  cost: Cost,
  wakeMover: WakeMover = () => undefined,
): Databases {
  return new Databases({
    cost,
    connections: boundDatabases(env).map(({ name, d1 }) => new Connection(name, d1, cost)),
    testClock: variables(env).TEST_CLOCK === 'on',
    directories: directoriesOf(instance),
    settle: instance.settle,
    wakeMover,
  })
}

const WEIGHTS = 'SELECT name, weight FROM database_weights'
const PLACE = `
  INSERT INTO directory (tenant_id, version, places, placements)
  SELECT id, 1, json_array(json_array(0, ?2)), '{}' FROM tenants WHERE id = ?1`

const Weights = z.array(z.object({ name: z.string(), weight: z.number() }))

/** The weights that an operator has set. Other databases count 1 (B3). */
export async function readWeights(first: AccountDatabase): Promise<Record<string, number>> {
  const rows = Weights.parse(await first.rows(first.statement(WEIGHTS)))
  return Object.fromEntries(rows.map(({ name, weight }) => [name, weight]))
}

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
  const { first, others } = databases
  if (others.length === 0) return []
  const stored = await readWeights(first)
  const weights = databases.names.map((name) => ({ name, weight: stored[name] ?? 1 }))
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
