import * as z from 'zod'
import { BUCKETS, bucketOf } from '../../lib/ids'
import { json } from '../columns'
import {
  type AccountDatabase,
  MISPLACED_WORD,
  PLACEMENT,
  PLACEMENT_WITHOUT_TENANT,
  type Statement,
  statement,
} from '../database'

/** The name of the first database, which is its binding: it has the configuration and the directories. */
export const FIRST = 'DB'

/** Runs of buckets: the first bucket of each, and the name of the database that holds them. */
export const Places = z.array(z.tuple([z.number(), z.string()]))

/**
 * Which database holds which buckets of a tenant (B2). `places` are runs of buckets in ascending order; each
 * one ends before the next one begins. `placements` counts, for each database, how often the buckets that it
 * holds have changed. A database notes the same number in its row of the tenant, so that it can refuse a
 * batch that was sent by an older directory.
 */
export type Directory = {
  version: number
  places: readonly (readonly [from: number, database: string])[]
  placements: Readonly<Record<string, number>>
}

/** The directory of a tenant that was never spread: all users are in the first database. */
export const UNSPREAD: Directory = { version: 0, places: [[0, FIRST]], placements: {} }

/** The name of the database that holds a bucket. */
export function holderOf({ places }: Directory, bucket: number): string {
  let holder = FIRST
  for (const [from, database] of places) {
    if (from > bucket) break
    holder = database
  }
  return holder
}

/** The names of the databases that hold at least one bucket, without repetition, in the order of buckets. */
export const holdersOf = ({ places }: Pick<Directory, 'places'>): string[] => [
  ...new Set(places.map(([, database]) => database)),
]

const TOLD = 'SELECT version, places, moving FROM directory WHERE tenant_id = ?1'
const Told = z.object({ version: z.number(), places: json(Places), moving: z.string().nullable() })

/**
 * The databases that must expect a change of the configuration: those that hold users, and the one to which
 * users are moving. Read from the first database, because a move changes no version when it begins.
 */
export async function toldOfChanges(
  first: AccountDatabase,
  tenantId: string,
): Promise<{ version: number; moving: string | null; names: string[] }> {
  const told = await first.find(Told, TOLD, tenantId)
  if (told === undefined) return { version: 0, moving: null, names: [FIRST] }
  const { version, places, moving } = told
  const holders = places.map(([, name]) => name)
  return { version, moving, names: [...new Set(moving === null ? holders : [...holders, moving])] }
}

const READ = 'SELECT version, places, placements FROM directory WHERE tenant_id = ?1'

const Row = z.object({
  version: z.number(),
  places: json(Places),
  placements: json(z.record(z.string(), z.number())),
})

/** Reads a tenant's directory from the first database, in one round trip. */
export async function readDirectory(first: AccountDatabase, tenantId: string): Promise<Directory> {
  return (await first.find(Row, READ, tenantId)) ?? UNSPREAD
}

/** SQL that raises an error with a text of its own. See `CONFLICT` in guard.ts. */
const MISPLACED = `json_extract('{}', '${MISPLACED_WORD}')`

/**
 * SQL: the database holds the same buckets of a tenant as in the sender's directory, and no change of the
 * configuration or of the test clock is under way (B3, B4). `tenant` is the name of the tenant's row, whose
 * columns are null if there is none; `wanted` and `without` are the parameters `PLACEMENT` and
 * `PLACEMENT_WITHOUT_TENANT`. A copy that does not exist has no placement. The first database's row may not
 * exist: then nothing was ever placed there.
 */
const isPlaced = (tenant: string, wanted: string, without: string): string => `(${wanted} IS NULL OR (
    CASE WHEN ${tenant}.id IS NULL THEN ${without} WHEN ${tenant}.changing IS NULL THEN ${tenant}.placement
      ELSE -1 END = ${wanted}
    AND NOT EXISTS (SELECT 1 FROM test_clock WHERE changing IS NOT NULL)))`

/** SQL: 1, or the error of a batch that was sent by an old directory. See `isPlaced`. */
export const placedOrRefused = (tenant: string, wanted: string, without: string): string =>
  `CASE WHEN ${isPlaced(tenant, wanted, without)} THEN 1 ELSE ${MISPLACED} END`

/** SQL: whether an existing tenant is placed as in the sender's directory. `wanted` is `PLACEMENT`. */
export const stillPlaced = (wanted: string): string => `(${wanted} IS NULL OR (placement = ${wanted}
    AND changing IS NULL AND NOT EXISTS (SELECT 1 FROM test_clock WHERE changing IS NOT NULL)))`

const PLACED = `
  SELECT ${placedOrRefused('t', '?2', '?3')} FROM (SELECT 1) LEFT JOIN tenants t ON t.id = ?1`

/** The guard of a tenant's batch with several databases, unless a statement checks the placement. */
export const placed = (tenantId: string): Statement =>
  statement(PLACED, tenantId, PLACEMENT, PLACEMENT_WITHOUT_TENANT)

const WEIGHTS = 'SELECT name, weight FROM database_weights'
const PLACE = `
  INSERT INTO directory (tenant_id, version, places, placements)
  SELECT id, 1, json_array(json_array(0, ?2)), '{}' FROM tenants WHERE id = ?1`

const Weight = z.object({ name: z.string(), weight: z.number() })

/** The weights that an operator has set. Other databases count 1 (B3). */
export async function readWeights(first: AccountDatabase): Promise<Record<string, number>> {
  const rows = await first.list(Weight, WEIGHTS)
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
  { first, names }: { first: AccountDatabase; names: readonly string[] },
  tenantIds: readonly string[],
): Promise<Statement[]> {
  if (names.length === 1) return []
  const stored = await readWeights(first)
  const weights = names.map((name) => ({ name, weight: stored[name] ?? 1 }))
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
