import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { OperationSpec } from '../../src/api/endpoint'
import { variables } from '../../src/platform/env'
import { adminOperations, applicationOperations } from '../../src/worker/operations'
import { inTurn } from '../helpers/runs'
import { basesOf } from '../helpers/walk'
import { words } from '../helpers/words'
import {
  ADMIN_KEY,
  at,
  call,
  NOBODY,
  newApp,
  newTenant,
  type TestTenant,
  toApp,
} from '../helpers/worker/harness'
import { forgetLines, linesSoFar } from '../helpers/worker/lines'

const MIB = 1_048_576

let tenant: TestTenant
let system: string
let webhook: string
let template: string
let eventId: string
beforeAll(async () => {
  tenant = await newTenant()
  await tenant.metric('words')
  await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  await tenant.create('/attributes', { key: 'page', name: 'Page', type: 'event' })
  const levels = [{ key: 'l', name: 'L', points: 5 }]
  system = await tenant.create('/points', { key: 'xp', name: 'XP', levels })
  const target = { url: 'https://hooks.example/', events: ['*'], status: 'inactive' }
  webhook = await tenant.create('/webhooks', target)
  const texts = { type: 'recap', channel: 'push', title: 'Your week', body: 'It is over.' }
  template = await tenant.create('/notifications/templates', texts)
  await tenant.create('/achievements', { key: 'xp', name: 'XP', trigger: 'api', status: 'active' })
  const { body } = await tenant.event('words', 'ada', 1)
  eventId = String(at(body, 'eventId'))
})

const errors = vi.spyOn(console, 'error')
beforeEach(() => {
  errors.mockClear()
})

const headers = () => ({ 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id })

/**
 * The path of an operation, with ids and keys that exist. The admin interface gets an unknown id, except for
 * webhooks, templates and events.
 */
const pathOf = (spec: OperationSpec) =>
  basesOf(spec)[0] +
  spec.path
    .replaceAll('{systemId}', system)
    .replaceAll('/webhooks/{id}', `/webhooks/${webhook}`)
    .replaceAll('/templates/{id}', `/templates/${template}`)
    .replaceAll('/users/{id}/events/{eventId}', `/users/ada/events/${eventId}`)
    .replaceAll('{id}', spec.surface === 'admin' ? NOBODY : 'ada')
    .replaceAll('{key}', spec.path.includes('/metrics') ? 'words' : 'xp')

const ALL = [...applicationOperations, ...adminOperations]
const WITH_SEGMENTS = ALL.filter(({ path }) => path.includes('{'))
/** The path of an operation with the same text in all its segments. */
const filled = (spec: OperationSpec, text: string) =>
  basesOf(spec)[0] + spec.path.replaceAll(/\{\w+\}/g, text)
const WRITES = ALL.filter(({ body }) => body !== undefined)

const CHUNKED = { 'transfer-encoding': 'chunked', 'content-length': '2' }
/** Parts of paths and queries that are not UTF-8 after decoding. */
const NOT_UTF_8 = ['%FF', '%', 'a%E2%82', '%ED%A0%80', '%zz']

/** Sends a raw body. Expects one of the statuses, and a body with only `error`. */
async function refused(method: string, path: string, raw: BodyInit, statuses: number[], more = {}) {
  const answer = await call(toApp, method, path, { raw, headers: { ...headers(), ...more } })
  const what = `${method} ${path} ${typeof raw === 'string' ? raw.slice(0, 60) : ''}`
  expect([what, statuses.includes(answer.status), answer.status]).toEqual([what, true, answer.status])
  expect(Object.keys(Object(answer.body))).toEqual(answer.status === 422 ? ['error', 'issues'] : ['error'])
  expect(String(at(answer.body, 'error')).length).toBeGreaterThan(10)
  return answer
}

