import type { Context as HonoContext } from 'hono'
import { type App, type AppEnv, findAsset, readBody } from '../api/hono'
import { isByAdminHost, rawPath, unserved } from '../api/paths'
import { ApiError, errors } from '../lib/errors'

/** The page loads and calls only this server, except for pictures (T4). No other page may show it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data: https: http:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The path of the files of a build. */
const FILES = '/console/assets/'

/** The files of a build and of the site, by the ending of their names. */
export const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  page: 'text/html; charset=utf-8',
  woff2: 'font/woff2',
}

/** The headers of every answer below `/console`, also of errors. */
const SECURITY = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** Part of a path that URL parsers resolve, and that has reached the Worker unresolved (G2). */
const UNRESOLVED = /\\|\/(?:\.|%2e){1,2}(?:\/|$)/i

/** Whether a path is that of a file at the top of the console, such as `/console/x.js`. No page has one. */
const isTopFile = (pathname: string): boolean => {
  const [, , name = '', ...others] = pathname.split('/')
  return others.length === 0 && name.includes('.')
}

/**
 * `GET /console`: the console (G14). Its files are assets of the Worker. Every path below it that is no file
 * answers the page itself, which shows the part that the path names. With ADMIN_HOST, it exists only on that
 * host.
 */
export function consoleRoutes(app: App): void {
  const serve = async (c: HonoContext<AppEnv>) => {
    const pathname = rawPath(c.req.url)
    const isFile = pathname.startsWith(FILES)
    const name = isFile ? pathname.slice(FILES.length) : ''
    const type = isFile ? TYPES[/^\w[\w.-]*\.([a-z\d]+)$/.exec(name)?.[1] ?? ''] : 'text/html; charset=utf-8'
    if (type === undefined || isTopFile(pathname) || UNRESOLVED.test(pathname)) return unserved(c, [])
    const asset = await findAsset(c.env, isFile ? `console/assets/${name}` : 'console/page')
    if (!asset.ok) return unserved(c, [])
    const cache = isFile ? 'public, max-age=31536000, immutable' : 'no-cache'
    return new Response(asset.body, { headers: { 'content-type': type, 'cache-control': cache } })
  }
  // Also the exchange of a one-time code (`console.ts`).
  app.use('/console/*', async (c, next) => {
    if (c.env.ADMIN_HOST && !isByAdminHost(c.req.raw, c.env)) c.res = await unserved(c, [])
    else await next()
    for (const [name, value] of Object.entries(SECURITY)) c.res.headers.set(name, value)
  })
  app.get('/console', serve)
  app.get('/console/*', serve)
}

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
    const { SERVER } = c.get('ctx').env
    const body: unknown = c.get('json')
    const code = typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined
    if (typeof code !== 'string')
      throw errors.invalid([{ path: 'code', message: 'must be a string, and is missing' }])
    const asked = SERVER?.fetch('http://server/sign-in', { method: 'POST', body: code })
    const apiKey = await asked?.then((answer) => answer.text()).catch(() => '')
    if (!apiKey) throw used()
    return c.json({ apiKey })
  })
}
