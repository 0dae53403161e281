import { beforeAll, describe, expect, it } from 'vitest'
import { at, call, newTenant, type TestTenant, toApp } from './harness'

let tenant: TestTenant
beforeAll(async () => {
  tenant = await newTenant()
})

const warning = (name: string, meant?: string) => ({
  severity: 'warning',
  message: `Unknown field "${name}". ${meant === undefined ? 'It is ignored.' : `Did you mean "${meant}"?`}`,
})

describe('unknown fields of an admin write', () => {
  it('[O4] are warnings beside the result, and the status stays', async () => {
    const item = { key: 'words', name: 'Words', unit: 'words' }
    const made = await tenant.admin('POST', '/metrics', [{ key: 'pages', name: 'Pages' }, item])
    expect(made).toMatchObject({ status: 201, body: { created: [{ key: 'pages' }, { units: '' }] } })
    expect(at(made.body, 'issues')).toEqual([{ index: 1, ...warning('unit', 'units') }])
    // The same item again is an error, and its unknown field still a warning.
    const again = await tenant.admin('POST', '/metrics', [item])
    expect([again.status, at(again.body, 'issues')]).toEqual([
      200,
      [
        { index: 0, severity: 'error', message: expect.stringContaining('is taken') },
        { index: 0, ...warning('unit', 'units') },
      ],
    ])
    const id = String(at(made.body, 'created', 1, 'id'))
    const changed = await tenant.admin('PATCH', '/metrics', [{ id, units: 'w', nmae: 'x' }])
    expect([changed.status, at(changed.body, 'updated', 0, 'name'), at(changed.body, 'issues')]).toEqual([
      200,
      'Words',
      [{ index: 0, ...warning('nmae', 'name') }],
    ])
  })

  it('[O4] have their path if they are nested', async () => {
    const system = { key: 'xp', name: 'XP', levels: [{ key: 'a', name: 'A', points: 1, pionts: 2 }] }
    const { status, body } = await tenant.admin('POST', '/points', [system])
    expect([status, at(body, 'issues')]).toEqual([
      201,
      [{ index: 0, ...warning('levels.0.pionts', 'levels.0.points') }],
    ])
  })

  it('[O4] also of answers that are one object, which otherwise have no issues', async () => {
    const settings = await tenant.admin('PATCH', '/settings', { controlRatio: 0 })
    expect(settings.body).toEqual({ controlRatio: 0, recapFrequency: 'weekly' })
    const wrong = await tenant.admin('PATCH', '/settings', { controlratio: 5 })
    expect(wrong).toMatchObject({ status: 200, body: { controlRatio: 0 } })
    expect(at(wrong.body, 'issues')).toEqual([warning('controlratio', 'controlRatio')])
    const streaks = await tenant.admin('PATCH', '/streaks/settings', { freezes: { maximum: 5 } })
    expect(at(streaks.body, 'issues')).toEqual([warning('freezes.maximum')])
    await tenant.metric('steps')
    const events = [{ key: 'steps', value: 1, user: { id: 'ada', nme: 'Ada' }, attribute: {} }]
    const batch = await tenant.admin('POST', '/metrics/events', events)
    expect(batch).toMatchObject({ status: 202, body: { accepted: 1 } })
    expect(at(batch.body, 'issues')).toEqual([
      { index: 0, ...warning('user.nme', 'user.name') },
      { index: 0, ...warning('attribute', 'attributes') },
    ])
  })

  it('[O4] name the user in issues about users, and keep their older fields', async () => {
    await tenant.app('PUT', '/users/bob', {})
    const pause = { userId: 'bob', start: '2099-01-01', end: '2099-01-02', ends: 1 }
    const { body } = await tenant.admin('POST', '/streaks/pauses', { pauses: [pause], reason: 'x' })
    const issues = [
      { index: 0, userId: 'bob', severity: 'error' },
      { index: 0, userId: 'bob', level: 'warning', reason: warning('ends', 'end').message },
      { userId: '', level: 'warning', ...warning('reason') },
    ]
    expect(at(body, 'issues')).toMatchObject(issues)
    const restored = await tenant.admin('POST', '/streaks/restore', { users: [{ id: 'bob', days: 1 }] })
    expect(at(restored.body, 'issues', 1)).toMatchObject({ index: 0, userId: 'bob', ...warning('days') })
  })

  it('[O4] may have the names of prototypes', async () => {
    const headers = { 'x-api-key': await adminKey(), 'tenant-id': tenant.id }
    const raw = '[{"key": "odd", "name": "Odd", "__proto__": {"units": "x"}, "constructor": 1}]'
    const { status, body } = await call(toApp, 'POST', '/admin/v1/metrics', { raw, headers })
    expect([status, at(body, 'created', 0, 'units'), at(body, 'issues')]).toEqual([
      201,
      '',
      [
        { index: 0, ...warning('__proto__') },
        { index: 0, ...warning('constructor') },
      ],
    ])
  })

  it('[O4] are ignored without a warning on the application interface', async () => {
    const { status, body } = await tenant.app('PUT', '/users/cleo', { nmae: 'Cleo' })
    expect([status, at(body, 'issues'), at(body, 'name')]).toEqual([200, undefined, null])
  })
})

const adminKey = async () => {
  const { body } = await tenant.admin('POST', '/admin-api-keys', [{ name: 'Unknown fields' }])
  return String(at(body, 'created', 0, 'key'))
}
