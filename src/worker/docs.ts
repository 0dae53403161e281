import { devDependencies } from '../../package.json'
import type { App } from '../http/app'
import { readAsset } from '../http/assets'
import { isByAdminHost } from '../http/host'

/** Where the page's own parts are; the address names the viewer's version, so that its files may be kept for good. */
const VIEWER = `/docs/${devDependencies['swagger-ui-dist']}`
const START = '/docs/start.js'

/** The files of the viewer, each an asset of the same name. */
const FILES = [
  { name: 'swagger-ui.css', type: 'text/css; charset=utf-8' },
  { name: 'swagger-ui-bundle.js', type: 'text/javascript; charset=utf-8' },
  { name: 'swagger-ui-standalone-preset.js', type: 'text/javascript; charset=utf-8' },
]

const APPLICATION = { name: 'Application', url: '/v1/openapi.json' }
/** Without JavaScript the page is the same on every host, and so is what this address serves (G1). */
const APPLICATION_ANYWHERE = '/api/openapi.json'
const ADMIN = { name: 'Admin', url: '/admin/v1/openapi.json' }

/** The page reaches nothing but this server, whatever the viewer would like. It draws with styles and images of its own. */
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
    <noscript>This page needs JavaScript. The documents that it shows, as JSON:
      <a href="${APPLICATION_ANYWHERE}">${APPLICATION.name}</a>, <a href="${ADMIN.url}">${ADMIN.name}</a>.</noscript>
    <div id="reference"></div>
    <script src="${VIEWER}/swagger-ui-bundle.js"></script>
    <script src="${VIEWER}/swagger-ui-standalone-preset.js"></script>
    <script src="${START}"></script>
  </body>
</html>
`

const headers = (type: string, cache = 'no-cache') => ({
  'content-type': type,
  'cache-control': cache,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
})

/** `GET /docs`: both OpenAPI documents as a page to read and to try out, without a key, from our own assets alone. */
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
      return new Response(asset.body, { headers: headers(type, 'public, max-age=31536000, immutable') })
    })
  }
}

/**
 * Starts the viewer, without its validator, which would send the document to its makers. On the admin host
 * `/v1/openapi.json` is the admin interface's (G1), so that the page shows that one alone.
 *
 * The viewer forgets the key when another document is chosen, by "restoring" none. A plugin keeps that from happening: the key is of both
 * documents. It stays in the page's memory, and goes with the page.
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
