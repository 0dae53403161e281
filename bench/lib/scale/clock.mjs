/**
 * Moving the test clock over what takes minutes: a request of its own, since `fetch` gives up after five.
 */
import { request } from 'node:http'

/** How long a move may take, in milliseconds. */
const PATIENCE = 20 * 60_000

/**
 * Moves the test clock of a server; answered when all is done that falls due on the way.
 *
 * @param {import('../server.mjs').Server} server
 * @param {string} key
 * @param {number} to in milliseconds
 * @returns {Promise<number>} how long it took, in seconds
 */
export function moveClock(server, key, to) {
  const began = performance.now()
  const body = JSON.stringify({ now: new Date(to).toISOString() })
  return new Promise((resolve, reject) => {
    const sent = request(
      `${server.url}/admin/v1/test-clock`,
      {
        method: 'PUT',
        agent: false,
        headers: {
          'x-api-key': key,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part) => (text += part))
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve((performance.now() - began) / 1000)
          else reject(new Error(`the clock was not moved: ${answer.statusCode} ${text.slice(0, 500)}`))
        })
      },
    )
    sent.setTimeout(PATIENCE, () => sent.destroy(new Error('the clock was not moved in 20 minutes')))
    sent.on('error', reject)
    sent.end(body)
  })
}
