/**
 * The clients of a round: bare sockets that send the next request when the last one is answered. They use
 * little processor time, because they share the machine with the measured servers.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fixed, numbersTo, tellMore } from './bench.mjs'

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n')
const CLIENTS = 32
/** Timeout of a response, in milliseconds. */
const PATIENCE = 20_000

/** Events a second, and the time of each response in milliseconds. */
/** @typedef {{ perSecond: number; waits: number[] }} Round */
/** The address for events, and the API key. `user` returns the id of the user of the next event. */
/** @typedef {{ port: number; path: string; key: string; user: () => string }} To */

/** Sends events with idempotency keys from 32 clients at once. */
export async function round(/** @type {To} */ to, /** @type {number} */ milliseconds) {
  const sockets = await Promise.all(
    numbersTo(CLIENTS).map(async () => {
      const socket = connect({ port: to.port, host: '127.0.0.1', noDelay: true })
      await once(socket, 'connect')
      return socket
    }),
  )
  const began = performance.now()
  const waits = (await Promise.all(sockets.map((socket) => drive(socket, to, began + milliseconds)))).flat()
  const seconds = (performance.now() - began) / 1000
  for (const socket of sockets) socket.destroy()
  return { perSecond: waits.length / seconds, waits }
}

/**
 * Sends one event after another until the deadline. Rejects for a response that is not 201.
 *
 * @type {(socket: import('node:net').Socket, to: To, deadline: number) => Promise<number[]>}
 */
function drive(socket, to, deadline) {
  return new Promise((resolve, reject) => {
    let sent = 0
    const waits = /** @type {number[]} */ ([])
    let held = Buffer.alloc(0)
    socket.setTimeout(PATIENCE, () => socket.destroy(new Error(`no answer in ${PATIENCE / 1000} s`)))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed a connection')))
    socket.on('data', (part) => {
      held = Buffer.concat([held, Buffer.from(part)])
      if (!isWhole(held)) return
      const answer = held.toString('latin1')
      held = Buffer.alloc(0)
      if (!answer.startsWith('HTTP/1.1 201')) return reject(new Error(`an event was answered ${answer}`))
      const now = performance.now()
      waits.push(now - sent)
      if (now < deadline) send()
      else resolve(waits)
    })
    const send = () => {
      const bytes = eventRequest(to)
      sent = performance.now()
      socket.write(bytes)
    }
    send()
  })
}

/** True if all bytes of the response have arrived. */
function isWhole(/** @type {Buffer} */ answer) {
  const head = answer.indexOf(HEAD_END)
  if (head < 0) return false
  const length = /\r\ncontent-length: *(\d+)/i.exec(answer.toString('latin1', 0, head))
  if (length !== null) return answer.length >= head + HEAD_END.length + Number(length[1])
  return answer.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)
}

function eventRequest(/** @type {To} */ { port, path, key, user }) {
  const body = JSON.stringify({ user: { id: user() }, value: 1 })
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-API-KEY: ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Idempotency-Key: ${randomUUID()}\r\n\r\n${body}`,
  )
}

/**
 * Runs rounds of several kinds of events in turns, so that a busy moment of the machine meets all. A first
 * turn, which also creates the users, does not count.
 *
 * @param {Record<string, To>} kinds
 * @param {{ turns: number; milliseconds: number }} how
 * @returns {Promise<Record<string, Round[]>>}
 */
export async function takeTurns(kinds, { turns, milliseconds }) {
  const found = Object.fromEntries(Object.keys(kinds).map((name) => [name, /** @type {Round[]} */ ([])]))
  for (let turn = 0; turn <= turns; turn += 1) {
    const said = []
    for (const [name, to] of Object.entries(kinds)) {
      const one = await round(to, milliseconds)
      if (turn > 0) found[name]?.push(one)
      said.push(`${name} ${fixed(one.perSecond)}`)
    }
    tellMore(`${turn === 0 ? 'warming up' : `turn ${turn} of ${turns}`}, events/s: ${said.join('; ')}`)
  }
  return found
}
