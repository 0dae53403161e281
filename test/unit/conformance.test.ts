import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { OperationSpec } from '../../src/api/endpoint'
import { type Answered, type Circumstances, conforming, faults } from '../helpers/conformance'

const Thing = z.object({
  id: z.string(),
  size: z.number().nullable(),
  note: z.string().optional(),
  parts: z.array(z.object({ name: z.string() })),
  byKey: z.record(z.string(), z.object({ total: z.int() })),
})

const common = { surface: 'application', account: true, method: 'get' } as const
const thingsGet = {
  ...{ ...common, id: 'things_get', path: '/things/{key}', summary: 'Get a thing' },
  responses: { 200: { description: 'The thing.', body: Thing } },
} as const satisfies OperationSpec

const operations: OperationSpec[] = [
  thingsGet,
  {
    ...{ ...common, id: 'things_best', path: '/things/best', summary: 'Get the key of the best thing' },
    responses: { 200: { description: 'The key.', body: z.string() } },
  },
  {
    ...{ ...common, surface: 'admin', id: 'admin_things_list', path: '/things', summary: 'List the things' },
    responses: { 200: { description: 'The things.', body: z.array(Thing) } },
  },
]

const REQUEST_ID = '0b8f8d6e-3a52-4f4e-9d0c-0d6f3c0a4b1e'
const TYPES = { 'content-type': 'application/json', 'cache-control': 'no-store' }
const HEADERS = { ...TYPES, 'x-request-id': REQUEST_ID }
const THING = { id: 'a', size: null, parts: [{ name: 'wheel' }], byKey: { xp: { total: 1 } } }
const OPAQUE = `Something went wrong on our side. Try again. If it happens again, report request ${REQUEST_ID}.`
const NO_SUCH_PATH = 'This path does not exist. All paths are listed at /docs.'

type Change = Partial<Omit<Answered, 'headers'>> & { headers?: Record<string, string>; body?: unknown }

/** The violations in a changed response to `GET /v1/things/a`. */
function found(change: Change = {}, circumstances: Circumstances = {}): string[] {
  const { body = THING, headers: changed = {}, ...rest } = change
  const answered = { method: 'GET', path: '/v1/things/a', status: 200, text: JSON.stringify(body), ...rest }
  const headers = new Headers({ ...HEADERS, ...changed })
  return faults({ ...answered, headers }, { operations, ...circumstances })
}

describe('a documented response', () => {
  test('passes, with optional fields and without', () => {
    expect(found()).toEqual([])
    expect(found({ body: { ...THING, note: 'x' } })).toEqual([])
  })

  test('passes under every path that serves it, with any query, and with encoded parameters', () => {
    for (const path of ['/v1/things/a?x=/?', '/v1/things/a%2Fb', '/v1/things/%zz', '/api/things/a'])
      expect(found({ path })).toEqual([])
    expect(found({ path: '/v1/th%69ngs/a' })).toContain('GET /v1/th%69ngs/a 200: there is no such path')
    expect(found({ path: '/admin/v1/things', body: [THING] })).toEqual([])
    expect(found({ path: '/v1/things', body: [THING] }, { toAdminHost: true })).toEqual([])
  })

  test('follows the fixed path if a parameter would also match', () => {
    expect(found({ path: '/v1/things/best', body: 'a' })).toEqual([])
    expect(found({ path: '/v1/things/best' })).toEqual([expect.stringMatching(/^things_best 200: /)])
  })

  test('passes under any key of a map', () => {
    for (const key of ['__proto__', 'constructor', 'toString', '']) {
      const text = JSON.stringify(THING).replace('"xp"', JSON.stringify(key))
      expect(found({ text })).toEqual([])
      expect(found({ text: text.replace('"total":1', '"total":"1"') })).toHaveLength(1)
    }
  })

  test('passes on the reference page, which is not JSON', () => {
    const page = { text: '<!doctype html>', headers: { 'content-type': 'text/html' } }
    expect(found({ path: '/docs', ...page })).toEqual([])
    expect(found({ path: '/docs', ...page, status: 404 })).not.toEqual([])
    expect(found({ path: '/doc', ...page })).not.toEqual([])
  })

  test('passes as an API error', () => {
    for (const status of [401, 403, 404]) expect(found({ status, body: { error: 'No.' } })).toEqual([])
    const headers = { 'retry-after': '5' }
    expect(found({ status: 429, body: { error: 'No.' }, headers })).toEqual([])
    expect(found({ path: '/v1/nowhere', status: 404, body: { error: NO_SUCH_PATH } })).toEqual([])
  })
})

