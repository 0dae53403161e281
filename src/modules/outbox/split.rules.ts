import type { Message, Parcel } from './outbox'

/** Characters of JSON in one row; D1 holds 2 MB, a character is at most 3 bytes, and quotes are escaped once more on their way. */
const MOST_CHARACTERS = 300_000

/** Messages of one change in as many parcels as their length demands, in their order; `idOf` makes the id of the n-th, from 0, ascending. */
export function parcelsOf(
  { at, seq, userIid }: Pick<Parcel, 'at' | 'seq' | 'userIid'>,
  messages: readonly Message[],
  idOf: (n: number) => string,
): Parcel[] {
  const parts: Message[][] = []
  let length = MOST_CHARACTERS
  for (const message of messages) {
    const own = JSON.stringify(message).length
    if (length + own > MOST_CHARACTERS) {
      parts.push([])
      length = 0
    }
    parts.at(-1)?.push(message)
    length += own
  }
  return parts.map((part, n) => ({ at, seq, id: idOf(n), userIid, messages: part }))
}
