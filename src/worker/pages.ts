import { accepts } from 'hono/accepts'
import { devDependencies, version } from '../../package.json'
import { IMPLICIT_TENANT_ID, parseRequestSnapshot, requestSnapshotStatement } from '../access/tenants.sql.ts'
import { type App, answer, findAsset, readAsset } from '../api/hono'
import { isByAdminHost, unserved } from '../api/paths'
import { configurationAt } from '../configuration/configuration'
import { unboundDatabase } from '../features/databases/databases.routes'
import { SECOND } from '../lib/clock'
import { errors, RETRY_AFTER } from '../lib/errors'
import { within } from '../lib/system-clock'
import type { Context } from '../platform/context'
import { missingBindings } from '../platform/env'
import { schemaProblem } from '../platform/schema-version.sql.ts'
import { TYPES } from './console'
import { filledExamples, hasDemo, isDemoDue } from './demo-load'

/** The paths that need no key: health, and the OpenAPI documents (G1). */
export function systemRoutes(app: App): void {
  app.get('/health', async (c) => {
    const { problem, ...storage } = await stateOf(c.get('ctx'))
    if (problem === null) return answer(c, 200, { status: 'ok', ...storage })
    // Waiting does not cure the other problems.
    const headers = problem === STARTING ? { 'Retry-After': String(RETRY_AFTER.starting) } : {}
    return answer(c, 503, { error: problem }, headers)
  })
  for (const name of ['application', 'admin'] as const) {
    const path = name === 'admin' ? '/admin/v1/openapi.json' : '/v1/openapi.json'
    app.get(path, async (c) => {
      const asset = await readAsset(c.env, `${name}.json`)
      const document = await filledExamples(c.get('ctx'), await asset.text())
      return c.body(document, 200, { 'content-type': 'application/json' })
    })
  }
}

const STARTING = 'The service is starting. Try again in a few seconds.'

/** Why the service cannot serve, or null, and whether its disk is full. */
async function stateOf(ctx: Context): Promise<{ problem: string | null; storage?: 'full' }> {
  const problem = await problemOf(ctx)
  const asked = ctx.env.SERVER?.fetch('http://server/storage').then((said) => said.text())
  const code = asked === undefined ? '' : await within(SECOND, asked).catch(() => '')
  // Reads work, and changes do once there is room.
  if (['ENOSPC', 'EDQUOT'].includes(code)) return { problem, storage: 'full' }
  const readOnly = `Nothing can be stored: writing to the folder with the data fails (${code}). The file system may be read-only. Look at the log of the system, repair it, and restart Laurel.`
  return { problem: problem ?? (code === '' ? null : readOnly) }
}

/** Why the service cannot serve: a missing binding or migration, or a demo to be loaded. Null if it can. */
async function problemOf(ctx: Context): Promise<string | null> {
  const missing = missingBindings(ctx.env)
  if (missing.length > 0)
    return `Missing bindings: ${missing.join(', ')}. Add them to wrangler.toml, and deploy again.`
  const schema = await schemaProblem(ctx.databases)
  if (schema !== null) return schema
  const unbound = await unboundDatabase(ctx)
  if (unbound !== null) return errors.databaseMissing(unbound).message
  // Without tenants, this also lets the users spread over databases that were added (B3).
  await ctx.databases.usersOf(IMPLICIT_TENANT_ID).holders()
  const result = await ctx.db.run(requestSnapshotStatement(ctx.db, IMPLICIT_TENANT_ID, []))
  const { tenant } = parseRequestSnapshot(result)
  if (tenant === null) return STARTING
  if (!hasDemo(ctx)) return null
  const source = { db: ctx.db.of(tenant.id), instance: ctx.instance }
  return isDemoDue(ctx, await configurationAt(source, tenant.configVersion)) ? STARTING : null
}

/** The address of the page's files. The viewer's version is in it, so browsers may cache for ever. */
const VIEWER = `/docs/${devDependencies['swagger-ui-dist']}`
const START = '/docs/start.js'

const FILES = [
  { name: 'swagger-ui.css', type: 'text/css; charset=utf-8' },
  { name: 'swagger-ui-bundle.js', type: 'text/javascript; charset=utf-8' },
  { name: 'swagger-ui-standalone-preset.js', type: 'text/javascript; charset=utf-8' },
]

const APPLICATION = { name: 'Application', url: '/v1/openapi.json' }
/** For the page without JavaScript, which is the same on every host: an address that also is (G1). */
const APPLICATION_ANYWHERE = '/api/openapi.json'
const ADMIN = { name: 'Admin', url: '/admin/v1/openapi.json' }