describe('an undocumented response', () => {
  test('a field', () => {
    expect(found({ body: { ...THING, secret: 1 } })).toEqual(['things_get 200: .secret is not documented'])
    const text = JSON.stringify(THING).replace('{', '{"__proto__":{},')
    expect(found({ text })).toEqual(['things_get 200: .__proto__ is not documented'])
  })

  test('a nested field, in a list or a map', () => {
    const undocumented = (field: string) => [`things_get 200: ${field} is not documented`]
    const parts = [{ name: 'wheel' }, { name: 'axle', secret: null }]
    expect(found({ body: { ...THING, parts } })).toEqual(undocumented('.parts.1.secret'))
    const byKey = { xp: { total: 1, secret: 1 } }
    expect(found({ body: { ...THING, byKey } })).toEqual(undocumented('.byKey.xp.secret'))
    const all = found({ path: '/admin/v1/things', body: [{ ...THING, secret: 1 }] })
    expect(all).toEqual(['admin_things_list 200: .0.secret is not documented'])
  })

  test('a status', () => {
    const undocumented = (answer: string) => [`${answer}: the status is not documented`]
    const refused = { status: 415, body: { error: 'No.' } }
    expect(found({ status: 201 })).toEqual(undocumented('things_get 201'))
    expect(found(refused)).toEqual(undocumented('things_get 415'))
    const inTenant = [{ ...thingsGet, account: false }]
    const issues = [{ path: '', message: 'No.' }]
    expect(found({ status: 422, body: { error: 'No.', issues } }, { operations: inTenant })).toEqual([])
    const health = { path: '/health', status: 404, body: { error: NO_SUCH_PATH } }
    expect(found(health)).toEqual(undocumented('GET /health 404'))
  })

  test('a wrong type, and a missing field', () => {
    const wrong = (field: string) => [expect.stringMatching(new RegExp(`^things_get 200: \\.${field} `))]
    expect(found({ body: { ...THING, size: '1' } })).toEqual(wrong('size'))
    expect(found({ body: { ...THING, byKey: { xp: { total: 1.5 } } } })).toHaveLength(1)
    const { id, ...without } = THING
    expect(found({ body: without })).toEqual(wrong('id'))
    expect(found({ body: null })).toHaveLength(1)
  })

  test('an error with more fields than `error`', () => {
    const coded = found({ status: 404, body: { error: 'No.', code: 7 } })
    expect(coded).toEqual(['things_get 404: .code is not documented'])
    const issues = { error: 'No.', issues: [1] }
    for (const body of [{ error: 1 }, { error: '' }, { message: 'No.' }, issues, 'No.', []])
      expect(found({ status: 404, body })).not.toEqual([])
  })

  test('a 422 whose list of problems is missing, or says something else than its text', () => {
    const circumstances = { operations: [{ ...thingsGet, account: false }] }
    const answer = (body: unknown) => found({ status: 422, body }, circumstances)
    const error = 'a: must be a number.'
    expect(answer({ error, issues: [{ path: 'a', message: 'must be a number' }] })).toEqual([])
    expect(answer({ error })).toEqual(['things_get 422: the issues are undefined'])
    expect(answer({ error, issues: [] })).toEqual(['things_get 422: the issues are []'])
    expect(answer({ error, issues: [{ path: 'b', message: 'must be a number' }] })).toHaveLength(1)
  })

  test('a response to a path or a method that does not exist', () => {
    const things = { path: '/v1/things', body: [THING] }
    for (const change of [{ path: '/v1/nowhere' }, { path: '/v1/things/' }, things, { method: 'DELETE' }]) {
      expect(found(change)).not.toEqual([])
      expect(found({ ...change, status: 404, body: { error: 'A thing does not exist.' } })).not.toEqual([])
    }
  })

  test('a body that is not JSON, or has another content type', () => {
    expect(found({ text: '' })).toEqual(['things_get 200: the body is not JSON'])
    const text = found({ headers: { 'content-type': 'text/plain' } })
    expect(text).toEqual(['things_get 200: Content-Type is text/plain'])
  })

  test('a response without X-Request-Id, and a 429 without Retry-After', () => {
    expect(found({ headers: { 'x-request-id': '' } })).toEqual(['things_get 200: X-Request-Id is missing'])
    expect(found({ status: 429, body: { error: 'No.' } })).toEqual(['things_get 429: Retry-After is missing'])
  })

  test('a response without a documented header', () => {
    const answer = { ...thingsGet.responses[200], headers: { 'Next-Page': 'Where the next page begins.' } }
    const circumstances = { operations: [{ ...thingsGet, responses: { 200: answer } }] }
    expect(found({ headers: { 'next-page': 'a' } }, circumstances)).toEqual([])
    expect(found({}, circumstances)).toEqual(['things_get 200: Next-Page is missing'])
  })

  test('a response that caches may store, and a secret that an operation shows without a mark', () => {
    for (const [cache, fault] of Object.entries({ '': 'missing', private: 'private' })) {
      const stored = found({ headers: { 'cache-control': cache } })
      expect(stored).toEqual([`things_get 200: Cache-Control is ${fault}`])
    }
    const secrets = [
      `app_${'a'.repeat(12)}.${'b'.repeat(43)}`,
      `adm_a-b_c.${'b'.repeat(43)}`,
      `whsec_${'c'.repeat(43)}=`,
      `<https://laurel.example/unsubscribe/e30.${'d'.repeat(43)}>`,
    ]
    const unmarked = 'things_get 200: the response shows a secret, but the operation is not marked as secret'
    const circumstances = { operations: [{ ...thingsGet, secret: true }] }
    for (const note of secrets) {
      expect(found({ body: { ...THING, note } })).toEqual([unmarked])
      expect(found({ body: { ...THING, note } }, circumstances)).toEqual([])
    }
  })

  test('a schema that changes the value that it receives', () => {
    const body = Thing.extend({ note: z.unknown().transform(() => 'x') })
    const blind = { ...thingsGet, responses: { 200: { description: 'The thing.', body } } }
    const answer = { body: { ...THING, note: { secret: 1 } } }
    expect(found(answer, { operations: [blind] })).toEqual(['things_get 200: .note is changed by its schema'])
  })
})

