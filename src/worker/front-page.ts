import { accepts } from 'hono/accepts'
import { version } from '../../package.json'
import { findAsset } from '../api/assets'
import type { App } from '../api/hono'
import { isByAdminHost } from '../api/host'
import { unserved } from '../api/known-paths'
import { problemOf } from './health-and-openapi'

const DESCRIPTION =
  'Laurel is an open-source gamification service. Your product sends events about its users. Laurel keeps their points, levels, streaks, achievements and leaderboards.'

const STYLE = `:root { color-scheme: light dark;
  --soft: light-dark(#57606a, #9aa4b2); --accent: light-dark(#3f5bd8, #9db0ff) }
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 36rem; margin: 12vh auto; padding: 0 1.5rem;
  background: light-dark(#fff, #101318); color: light-dark(#16191f, #e7eaf0) }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 }
p { margin: 1rem 0 }
.state { color: var(--soft) }
ul { list-style: none; padding: 0; margin: 2rem 0 0; display: grid; gap: .75rem }
a { color: var(--accent) }
li span { display: block; color: var(--soft); font-size: .9rem }`

type Link = { name: string; path: string; about: string }

/** Escapes text for HTML. */
const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const page = (problem: string | null, links: readonly Link[], nonce: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Laurel</title>
    <link rel="icon" href="data:,">
    <style nonce="${nonce}">${STYLE}</style>
  </head>
  <body>
    <main>
      <h1>Laurel</h1>
      <p>${DESCRIPTION}</p>
      <p class="state">${problem === null ? `Version ${version} runs.` : `Version ${version} can't serve now. ${escaped(problem)}`}</p>
      <ul>
${links.map(({ name, path, about }) => `        <li><a href="${path}">${name}</a><span>${about}</span></li>`).join('\n')}
      </ul>
    </main>
  </body>
</html>
`

/**
 * `GET /`: says that Laurel runs, and where to go on. With `Accept: application/json` it answers the same as
 * JSON (G14). `GET /readme` answers the README.
 */
export function frontPageRoutes(app: App): void {
  app.get('/', async (c) => {
    const problem = await problemOf(c.get('ctx'))
    const hasConsole = !c.env.ADMIN_HOST || isByAdminHost(c.req.raw, c.env)
    const links: Link[] = [
      ...(hasConsole
        ? [
            {
              name: 'Console',
              path: '/console',
              about: 'Configure Laurel and look users up, in the browser.',
            },
          ]
        : []),
      { name: 'Reference', path: '/docs', about: 'Every operation of the interfaces.' },
      { name: 'README', path: '/readme', about: 'How to start, and the way to the documentation.' },
    ]
    const common = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', vary: 'Accept' }
    const supports = ['text/html', 'application/json']
    if (accepts(c, { header: 'Accept', supports, default: 'text/html' }) === 'application/json') {
      const state = problem === null ? { status: 'ok' } : { status: 'unavailable', problem }
      const paths = Object.fromEntries(links.map(({ name, path }) => [name.toLowerCase(), path]))
      return c.json(
        { name: 'Laurel', description: DESCRIPTION, version, ...state, links: paths },
        200,
        common,
      )
    }
    const nonce = crypto.randomUUID()
    return c.html(page(problem, links, nonce), 200, {
      ...common,
      'content-security-policy': `default-src 'none'; style-src 'nonce-${nonce}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
    })
  })
  app.get('/readme', async (c) => {
    const asset = await findAsset(c.env, 'readme.md')
    if (!asset.ok) return unserved(c, [])
    return new Response(asset.body, {
      headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    })
  })
}
