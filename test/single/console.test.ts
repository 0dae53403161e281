import { describe, expect, it } from 'vitest'
import { words } from '../helpers/words'
import { ADMIN_KEY, at, newApp } from '../helpers/worker/harness'

/** A build of the console: its page and one file. */
const FILES = new Map([
  ['/console/page', '<!doctype html><title>Laurel</title>'],
  ['/console/assets/index-a1B2.js', 'export {}'],
  ['/console/assets/inter-a1B2.woff2', 'font'],
])
const ASSETS = {
  fetch: async (url: string) => {
    const content = FILES.get(new URL(url).pathname)
    return content === undefined ? new Response(null, { status: 404 }) : new Response(content)
  },
} as unknown as Fetcher

const send = newApp({ ASSETS })
const get = (path: string, headers: Record<string, string> = {}, app = send) =>
  app(new Request(`http://laurel.test${path}`, { headers }))

describe('the console', () => {
  it('[G14] answers its page on every path below it, with a policy that allows only this server, and pictures', async () => {
    for (const path of [
      '/console',
      '/console/',
      '/console/metrics',
      '/console/users/a%2Fb',
      // The id of a user may look like the name of a file.
      '/console/users/x.js',
      '/console//attacker.test',
    ]) {
      const response = await get(path)
      expect([path, response.status, await response.text()]).toEqual([path, 200, FILES.get('/console/page')])
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(response.headers.get('cache-control')).toBe('no-cache')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('referrer-policy')).toBe('no-referrer')
      const policy = response.headers.get('content-security-policy') ?? ''
      expect(policy.split('; ')).toEqual(
        expect.arrayContaining(["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]),
      )
      // The logo and the icon of a brand (T4).
      expect(policy).toContain("; img-src 'self' data: https: http:; ")
      expect(policy.replace('https: http:', '')).not.toMatch(/https?:|unsafe|\*/)
    }
  })

  it('[G14] answers files of the build, which browsers may keep for ever, and no other files', async () => {
    const response = await get('/console/assets/index-a1B2.js')
    expect([response.status, await response.text()]).toEqual([200, 'export {}'])
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(response.headers.get('cache-control')).toContain('immutable')
    const font = await get('/console/assets/inter-a1B2.woff2')
    expect([font.status, font.headers.get('content-type')]).toEqual([200, 'font/woff2'])
    for (const path of ['', 'index-old.js', 'page', '..%2fpage', 'a/b.js', 'index-a1B2.js.map'])
      expect([path, (await get(`/console/assets/${path}`)).status]).toEqual([path, 404])
    // No page either: the answer would be HTML where a program or a picture was asked for.
    for (const path of words`x.js page.html .env index-a1B2.js %2e%2e%2fassets%2findex-a1B2.js assets`)
      expect([path, (await get(`/console/${path}`)).status]).toEqual([path, path === 'assets' ? 200 : 404])
    expect((await get('/console/../console/assets/index-a1B2.js')).status).toBe(200)
    for (const path of ['/console/../admin/v1/metrics', '/console/%2e%2e/admin/v1/metrics'])
      expect([path, (await get(path)).status]).toEqual([path, 401])
    for (const path of ['//console', '/Console', '/consoles', '/console%2f', '/%63onsole'])
      expect([path, (await get(path)).status]).toEqual([path, 404])
  })

  it('[G2] has no page for a path that arrives with segments that a parser would resolve', async () => {
    const paths = words`a/.. . ../x ./x users/../x users/%2e%2E users/.%2e/ %2E/ users\\..\\x \\x assets/../page`
    for (const path of paths) {
      const request = new Request('http://laurel.test/console')
      // As workerd hands it on. `Request` itself resolves the segments.
      Object.defineProperty(request, 'url', { value: `http://laurel.test/console/${path}` })
      const response = await send(request)
      expect([path, response.status, await response.json()]).toEqual([
        ...[path, 404],
        { error: expect.stringContaining('does not exist') },
      ])
    }
  })

  it('[G14] gives every answer below it the same policy, also errors, and answers HEAD without a body', async () => {
    const policyOf = async (method: string, path: string) => {
      const response = await send(new Request(`http://laurel.test${path}`, { method }))
      return [response.status, response.headers.get('content-security-policy'), await response.text()]
    }
    const [, policy] = await policyOf('GET', '/console')
    expect(policy).toContain("frame-ancestors 'none'")
    for (const [method, path, status] of [
      ['GET', '/console/assets/index-a1B2.js', 200],
      ['GET', '/console/assets/no-such-file.js', 404],
      ['GET', '/console/no-such-file.js', 404],
      ['PUT', '/console', 405],
      ['POST', '/console/metrics', 405],
      ['POST', '/console/one-time-code', 404],
    ] as const)
      expect([path, ...(await policyOf(method, path)).slice(0, 2)]).toEqual([path, status, policy])
    for (const path of ['/console', '/console/assets/index-a1B2.js'])
      expect([path, ...(await policyOf('HEAD', path))]).toEqual([path, 200, policy, ''])
  })

  it('[G14] accepts only GET, and is 404 if it was not built', async () => {
    for (const method of ['PUT', 'DELETE']) {
      const response = await send(new Request('http://laurel.test/console', { method }))
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    }
    const empty = newApp({ ASSETS: { ...ASSETS, fetch: async () => new Response(null, { status: 404 }) } })
    expect((await get('/console', {}, empty)).status).toBe(404)
  })

  it('[G14, G1] exists only on the admin host, if there is one', async () => {
    const app = newApp({ ASSETS, ADMIN_HOST: 'Admin.laurel.test', CONSOLE_SIGN_IN: 'on' })
    const on = async (host: string, path: string, method = 'GET') =>
      (await app(new Request(`http://${host}${path}`, { method }))).status
    for (const path of ['/console', '/console/metrics', '/console/assets/index-a1B2.js']) {
      expect(await on('laurel.test', path)).toBe(404)
      expect(await on('admin.laurel.test', path)).toBe(200)
      // On the other host, the path is none of Laurel's.
      expect([await on('laurel.test', path, 'POST'), await on('laurel.test', path, 'PUT')]).toEqual([
        404, 404,
      ])
      expect(await on('admin.laurel.test', path, 'PUT')).toBe(405)
    }
    for (const host of [
      'laurel.test',
      'localhost',
      'admin.laurel.test.attacker.test',
      'admin.laurel.test:8787',
    ])
      expect([host, await on(host, '/console/one-time-code', 'POST')]).toEqual([host, 404])
    expect(await on('admin.laurel.test', '/console/one-time-code', 'POST')).toBe(403)
    const linksOn = async (host: string) => {
      const request = new Request(`http://${host}/`, { headers: { accept: 'application/json' } })
      return Object.keys(Object(at(await (await app(request)).json(), 'links')))
    }
    expect(await linksOn('laurel.test')).not.toContain('console')
    expect(await linksOn('admin.laurel.test')).toContain('console')
  })
})

describe('the first page', () => {
  it('[G14] says that Laurel runs, as a page or as JSON', async () => {
    const page = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=UTF-8'])
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('unsafe')
    const html = await page.text()
    expect(html).toMatch(/Version \d+\.\d+\.\d+ runs\./)
    expect([...html.matchAll(/<a href="([^"]+)"/g)].map(([, path]) => path)).toEqual([
      '/console',
      '/docs',
      '/readme',
    ])
    const json = await (await get('/', { accept: 'application/json' })).json()
    expect(json).toMatchObject({
      name: 'Laurel',
      status: 'ok',
      links: { console: '/console', reference: '/docs' },
    })
    expect((await get('/')).headers.get('content-type')).toContain('text/html')
  })

  it('[G14] names the problem while Laurel cannot serve', async () => {
    const missing = { REPAIRS: undefined }
    const app = newApp({ ASSETS, ...(missing as object) })
    expect(await (await get('/', { accept: 'application/json' }, app)).json()).toMatchObject({
      status: 'unavailable',
      problem: expect.stringContaining('REPAIRS'),
    })
    expect(await (await get('/', { accept: 'text/html' }, app)).text()).toContain('REPAIRS')
  })
})

