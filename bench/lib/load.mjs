/** Clients that send the next event as soon as the last one is answered. */
import { randomUUID } from 'node:crypto'
import { fixed, inTurns, numbersTo, timeOf } from './bench.mjs'

const CLIENTS = 32

/** Events a second, and the time of each response in milliseconds. */
/** @typedef {{ perSecond: number; waits: number[] }} Round */
/** The server and the path that get the events. `user` returns the id of the next event's user. */
/** @typedef {{ server: import('./server.mjs').Server; path: string; user: () => string }} To */

/** Sends events with idempotency keys from many clients at once. Rejects if one is refused. @returns {Promise<Round>} */
export async function round(
  /** @type {To} */ { server, path, user },
  /** @type {number} */ milliseconds,
  clients = CLIENTS,
) {
  const waits = /** @type {number[]} */ ([])
  const began = performance.now()
  const drive = async () => {
    while (performance.now() < began + milliseconds) {
      const headers = { 'idempotency-key': randomUUID() }
      const body = { user: { id: user() }, value: 1 }
      waits.push(await timeOf(() => server.ask('POST', path, { body, headers })))
    }
  }
  await Promise.all(numbersTo(clients).map(drive))
  return { perSecond: (waits.length / (performance.now() - began)) * 1000, waits }
}

/** Rounds of several kinds of events in turns. @returns {Promise<Record<string, Round[]>>} */
export const roundsOf = (
  /** @type {Record<string, To>} */ kinds,
  /** @type {number} */ turns,
  /** @type {number} */ milliseconds,
) =>
  inTurns(
    turns,
    Object.fromEntries(Object.entries(kinds).map(([name, to]) => [name, () => round(to, milliseconds)])),
    ({ perSecond }) => `${fixed(perSecond)} events/s`,
  )
