import { beforeEach, describe, expect, it } from 'vitest'
import { at, newApp, newTenant, type TestTenant } from '../helpers/worker/harness'

let tenant: TestTenant
beforeEach(async () => {
  tenant = await newTenant()
  for (const key of ['steps', 'words', 'songs']) await tenant.metric(key)
  await tenant.app('PUT', '/users/ada', {})
})

const read = async () => (await tenant.app('GET', '/users/ada/preferences')).body
const set = (change: unknown) => tenant.app('PATCH', '/users/ada/preferences', change)
const settings = (change: unknown) => tenant.admin('PATCH', '/streaks/settings', change)
const extended = async (metric: string, value: number) =>
  at((await tenant.event(metric, 'ada', value)).body, 'currentStreak', 'extended')

describe('[U7] preferences', () => {
  it('[U7] are empty at first, and merge per type and per field; an empty list disables a type', async () => {
    expect(await read()).toEqual({ notifications: {} })
    const first = await set({ notifications: { recap: ['email'], reactivation: ['push', 'email', 'push'] } })
    expect([first.status, first.body]).toEqual([
      200,
      { notifications: { recap: ['email'], reactivation: ['push', 'email'] } },
    ])
    await set({ notifications: { recap: [], streak_reminder: null }, streak: { enabled: true } })
    expect(await read()).toEqual({
      notifications: { recap: [], reactivation: ['push', 'email'] },
      streak: { enabled: true },
    })
    expect((await set({ unknown: 1 })).body).toEqual(await read())
  })

  it.each([
    [{ notifications: { mail: ['email'] } }, 'mail'],
    [{ notifications: { recap: ['fax'] } }, 'notifications.recap.0'],
    [{ streak: { enabled: 'no' } }, 'streak.enabled'],
    [{ streak: { metrics: [{ key: 'steps', threshold: 1e-9 }] } }, 'streak.metrics.0.threshold'],
    [
      {
        streak: {
          metrics: [
            { key: 'steps', threshold: 1 },
            { key: 'steps', threshold: 2 },
          ],
        },
      },
      'streak.metrics',
    ],
  ])('[U7] %j is 422, and changes nothing', async (change, named) => {
    await settings({ customizationEnabled: true })
    const { status, body } = await set(change)
    expect([status, at(body, 'error')]).toEqual([422, expect.stringContaining(named)])
    expect(await read()).toEqual({ notifications: {} })
  })

  it('[U7] metrics and mode are 403 while customizationEnabled is off; off again, they are neither shown nor applied', async () => {
    const metrics = [{ key: 'words', threshold: 2 }]
    expect((await set({ streak: { metrics } })).status).toBe(403)
    expect((await set({ streak: { evaluationMode: 'OR' } })).status).toBe(403)
    await settings({ customizationEnabled: true })
    expect((await set({ streak: { metrics, evaluationMode: 'AND' } })).body).toEqual({
      notifications: {},
      streak: { metrics, evaluationMode: 'AND' },
    })
    expect(await extended('steps', 5)).toBe(false)
    await settings({ customizationEnabled: false })
    expect(await read()).toEqual({ notifications: {} })
    // Any positive event is enough now, and there was one (S2).
    expect((await tenant.app('GET', '/users/ada/streak')).body).toMatchObject({ length: 1 })
  })

  it('[U7] ALL is AND; the metrics are a part of the tenant’s streak metrics', async () => {
    await settings({
      customizationEnabled: true,
      metrics: [
        { key: 'steps', threshold: 100 },
        { key: 'words', threshold: 100 },
      ],
    })
    const refused = await set({ streak: { metrics: [{ key: 'songs', threshold: 1 }] } })
    expect([refused.status, at(refused.body, 'error')]).toEqual([
      422,
      expect.stringContaining('streak.metrics.0.key'),
    ])
    const metrics = [
      { key: 'steps', threshold: 3 },
      { key: 'words', threshold: 0.5 },
    ]
    for (const evaluationMode of ['AND', 'ALL', 'OR', 'AND']) {
      expect(at((await set({ streak: { metrics, evaluationMode } })).body, 'streak')).toEqual({
        metrics,
        evaluationMode: evaluationMode === 'ALL' ? 'AND' : evaluationMode,
      })
    }
    expect(await extended('steps', 3)).toBe(false)
    expect(await extended('words', 0.5)).toBe(true)
  })

  it('[U7, S10] enabled false makes the streak 0 and silent; on again, the period is as it was, and is not earned again', async () => {
    expect(await extended('steps', 1)).toBe(true)
    await set({ streak: { enabled: false } })
    expect((await tenant.app('GET', '/users/ada/streak')).body).toMatchObject({
      length: 0,
      started: null,
      expires: null,
    })
    expect(await extended('steps', 1)).toBe(false)
    expect((await tenant.app('GET', '/streaks?userIds=ada')).body).toMatchObject([{ streakLength: 0 }])
    await set({ streak: { enabled: true } })
    expect((await tenant.app('GET', '/users/ada/streak')).body).toMatchObject({ length: 1 })
    expect(await extended('steps', 1)).toBe(false)
  })

  it('[G9] a deleted metric is removed from a user’s own metrics', async () => {
    const id = at((await tenant.admin('GET', '/metrics?limit=100')).body, 2, 'id')
    await settings({ customizationEnabled: true })
    await set({ streak: { metrics: [{ key: 'songs', threshold: 2 }] } })
    expect(await extended('steps', 1)).toBe(false)
    await tenant.admin('DELETE', `/metrics?ids=${id}`)
    expect(at(await read(), 'streak', 'metrics')).toEqual([])
    // Any positive event is enough now, and there was one (S2).
    expect((await tenant.app('GET', '/users/ada/streak')).body).toMatchObject({ length: 1 })
  })

  it('[G2] 404 for an unknown user comes before 422', async () => {
    const { status } = await tenant.app('PATCH', '/users/nobody/preferences', { streak: { enabled: 'x' } })
    expect(status).toBe(404)
  })

  it('[E3] parallel changes of different fields, and events, all take effect', async () => {
    const types = ['achievement_completed', 'recap', 'reactivation', 'streak_reminder']
    await Promise.all(
      types.flatMap((type) => [
        tenant
          .through(newApp())
          .app('PATCH', '/users/ada/preferences', { notifications: { [type]: ['push'] } }),
        tenant.through(newApp()).event('steps', 'ada', 1),
      ]),
    )
    expect(await read()).toEqual({ notifications: Object.fromEntries(types.map((type) => [type, ['push']])) })
    expect(at((await tenant.app('GET', '/users/ada/metrics/steps')).body, 'current')).toBe(4)
  })
})