describe('the exchange of a one-time code', () => {
  const HERE = { origin: 'http://localhost:8787', 'cf-connecting-ip': '127.0.0.1' }
  const exchange = (
    app: ReturnType<typeof newApp>,
    headers: Record<string, string> = HERE,
    { url = 'http://localhost:8787', body = JSON.stringify({ code: 'a' }) } = {},
  ) => app(new Request(`${url}/console/one-time-code`, { method: 'POST', headers, body }))

  it('[G14] does not exist without npm start', async () => {
    expect((await exchange(send)).status).toBe(404)
  })

  it('[G14] is refused from another origin, by another name, and from another machine', async () => {
    // No server is beside this Worker: a request that passes is answered 401.
    const app = newApp({ ASSETS, CONSOLE_SIGN_IN: 'on' })
    expect((await exchange(app)).status).toBe(401)
    const { origin: _origin, ...withoutOrigin } = HERE
    for (const headers of [
      withoutOrigin,
      { ...HERE, origin: 'null' },
      { ...HERE, origin: 'http://localhost:8788' },
      { ...HERE, origin: 'http://attacker.test' },
      { ...HERE, origin: 'https://localhost:8787' },
      { ...HERE, origin: 'http://localhost:8787.attacker.test' },
      { ...HERE, 'cf-connecting-ip': '192.0.2.1' },
      { ...HERE, 'cf-connecting-ip': '::2' },
    ])
      expect([headers, (await exchange(app, headers)).status]).toEqual([headers, 403])
    // A name that leads here, such as one of another site (DNS rebinding).
    const rebound = { ...HERE, origin: 'http://attacker.test:8787' }
    expect((await exchange(app, rebound, { url: 'http://attacker.test:8787' })).status).toBe(403)
  })

  it('[G14] says what is wrong with a body', async () => {
    const app = newApp({ ASSETS, CONSOLE_SIGN_IN: 'on' })
    for (const [body, status] of [
      ['', 400],
      ['{', 400],
      ['{}', 422],
      ['null', 422],
      ['{"code": 1}', 422],
      [JSON.stringify({ code: 'a'.repeat(2000) }), 413],
    ] as const)
      expect([body.slice(0, 20), (await exchange(app, HERE, { body })).status]).toEqual([
        body.slice(0, 20),
        status,
      ])
  })
})

