/** The warning about fields of a body that the service ignores (G3). */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Laurel } from '../../src/index.js'
import { errorOf, failure, fake, json } from '../fake-fetch.js'

const LESSON = { user: { id: 'ada' }, value: 1 }
const USER = { id: 'ada', eventId: 'event' }

describe('ignored fields', () => {
  const ignored = (...names: string[]) => json(USER, 200, { 'x-laurel-ignored': names.join(', ') })

  afterEach(() => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  })

  it('[G3] are warned of once in development, by operation and field, by all copies of a client', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    const { options } = fake(
      ignored('idempotencyKey', 'user.plan'),
      ignored('idempotencyKey', 'user.plan'),
      ignored('user.plan', 'date', '+12'),
      ignored('user.plan', '+12'),
      failure(422, 'name: must be a string.', { 'x-laurel-ignored': 'idempotencyKey' }),
      json(USER),
    )
    const laurel = new Laurel(options)
    await laurel.event('lessons', LESSON)
    await laurel.with({ tenant: 'acme' }).event('lessons', LESSON)
    await laurel.event('pages', LESSON)
    await laurel.event('pages', LESSON)
    await errorOf(laurel.users.update('ada', {}))
    await laurel.users.update('ada', {})
    expect(warn.mock.calls.flat()).toEqual([
      expect.stringContaining('POST /v1/metrics/{key}/event does not have: idempotencyKey, user.plan.'),
      expect.stringContaining('POST /v1/metrics/{key}/event does not have: date, and 12 more.'),
      expect.stringContaining('PATCH /v1/users/{id} does not have: idempotencyKey.'),
    ])
  })

  it.each(['production', '', undefined])('are not warned of if NODE_ENV is %j', async (mode) => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    vi.stubEnv('NODE_ENV', mode)
    await new Laurel(fake(ignored('date')).options).event('lessons', LESSON)
    expect(warn).not.toHaveBeenCalled()
  })
})
