/** Characters of JSON in one parameter; D1 takes 2 MB, and a character is at most 3 bytes. */
const MOST_CHARACTERS = 500_000

/** Items of JSON as JSON lists, as few as the length of a parameter allows. */
export function packed(items: readonly string[]): string[] {
  return packs(items).map(listOf)
}

/** A JSON list of items of JSON. */
export const listOf = (items: readonly string[]): string => `[${items.join(',')}]`

/** Items of JSON in packs, as few as the length of a parameter allows. */
export const packs = (items: readonly string[]): string[][] =>
  packsOf(items, MOST_CHARACTERS, ({ length }) => length + 1)

/** Items in packs, in their order, each as heavy as may be; one that is heavier alone is a pack of its own. */
export function packsOf<T>(items: readonly T[], most: number, weightOf: (item: T) => number): T[][] {
  const all: T[][] = []
  let weight = most
  for (const item of items) {
    const own = weightOf(item)
    if (weight + own > most || all.length === 0) {
      all.push([])
      weight = 0
    }
    all.at(-1)?.push(item)
    weight += own
  }
  return all
}
