import { beforeEach, describe, expect, it } from 'vitest'
import { at, newTenant, type TestTenant } from '../helpers/worker/harness'

let tenant: TestTenant
let system: string
let words: string

beforeEach(async () => {
  tenant = await newTenant()
  words = await tenant.metric('words')
  system = await tenant.create('/points', { key: 'xp', name: 'XP' })
  await tenant.app('PUT', '/users/ada', {})
})

const keysOf = async (path: string) => {
  const { body } = await tenant.admin('GET', `${path}?limit=100`)
  return [body].flat().map((one) => at(one, 'key'))
}
const triggers = () => `/points/${system}/triggers`
const boosts = () => `/points/${system}/boosts`
const metric = (more: object = {}) => ({
  ...{ type: 'metric', metricId: words, metricThreshold: 50, points: 1 },
  ...more,
})
const boost = (more: object = {}) => ({ ...{ name: 'Double', start: '2026-01-31', multiplier: 2 }, ...more })
const hook = { url: 'https://example.com:8443/a?b=secret', events: ['*'], status: 'inactive' }
const letter = { type: 'recap', channel: 'email', subject: 'S', body: 'B' }

describe('[O2] a resource that is created without a key', () => {
  it('gets one from its fields, with a suffix if it is taken', async () => {
    const achievement = await tenant.create('/achievements', { key: 'first', name: 'F', trigger: 'api' })
    const { status } = await tenant.admin('POST', triggers(), [
      metric(),
      metric(),
      metric({ key: 'metric-words-50-3' }),
      metric(),
      { type: 'achievement', achievementId: achievement, points: 1 },
      { type: 'streak', streakLength: 7, points: 1 },
      { type: 'time', timeUnit: 'days', timeInterval: 2, points: 1 },
      { type: 'user_creation', points: 1 },
    ])
    expect([status, await keysOf(triggers())]).toEqual([
      201,
      [
        ...['metric-words-50', 'metric-words-50-2', 'metric-words-50-3', 'metric-words-50-4'],
        ...['achievement-first', 'streak-7', 'time-2-days', 'user_creation'],
      ],
    ])
    await tenant.admin('POST', boosts(), [boost(), boost({ userId: 'ada' }), boost()])
    expect(await keysOf(boosts())).toEqual([
      'boost-2026-01-31',
      expect.stringMatching(/^user-boost-[\da-f]{12}$/),
      expect.stringMatching(/^boost-2026-01-31-[\da-f]{12}$/),
    ])
    await tenant.admin('POST', '/webhooks', [hook, hook])
    expect(await keysOf('/webhooks')).toEqual(['example-com-8443', 'example-com-8443-2'])
    await tenant.admin('POST', '/notifications/templates', [letter, letter])
    expect(await keysOf('/notifications/templates')).toEqual(['recap-email', 'recap-email-2'])
  })

  it('gets one in a new points system too, where the same keys are free', async () => {
    await tenant.create(triggers(), metric())
    const nested = { triggers: [metric(), metric()], boosts: [boost(), boost({ key: 'own' })] }
    const { body } = await tenant.admin('POST', '/points', [{ key: 'coins', name: 'C', ...nested }])
    expect(at(body, 'created', 0)).toMatchObject({
      triggers: [{ key: 'metric-words-50' }, { key: 'metric-words-50-2' }],
      boosts: [{ key: 'boost-2026-01-31' }, { key: 'own' }],
    })
    const again = { triggers: [metric({ key: 'a' }), metric({ key: 'a' })] }
    const wrong = await tenant.admin('POST', '/points', [{ key: 'gems', name: 'G', ...again }])
    expect([wrong.status, at(wrong.body, 'issues', 0, 'message')]).toEqual([
      200,
      expect.stringMatching(/^triggers\.1: The key "a" is taken/),
    ])
  })

  it('has a key that is never too long', async () => {
    const long = await tenant.create('/metrics', { key: 'm'.repeat(255), name: 'Long' })
    const many = Array.from({ length: 3 }, () => metric({ metricId: long }))
    const { body } = await tenant.admin('POST', triggers(), many)
    const base = `metric-${'m'.repeat(193)}`
    expect([0, 1, 2].map((n) => at(body, 'created', n, 'key'))).toEqual([base, `${base}-2`, `${base}-3`])
  })
})

describe('[O2] a key', () => {
  it('of a boost is unique among all boosts of the system, also while two requests make own boosts', async () => {
    await tenant.app('PUT', '/users/bob', {})
    const make = (userId: string | null, key: string) =>
      tenant.admin('POST', boosts(), [boost({ userId, key })])
    const answers = await Promise.all(['ada', 'bob', 'ada', 'bob', null].map((user) => make(user, 'same')))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 200, 201])
    expect(await keysOf(boosts())).toEqual(['same'])
    expect((await make('bob', 'other')).status).toBe(201)
    expect((await make(null, 'other')).status).toBe(200)
  })

  it('is not in the application interface', async () => {
    await tenant.create(triggers(), metric({ metricThreshold: 1, key: 'hidden-key', status: 'active' }))
    const today = { start: '2020-01-01' }
    await tenant.create(boosts(), boost({ ...today, key: 'hidden-key' }))
    await tenant.create(boosts(), boost({ ...today, key: 'hidden-key-too', userId: 'ada' }))
    const seen = [await tenant.event('words', 'ada', 1)]
    for (const path of ['/points', '/points/xp', '/points/xp/boosts', '/users/ada/points/xp']) {
      seen.push(await tenant.app('GET', path))
    }
    seen.push(await tenant.app('GET', '/users/ada/points/xp/boosts'))
    seen.push(await tenant.app('GET', '/users/ada/overview'))
    expect(seen.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200, 200, 200])
    expect(JSON.stringify(seen.map(({ body }) => body))).not.toContain('hidden-key')
    expect(JSON.stringify(seen[4]?.body)).toContain('"trigger"')
  })
})