describe('bodies', () => {
  it('[G2] every operation that takes a body answers 400 if it is not JSON', async () => {
    const before = await tenant.stored()
    const texts = ['', '{', '{"a":}', 'NaN', "{'a':1}", '[1,]', '\u0000', '['.repeat(20_000), 'a=b&c=d']
    for (const [nth, spec] of WRITES.entries()) {
      const some = inTurn(3, texts, nth)
      await Promise.all(some.map((raw) => refused(spec.method.toUpperCase(), pathOf(spec), raw, [400])))
      await refused(spec.method.toUpperCase(), pathOf(spec), new Uint8Array([0xff, 0xfe, 0x7b, 0x7d]), [400])
    }
    expect(await tenant.stored()).toEqual(before)
    expect(errors).not.toHaveBeenCalled()
  })

  it('[G2, U1] answers 400 if a body is not UTF-8, so that two ids that an old client sends in Latin-1 do not become one user', async () => {
    const latin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0))
    const before = await tenant.stored()
    for (const id of ['Zoë', 'Zoé']) {
      const event = latin1(JSON.stringify({ user: { id }, value: 1 }))
      const batch = latin1(JSON.stringify([{ key: 'words', user: { id }, value: 1 }]))
      await refused('POST', '/v1/metrics/words/event', event, [400])
      await refused('POST', '/admin/v1/metrics/events', batch, [400])
    }
    expect(await tenant.stored()).toEqual(before)
    const marked = new TextEncoder().encode('\ufeff{"name": "Zoë\ufffd"}')
    const read = await call(toApp, 'PUT', '/v1/users/zoe', { raw: marked, headers: headers() })
    expect([read.status, at(read.body, 'name')]).toEqual([200, 'Zoë\ufffd'])
  })

  it('[G2] names the wrong field and the problem', async () => {
    const event = '/v1/metrics/words/event'
    const cases: [path: string, raw: string, error: string][] = [
      [event, 'null', 'body: must be an object, not null.'],
      [event, '[]', 'body: must be an object.'],
      ['/admin/v1/metrics', '{}', 'body: must be an array.'],
      ['/admin/v1/metrics', '[]', 'body: must have at least 1 item.'],
      [event, '{"user": {"id": ".."}, "value": 1}', 'user.id: must not be "." or "..".'],
      [event, '{"user": {"id": "ada"}, "value": 1e400}', 'value: must be a finite number.'],
      [event, '{"user": {"id": "ada"}, "value": -1e400}', 'value: must be a finite number.'],
    ]
    for (const [path, raw, error] of cases)
      expect(at((await refused('POST', path, raw, [422])).body, 'error')).toBe(error)
    const change = await refused('PATCH', '/admin/v1/metrics', '[{"name": "Words"}]', [422])
    expect(at(change.body, 'error')).toBe('0.id: must be a UUID, and is missing. Pass it, or the key.')
  })

  it('[G2, G3] answers little to a body with many broken texts, however deep or long their paths are', async () => {
    const broken = Array(2_000).fill('"\\ud800"').join()
    const deep = `${'['.repeat(200_000)}${broken}${']'.repeat(200_000)}`
    for (const more of [`"x":${deep}`, `"${'x'.repeat(MIB / 2)}":[${broken}]`]) {
      const raw = `{"user":{"id":"ada"},"value":1,${more}}`
      const { body } = await refused('POST', '/v1/metrics/words/event', raw, [422])
      expect(JSON.stringify(body).length).toBeLessThan(3 * MIB)
    }
  })

  it('[G2] answers 413 to a body over 1 MiB (batches: 4 MiB), with or without its length, and reads one of exactly that size', async () => {
    const before = await tenant.stored()
    for (const [nth, spec] of WRITES.entries()) {
      const method = spec.method.toUpperCase()
      const most = spec.bodyLimit ?? MIB
      const more = ' '.repeat(most + 1)
      const stream = () => new Blob([more]).stream()
      const ways = [
        () => refused(method, pathOf(spec), more, [413]),
        () => refused(method, pathOf(spec), more, [413], { 'content-length': String(more.length) }),
        () => refused(method, pathOf(spec), stream(), [413]),
        () => refused(method, pathOf(spec), stream(), [413], CHUNKED),
      ]
      for (const way of inTurn(1, ways, nth)) await way()
      await refused(method, pathOf(spec), ' '.repeat(most), [400])
    }
    // The limit counts bytes, not characters.
    await refused('PUT', '/v1/users/ada', JSON.stringify({ name: '😀'.repeat(MIB / 4) }), [413])
    expect(await tenant.stored()).toEqual(before)
    const body = JSON.stringify({ name: 'Ada', more: '' })
    const raw = `${body.slice(0, -2)}${' '.repeat(MIB - body.length)}"}`
    expect(raw.length).toBe(MIB)
    expect((await call(toApp, 'PUT', '/v1/users/mib', { raw, headers: headers() })).status).toBe(200)
    expect(errors).not.toHaveBeenCalled()
  })

  it('[G2] answers 408 if a body does not arrive within BODY_TIMEOUT seconds, and stores nothing', async () => {
    const before = await tenant.stored()
    const send = newApp({ BODY_TIMEOUT: '1' })
    let ended = false
    // Sends one byte every 50 ms, and does not end.
    const trickle = () =>
      new ReadableStream<Uint8Array>({
        async pull(controller) {
          await scheduler.wait(50)
          if (ended) controller.close()
          else controller.enqueue(new TextEncoder().encode(' '))
        },
      })
    const responses = await Promise.all(
      WRITES.map((spec) =>
        call(send, spec.method.toUpperCase(), pathOf(spec), { raw: trickle(), headers: headers() }),
      ),
    )
    ended = true
    for (const { status, body } of responses) {
      const error = 'The body did not arrive within 1 s. Send it again, or in smaller parts.'
      expect([status, body]).toEqual([408, { error }])
    }
    expect(await tenant.stored()).toEqual(before)
    expect(variables({ ...env }).BODY_TIMEOUT).toBe(30)
    for (const BODY_TIMEOUT of ['0', '301', '1.5', 'long'])
      expect(() => variables({ ...env, BODY_TIMEOUT })).toThrow('BODY_TIMEOUT')
    expect(errors).not.toHaveBeenCalled()
  })

  it('[G2] answers 400 to a body that breaks off, with its length or in chunks, and logs no fault', async () => {
    const before = await tenant.stored()
    for (const [nth, spec] of WRITES.entries()) {
      let isFirst = true
      // As workerd says that a client has gone, or that a chunk is malformed.
      const broken = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (isFirst) controller.enqueue(new TextEncoder().encode('[{"a"'))
          else controller.error(new Error('Network connection lost.'))
          isFirst = false
        },
      })
      const more = nth % 2 === 0 ? {} : { 'content-length': '100' }
      await refused(spec.method.toUpperCase(), pathOf(spec), broken, [400], more)
    }
    expect(await tenant.stored()).toEqual(before)
    expect(errors).not.toHaveBeenCalled()
  })

  it('[G2] reads a body as JSON, whichever content type it has', async () => {
    const types = [
      ...['application/json', 'application/json; charset=utf-8', 'application/json;', 'APPLICATION/JSON'],
      ...['application/json, application/json', 'application/json-seq', 'application/jsonp', 'text/plain'],
      ...['application/x-www-form-urlencoded', 'multipart/form-data', 'application/vnd.api+json', ''],
      ...['rubbish', 'text/json'],
    ]
    const outcome = async (type: string) => {
      const more = { headers: { ...headers(), 'content-type': type } }
      const event = { user: { id: 'types' }, value: 1 }
      const one = await call(toApp, 'POST', '/v1/metrics/words/event', { body: event, ...more })
      const two = await call(toApp, 'PATCH', '/admin/v1/settings', {
        body: { aggregationPeriod: 'x' },
        ...more,
      })
      const three = await call(toApp, 'PUT', '/v1/users/types', { body: { name: type }, ...more })
      return [type, one.status, two.status, three.status, at(three.body, 'name')]
    }
    const outcomes: unknown[] = []
    for (const type of types) outcomes.push(await outcome(type))
    expect(outcomes).toEqual(types.map((type) => [type, 201, 422, 200, type]))
  })

  it('[G3] every operation answers 422 to JSON of a wrong shape, never a 5xx, and stores nothing', async () => {
    const before = await tenant.stored()
    // For these operations, an object without known fields is a valid change of nothing.
    const nothing = new Set([
      ...['users_identify', 'users_update', 'users_update_preferences', 'admin_settings_update'],
      ...['admin_streaks_settings_update', 'admin_users_void_event', 'admin_databases_rebalance'],
    ])
    const shapes = [
      ...words`null true 5 -0 1e308 1e999 "" "x" [] [null] [[]] [[[[]]]] [5] ["x"] [{}]`,
      ...words`{"__proto__":{"id":"x","value":1}} [{"__proto__":{"id":"x"}}] {"length":1,"0":{}}`,
      `[${'{},'.repeat(100)}{}]`,
    ]
    for (const [nth, spec] of WRITES.entries()) {
      const wrong = inTurn(7, shapes, nth).filter((raw) => !nothing.has(spec.id) || !raw.startsWith('{'))
      await Promise.all(wrong.map((raw) => refused(spec.method.toUpperCase(), pathOf(spec), raw, [422])))
    }
    expect(await tenant.stored()).toEqual(before)
    expect(errors).not.toHaveBeenCalled()
  })

  it('[G3] refuses or ignores deep nesting, many keys, huge texts and names of prototypes, and never answers a 5xx', async () => {
    const deep = (open: string, close: string, times: number) => open.repeat(times) + close.repeat(times)
    const nested = deep('[', ']', 200_000)
    const inner = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    expect(
      (await call(toApp, 'PUT', '/v1/users/ada', { raw: `{"deep":${nested}}`, headers: headers() })).status,
    ).toBe(200)
    const before = await tenant.stored()
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, 'x']))
    const times = 40_000
    for (const raw of [nested, `[${inner}]`, `${'[{"name":'.repeat(times)}1${'}]'.repeat(times)}`])
      for (const path of ['/metrics', '/points', '/webhooks', '/notifications/templates', '/metrics/events'])
        await refused('POST', `/admin/v1${path}`, raw, [422])
    for (const raw of [
      '{"user":{"id":"ada","attributes":{"__proto__":"x","constructor":"y"}},"value":1}',
      `{"user":${nested},"value":1}`,
      `{"user":{"id":${nested}},"value":1}`,
      `{"user":{"id":"ada"},"value":1,"attributes":${inner}}`,
      `{"user":{"id":"ada","attributes":{"plan":${inner}}},"value":1}`,
      `{"user":{"id":"ada","deviceTokens":${nested}},"value":1}`,
      JSON.stringify({ user: { id: 'ada', name: 'x'.repeat(900_000) }, value: 1 }),
      JSON.stringify({ user: { id: 'x'.repeat(900_000) }, value: 1 }),
      JSON.stringify({ user: { id: 'ada', attributes: many }, value: 1 }),
      JSON.stringify({ user: { id: 'ada', attributes: { ['k'.repeat(900_000)]: 'x' } }, value: 1 }),
      JSON.stringify({ user: { id: 'ada', deviceTokens: Array(50_000).fill('t') }, value: 1 }),
    ]) {
      await refused('POST', '/v1/metrics/words/event', raw, [422])
    }
    expect(await tenant.stored()).toEqual(before)
    const raw =
      '{"__proto__":{"polluted":1,"control":true},"constructor":{"prototype":{"polluted":1}},"name":"P"}'
    const { body } = await call(toApp, 'PUT', '/v1/users/ada', { raw, headers: headers() })
    expect(body).toMatchObject({ name: 'P', control: false })
    expect([Object.keys(Object.prototype), Reflect.get({}, 'polluted')]).toEqual([[], undefined])
  })

  it('[G3] refuses 90,000 attributes with a short error', async () => {
    const attributes = `{${Array.from({ length: 90_000 }, (_, n) => `"${n}":1`).join(',')}}`
    for (const [path, body] of [
      ['/v1/metrics/words/event', `{"user":{"id":"ada"},"value":1,"attributes":${attributes}}`],
      ['/v1/metrics/words/event', `{"user":{"id":"ada","attributes":${attributes}},"value":1}`],
      [
        '/admin/v1/metrics/events',
        `[{"key":"words","user":{"id":"ada","attributes":${attributes}},"value":1}]`,
      ],
    ] as const) {
      const { status, body: answer } = await call(toApp, 'POST', path, { raw: body, headers: headers() })
      expect([status, String(at(answer, 'error')).length < 200]).toEqual([422, true])
    }
  })

  it('[G7] refuses a list that is far too long with a short error, even if each of its items is wrong', async () => {
    for (const [path, method] of [
      ['/admin/v1/metrics', 'POST'],
      ['/admin/v1/points', 'PATCH'],
      ['/admin/v1/application-api-keys', 'POST'],
    ] as const) {
      const answer = await refused(method, path, `[${'0,'.repeat(500_000)}0]`, [422])
      expect(JSON.stringify(answer.body).length).toBeLessThan(MIB / 4)
    }
  })
})

