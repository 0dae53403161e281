import type { Context as HonoContext } from 'hono'
import { limit } from '../../../access/limits.service'
import { type App, type AppEnv, newApp } from '../../../http/app'
import { type Linked, linkedBy } from './links.repository'
import { unsubscribe } from './unsubscribe.service'

/** The page loads nothing, runs nothing and is shown in no other page; its form leads back to itself. */
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

/** A page without anything of the request or of the user in it. */
const page = (title: string, content: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <style>body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem }
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
  '<p>Do you want to get no more emails from us?</p><form method="post"><button>Unsubscribe</button></form>',
)
const DONE = page('Unsubscribed', '<p>You will get no more emails from us.</p>')
const UNKNOWN = page(
  'This link does not work',
  '<p>Open the link from the email once more, and make sure that all of it is there.</p>',
)

/**
 * `/unsubscribe/{token}`, where the links in emails lead, without a key (N3): GET asks and changes nothing, since mail scanners follow links;
 * POST acts at once, as RFC 8058 has it, whatever its body says.
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
