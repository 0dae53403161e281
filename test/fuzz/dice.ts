/**
 * Random values from a seed. An even generator makes choices. fast-check makes values, and prefers edge
 * cases.
 */
import fc from 'fast-check'

/** The choices of one seed, in order. */
export class Dice {
  #state: number
  readonly #seed: number
  #sampled = 0

  constructor(seed: number) {
    this.#seed = seed | 0
    this.#state = this.#seed
  }

  /** A number from 0 to below 1 (mulberry32). */
  roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 to below `most`. */
  below(most: number): number {
    return Math.floor(this.roll() * most)
  }

  chance(probability: number): boolean {
    return this.roll() < probability
  }

  pick<T>(of: readonly T[]): T {
    const index = this.below(of.length)
    if (index >= of.length) throw new Error('nothing to pick from')
    const [one] = of.slice(index, index + 1)
    // biome-ignore lint/style/noNonNullAssertion: there is one at this index.
    return one!
  }

  of<T>(arbitrary: fc.Arbitrary<T>): T {
    this.#sampled += 1
    const [value] = fc.sample(arbitrary, { seed: this.#seed + this.#sampled * 7_919, numRuns: 1 })
    // biome-ignore lint/style/noNonNullAssertion: one run makes one value.
    return value!
  }
}