/** The answers of an operation at these paths. */
const answersOf = (spec: OperationSpec, paths: readonly string[], raw = '{}') =>
  Promise.all(
    paths.map((path) =>
      call(toApp, spec.method.toUpperCase(), path, { ...(spec.body && { raw }), headers: headers() }),
    ),
  )

describe('queries and paths', () => {
  it('[G2] every read accepts odd, repeated and hostile query parameters without a 5xx', async () => {
    // The first read of a user's wrapped starts a background job that counts its percentiles (R2).
    const kept = async () => ({ ...(await tenant.stored()), change_distributions: null, due_work: null })
    const before = await kept()
    const reads = ALL.filter(({ method }) => method === 'get' || method === 'delete')
    const queries = [
      '?__proto__=1&__proto__=2&constructor=3&toString=4&&=&==&a[b]=c&userId=x&userId=y',
      '?limit=1&limit=2&skip=1&skip=2&ids=a&awards=1&awards=2&aggregation=daily&aggregation=daily',
      `?limit=${'9'.repeat(400)}&skip=${'9'.repeat(400)}&awards=-${'9'.repeat(400)}&startDate=9999-99-99&endDate=9999-99-99&aggregation=daily`,
      '?%00=%00&limit=%00&skip=%EF%BF%BD&awards=%F0%9F%98%80&userAttributes=%00:%00&ids=%00',
      "?ids=' OR 1=1 --&userAttributes=plan:' OR 1=1 --&userId=' OR 1=1 --",
      `?userAttributes=${'plan:x,'.repeat(2_000)}`,
      `?ids=${`${NOBODY},`.repeat(500)}`,
      '?aggregation=daily&startDate=0001-01-01&endDate=9999-12-31',
      '?aggregation=weekly&startDate=9999-12-31&endDate=9999-12-31&userAttributes=plan:x',
    ]
    for (const [nth, spec] of reads.entries()) {
      if (spec.id.includes('clock')) continue
      const some = inTurn(4, queries, nth)
      const answers = await answersOf(
        spec,
        some.map((query) => pathOf(spec) + query),
      )
      const failed = some.filter((_, n) => Number(answers[n]?.status) >= 500)
      expect([spec.id, failed]).toEqual([spec.id, []])
    }
    expect(await kept()).toEqual(before)
    expect(errors).not.toHaveBeenCalled()
  })

  it('[G2] odd segments in every path give a 4xx, never a 5xx', async () => {
    const long = 'x'.repeat(5_000)
    const odds = ['%00', '%FF', '%', "'%20OR%201=1%20--", '%F0%9F%98%80', long, '__proto__', '*']
    for (const [nth, spec] of WITH_SEGMENTS.entries()) {
      const some = inTurn(3, odds, nth)
      const answers = await answersOf(
        spec,
        some.map((odd) => filled(spec, odd)),
        'null',
      )
      // Erasing a user who does not exist succeeds (U8).
      const least = spec.id === 'admin_users_delete' ? 200 : 400
      const isWrong = (status = 500) => status < least || status >= 500
      const wrong = some.filter((_, n) => isWrong(answers[n]?.status))
      expect([spec.id, wrong]).toEqual([spec.id, []])
    }
    expect(errors).not.toHaveBeenCalled()
  })

  it('[U1] a path that is not UTF-8 after decoding is 422 for every operation, also if an id is written like it', async () => {
    await tenant.app('POST', '/users', { id: '%FF' })
    for (const [nth, spec] of WITH_SEGMENTS.entries()) {
      const paths = inTurn(1, NOT_UTF_8, nth).map((odd) => filled(spec, odd))
      const wrong = (await answersOf(spec, paths)).filter(
        ({ status, body }) => status !== 422 || !Object(body).error.startsWith('The path is not'),
      )
      expect([spec.id, wrong]).toEqual([spec.id, []])
    }
    // Only the path of an operation can be 422.
    expect((await tenant.app('GET', '/nothing/%FF')).status).toBe(404)
  })

  it('[G6] a query that is not UTF-8 after decoding is 422 for every operation, and finds and stores nothing', async () => {
    await tenant.app('PUT', '/users/%25FF', {})
    expect(await tenant.admin('GET', '/users?search=%25FF')).toMatchObject({ body: [{ id: '%FF' }] })
    const before = await tenant.stored()
    for (const [nth, spec] of ALL.entries()) {
      const paths = inTurn(1, NOT_UTF_8, nth).map((odd) => `${pathOf(spec)}?ids=x&search=${odd}`)
      const wrong = (await answersOf(spec, paths)).filter(
        ({ status, body }) => status !== 422 || !Object(body).error.startsWith('The query is not'),
      )
      expect([spec.id, wrong]).toEqual([spec.id, []])
    }
    expect(await tenant.stored()).toEqual(before)
  })
})

