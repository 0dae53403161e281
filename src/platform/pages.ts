import type { Scope } from './context'
import { LARGEST_PART, type Pause, sharedScans } from './scans'

/** A row's place in a list: the values that the list is sorted by. It never changes. */
export type Place = readonly (string | number)[]

/** The start of a page: `skip` rows after a place. Null if the list ends before it. */
type PageStart = { after: Place; skip: number } | null

/** A list of a tenant's rows. */
export type List = {
  /** No other list has this name. */
  name: string
  /** The place before all others. */
  beginning: Place
  /**
   * Returns the place of the last of the next `rows` rows after a place; null if there are fewer. It reads
   * the index entries of these rows.
   */
  skip: (after: Place, rows: number) => Promise<Place | null>
  /** The most rows that are read to find a page without a step; 20,000 if it is left out. */
  most?: number
}

const pageStartsOf = sharedScans<PageStart>()

/**
 * Finds the start of a page that may be far down the list. It works in steps, so that no statement reads more
 * than 20,000 rows. More than one step is a scan, and waits for its turn. Throws 429 like any scan (P11).
 */
export async function startOfPage(
  { tenant, instance, waitUntil }: Scope,
  { name, beginning, skip: next, most = LARGEST_PART }: List,
  { limit, skip }: { limit: number; skip: number },
): Promise<PageStart> {
  if (skip + limit <= most) return { after: beginning, skip }
  const read = async (pause: Pause): Promise<PageStart> => {
    let after = beginning
    for (let left = skip; ; ) {
      if (left + limit <= most) return { after, skip: left }
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
