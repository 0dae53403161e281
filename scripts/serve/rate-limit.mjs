/** A rate limit: it counts in windows by the clock, and in memory, since a server runs one isolate. */

/** How many keys a window counts at most. After that the one that came first is forgotten. */
const MOST_KEYS = 100_000

/** The binding. */
export default (/** @type {{ limit: number; period: number }} */ { limit, period }) => {
  let last = 0
  /** @type {Map<string, number>} requests by key, in the last window */
  const counts = new Map()
  return {
    async limit(/** @type {{ key: string }} */ { key }) {
      const window = Math.floor(Date.now() / (period * 1000))
      if (window !== last) counts.clear()
      last = window
      const count = counts.get(key) ?? 0
      if (count >= limit) return { success: false }
      if (count === 0 && counts.size >= MOST_KEYS) counts.delete(counts.keys().next().value)
      counts.set(key, count + 1)
      return { success: true }
    },
  }
}
