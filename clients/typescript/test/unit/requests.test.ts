import { afterEach, describe, expect, it, vi } from 'vitest'
import { Laurel, LaurelError } from '../../src/index.js'
import { OfflineQueue } from '../../src/offline.js'
import { accepted, errorOf, failure, fake, json, networkFailure, unsendable } from '../fake-fetch.js'

const LESSON = { user: { id: 'ada' }, value: 1 }
const USER = { id: 'ada' }

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe('requests', () => {
  it('have the key, the tenant, the method, the path and the body', async () => {
    const { sent, options } = fake(json(USER))
    const laurel = new Laurel({ ...options, url: 'https://example.com/laurel/', tenant: 'acme' })
    await laurel.users.update('a/d a%', { name: 'Ada' }, { headers: { 'X-Trace': '7' } })
    expect(sent).toHaveLength(1)
    const url = 'https://example.com/laurel/v1/users/a%2Fd%20a%25'
    expect(sent[0]).toMatchObject({ method: 'PATCH', url, body: { name: 'Ada' } })
    expect(Object.fromEntries(sent[0]?.headers ?? [])).toEqual({
      ...{ accept: 'application/json', 'content-type': 'application/json', 'tenant-id': 'acme' },
      ...{ 'x-api-key': 'app_key.secret', 'x-trace': '7' },
    })
  })

  it('go to the admin interface of another host', async () => {
    const { sent, options } = fake(json([]))
    const laurel = new Laurel({ ...options, adminUrl: 'https://admin.example.com' })
    await laurel.admin.metrics.list({ key: ['a', 'b'] })
    // Programs without types may pass a date.
    await laurel.admin.metrics.analytics('a', Object({ from: new Date(0) }))
    await laurel.points.list()
    expect(sent.map(({ url }) => url)).toEqual([
      'https://admin.example.com/admin/v1/metrics?limit=100&key=a&key=b',
      'https://admin.example.com/admin/v1/metrics/a/analytics?from=1970-01-01T00%3A00%3A00.000Z',
      'https://laurel.example.com/v1/points',
    ])
  })

  it.each([
    ...['laurel.example.com', 'ftp://a', 'https://a/v1', 'https://a/admin/v1/', 'https://a?x=1'],
    'https://u:p@a',
  ])('refuse the url %s', (url) => {
    expect(() => new Laurel({ ...fake().options, url })).toThrow(TypeError)
  })

  it.each(['', '.', '..'])('refuse the id "%s", which would name another path', async (id) => {
    const { sent, options } = fake(json(USER))
    const laurel = new Laurel(options)
    expect(await errorOf(laurel.admin.users.delete(id))).toBeInstanceOf(TypeError)
    expect(sent).toEqual([])
  })

  it('[G6] send attributes as pairs, a single one twice if it has a comma', async () => {
    const { sent, options } = fake(json([]))
    const laurel = new Laurel(options)
    await laurel.achievements.list({ userAttributes: { plan: 'pro', city: 'Washington, DC' } })
    await laurel.achievements.list({ userAttributes: { note: 'see, also: this' } })
    await laurel.achievements.list({ userAttributes: 'plan:pro' })
    expect(sent.map(({ path }) => decodeURIComponent(path))).toEqual([
      '/v1/achievements?userAttributes=plan:pro&userAttributes=city:Washington, DC',
      '/v1/achievements?userAttributes=note:see, also: this&userAttributes=note:see, also: this',
      '/v1/achievements?userAttributes=plan:pro',
    ])
  })

  it('are sent by a client and a queue in a reactive state of Vue', async () => {
    /** Does what `ref` of Vue does: it wraps an object in a proxy, unless the object has a `Symbol.toStringTag`. */
    const reactive = <T extends object>(value: T): T =>
      Object.prototype.toString.call(value) === '[object Object]' ? new Proxy(value, {}) : value
    const { sent, options } = fake(accepted())
    const laurel = reactive(new Laurel(options))
    await laurel.event('lessons', LESSON)
    await laurel.admin.points.adjustments.create('xp', [{ userId: 'ada', amount: 1 }])
    const queue = reactive(new OfflineQueue(reactive(laurel.with({ tenant: 'acme' }))))
    await queue.event('lessons', LESSON)
    await queue.flush()
    expect(sent).toHaveLength(3)
  })

  it('answer the body, and the headers on demand', async () => {
    const headers = { 'x-request-id': 'r-1', 'x-laurel-warning': 'Left out: plan' }
    const { options } = fake(json(USER, 200, headers))
    const laurel = new Laurel(options)
    expect(await laurel.users.get('ada')).toEqual(USER)
    const { data, requestId, warning, response } = await laurel.users.get('ada').withResponse()
    const expected = { data: USER, requestId: 'r-1', warning: 'Left out: plan', status: 200 }
    expect({ data, requestId, warning, status: response.status }).toEqual(expected)
  })

  it('use other options of a copy, with the same key', async () => {
    const { sent, options } = fake(json(USER))
    const apiKey = vi.fn(async () => 'app_token')
    const laurel = new Laurel({ ...options, apiKey, headers: { a: '1' } })
    await laurel.users.get('ada')
    await laurel.with({ tenant: 'Škola ✓', headers: { b: '2' } }).admin.settings.get()
    // Each character of a header is a byte, and these are the bytes of UTF-8.
    const bytes = Buffer.from(sent[1]?.headers.get('tenant-id') ?? '', 'latin1')
    expect(bytes.toString()).toBe('Škola ✓')
    expect(['a', 'b'].map((name) => sent[1]?.headers.get(name))).toEqual(['1', '2'])
    expect(apiKey).toHaveBeenCalledTimes(1)
  })

  it('call any operation by its method and path, and are repeated only if they read', async () => {
    const { sent, options } = fake(failure(500))
    const laurel = new Laurel({ ...options, tries: 2 })
    await errorOf(laurel.request('GET /v1/users/{id}', { path: { id: 'ada' } }))
    expect(sent).toMatchObject(Array(2).fill({ method: 'GET', path: '/v1/users/ada' }))
    await errorOf(laurel.request('PUT /admin/v1/test-clock', { body: { advance: 'PT1H' } }))
    expect(sent).toHaveLength(3)
  })

  it('are made before anything is awaited, so that later changes of objects change no try', async () => {
    const { sent, options } = fake(failure(500), accepted())
    const laurel = new Laurel({ ...options, apiKey: async () => 'app_key' })
    const user = { id: 'ada' }
    const headers: Record<string, string> = { a: '1' }
    const event = laurel.event('lessons', { user, value: 1 }, { headers })
    const fields = { name: 'Ada' }
    const update = laurel.users.update('ada', fields)
    user.id = 'grace'
    fields.name = 'Grace'
    headers.a = '2'
    await Promise.all([event, update])
    expect(sent.map(({ body }) => Object(body).user?.id ?? Object(body).name)).toEqual(['ada', 'Ada', 'ada'])
    expect(sent.flatMap(({ headers: all }) => all.get('a') ?? [])).not.toContain('2')
  })

  it('read all pages of a list as it was asked for, whatever happens to the objects meanwhile', async () => {
    const { sent, options } = fake(json([1, 2]), json([]))
    const query = { limit: 2, key: ['a'], userAttributes: { plan: 'pro' } }
    const headers: Record<string, string> = { a: '1' }
    const list = new Laurel(options).admin.metrics.list(query, { headers })
    query.key.push('b')
    query.userAttributes.plan = 'free'
    headers.a = '2'
    await list.toArray()
    const search = 'limit=2&key=a&userAttributes=plan%3Apro'
    expect(sent.map(({ path }) => path.split('?')[1])).toEqual([search, `${search}&skip=2`])
    expect(sent.map(({ headers: all }) => all.get('a'))).toEqual(['1', '1'])
  })

  it.each([
    ['given to the client', true],
    ['of the moment, which a test may have replaced', false],
  ])('call the global fetch as a function, which allows no other `this`: the one %s', async (_, isGiven) => {
    const { sent, options } = fake(json(USER))
    const { fetch: answer, ...others } = options
    const calls: unknown[] = []
    function picky(this: unknown, ...[url, init]: Parameters<typeof fetch>) {
      calls.push(this)
      return answer(String(url), init ?? {})
    }
    const laurel = new Laurel(isGiven ? { ...others, fetch: picky } : others)
    vi.stubGlobal('fetch', picky)
    await laurel.users.get('ada')
    expect([sent.length, calls]).toEqual([1, [undefined]])
  })

  it('call the fetch of an object as its method, and say what to do if it has lost the object', async () => {
    const { sent, options } = fake(json(USER))
    // As a service binding of a Worker does.
    const binding = {
      async fetch(url: string, init: RequestInit) {
        if (this !== binding)
          throw new TypeError('Illegal invocation: function called with incorrect `this`.')
        return options.fetch(url, init)
      },
    }
    await new Laurel({ ...options, fetch: binding }).users.get('ada')
    expect(sent).toHaveLength(1)
    const call = new Laurel({ ...options, fetch: binding.fetch }).users.get('ada')
    await expect(call).rejects.toThrow(/^Illegal invocation/)
    await expect(call).rejects.toBeInstanceOf(TypeError)
    const emulated = async () => {
      throw new TypeError('RequestInit: Expected signal to be an instance of AbortSignal.')
    }
    const other = new Laurel({ ...options, fetch: emulated }).users.get('ada')
    await expect(other).rejects.toThrow(/^RequestInit/)
  })

  // `npm run types` checks that apps with `exactOptionalPropertyTypes` may pass it.
  it('leave out fields that are undefined', async () => {
    const { sent, options } = fake(json({ id: 'ada' }))
    const laurel = new Laurel({ ...options, apiKey: () => ({ token: 'key', expires: undefined }) })
    await laurel.users.identify('ada', { name: 'Ada', email: undefined, attributes: undefined })
    expect(sent[0]?.body).toEqual({ name: 'Ada' })
  })

  it.each([
    [Number.NaN, 'a finite number'],
    [Number.POSITIVE_INFINITY, 'a finite number'],
    [new Date(Number.NaN), 'a valid date'],
  ])('are not sent with %s, which JSON lacks', async (amount, wanted) => {
    const { sent, options } = fake(json({}))
    const items = [Object({ userId: 'ada', amount })]
    const error = await errorOf(new Laurel(options).admin.points.adjustments.create('xp', items))
    expect(error).toMatchObject({ name: 'TypeError', message: `"amount" must be ${wanted}.` })
    expect(sent).toEqual([])
  })
})

