import { devDependencies } from '../../package.json'
import { readAsset } from '../api/assets'
import type { App } from '../api/hono'
import { isByAdminHost } from '../api/host'

/**
 * The address of the page's own files. It contains the version of the viewer, so that browsers may cache the
 * files for ever.
 */
const VIEWER = `/docs/${devDependencies['swagger-ui-dist']}`
const START = '/docs/start.js'

/** The files of the viewer. Each is an asset of the same name. */
const FILES = [
  { name: 'swagger-ui.css', type: 'text/css; charset=utf-8' },
  { name: 'swagger-ui-bundle.js', type: 'text/javascript; charset=utf-8' },
  { name: 'swagger-ui-standalone-preset.js', type: 'text/javascript; charset=utf-8' },
]

const APPLICATION = { name: 'Application', url: '/v1/openapi.json' }
/**
 * Without JavaScript the page is the same on every host, so it needs an address with the same response on
 * every host (G1).
 */
const APPLICATION_ANYWHERE = '/api/openapi.json'
const ADMIN = { name: 'Admin', url: '/admin/v1/openapi.json' }

/**
 * The page can load only from this server, even if the viewer tries more. The viewer needs inline styles and
 * `data:` images.
 */
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

const headers = (type: string, cache = 'no-cache') => ({
  'content-type': type,
  'cache-control': cache,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
})

/**
 * `GET /docs`: both OpenAPI documents as a page to read and to try out. It needs no key, and uses only assets
 * of the Worker.
 */
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
