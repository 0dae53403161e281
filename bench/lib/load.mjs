/**
 * The clients of a round: bare sockets that send the next request when the last one is answered. Laurel and
 * the baseline get the same clients. They use little processor time, because they share the machine with the
 * measured servers.
 */
import { connect } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n')

/** Timeout of a response, in milliseconds. */
const PATIENCE = 20_000

/**
 * `waits` has the time of each response, in milliseconds, in no order.
 *
 * @typedef {{ done: number; failed: number; seconds: number; perSecond: number; waits: number[] }} Round
 */

/**
 * Sends requests from `clients` clients at once, for `milliseconds`.
 *
 * @param {{ port: number; status: number; clients: number; milliseconds: number; request: () => Buffer }}
 *   options `request` makes the next request, and `status` is the expected status
 * @returns {Promise<Round>}
 */
export async function round({ port, status, clients, milliseconds, request }) {
  const sockets = await Promise.all(Array.from({ length: clients }, () => open(port)))
  const began = performance.now()
  const deadline = began + milliseconds
  const counts = await Promise.all(
    sockets.map((socket) => drive(socket, { request, status: String(status), deadline })),
  )
  const seconds = (performance.now() - began) / 1000
  for (const socket of sockets) socket.destroy()
  const done = counts.reduce((sum, count) => sum + count.done, 0)
  const failed = counts.reduce((sum, count) => sum + count.failed, 0)
  return { done, failed, seconds, perSecond: done / seconds, waits: counts.flatMap((count) => count.waits) }
}

/** @returns {Promise<import('node:net').Socket>} */
function open(/** @type {number} */ port) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => resolve(socket.off('error', reject)))
  })
}

/**
 * Sends one request after another until the deadline.
 *
 * @param {import('node:net').Socket} socket
 * @param {{ request: () => Buffer; status: string; deadline: number }} what
 * @returns {Promise<{ done: number; failed: number; waits: number[] }>} responses with that status, other
 *   responses, and the time of each response in milliseconds
 */
function drive(socket, { request, status, deadline }) {
  return new Promise((resolve, reject) => {
    let done = 0
    let failed = 0
    let sent = 0
    const waits = /** @type {number[]} */ ([])
    let held = /** @type {Buffer | null} */ (null)
    socket.setTimeout(PATIENCE, () => socket.destroy(new Error(`no answer in ${PATIENCE / 1000} s`)))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server closed a connection')))
    socket.on('data', (part) => {
      held = held === null ? part : Buffer.concat([held, part])
      if (!isWhole(held)) return
      if (held.subarray(9, 12).toString('latin1') === status) done += 1
      else failed += 1
      held = null
      const now = performance.now()
      waits.push(now - sent)
      if (now < deadline) send()
      else resolve({ done, failed, waits })
    })
    const send = () => {
      const bytes = request()
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

/**
 * A request for an event, as bytes.
 *
 * @param {{ port: number; path: string; key: string; user: string; idempotencyKey?: string | undefined }}
 *   event
 * @returns {Buffer}
 */
export function eventRequest({ port, path, key, user, idempotencyKey }) {
  const body = JSON.stringify({ user: { id: user }, value: 1 })
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-API-KEY: ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `${idempotencyKey === undefined ? '' : `Idempotency-Key: ${idempotencyKey}\r\n`}\r\n${body}`,
  )
}

/** A read request, as bytes. */
export const readRequest = (/** @type {{ port: number; path: string; key: string }} */ { port, path, key }) =>
  Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-API-KEY: ${key}\r\n\r\n`)
