/** A rate limit: it counts in windows by the clock, and in memory, since a server runs one isolate. */

/** How many keys a window counts at most. After that the one that came first is forgotten. */
const MOST_KEYS = 100_000

class RateLimit {
  #limit
  #period
  #window = 0
  /** @type {Map<string, number>} requests by key */
  #counts = new Map()

  constructor(/** @type {number} */ limit, /** @type {number} */ period) {
    this.#limit = limit
    this.#period = period
  }

  async limit(/** @type {{ key: string }} */ { key }) {
    const window = Math.floor(Date.now() / (this.#period * 1000))
    if (window !== this.#window) {
      this.#window = window
      this.#counts.clear()
    }
    const count = this.#counts.get(key) ?? 0
    if (count >= this.#limit) return { success: false }
    if (count === 0 && this.#counts.size >= MOST_KEYS) {
      const [oldest] = this.#counts.keys()
      this.#counts.delete(oldest)
    }
    this.#counts.set(key, count + 1)
    return { success: true }
  }
}

/** The binding. */
export default (/** @type {{ limit: number; period: number }} */ { limit, period }) =>
  new RateLimit(limit, period)
