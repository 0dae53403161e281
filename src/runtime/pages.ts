import { LARGEST_PART, type Pause } from '../db/scans'
import type { Scope } from './context'
import { sharedScans } from './shared-scans'

/** A row's place in a list: what the list is ordered by. It never changes. */
export type Place = readonly (string | number)[]

/** Where a page begins: so many rows after this place. Null if the list ends before. */
export type PageStart = { after: Place; skip: number } | null

/** A list of a tenant's rows. */
export type List = {
  /** Tells it from other lists. */
  name: string
  /** The place before all others. */
  beginning: Place
  /** The place of the last of the next so many rows after a place; null if there are fewer. It reads these rows' entries in an index. */
  skip: (after: Place, rows: number) => Promise<Place | null>
}

const pageStartsOf = sharedScans<PageStart>()

/**
 * Finds where a page begins that may be far behind: in steps, so that no statement reads more than 20,000 rows. More than one step is a
 * scan, and waits for its turn. Throws 429 as any scan (P11).
 */
export async function startOfPage(
  { tenant, instance, waitUntil }: Scope,
  { name, beginning, skip: next }: List,
  { limit, skip }: { limit: number; skip: number },
): Promise<PageStart> {
  if (skip + limit <= LARGEST_PART) return { after: beginning, skip }
  const read = async (pause: Pause): Promise<PageStart> => {
    let after = beginning
    for (let left = skip; ; ) {
      if (left + limit <= LARGEST_PART) return { after, skip: left }
      const rows = Math.min(left, LARGEST_PART)
      await pause()
      const last = await next(after, rows)
      if (last === null) return null
      after = last
      left -= rows
    }
  }
  const asked = { tenantId: tenant.id, name: JSON.stringify([name, limit, skip]), read }
  return pageStartsOf(instance).run({ ...asked, mayBeOlder: () => false }, waitUntil)
}
