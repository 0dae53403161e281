/**
 * Requests that are answered when work over all users is done. They don't use `fetch`, which gives up after
 * five minutes.
 */
import { request } from 'node:http'

/** Timeout of such a request, in milliseconds. */
const PATIENCE = 20 * 60_000

/**
 * Moves the test clock of a server. The response comes when all work that is due by then is done.
 *
 * @param {import('../server.mjs').Server} server
 * @param {string} key
 * @param {number} to in milliseconds
 * @returns {Promise<number>} the duration in seconds
 */
export const moveClock = (server, key, to) =>
  askForLong(server, 'PUT', '/admin/v1/test-clock', { key, body: { now: new Date(to).toISOString() } })

/**
 * Sends a request as JSON. Throws unless the response is a success.
 *
 * @param {import('../server.mjs').Server} server
 * @param {string} method
 * @param {string} path
 * @param {{ key: string; body: unknown }} options
 * @returns {Promise<number>} the duration in seconds
 */
export function askForLong(server, method, path, { key, body }) {
  const began = performance.now()
  const text = JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const headers = {
      'x-api-key': key,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    }
    const sent = request(`${server.url}${path}`, { method, agent: false, headers }, (answer) => {
      let said = ''
      answer.setEncoding('utf8').on('data', (part) => (said += part))
      answer.on('end', () => {
        if (Math.floor((answer.statusCode ?? 0) / 100) === 2) resolve((performance.now() - began) / 1000)
        else reject(new Error(`${method} ${path} was answered ${answer.statusCode}: ${said.slice(0, 500)}`))
      })
    })
    sent.setTimeout(PATIENCE, () => sent.destroy(new Error(`${method} ${path} was not answered in time`)))
    sent.on('error', reject)
    sent.end(text)
  })
}
