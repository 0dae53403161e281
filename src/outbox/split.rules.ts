import { jsonBytes, packsOf } from '../lib/packed'
import { type Message, type OutboxEntry, sharedUser, withoutShared } from './outbox.messages'

/** Bytes of JSON in one row besides the user that its messages share: with one as long as may be, the row is below what D1 takes. */
const MOST_BYTES = 300_000

/** Messages of one change in as many parcels as their length demands, in their order; `idOf` makes the id of the n-th, from 0, ascending. */
export function splitIntoEntries(
  { at, seq, userIid }: Pick<OutboxEntry, 'at' | 'seq' | 'userIid'>,
  messages: readonly Message[],
  idOf: (n: number) => string,
): OutboxEntry[] {
  const user = sharedUser(messages)
  const parts =
    messages.length === 1
      ? [messages]
      : packsOf(messages, MOST_BYTES, (message) => jsonBytes(withoutShared(message, user)))
  return parts.map((part, n) => ({ at, seq, id: idOf(n), userIid, messages: part }))
}
