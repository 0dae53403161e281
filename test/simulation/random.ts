/** Numbers from a seed. The same seed gives the same numbers on every machine. */

/** A number in [0, 1) from a seed and some names (FNV-1a, then mixed). */
export function chance(...parts: readonly (string | number)[]): number {
  let hash = 0x811c9dc5
  for (const character of parts.join('|')) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/** A sequence of these numbers. */
export class Random {
  readonly #seed: number
  #count = 0

  constructor(seed: number) {
    this.#seed = seed
  }

  /** In [0, 1). */
  next(): number {
    this.#count += 1
    return chance(this.#seed, this.#count)
  }

  /** A whole number from `from` to `to`, including both. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  /** True in this share of the cases. */
  maybe(share: number): boolean {
    return this.next() < share
  }

  /** A random item of a list. */
  of<T>(list: readonly T[]): T {
    const found = list[Math.floor(this.next() * list.length)]
    if (found === undefined) throw new Error('nothing to choose from')
    return found
  }

  list<T>(count: number, make: (index: number) => T): T[] {
    return Array.from({ length: count }, (_, index) => make(index))
  }
}
