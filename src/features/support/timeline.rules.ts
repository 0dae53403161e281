/**
 * The place of an entry in a timeline: its moment in milliseconds, the user's `seq` after the change, its
 * place in the change, and its id. An entry without a known `seq` is after all others of its moment. An entry
 * without a known moment has the moment -1, so it is the oldest.
 */
export type Key = readonly [at: number, seq: number, place: number, id: string]

/** The `seq` of entries whose `seq` is not known. */
export const NO_SEQ = Number.MAX_SAFE_INTEGER
/** The moment of entries whose moment is not known. */
export const NO_MOMENT = -1
/** The place before the newest entry. */
export const NEWEST: Key = [Number.MAX_SAFE_INTEGER, NO_SEQ, NO_SEQ, '']

/** Places in a change, in the order in which things happen: fields, event, streak, completions, awards. */
export const PLACES = {
  history: -1_000_000_000_000,
  event: 0,
  streak: 1,
  other: 1_000,
  award: 10_000,
} as const

/** Compares two keys: above 0 if the first one is newer. */
export function compareKeys(a: Key, b: Key): number {
  for (const index of [0, 1, 2] as const) if (a[index] !== b[index]) return a[index] - b[index]
  return a[3] === b[3] ? 0 : a[3] < b[3] ? -1 : 1
}

/** An entry with its key. */
export type Keyed<T> = { key: Key; entry: T }

/**
 * The entries that one source has found. `end` is the key down to which the source was read, itself included.
 * Null if there is nothing more.
 */
export type Part<T> = { entries: readonly Keyed<T>[]; end: Key | null }

/**
 * The next page: the newest entries of all sources before `after`. No entry is older than the newest `end`,
 * because a source may have more entries there. `next` is where the page after it begins; null if there is
 * none.
 */
export function merged<T>(
  parts: readonly Part<T>[],
  { after, limit }: { after: Key; limit: number },
): { entries: readonly T[]; next: Key | null } {
  const ends = parts.flatMap(({ end }) => (end === null ? [] : [end]))
  const end = ends.toSorted(compareKeys).at(-1) ?? null
  const found = parts
    .flatMap(({ entries }) => entries)
    .filter(({ key }) => compareKeys(key, after) < 0 && (end === null || compareKeys(key, end) >= 0))
    .toSorted((a, b) => compareKeys(b.key, a.key))
  const page = found.slice(0, limit)
  const last = page.at(-1)
  const next = found.length > limit && last !== undefined ? last.key : end
  return { entries: page.map(({ entry }) => entry), next }
}
