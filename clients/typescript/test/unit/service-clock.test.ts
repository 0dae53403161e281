/** The time of the service, which the client knows from its answers (C1). */
import { describe, expect, it } from 'vitest'
import { Laurel } from '../../src/index.js'
import { errorOf, failure, fake, json, otherJson } from '../fake-fetch.js'

const USER = { id: 'ada' }

describe('the clock of the service', () => {
  const at = (date: string, headers: Record<string, string> = {}) =>
    json(USER, 200, { date: new Date(date).toUTCString(), 'x-request-id': 'r', ...headers })

  it('[C1] is that of the answers, and of the machine before the first one', async () => {
    const { clock, options } = fake(
      at('2026-06-01T12:00:01Z'),
      at('2026-06-01T13:30:00Z'),
      json(USER, 200, { 'x-request-id': 'r' }),
      at('2026-06-01T12:00:00Z'),
    )
    const laurel = new Laurel(options)
    const ahead = () => (laurel.now() - clock.now) / 1000
    expect(ahead()).toBe(0)
    const seen: number[] = []
    for (let answer = 0; answer < 4; answer += 1) {
      await laurel.users.get('ada')
      seen.push(ahead())
    }
    // A second is no difference, since `Date` has whole seconds.
    expect(seen).toEqual([0, 5400, 5400, 0])
  })

  const OLD = { date: 'Thu, 01 Jan 1970 00:00:00 GMT' }
  it.each([
    ['a page', () => new Response('<html>', { status: 404, headers: OLD })],
    ['an error', () => otherJson({ error: 'Not Found' }, 404, OLD)],
  ])('is not that of another server on the way: %s', async (_, answer) => {
    const { clock, options } = fake(answer)
    const laurel = new Laurel({ ...options, tries: 1 })
    await errorOf(laurel.users.get('ada'))
    expect(laurel.now()).toBe(clock.now)
  })

  it('decides how long a Retry-After with a date is', async () => {
    const headers = { 'retry-after': 'Mon, 01 Jun 2026 14:00:07 GMT', date: 'Mon, 01 Jun 2026 14:00:00 GMT' }
    const { pauses, options } = fake(failure(503, 'Later.', headers), json(USER))
    await new Laurel(options).users.get('ada')
    expect(pauses).toEqual([7250])
  })

  it('does not decide that of another server, whose answer has a clock of its own', async () => {
    const headers = { 'retry-after': 'Thu, 01 Jan 1970 00:00:07 GMT', date: 'Thu, 01 Jan 1970 00:00:00 GMT' }
    const { pauses, clock, options } = fake(new Response('Busy.', { status: 503, headers }), json(USER))
    const laurel = new Laurel(options)
    await laurel.users.get('ada')
    expect(pauses).toEqual([7250])
    expect(laurel.now()).toBe(clock.now)
  })
})
