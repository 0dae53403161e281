/*
 * The platform's limits are in bytes: 2,000,000 for a value, a row and a parameter of D1 and of an object's SQLite, 32 MiB for a call of an
 * object, 128,000 for a message of a queue; an isolate has 128 MB of memory. So whatever can be long is taken in packs of so many bytes.
 */

/** Bytes of one value: as long as a JSON list that is one parameter may become when its last item is as long as may be. */
export const MOST_VALUE = 1_900_000
/** Bytes of JSON in one parameter that holds several items. */
const MOST_LIST = 1_000_000
/** Bytes that are read, written or sent at once. */
export const MOST_AT_ONCE = 4_000_000

/** How many bytes a text takes as UTF-8. */
export function utf8Bytes(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit < 0x80) continue
    bytes += 1
    // Half of a surrogate pair takes two of its four bytes.
    if (unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff)) bytes += 1
  }
  return bytes
}

/** How many bytes a value takes as JSON. */
export const jsonBytes = (value: unknown): number => utf8Bytes(JSON.stringify(value) ?? '')

/** Items in packs of at most so many bytes, in their order; one that takes more is a pack of its own. */
export function packsOf<T>(items: readonly T[], most: number, bytesOf: (item: T) => number): T[][] {
  const all: T[][] = []
  let bytes = most
  for (const item of items) {
    const own = bytesOf(item)
    if (bytes + own > most || all.length === 0) {
      all.push([])
      bytes = 0
    }
    all.at(-1)?.push(item)
    bytes += own
  }
  return all
}

/** The first of such packs: the first items that together take at most so many bytes, or the first one alone. */
export function firstPack<T>(items: readonly T[], most: number, bytesOf: (item: T) => number): T[] {
  let bytes = 0
  const end = items.findIndex((item, index) => {
    bytes += bytesOf(item)
    return index > 0 && bytes > most
  })
  return end === -1 ? [...items] : items.slice(0, end)
}

/**
 * A text that is JSON already, to stand in a list as it is. `->>` reads it as the text that it was, and it takes no more room than that: as
 * a text of JSON inside of JSON each of its escapes would be escaped again.
 */
export class Json {
  constructor(readonly text: string) {}
}

/** A list of values as JSON. */
export const jsonRow = (values: readonly unknown[]): string =>
  listOf(values.map((value) => (value instanceof Json ? value.text : JSON.stringify(value ?? null))))

/** A JSON list of items of JSON. */
export const listOf = (items: readonly string[]): string => `[${items.join(',')}]`

/** Items of JSON in packs, each of which is one parameter as a list. */
export const packs = (items: readonly string[]): string[][] =>
  packsOf(items, MOST_LIST, (item) => utf8Bytes(item) + 1)

/** Items of JSON as JSON lists, as few as the length of a parameter allows. */
export const packed = (items: readonly string[]): string[] => packs(items).map(listOf)
