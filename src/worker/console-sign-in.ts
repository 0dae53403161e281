import { readBody } from '../api/body'
import type { App } from '../api/hono'
import { unserved } from '../api/known-paths'
import { ApiError, errors } from '../lib/errors'

/** The most bytes of a request. */
const MOST_BYTES = 1024

const LOOPBACK_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])$/
const LOOPBACK_ADDRESS = /^(?:127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/

const forbidden = () =>
  new ApiError(
    403,
    'This link works only in a browser on the machine that runs npm start. Sign in with an admin key.',
  )
const used = () =>
  new ApiError(
    401,
    'This link was used before, or is older than 10 minutes. Sign in with the admin key that npm start printed.',
  )

/**
 * `POST /console/one-time-code` `{code}`: exchanges the one-time code of the link that `npm start` prints for
 * the admin key (G14). Exists only with CONSOLE_SIGN_IN, which only `npm start` sets. The Worker itself never
 * gives its key away: the process of `npm start` knows the code, and answers the key once
 * (`scripts/lib/sign-in.mjs`).
 *
 * The request must come from this machine, by the name of this machine, and from the console itself. So no
 * page of another site can send it, also not by a name that leads here.
 */
export function consoleSignInRoutes(app: App): void {
  app.post('/console/one-time-code', async (c, next) => {
    if (c.get('ctx').variables.CONSOLE_SIGN_IN === undefined) return unserved(c, [])
    const { origin, hostname } = new URL(c.req.url)
    const address = c.req.header('cf-connecting-ip')
    const isFromHere = address === undefined || LOOPBACK_ADDRESS.test(address)
    if (!isFromHere || !LOOPBACK_HOST.test(hostname) || c.req.header('origin') !== origin) throw forbidden()
    return next()
  })
  app.post('/console/one-time-code', readBody(MOST_BYTES), async (c) => {
    const { CONSOLE_SIGN_IN: address = '' } = c.get('ctx').variables
    const body: unknown = c.get('json')
    const code = typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined
    if (typeof code !== 'string')
      throw errors.invalid([{ path: 'code', message: 'must be a string, and is missing' }])
    const answer = await fetch(address, { method: 'POST', body: code, redirect: 'manual' }).catch(() => null)
    if (answer?.status !== 200) throw used()
    return c.json({ apiKey: await answer.text() }, 200, { 'cache-control': 'no-store' })
  })
}