// test/worker/security-content.test.ts has what no line shows.
describe('log lines', () => {
  const parsed = () => linesSoFar().map((line) => Object(JSON.parse(line)))

  it('[G2] writes one JSON line per request: id, route, status, tenant, milliseconds, D1 round trips and rows', async () => {
    const key = await tenant.key('ada')
    const event = { user: { id: 'ada' }, value: 1 }
    const older = { body: event, headers: headers() }
    const toEvents = 'POST /v1/metrics/:key/event'
    const cases = [
      [() => tenant.as(key, 'POST', '/metrics/words/event', event), toEvents, 201],
      [() => call(toApp, 'POST', '/api/metrics/words/event', older), toEvents, 201],
      [() => tenant.app('GET', '/users/ada/points/xp?awards=5'), 'GET /v1/users/:id/points/:key', 200],
      [() => tenant.app('PUT', '/users/ada', { email: 'x' }), 'PUT /v1/users/:id', 422],
      [() => tenant.admin('GET', `/points/${system}/levels`), 'GET /admin/v1/points/:systemId/levels', 200],
      [() => tenant.as(key, 'GET', '/users/bob'), 'GET /v1/users/:id', 403],
    ] as const
    for (const [send, route, status] of cases) {
      forgetLines()
      const answer = await send()
      expect([route, answer.status]).toEqual([route, status])
      const [{ d1, milliseconds, ...line }, ...others] = parsed()
      const requestId = answer.headers.get('x-request-id')
      expect(line).toEqual({ level: 'info', requestId, route, status, tenant: tenant.id })
      expect([others, Object.keys(d1).sort()]).toEqual([[], ['roundTrips', 'rowsRead', 'rowsWritten']])
      expect(milliseconds).toBeGreaterThanOrEqual(0)
      expect(d1.roundTrips).toBeGreaterThanOrEqual(1)
    }
  })

  it('counts round trips and rows as D1 does', async () => {
    const key = await tenant.key('ada')
    const event = { user: { id: 'ada' }, value: 1 }
    await tenant.as(key, 'POST', '/metrics/words/event', event)
    forgetLines()
    await tenant.as(key, 'POST', '/metrics/words/event', event, { 'idempotency-key': 'logged' })
    expect(parsed()[0].d1).toMatchObject({ roundTrips: 2 })
    // The rows are the user, the event and its idempotency key.
    expect(parsed()[0].d1.rowsWritten).toBe(3)
    expect(parsed()[0].d1.rowsRead).toBeGreaterThan(0)
    forgetLines()
    await tenant.as(key, 'PUT', '/users/ada', {})
    expect(parsed()[0].d1.rowsWritten).toBe(0)
  })
})
