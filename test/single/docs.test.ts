import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { words } from '../helpers/words'
import { at, newApp, toApp } from '../helpers/worker/harness'

const get = (path: string, method = 'GET') => toApp(new Request(`http://laurel.test${path}`, { method }))

/** The addresses that the page loads, in order. */
const partsOf = (page: string) =>
  [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address)

describe('the reference page', () => {
  it('[G1] needs no key, and its policy limits the sources that a browser may load', async () => {
    const response = await get('/docs')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "connect-src 'self'"]),
    )
    expect(policy).not.toMatch(/https?:|unsafe-eval|\*/)
    const slashed = await get('/docs/')
    expect([slashed.status, slashed.headers.get('location')]).toEqual([301, '/docs'])
  })

  it('[G1] loads only files of this server, and the server has all of them', async () => {
    const page = await (await get('/docs')).text()
    expect(page).not.toMatch(/\/\//)
    const parts = partsOf(page).filter((address) => address !== 'data:,')
    expect(parts).toHaveLength(6)
    for (const part of parts) {
      const response = await get(part)
      expect([part, response.status]).toEqual([part, 200])
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100)
      const isViewer = /^\/docs\/\d+\.\d+\.\d+\//.test(part)
      expect(response.headers.get('cache-control')?.includes('immutable') ?? false).toBe(isViewer)
    }
  })

  it('the server has no other files of the viewer, and accepts only GET', async () => {
    const page = await (await get('/docs')).text()
    const bundle = partsOf(page).find((address) => address.endsWith('swagger-ui-bundle.js')) ?? ''
    const folder = bundle.slice(0, bundle.lastIndexOf('/'))
    for (const path of [
      ...['.map', '/'].map((ending) => bundle + ending),
      ...['', '/', '/index.html', '/package.json', '/swagger-ui.js', '/../package.json'].map(
        (name) => folder + name,
      ),
      ...words`/index.html /package.json /admin.json /swagger-ui-bundle.js /docs/0.0.0/swagger-ui-bundle.js`,
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 404])
    }
    for (const method of ['POST', 'PUT', 'DELETE']) expect((await get('/docs', method)).status).toBe(405)
  })

  it('[G1] shows only the admin document on the admin host, because /v1 is the admin interface there', async () => {
    const start = async (host: string) => {
      const app = newApp({ ADMIN_HOST: 'Admin.laurel.test' })
      return (await app(new Request(`http://${host}/docs/start.js`))).text()
    }
    expect(await start('laurel.test')).toContain('"/v1/openapi.json"')
    const onAdminHost = await start('admin.laurel.test')
    expect(onAdminHost).toContain('"/admin/v1/openapi.json"')
    expect(onAdminHost).not.toContain('"/v1/openapi.json"')
    // The page for browsers without JavaScript is the same on all hosts. Its links lead to the documents that
    // they name.
    const app = newApp({ ADMIN_HOST: 'laurel.test' })
    const links = [...(await (await get('/docs')).text()).matchAll(/<a href="([^"]+)">(\w+)</g)]
    expect(links).toHaveLength(2)
    for (const [, address = '', name = ''] of links) {
      const document = await (await app(new Request(`http://laurel.test${address}`))).json()
      expect(at(document, 'info', 'title')).toBe(`Laurel: ${name.toLowerCase()} interface`)
    }
  })

  it('a missing asset is an error that no cache stores', async () => {
    const ASSETS: Fetcher = { ...env.ASSETS, fetch: async () => new Response(null, { status: 404 }) }
    const page = await (await get('/docs')).text()
    const bundle = partsOf(page).find((address) => address.endsWith('swagger-ui-bundle.js')) ?? ''
    const response = await newApp({ ASSETS })(new Request(`http://laurel.test${bundle}`))
    expect([response.status, response.headers.get('cache-control')]).toEqual([500, 'no-store'])
  })
})

describe('the site', () => {
  /** Assets with these files only. */
  const assets = (...files: string[]): Fetcher => ({
    ...env.ASSETS,
    fetch: async (url) => {
      const name = new URL(String(url)).pathname.slice(1)
      return files.includes(name) ? new Response(name) : new Response(null, { status: 404 })
    },
  })
  const files = words`index.page guides/react.page reference/index.page llms.txt guides/react.md a.png`
  const site = newApp({ ASSETS: assets(...[...files, 'assets/a.1x.js'].map((name) => `site/${name}`)) })
  const open = (path: string) => site(new Request(`http://laurel.test${path}`))

  it.each([
    ['/site/', 'site/index.page', 'text/html; charset=utf-8', 'no-cache'],
    ['/site/guides/react', 'site/guides/react.page', 'text/html; charset=utf-8', 'no-cache'],
    ['/site/reference/', 'site/reference/index.page', 'text/html; charset=utf-8', 'no-cache'],
    ['/site/llms.txt', 'site/llms.txt', 'text/plain; charset=utf-8', 'no-cache'],
    ['/site/guides/react.md', 'site/guides/react.md', 'text/plain; charset=utf-8', 'no-cache'],
    ['/site/a.png', 'site/a.png', 'image/png', 'no-cache'],
    [
      '/site/assets/a.1x.js',
      'site/assets/a.1x.js',
      'text/javascript; charset=utf-8',
      'public, max-age=31536000, immutable',
    ],
  ])('[G14] answers %s with the asset %s', async (path, name, type, cache) => {
    const response = await open(path)
    const { headers } = response
    expect([await response.text(), headers.get('content-type'), headers.get('cache-control')]).toEqual([
      name,
      type,
      cache,
    ])
  })

  it('[G14] is below /site/, and its other paths are 404', async () => {
    const found = await open('/site')
    expect([found.status, found.headers.get('location')]).toEqual([301, '/site/'])
    for (const path of ['/site/none', '/site/guides/', '/site/none.js', '/site/x.constructor'])
      expect([path, (await open(path)).status]).toEqual([path, 404])
  })

  it('[G14] is on the first page if it was built, and is 404 otherwise', async () => {
    expect(await (await open('/')).text()).toContain('<a href="/site/">Documents</a>')
    const without = newApp({ ASSETS: assets() })
    const at = (path: string) => without(new Request(`http://laurel.test${path}`))
    expect(await (await at('/')).text()).not.toContain('/site/')
    expect((await at('/site/')).status).toBe(404)
  })
})
