import { afterEach, describe, expect, it, vi } from 'vitest'
import { Laurel } from '../../src/app.js'
import { errorOf, failure, fake, json, type Sent } from '../fake-fetch.js'

const HOUR = 3_600_000

afterEach(() => {
  vi.useRealTimers()
})

/** A JWT, unsigned, made at a moment in seconds, with a lifetime in seconds. */
function jwt(name: string, iat: number, lifetime: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'HS256' })}.${part({ sub: `${name}?>`, iat, exp: iat + lifetime })}.signature`
}

const keysOf = (sent: Sent[]) => sent.map(({ headers }) => headers.get('x-api-key'))

describe('a function that gets keys', () => {
  it('is called once by parallel calls', async () => {
    const { sent, options } = fake(json({}))
    const apiKey = vi.fn(async () => 'app_one')
    const laurel = new Laurel({ ...options, apiKey })
    await Promise.all([laurel.users.get('a'), laurel.users.get('b'), laurel.users.get('c')])
    await laurel.users.get('d')
    expect(apiKey).toHaveBeenCalledTimes(1)
    expect(new Set(keysOf(sent))).toEqual(new Set(['app_one']))
  })

  it('[K6] is called again a minute before a token ends, by whatever clock the service has', async () => {
    const { sent, clock, options } = fake(json({}))
    const names = ['one', 'two', 'three']
    const apiKey = vi.fn(() => jwt(names.shift() ?? '', 4_000_000_000, 3600))
    const laurel = new Laurel({ ...options, apiKey })
    await laurel.users.get('ada')
    clock.now += HOUR - 61_000
    await laurel.users.get('ada')
    expect(apiKey).toHaveBeenCalledTimes(1)
    clock.now += 1000
    await Promise.all([laurel.users.get('ada'), laurel.users.get('ada')])
    expect(apiKey).toHaveBeenCalledTimes(2)
    expect(keysOf(sent)[3]).toBe(jwt('two', 4_000_000_000, 3600))
  })

  it('[K6] may answer what POST /admin/v1/user-tokens answers', async () => {
    const { clock, options } = fake(json({}))
    const apiKey = vi.fn(() => ({ token: 'opaque', expires: new Date(clock.now + 60_000).toISOString() }))
    const laurel = new Laurel({ ...options, apiKey })
    await laurel.users.get('ada')
    clock.now += 53_000
    await laurel.users.get('ada')
    expect(apiKey).toHaveBeenCalledTimes(1)
    clock.now += 1000
    await laurel.users.get('ada')
    expect(apiKey).toHaveBeenCalledTimes(2)
  })

  it('is called once more after a 401, by parallel calls together', async () => {
    const { sent, options } = fake(({ headers }) =>
      headers.get('x-api-key') === 'old' ? failure(401) : json({ id: 'ada' }),
    )
    const keys = ['old', 'new']
    const apiKey = vi.fn(async () => keys.shift() ?? 'none')
    const laurel = new Laurel({ ...options, apiKey })
    const users = await Promise.all([
      laurel.users.get('ada'),
      laurel.users.get('ada'),
      laurel.users.get('ada'),
    ])
    expect(users).toEqual([{ id: 'ada' }, { id: 'ada' }, { id: 'ada' }])
    expect(apiKey).toHaveBeenCalledTimes(2)
    expect(keysOf(sent)).toEqual(['old', 'old', 'old', 'new', 'new', 'new'])
  })

  it('is not called a third time if the new key is refused too, also for one try', async () => {
    const { sent, options } = fake(failure(401))
    const apiKey = vi.fn(async () => 'refused')
    const laurel = new Laurel({ ...options, apiKey, tries: 1 })
    expect(await errorOf(laurel.users.get('ada'))).toMatchObject({ status: 401 })
    expect(apiKey).toHaveBeenCalledTimes(2)
    expect(sent).toHaveLength(2)
  })

  const cause = new Error('The session has ended.')
  it.each([
    ['later', async () => Promise.reject(cause)],
    [
      'at once',
      () => {
        throw cause
      },
    ],
  ])('may throw %s, and is asked again', async (_, fail) => {
    const { sent, pauses, options } = fake(json({ id: 'ada' }))
    const apiKey = vi.fn<() => string | Promise<string>>(() => 'app_one')
    apiKey.mockImplementationOnce(fail)
    const laurel = new Laurel({ ...options, apiKey })
    expect(await errorOf(laurel.users.get('ada'))).toMatchObject({ name: 'LaurelError', status: 0, cause })
    expect([sent, pauses]).toEqual([[], []])
    expect(await laurel.users.get('ada')).toEqual({ id: 'ada' })
  })

  it.each([
    ['the page of a proxy', '<html>\r\n<h1>Sign in</h1>'],
    ['a token with such a text', { token: 'app kéy' }],
    ['an empty text', ' '],
    ['nothing', null],
    ['an answer without a token', { error: 'Sign in first.' }],
  ])('may answer what is no key (%s), and is asked again', async (_, given) => {
    const { sent, options } = fake(json({ id: 'ada' }))
    const apiKey = vi.fn(() => 'app_one').mockReturnValueOnce(JSON.parse(JSON.stringify(given)))
    const laurel = new Laurel({ ...options, apiKey })
    const error = await errorOf(laurel.users.get('ada'))
    expect(error).toMatchObject({ name: 'LaurelError', status: 0, cause: expect.any(TypeError) })
    expect(sent).toEqual([])
    expect(await laurel.users.get('ada')).toEqual({ id: 'ada' })
  })

  it('may never answer: the timeout and the signal of a call hold, and it is asked again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { sent, clock, options } = fake(json({ id: 'ada' }))
    const apiKey = vi.fn<() => string | Promise<string>>(() => 'app_one')
    apiKey.mockImplementationOnce(() => new Promise(() => undefined))
    const laurel = new Laurel({ ...options, apiKey, timeout: 5000 })
    const controller = new AbortController()
    const reason = new Error('The page is closed.')
    const aborted = errorOf(laurel.users.get('ada', { signal: controller.signal }))
    const late = errorOf(laurel.users.get('ada', { timeout: 800 }))
    controller.abort(reason)
    expect(await aborted).toBe(reason)
    await vi.advanceTimersByTimeAsync(800)
    expect(await late).toMatchObject({
      name: 'LaurelError',
      status: 0,
      message: 'The function "apiKey" did not answer within 800 ms.',
    })
    // The clock tells it: a request of a Worker that has ended takes its timers with it.
    clock.now += 5001
    expect([sent.length, apiKey.mock.calls.length, vi.getTimerCount()]).toEqual([0, 1, 0])
    expect(await laurel.users.get('ada')).toEqual({ id: 'ada' })
    expect([sent.length, apiKey.mock.calls.length, vi.getTimerCount()]).toEqual([1, 2, 0])
  })
})

describe('when another user signs in', () => {
  /** A client whose function gives the token of the user who is signed in. Only that of Grace is accepted. */
  function signedIn() {
    const session = { user: 'ada', token: 0 }
    const set = fake((request) =>
      request.headers.get('x-api-key')?.includes('grace') ? json({}) : failure(403),
    )
    const apiKey = vi.fn(async () => {
      session.token += 1
      return `${session.user}-${session.token}`
    })
    return { ...set, session, apiKey, laurel: new Laurel({ ...set.options, apiKey }) }
  }

  it('forgetKey forgets the key of the one before, also one that is on its way', async () => {
    const { sent, options } = fake(json({}))
    const answers: ((key: string) => void)[] = []
    const apiKey = vi.fn(() => new Promise<string>((resolve) => answers.push(resolve)))
    const laurel = new Laurel({ ...options, apiKey })
    const before = laurel.users.get('ada')
    laurel.with({ tenant: 'acme' }).forgetKey()
    const after = laurel.users.get('grace')
    for (const [index, answer] of answers.entries()) answer(`app_${index}`)
    await Promise.all([before, after])
    await laurel.users.get('grace')
    expect(sent.map(({ path }) => path.slice(-5))).toEqual(['s/ada', 'grace', 'grace'])
    expect(keysOf(sent)).toEqual(['app_0', 'app_1', 'app_1'])
    laurel.forgetKey()
    const last = laurel.users.get('ada')
    expect(apiKey).toHaveBeenCalledTimes(3)
    // Without an answer, the call would fail half a minute later, in the middle of another test.
    answers[2]?.('app_2')
    await last
  })

  it('a 403 gets the key of that user, once for parallel calls', async () => {
    const { sent, session, apiKey, laurel } = signedIn()
    expect(await errorOf(laurel.users.get('grace'))).toMatchObject({ status: 403 })
    session.user = 'grace'
    sent.length = 0
    apiKey.mockClear()
    await Promise.all([laurel.users.get('grace'), laurel.users.get('grace')])
    expect(keysOf(sent)).toEqual(['ada-2', 'ada-2', 'grace-3', 'grace-3'])
    expect(apiKey).toHaveBeenCalledTimes(1)
  })

  it('[K6] a 403 stays if the function gives a new token of the same user, or fails', async () => {
    const { sent, clock, options } = fake(failure(403))
    const apiKey = vi.fn(async () => {
      clock.now += 1000
      return jwt('ada', clock.now / 1000, 3600)
    })
    const laurel = new Laurel({ ...options, apiKey })
    expect(await errorOf(laurel.users.get('grace'))).toMatchObject({ status: 403 })
    expect([sent.length, apiKey.mock.calls.length]).toEqual([1, 2])
    apiKey.mockRejectedValue(new Error('The session has ended.'))
    expect(await errorOf(laurel.users.get('grace'))).toMatchObject({ status: 403 })
    expect(sent).toHaveLength(2)
  })
})

it('a key that is missing is refused at once', async () => {
  const { sent, options } = fake(json({}))
  const laurel = new Laurel({ ...options, apiKey: Object(process.env).LAUREL_KEY_THAT_IS_NOT_SET })
  const error = await errorOf(laurel.users.get('ada'))
  expect(error).toMatchObject({
    name: 'TypeError',
    message: '"apiKey" must be a text, or a function that answers one.',
  })
  expect(sent).toEqual([])
})
