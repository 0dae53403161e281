import type { Context as HonoContext } from 'hono'
import { limit } from '../../access/rate-limits.service'
import { type App, type AppEnv, newApp } from '../../api/hono'
import { type Linked, linkedBy } from './links.repository'
import { unsubscribe } from './unsubscribe.service'

/** The page loads nothing, runs no script and can't be framed. Its form posts to the page itself. */
const POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
}

/** A page without data of the request or the user. */
const page = (title: string, content: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <style>
    body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem }
    button { font: inherit; padding: .5rem 1rem }</style>
  </head>
  <body>
    <h1>${title}</h1>
    ${content}
  </body>
</html>
`

const ASK = page(
  'Unsubscribe',
  '<p>Unsubscribe from our emails?</p><form method="post"><button>Unsubscribe</button></form>',
)
const DONE = page('Unsubscribed', '<p>You are unsubscribed from our emails.</p>')
const UNKNOWN = page(
  'This link does not work',
  '<p>Open the link in the email again. If you copied it, make sure that you copied all of it.</p>',
)

/**
 * `/unsubscribe/{token}`, the address of the links in emails; it needs no key (N3). GET asks and changes
 * nothing, because mail scanners follow links. POST unsubscribes at once and ignores its body (RFC 8058).
 */
export function unsubscribeRoutes(app: App): void {
  const pages = newApp()
  const answer = async (c: HonoContext<AppEnv>, act: (linked: Linked) => Promise<string>) => {
    const ctx = c.get('ctx')
    await limit(ctx, null, c.req.raw.headers)
    const linked = await linkedBy(ctx.db, c.req.param('token') ?? '')
    if (linked === null) return c.body(UNKNOWN, 404, HEADERS)
    return c.body(await act(linked), 200, HEADERS)
  }
  pages.get('/:token', (c) => answer(c, async () => ASK))
  pages.post('/:token', (c) =>
    answer(c, async (linked) => {
      await unsubscribe(c.get('ctx'), linked)
      return DONE
    }),
  )
  app.route('/unsubscribe', pages)
}