/** The page loads only from this server, whatever the viewer tries; it needs inline styles and `data:`. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Laurel: reference</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${VIEWER}/swagger-ui.css">
    <style>body { margin: 0 }</style>
  </head>
  <body>
    <noscript>This page needs JavaScript. You can read the documents as JSON:
      <a href="${APPLICATION_ANYWHERE}">${APPLICATION.name}</a>,
      <a href="${ADMIN.url}">${ADMIN.name}</a>.</noscript>
    <div id="reference"></div>
    <script src="${VIEWER}/swagger-ui-bundle.js"></script>
    <script src="${VIEWER}/swagger-ui-standalone-preset.js"></script>
    <script src="${START}"></script>
  </body>
</html>
`

const FOREVER = 'public, max-age=31536000, immutable'

const headers = (type: string, cache = 'no-cache') => ({
  'content-type': type,
  'cache-control': cache,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
})

/** `GET /docs`: both OpenAPI documents to read and try out. Needs no key, and only the Worker's assets. */
export function docsRoutes(app: App): void {
  app.get('/docs', (c) =>
    c.body(PAGE, 200, { ...headers('text/html; charset=utf-8'), 'content-security-policy': POLICY }),
  )
  app.get('/docs/', (c) => c.redirect('/docs', 301))
  app.get(START, (c) =>
    c.body(startScript(isByAdminHost(c.req.raw, c.env)), 200, headers('text/javascript; charset=utf-8')),
  )
  for (const { name, type } of FILES) {
    app.get(`${VIEWER}/${name}`, async (c) => {
      const asset = await readAsset(c.env, name)
      return new Response(asset.body, { headers: headers(type, FOREVER) })
    })
  }
}

/** `GET /site/`: the site, if it was built for the Worker (G14). The files of pages end in `.page`. */
export function siteRoutes(app: App): void {
  app.get('/site', (c) => c.redirect('/site/', 301))
  app.get('/site/*', async (c) => {
    const path = new URL(c.req.url).pathname.slice(1).replace(/\/$/, '/index')
    const [, ending] = /\.(\w+)$/.exec(path) ?? []
    const asset = await findAsset(c.env, ending === undefined ? `${path}.page` : path)
    if (!asset.ok) return unserved(c, [])
    const type = TYPES[ending ?? 'page'] ?? 'text/plain; charset=utf-8'
    return new Response(asset.body, {
      headers: headers(type, path.startsWith('site/assets/') ? FOREVER : undefined),
    })
  })
}

/**
 * Starts the viewer, without its validator, which would send the document to a server of the viewer's makers.
 * On the admin host, `/v1/openapi.json` is the admin interface's (G1), so the page shows only that document.
 *
 * The viewer forgets the key when another document is chosen, because it then "restores" no key. A plugin
 * prevents that: the key is for both documents. It is only in the memory of the page.
 */
function startScript(isAdminHost: boolean): string {
  const documents = isAdminHost ? [ADMIN] : [APPLICATION, ADMIN]
  return `SwaggerUIBundle({
  dom_id: '#reference',
  urls: ${JSON.stringify(documents)},
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  plugins: [{ statePlugins: { auth: { wrapActions: { restoreAuthorization: () => () => {} } } } }],
  layout: 'StandaloneLayout',
  validatorUrl: null,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
})
`
}

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

/** `GET /`: whether Laurel runs, and where to go on, also as JSON (G14). `GET /readme`: the README. */
export function frontPageRoutes(app: App): void {
  app.get('/', async (c) => {
    const { problem } = await stateOf(c.get('ctx'))
    const hasConsole = !c.env.ADMIN_HOST || isByAdminHost(c.req.raw, c.env)
    const about = 'Configure Laurel and look users up, in the browser.'
    const { ok: hasSite } = await findAsset(c.env, 'site/index.page')
    const links: Link[] = [
      ...(hasConsole ? [{ name: 'Console', path: '/console', about }] : []),
      { name: 'Reference', path: '/docs', about: 'Every operation of the interfaces.' },
      ...(hasSite ? [{ name: 'Documents', path: '/site/', about: 'Guides, rules, operations.' }] : []),
      { name: 'README', path: '/readme', about: 'How to start, and the way to the documentation.' },
    ]
    const common = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', vary: 'Accept' }
    const supports = ['text/html', 'application/json']
    if (accepts(c, { header: 'Accept', supports, default: 'text/html' }) === 'application/json') {
      const state = problem === null ? { status: 'ok' } : { status: 'unavailable', problem }
      const paths = Object.fromEntries(links.map(({ name, path }) => [name.toLowerCase(), path]))
      const facts = { name: 'Laurel', description: DESCRIPTION, version, ...state, links: paths }
      return c.json(facts, 200, common)
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
