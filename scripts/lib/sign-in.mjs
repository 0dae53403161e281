/**
 * The link that `npm start` prints, which signs in to the console by a one-time code.
 *
 * The Worker has neither the code nor a way to give its admin key away: it passes the code on to this
 * process, which answers the key, once. In a deployment there is no such process.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** How long a link works, in milliseconds. */
const VALIDITY = 10 * 60_000

const hashOf = (/** @type {string} */ text) => createHash('sha256').update(text).digest()

/** Makes a code. `exchange` answers the admin key to it once, while it is valid, and nothing to any other text. */
export function offerSignIn(/** @type {string} */ adminKey, validity = VALIDITY) {
  const code = randomBytes(32).toString('base64url')
  const expected = hashOf(code)
  const deadline = performance.now() + validity
  let isUsed = false
  const exchange = (/** @type {string} */ given) => {
    if (isUsed || performance.now() >= deadline || !timingSafeEqual(hashOf(given), expected)) return ''
    isUsed = true
    return adminKey
  }
  return { code, exchange }
}
