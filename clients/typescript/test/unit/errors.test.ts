/** The errors of the client, and whose answers count as Laurel's (G2). */
import { describe, expect, it, vi } from 'vitest'
import { Laurel, LaurelError } from '../../src/index.js'
import { accepted, errorOf, fake, foreign, json } from '../fake-fetch.js'

const LESSON = { user: { id: 'ada' }, value: 1 }
const USER = { id: 'ada' }

describe('errors', () => {
  it('[G15] show the resource of a 412 as it is now', async () => {
    const items = [{ key: 'a', name: 'A' }]
    for (const current of [{ key: 'a', name: 'B' }, null]) {
      const { sent, options } = fake(json({ error: 'It has changed.', current }, 412))
      const update = new Laurel(options).admin.metrics.update(items, { headers: { 'if-match': '"1"' } })
      expect(await errorOf(update)).toMatchObject({ status: 412, message: 'It has changed.', current })
      expect(sent.map(({ headers }) => headers.get('if-match'))).toEqual(['"1"'])
    }
  })

  it('[G2] have the list of problems that the answer has, whatever its texts say', async () => {
    const text = 'attributes.plan: must be one of a; b: c; value: must be a number. Fix both.'
    const issues = [
      { path: 'attributes.plan', message: 'must be one of a; b: c' },
      { path: 'value', message: 'must be a number' },
      { path: null, message: 'The address is missing.' },
      { message: 'Fix both.' },
      { path: '', message: 'And this.' },
      { path: 'a', code: 'unknown' },
      null,
    ]
    const answer = json({ error: text, issues }, 422, { 'x-request-id': 'r-1' })
    const error = await errorOf(new Laurel(fake(answer).options).event('lessons', LESSON))
    expect(error).toBeInstanceOf(LaurelError)
    expect(error).toMatchObject({
      status: 422,
      message: text,
      current: undefined,
      requestId: 'r-1',
      issues: [
        { path: 'attributes.plan', message: 'must be one of a; b: c' },
        { path: 'value', message: 'must be a number' },
        { path: null, message: 'The address is missing.' },
        { path: null, message: 'Fix both.' },
        { path: null, message: 'And this.' },
      ],
    })
  })

  const signal = Object.assign(new Error('Dynamic server usage'), { digest: 'DYNAMIC_SERVER_USAGE' })
  const lost = Object.assign(new Error('The session cannot be read.'), { digest: '3897101824' })

  it.each([
    ['fetch', signal],
    ['apiKey', signal],
    ['apiKey', Object.assign(new Error('NEXT_REDIRECT'), { digest: 'NEXT_REDIRECT;replace;/login;307;' })],
  ])('do not hide what Next.js throws in %s to render a page later, or another one', async (part, thrown) => {
    const { pauses, options } = fake(accepted())
    const refuse = () => Promise.reject(thrown)
    const laurel = new Laurel({ ...options, [part]: refuse })
    expect(await errorOf(laurel.event('lessons', LESSON))).toBe(thrown)
    expect(pauses).toEqual([])
    const failing = new Laurel({ ...options, tries: 1, [part]: () => Promise.reject(lost) })
    expect(await errorOf(failing.event('lessons', LESSON))).toMatchObject({ status: 0, cause: lost })
  })

  it.each([401, 403])('do not hide a redirect of the function "apiKey" after a %s', async (status) => {
    const redirect = Object.assign(new Error('NEXT_REDIRECT'), {
      digest: 'NEXT_REDIRECT;replace;/sign-in;307;',
    })
    const { options } = fake(json({ error: 'No.' }, status))
    const keys = [() => Promise.resolve('app_key'), () => Promise.reject(redirect)]
    const apiKey = () => keys.shift()?.() ?? Promise.reject(redirect)
    expect(await errorOf(new Laurel({ ...options, apiKey }).users.get('ada'))).toBe(redirect)
  })

  it.each(foreign)('%s is no answer of Laurel: it is tried again', async (_, answer) => {
    const { sent, options } = fake(answer, json(USER))
    expect(await new Laurel(options).users.get('ada')).toEqual(USER)
    expect(sent).toHaveLength(2)
    const lasting = fake(answer)
    const error = await errorOf(new Laurel(lasting.options).users.get('ada'))
    expect(error).toMatchObject({ status: 0, issues: [] })
    expect(error).toMatchObject({ message: expect.stringContaining('Check that "url" is the base URL') })
    expect(lasting.sent).toHaveLength(5)
    // It may have been passed on to Laurel, so what has an effect twice is sent once.
    const write = fake(answer)
    await errorOf(new Laurel(write.options).admin.metrics.create([{ key: 'a', name: 'A' }]))
    expect(write.sent).toHaveLength(1)
  })

  it('an object is no list of Laurel, and an answer without an event is none to an event', async () => {
    const list = fake(json({ status: 'ok' }), json([1]))
    expect(await new Laurel(list.options).points.list()).toEqual([1])
    const event = fake(json({ status: 'ok' }), accepted())
    expect(await new Laurel(event.options).event('lessons', LESSON)).toEqual({ eventId: 'event' })
    expect([list.sent.length, event.sent.length]).toEqual([2, 2])
  })

  it('are LaurelErrors of every copy of the package, and of no other class', async () => {
    vi.resetModules()
    const other = await import('../../src/core/laurel-error.js')
    const error = new other.LaurelError('It failed.', { status: 404 })
    class Own extends LaurelError {}
    const own = new Own('It failed.', { status: 404 })
    expect(other.LaurelError).not.toBe(LaurelError)
    expect([error, own].map((one) => one instanceof LaurelError)).toEqual([true, true])
    expect([error, own, Object.create(Own.prototype)].map((one) => one instanceof Own)).toEqual([
      false,
      true,
      true,
    ])
    expect(
      [new Error('It failed.'), null, 'LaurelError', { status: 404 }].some(
        (one) => one instanceof LaurelError,
      ),
    ).toBe(false)
  })

  it('never follow a redirect, which would pass the key on', async () => {
    const redirect = new Response(null, { status: 302, headers: { location: 'https://evil.example.com' } })
    const { sent, options } = fake((_, init) => {
      expect(init.redirect).toBe('manual')
      return redirect
    })
    const error = await errorOf(new Laurel({ ...options, tries: 1 }).users.get('ada'))
    expect(error).toMatchObject({ message: expect.stringContaining('redirects to another one') })
    expect(sent.map(({ url }) => new URL(url).host)).toEqual(['laurel.example.com'])
  })

  it.each([
    ['app_key.sec\nret', 'The API key has characters that no key has.'],
    ['app_kéy.secret', 'The API key has characters that no key has.'],
    [' ', 'The API key is empty.'],
  ])('never show the key %j', async (apiKey, message) => {
    const { options } = fake(json(USER))
    const error = await errorOf(new Laurel({ ...options, apiKey }).users.get('ada'))
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ message })
  })

  it('ignore white space around a key', async () => {
    const { sent, options } = fake(json(USER))
    await new Laurel({ ...options, apiKey: ' app_key.secret\n' }).users.get('ada')
    expect(sent[0]?.headers.get('x-api-key')).toBe('app_key.secret')
  })
})
