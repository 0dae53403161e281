import { describe, expect, it } from 'vitest'
import { operations, pathOf } from '../helpers/walk'
import { words } from '../helpers/words'
import { ADMIN_KEY, at, call, newApp, newTenant, toApp } from '../helpers/worker/harness'

/** Paths that are also the {id} of a resource, which can be read. */
const LIKE_AN_ID = ['/admin/v1/metrics/events', '/admin/v1/notifications/templates/preview']
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const asAdmin = { 'x-api-key': ADMIN_KEY }
const multi = newApp({ MULTI_TENANCY: 'on' })

describe('a known path with a wrong method', () => {
  it('[O5] is 405 with the methods that it has, on every path of both interfaces', async () => {
    const paths = new Set(operations.map(({ path, surface }) => `${surface} ${path}`))
    for (const one of paths) {
      const specs = operations.filter(({ path, surface }) => `${surface} ${path}` === one)
      const [spec] = specs
      if (spec === undefined) continue
      const path = pathOf(spec, {
        params: Object.fromEntries([...spec.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, 'x'])),
      })
      const methods = specs.map(({ method }) => method.toUpperCase())
      for (const method of METHODS.filter((name) => !methods.includes(name))) {
        if (method === 'GET' && LIKE_AN_ID.includes(path)) continue
        const { status, headers, body } = await call(multi, method, path, { headers: asAdmin })
        expect([method, path, status, at(body, 'error')]).toEqual([
          method,
          path,
          405,
          expect.stringContaining(`does not have the method ${method}`),
        ])
        const allowed = headers.get('allow')?.split(', ') ?? []
        expect(allowed).toEqual(expect.arrayContaining(methods))
        expect(allowed).not.toContain(method)
      }
    }
  })

  it('[O5] names the methods of all routes that the path fits', async () => {
    const { headers } = await call(toApp, 'PUT', '/admin/v1/metrics/events', { headers: asAdmin })
    expect(headers.get('allow')).toBe('GET, HEAD, POST')
  })

  it('[O5] comes after 401 and 403, and before all other errors', async () => {
    const tenant = await newTenant()
    const own = await tenant.key('ada')
    const status = async (path: string, headers: Record<string, string>) =>
      (await call(toApp, 'PUT', path, { headers, raw: '{' })).status
    expect(await status('/admin/v1/metrics', {})).toBe(401)
    expect(await status('/v1/points', { 'x-api-key': 'app_x.y' })).toBe(401)
    expect(await status('/admin/v1/metrics', { 'x-api-key': own })).toBe(403)
    expect(await status('/v1/points', { 'x-api-key': own })).toBe(405)
    // Neither the tenant nor the body is read.
    expect(await status('/admin/v1/metrics', { ...asAdmin, 'tenant-id': crypto.randomUUID() })).toBe(405)
    const { body: list } = await tenant.admin('GET', '/application-api-keys')
    await tenant.admin('DELETE', `/application-api-keys?ids=${String(at(list, 0, 'id'))}`)
    expect(await status('/v1/points', { 'x-api-key': own })).toBe(401)
  })

  it('[O5] needs no key if the path needs none', async () => {
    for (const path of words`/health /docs /v1/openapi.json /api/openapi.json /admin/v1/openapi.json`) {
      const { status, headers } = await call(toApp, 'POST', path)
      expect([path, status, headers.get('allow')]).toEqual([path, 405, 'GET, HEAD'])
    }
  })

  it('[O5] answers OPTIONS outside the interfaces, as balancers send it', async () => {
    for (const path of ['/', '/health', '/docs']) {
      const { status, headers } = await call(toApp, 'OPTIONS', path)
      expect([path, status, headers.get('allow')]).toEqual([path, 204, 'GET, HEAD, OPTIONS'])
    }
    expect((await call(toApp, 'OPTIONS', '/admin/v1/metrics', { headers: asAdmin })).status).toBe(405)
    expect((await call(toApp, 'OPTIONS', '/nothing')).status).toBe(404)
  })
})

describe('a path without its version prefix', () => {
  const errorOf = async (method: string, path: string, send = toApp) => {
    const { status, body } = await call(send, method, path)
    return [status, at(body, 'error')]
  }
  const use = (...paths: string[]) => [404, `This path does not exist. Use ${paths.join(' or ')}.`]

  it('[O5] is 404, and the error names the right path', async () => {
    expect(await errorOf('POST', '/metrics/words/event')).toEqual(use('/v1/metrics/words/event'))
    expect(await errorOf('GET', '/admin/metrics')).toEqual(use('/admin/v1/metrics'))
    expect(await errorOf('PATCH', '/metrics')).toEqual(use('/admin/v1/metrics'))
    expect(await errorOf('GET', '/points?limit=1')).toEqual(use('/v1/points', '/admin/v1/points'))
    expect(await errorOf('DELETE', '/users/a%2Fb')).toEqual(use('/admin/v1/users/a%2Fb'))
  })

  it('[O5] with a slash at its end is 404, and the error names the path without it', async () => {
    expect(await errorOf('GET', '/v1/users/ada/')).toEqual(use('/v1/users/ada'))
    expect(await errorOf('POST', '/api/metrics/words/event/?x=1')).toEqual(use('/api/metrics/words/event'))
    expect(await errorOf('GET', '/admin/v1/metrics/')).toEqual(use('/admin/v1/metrics'))
    expect(await errorOf('GET', '/health/')).toEqual(use('/health'))
    expect(await errorOf('POST', '/metrics/words/event/')).toEqual(use('/v1/metrics/words/event'))
    const host = newApp({ ADMIN_HOST: 'laurel.test' })
    expect(await errorOf('GET', '/v1/metrics/', host)).toEqual(use('/v1/metrics'))
  })

  it('[O5] names the base that the host has', async () => {
    const host = newApp({ ADMIN_HOST: 'laurel.test' })
    expect(await errorOf('PUT', '/users/ada', host)).toEqual(use('/api/users/ada'))
    expect(await errorOf('GET', '/metrics', host)).toEqual(use('/admin/v1/metrics'))
  })

  it('[O5] with the prefix of the other interface is 404, and the error names the right path', async () => {
    expect(await errorOf('GET', '/v1/metrics')).toEqual(use('/admin/v1/metrics'))
    expect(await errorOf('GET', '/api/metrics?limit=5')).toEqual(use('/admin/v1/metrics'))
    expect(await errorOf('GET', '/v1/audit-log/')).toEqual(use('/admin/v1/audit-log'))
    expect(await errorOf('GET', '/admin/v1/streaks/rankings')).toEqual(use('/v1/streaks/rankings'))
    expect(await errorOf('GET', '/admin/v1/users/a%2Fb/streak')).toEqual(use('/v1/users/a%2Fb/streak'))
    const host = newApp({ ADMIN_HOST: 'laurel.test' })
    expect(await errorOf('GET', '/v1/streaks/rankings', host)).toEqual(use('/api/streaks/rankings'))
    expect(await errorOf('GET', '/api/metrics', host)).toEqual(use('/admin/v1/metrics'))
    expect(await call(toApp, 'GET', '/v1/metrics', { headers: asAdmin })).toMatchObject({ status: 404 })
  })

  it('[O5] is a plain 404 if no prefix makes it a path', async () => {
    for (const path of ['/nowhere', '/v1/nowhere', '/admin', '/admin/', '/v2/points', '/users//points']) {
      expect([path, ...(await errorOf('GET', path))]).toEqual([
        path,
        404,
        'This path does not exist. All paths are listed at /docs.',
      ])
    }
  })
})