describe('events', () => {
  it('have an idempotency key of their own', async () => {
    const { sent, options } = fake(accepted())
    const laurel = new Laurel(options)
    await laurel.event('lessons', LESSON)
    await laurel.event('lessons', LESSON)
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
    expect(keys[0]).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    expect(new Set(keys).size).toBe(2)
    expect(sent[0]?.body).toEqual(LESSON)
  })

  it('keep the key when they are sent again, and take a given one', async () => {
    const { sent, options } = fake(networkFailure(), failure(503), accepted())
    const laurel = new Laurel(options)
    await laurel.event('lessons', { ...LESSON, idempotencyKey: 'lesson-1' })
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
    expect(keys).toEqual(Array(3).fill('lesson-1'))
    expect(sent[2]?.body).toEqual(LESSON)
  })

  it('[E4] take a key from a header of the call, however it is written', async () => {
    const { sent, options } = fake(networkFailure(), accepted())
    const laurel = new Laurel(options)
    await laurel.event('lessons', LESSON, { headers: { 'Idempotency-Key': 'lesson-1' } })
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
    expect(keys).toEqual(['lesson-1', 'lesson-1'])
  })

  it.each([[undefined], [null]])('[E4] make a key if that of a header is %s', async (key) => {
    const { sent, options } = fake(accepted())
    const asked = ['lessons', LESSON, { headers: { 'Idempotency-Key': key, 'X-Other': 'a' } }]
    await Reflect.apply(Laurel.prototype.event, new Laurel(options), asked)
    expect(sent[0]?.headers.get('idempotency-key')).toMatch(/^[\da-f-]{36}$/)
    expect(sent[0]?.headers.get('x-other')).toBe('a')
  })

  it('[E4] send a key of a header in UTF-8, as any other key', async () => {
    const { sent, options } = fake(accepted(), accepted())
    const laurel = new Laurel(options)
    await laurel.event('lessons', LESSON, { headers: { 'Idempotency-Key': '日本' } })
    await laurel.event('lessons', { ...LESSON, idempotencyKey: '日本' })
    const [one, other] = sent.map(({ headers }) => headers.get('idempotency-key'))
    expect(one).toBe(other)
  })

  it.each(['', ' ', 'a\nb', 'x'.repeat(256)])('[E4] refuse a key that a header has: %j', async (key) => {
    const { sent, options } = fake(accepted())
    const call = new Laurel(options).event('lessons', LESSON, { headers: { 'Idempotency-Key': key } })
    expect(await errorOf(call)).toBeInstanceOf(TypeError)
    expect(sent).toEqual([])
  })

  it('are sent once if they have none', async () => {
    const { sent, options } = fake(networkFailure())
    const laurel = new Laurel(options)
    const error = await errorOf(laurel.event('lessons', { ...LESSON, idempotencyKey: null }))
    expect(error).toMatchObject({ status: 0 })
    expect(sent.map(({ headers }) => headers.get('idempotency-key'))).toEqual([null])
  })

  it.each(unsendable)('of which no request can be made are refused: %s', async (_, metric, event) => {
    const { sent, options } = fake(accepted())
    const call = Reflect.apply(Laurel.prototype.event, new Laurel(options), [metric, event])
    expect(await errorOf(call)).toBeInstanceOf(TypeError)
    expect(sent).toEqual([])
  })

  it('[E4] take keys of 255 characters of any script, also with a tab in them', async () => {
    const { sent, options } = fake(accepted())
    const laurel = new Laurel(options)
    await laurel.event('lessons', { ...LESSON, idempotencyKey: '🏅'.repeat(255) })
    await laurel.event('lessons', { ...LESSON, idempotencyKey: 'a\tb' })
    expect(sent).toHaveLength(2)
  })

  it('of a batch have keys too', async () => {
    const { sent, options } = fake(failure(500), json({ accepted: 2 }, 202))
    const laurel = new Laurel(options)
    const [first, second] = [
      { key: 'lessons', ...LESSON },
      { key: 'lessons', ...LESSON, idempotencyKey: 'b' },
    ]
    await laurel.admin.eventBatches.create([first, second])
    const anyKey = expect.stringMatching(/^[\da-f-]{36}$/)
    expect(sent[0]?.body).toEqual([{ ...first, idempotencyKey: anyKey }, second])
    expect(sent[1]?.body).toEqual(sent[0]?.body)
  })
})

