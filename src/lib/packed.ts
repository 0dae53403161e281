/*
 * The platform's limits are in bytes: 2,000,000 for a value, a row and a parameter of D1 and of an object's
 * SQLite, 32 MiB for a call of an object, 128,000 for a message of a queue; an isolate has 128 MB of memory.
 * So long lists are processed in packs of limited size.
 */

/** Maximum bytes of one value. A JSON list with only this value still fits into one parameter. */
export const MOST_VALUE = 1_900_000
/** Maximum bytes of JSON in one parameter with several items. */
const MOST_LIST = 1_000_000
/** Maximum bytes that are read, written or sent at once. */
export const MOST_AT_ONCE = 4_000_000

/** The size of a text as UTF-8, in bytes. */
export function utf8Bytes(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit < 0x80) continue
    bytes += 1
    // Each half of a surrogate pair counts for two of its four bytes.
    if (unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff)) bytes += 1
  }
  return bytes
}

/** The size of a value as JSON, in bytes. */
export const jsonBytes = (value: unknown): number => utf8Bytes(JSON.stringify(value) ?? '')

/** Splits items, in order, into packs of at most `most` bytes. A larger item is a pack of its own. */
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

/** The first of these packs: the first items of at most `most` bytes together, or the first alone. */
export function firstPack<T>(items: readonly T[], most: number, bytesOf: (item: T) => number): T[] {
  let bytes = 0
  const end = items.findIndex((item, index) => {
    bytes += bytesOf(item)
    return index > 0 && bytes > most
  })
  return end === -1 ? [...items] : items.slice(0, end)
}

/**
 * A text that is already JSON and goes into a list unchanged. `->>` reads it back as the same text. As a
 * string inside JSON it would be longer, because each of its escapes would be escaped again.
 */
export class Json {
  constructor(readonly text: string) {}
}

/** A list of values as JSON. */
export const jsonRow = (values: readonly unknown[]): string =>
  listOf(values.map((value) => (value instanceof Json ? value.text : JSON.stringify(value ?? null))))

/** A JSON list of items that are already JSON. */
export const listOf = (items: readonly string[]): string => `[${items.join(',')}]`

/** Splits JSON items into packs. Each pack, as a list, is one parameter. */
export const packs = (items: readonly string[]): string[][] =>
  packsOf(items, MOST_LIST, (item) => utf8Bytes(item) + 1)

/** Makes JSON lists from JSON items: as few lists as the length of a parameter allows. */
export const packed = (items: readonly string[]): string[] => packs(items).map(listOf)
