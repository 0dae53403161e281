import * as z from 'zod'
import type { AccountDatabase } from '../database'
import { json } from '../json-column'

/** The name of the first database, which is its binding: it has the configuration and the directories. */
export const FIRST = 'DB'

/** The first bucket of a run of buckets, and the name of the database that holds them. */
const Run = z.tuple([z.number(), z.string()])

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
export const holdersOf = ({ places }: Directory): string[] => [
  ...new Set(places.map(([, database]) => database)),
]

const TOLD = 'SELECT version, places, moving FROM directory WHERE tenant_id = ?1'
const Told = z.object({ version: z.number(), places: json(z.array(Run)), moving: z.string().nullable() })

/**
 * The databases that must expect a change of the configuration: those that hold users, and the one to which
 * users are moving. Read from the first database, because a move changes no version when it begins.
 */
export async function toldOfChanges(
  first: AccountDatabase,
  tenantId: string,
): Promise<{ version: number; moving: string | null; names: string[] }> {
  const [row] = await first.rows(first.statement(TOLD, tenantId))
  if (row === undefined) return { version: 0, moving: null, names: [FIRST] }
  const { version, places, moving } = Told.parse(row)
  const holders = places.map(([, name]) => name)
  return { version, moving, names: [...new Set(moving === null ? holders : [...holders, moving])] }
}

const READ = 'SELECT version, places, placements FROM directory WHERE tenant_id = ?1'

const Row = z.object({
  version: z.number(),
  places: json(z.array(Run)),
  placements: json(z.record(z.string(), z.number())),
})

/** Reads a tenant's directory from the first database, in one round trip. */
export async function readDirectory(first: AccountDatabase, tenantId: string): Promise<Directory> {
  const [row] = await first.rows(first.statement(READ, tenantId))
  return row === undefined ? UNSPREAD : Row.parse(row)
}
