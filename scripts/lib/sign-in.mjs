/**
 * The link that `npm start` prints, which signs in to the console by a one-time code.
 *
 * The Worker has neither the code nor a way to give its admin key away: it passes the code on to this
 * process, which answers the key, once. In a deployment there is no such process.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'

/** How long a link works, in milliseconds. */
const VALIDITY = 10 * 60_000
/** The longest code that is read, in characters. */
const LONGEST = 100

const hashOf = (/** @type {string} */ text) => createHash('sha256').update(text).digest()

/**
 * Listens on a port of the loopback interface, and answers the admin key to the code, which works for some
 * time. The `address` is for the Worker.
 *
 * @param {string} adminKey
 * @param {{ validity?: number }} [options]
 */
export async function offerSignIn(adminKey, { validity = VALIDITY } = {}) {
  const code = randomBytes(32).toString('base64url')
  const expected = hashOf(code)
  const deadline = performance.now() + validity
  let isUsed = false
  const isRight = (/** @type {string} */ given) =>
    !isUsed && performance.now() < deadline && timingSafeEqual(hashOf(given), expected)

  const server = createServer(async (request, answer) => {
    let given = ''
    try {
      for await (const part of request.setEncoding('utf8')) {
        given += part
        if (given.length > LONGEST) break
      }
    } catch {
      // The Worker has hung up.
      return
    }
    const isGranted = request.method === 'POST' && isRight(given)
    if (isGranted) isUsed = true
    answer.writeHead(isGranted ? 200 : 401, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-store' })
    answer.end(isGranted ? adminKey : '')
  })
  server.unref()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = Object(server.address())
  return { code, address: `http://127.0.0.1:${port}/`, close: () => server.close() }
}