describe('the session of a key', () => {
  it('[G13] says what the deployment has, and whether the key is valid', async () => {
    const ask = async (key: string, app = send) => {
      const response = await get('/admin/v1/session', { 'x-api-key': key }, app)
      return { status: response.status, body: await response.json() }
    }
    expect(await ask(ADMIN_KEY)).toEqual({
      status: 200,
      body: {
        keyId: null,
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        multiTenancy: true,
        testClock: true,
        now: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    })
    const plain = newApp({ MULTI_TENANCY: 'off', TEST_CLOCK: 'off' })
    expect((await ask(ADMIN_KEY, plain)).body).toMatchObject({ multiTenancy: false, testClock: false })
    expect((await ask('adm_wrong.key')).status).toBe(401)
  })
})

describe('the environment of a deployment', () => {
  it.each([
    [undefined, { name: 'Production', key: 'production', priority: 1 }],
    ['', { name: 'Production', key: 'production', priority: 1 }],
    ['staging_2-eu', { name: 'Staging_2-eu', key: 'staging_2-eu', priority: 2 }],
    ['PRODUCTION', { name: 'PRODUCTION', key: 'PRODUCTION', priority: 2 }],
  ])('[T6] is the variable ENVIRONMENT, if that is %j', async (ENVIRONMENT, environment) => {
    const app = newApp({ MULTI_TENANCY: 'on', ...(ENVIRONMENT !== undefined && { ENVIRONMENT }) })
    const ask = async (headers: Record<string, string>) => {
      const response = await get('/admin/v1/environments', headers, app)
      return [response.status, await response.json()]
    }
    // It names no tenant.
    expect(await ask({ 'x-api-key': ADMIN_KEY })).toEqual([200, [environment]])
    expect(await ask({})).toMatchObject([401, {}])
  })
})
