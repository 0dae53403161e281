import { describe, expect, it, vi } from 'vitest'
import { Laurel } from '../../src/app.js'
import { errorOf, failure, fake, json, type Sent } from '../fake-fetch.js'

const HOUR = 3_600_000

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

  it('may fail, and is asked again', async () => {
    const { sent, pauses, options } = fake(json({ id: 'ada' }))
    const cause = new Error('The session has ended.')
    const apiKey = vi.fn(async () => 'app_one')
    apiKey.mockRejectedValueOnce(cause)
    const laurel = new Laurel({ ...options, apiKey })
    expect(await errorOf(laurel.users.get('ada'))).toMatchObject({ name: 'LaurelError', status: 0, cause })
    expect([sent, pauses]).toEqual([[], []])
    expect(await laurel.users.get('ada')).toEqual({ id: 'ada' })
  })
})

it('a key that is a text is not tried again after a 401', async () => {
  const { sent, options } = fake(failure(401))
  expect(await errorOf(new Laurel(options).users.get('ada'))).toMatchObject({ status: 401 })
  expect(sent).toHaveLength(1)
})