describe('retries', () => {
  it('come after growing pauses with full jitter, at most ten tries in all', async () => {
    const { sent, pauses, options } = fake(networkFailure())
    const laurel = new Laurel({ ...options, tries: 100 })
    const error = await errorOf(laurel.users.get('ada'))
    expect(error).toBeInstanceOf(LaurelError)
    expect(error).toMatchObject({ status: 0, issues: [] })
    expect(sent).toHaveLength(10)
    // Chance is a half, so each is half of the longest one.
    expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 7500, 7500, 7500, 7500])
  })

  it('are as many as asked for', async () => {
    const { sent, options } = fake(failure(500))
    const laurel = new Laurel({ ...options, tries: 3 })
    await errorOf(laurel.users.get('ada'))
    expect(sent).toHaveLength(3)
    await errorOf(laurel.users.get('ada', { tries: 1 }))
    expect(sent).toHaveLength(4)
  })

  it('and timeouts that are no numbers count as not given', async () => {
    const { sent, options } = fake(failure(500))
    await errorOf(new Laurel({ ...options, tries: Number.NaN, timeout: Number.NaN }).users.get('ada'))
    expect(sent).toHaveLength(5)
  })

  it.each([Number.POSITIVE_INFINITY, 40 * 86_400_000])('have a timeout of %d ms', async (timeout) => {
    const { options } = fake(json(USER))
    const laurel = new Laurel({ ...options, tries: 1, timeout })
    await expect(laurel.users.get('ada')).resolves.toEqual(USER)
  })

  const [freezes, adjustments] = [[{ userId: 'ada' }], [{ userId: 'ada', amount: 1 }]]
  const writes: [name: string, call: (laurel: Laurel) => PromiseLike<unknown>, mayRepeat: boolean][] = [
    ['PUT', ({ users }) => users.identify('ada', {}), true],
    ['PATCH', ({ users }) => users.update('ada', {}), true],
    ['DELETE', ({ admin }) => admin.users.delete('ada'), true],
    ['creating a user', ({ users }) => users.create(USER), true],
    ['completing an achievement', (laurel) => laurel.achievements.complete('a', { user: USER }), true],
    ['voiding an event', ({ admin }) => admin.users.voidEvent('ada', 'e'), true],
    ['adjusting points', ({ admin }) => admin.points.adjustments.create('xp', adjustments), true],
    [
      'moving the clock to a moment',
      ({ admin }) => admin.testClock.set({ now: '2026-01-01T00:00:00Z' }),
      true,
    ],
    ['moving the clock by a duration', ({ admin }) => admin.testClock.set({ advance: 'PT1H' }), false],
    ['creating a metric', ({ admin }) => admin.metrics.create([{ key: 'a', name: 'A' }]), false],
    ['granting a freeze', ({ admin }) => admin.streaks.freezes.create({ freezes }), false],
  ]

  it.each(writes)('after a 5xx: %s', async (_, call, mayRepeat) => {
    const { sent, options } = fake(failure(503), json({}))
    const result = call(new Laurel(options))
    if (mayRepeat) await result
    else expect(await errorOf(result)).toMatchObject({ status: 503 })
    expect(sent).toHaveLength(mayRepeat ? 2 : 1)
  })

  it.each([429, 408])('come after a %s with every method, since nothing was stored', async (status) => {
    const { sent, options } = fake(failure(status), json({ created: [], issues: [] }))
    await new Laurel(options).admin.metrics.create([{ key: 'a', name: 'A' }])
    expect(sent).toHaveLength(2)
  })

  it.each([400, 401, 403, 404, 405, 413, 422])('do not come after a %s', async (status) => {
    const { sent, options } = fake(failure(status))
    expect(await errorOf(new Laurel(options).users.get('ada'))).toMatchObject({ status })
    expect(sent).toHaveLength(1)
  })

  it.each([
    ['seconds', '7'],
    ['seconds with a fraction', '6.2'],
    ['a date', 'Mon, 01 Jun 2026 12:00:07 GMT'],
  ])('wait as long as Retry-After says, in %s', async (_, text) => {
    const { pauses, options } = fake(failure(429, 'Too many.', { 'retry-after': text }), json(USER))
    await new Laurel(options).users.get('ada')
    expect(pauses).toEqual([7250])
  })

  it('do not come if Retry-After asks for more than a minute', async () => {
    const { sent, options } = fake(failure(503, 'Later.', { 'retry-after': '3600' }))
    const error = await errorOf(new Laurel(options).users.get('ada'))
    expect(error).toMatchObject({ status: 503, retryAfter: 3600 })
    expect(sent).toHaveLength(1)
  })

  it('come after an answer that breaks off', async () => {
    const start = (controller: ReadableStreamDefaultController) => {
      controller.enqueue(new TextEncoder().encode('{"id"'))
      controller.error(new TypeError('terminated'))
    }
    const broken = () => new Response(new ReadableStream({ start }))
    const { sent, options } = fake(broken, json(USER))
    expect(await new Laurel(options).users.get('ada')).toEqual(USER)
    expect(sent).toHaveLength(2)
  })
})
