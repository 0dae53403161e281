/** Characters of JSON in one parameter; D1 takes 2 MB, and a character is at most 3 bytes. */
const MOST_CHARACTERS = 500_000

/** Items of JSON as JSON lists, as few as the length of a parameter allows. */
export function packed(items: readonly string[]): string[] {
  return packs(items).map(listOf)
}

/** A JSON list of items of JSON. */
export const listOf = (items: readonly string[]): string => `[${items.join(',')}]`

/** Items of JSON in packs, as few as the length of a parameter allows. */
export function packs(items: readonly string[]): string[][] {
  const lists: string[][] = []
  let size = MOST_CHARACTERS
  for (const item of items) {
    if (size + item.length >= MOST_CHARACTERS) {
      lists.push([])
      size = 0
    }
    lists.at(-1)?.push(item)
    size += item.length + 1
  }
  return lists
}
