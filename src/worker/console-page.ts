import type { Context as HonoContext } from 'hono'
import { findAsset } from '../api/assets'
import type { App, AppEnv } from '../api/hono'
import { isByAdminHost } from '../api/host'
import { unserved } from '../api/known-paths'

/** The page loads only files of this server, and calls only this server. No other page may show it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The path of the files of a build. */
const FILES = '/console/assets/'

/** The files of a build, by the ending of their names. Their names contain a hash of their content. */
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
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
    const { pathname } = new URL(c.req.url)
    const isFile = pathname.startsWith(FILES)
    const name = isFile ? pathname.slice(FILES.length) : ''
    const type = isFile ? TYPES[/^\w[\w.-]*\.([a-z\d]+)$/.exec(name)?.[1] ?? ''] : 'text/html; charset=utf-8'
    if (type === undefined || isTopFile(pathname)) return unserved(c, [])
    const asset = await findAsset(c.env, isFile ? `console/assets/${name}` : 'console/page')
    if (!asset.ok) return unserved(c, [])
    const cache = isFile ? 'public, max-age=31536000, immutable' : 'no-cache'
    return new Response(asset.body, { headers: { 'content-type': type, 'cache-control': cache } })
  }
  // Also the exchange of a one-time code (`console-sign-in.ts`).
  app.use('/console/*', async (c, next) => {
    if (c.env.ADMIN_HOST && !isByAdminHost(c.req.raw, c.env)) c.res = await unserved(c, [])
    else await next()
    for (const [name, value] of Object.entries(SECURITY)) c.res.headers.set(name, value)
  })
  app.get('/console', serve)
  app.get('/console/*', serve)
}