describe('a response with status 500', () => {
  const failed = { status: 500, body: { error: OPAQUE } }

  test('passes only if the test injects faults', () => {
    expect(found(failed)).toEqual(['things_get 500: the service failed'])
    expect(found(failed, { mayFail: true })).toEqual([])
  })

  test('names only the request', () => {
    for (const body of [{ error: 'D1_ERROR' }, { error: OPAQUE, stack: '' }])
      expect(found({ status: 500, body }, { mayFail: true })).toHaveLength(1)
  })
})

test('a response with status 503 passes only if the test replaces the database', () => {
  const away = { status: 503, headers: { 'retry-after': '5' }, body: { error: 'Try again.' } }
  expect(found(away)).toEqual(['things_get 503: the database was away'])
  expect(found(away, { mayFail: true })).toEqual(['things_get 503: the database was away'])
  expect(found(away, { isDatabaseReplaced: true })).toEqual([])
})

describe('the conforming function', () => {
  const request = { method: 'GET', url: 'http://localhost:8787/v1/things/a' }
  const response = (body: unknown) => new Response(JSON.stringify(body), { headers: HEADERS })

  test('returns a conforming response unread', async () => {
    const answer = await conforming(request, response(THING), { operations })
    expect(await answer.json()).toEqual(THING)
  })

  test('throws with all violations if the response does not conform', async () => {
    const wrong = conforming(request, response({ ...THING, secret: 1, more: 2 }), { operations })
    await expect(wrong).rejects.toThrow(/\.secret is not documented; .*\.more is not documented/)
  })
})
