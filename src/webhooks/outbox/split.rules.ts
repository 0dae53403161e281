import { jsonBytes, packsOf } from '../../lib/packed'
import { type Message, type OutboxEntry, sharedUser, withoutShared } from './outbox.messages'

/** Bytes of JSON in a row, without its shared user. With the longest user, it is still below D1's limit. */
const MOST_BYTES = 300_000

/**
 * Splits the messages of one change into as many entries as their length requires, in their order. `idOf`
 * makes the id of the n-th entry, from 0. The ids must be ascending.
 */
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
