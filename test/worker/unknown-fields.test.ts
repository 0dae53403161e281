/* Warnings of single operations. The warnings that all admin resources have are in test/worker/resources.test.ts. */
import { beforeAll, describe, expect, it } from 'vitest'
import { type Answer, at, call, newTenant, type TestTenant, toApp } from '../helpers/worker/harness'

let tenant: TestTenant
beforeAll(async () => {
  tenant = await newTenant()
})

const warning = (name: string, meant?: string) => ({
  severity: 'warning',
  message: `Unknown field "${name}". ${meant === undefined ? 'It is ignored.' : `Did you mean "${meant}"?`}`,
})

describe('unknown fields of an admin write', () => {
  it('[O4] also of answers that are one object, which otherwise have no issues', async () => {
    const settings = await tenant.admin('PATCH', '/settings', { aggregationPeriod: 'weekly' })
    expect(Object.keys(Object(settings.body))).toEqual(['branding', 'experimentation', 'aggregationPeriod'])
    const wrong = await tenant.admin('PATCH', '/settings', { aggregationperiod: 'monthly' })
    expect(wrong).toMatchObject({ status: 200, body: { aggregationPeriod: 'weekly' } })
    expect(at(wrong.body, 'issues')).toEqual([warning('aggregationperiod', 'aggregationPeriod')])
    const freezes = { startCount: 0, maxCount: 5, maximum: 5 }
    const streaks = await tenant.admin('PATCH', '/streaks/settings', { freezes })
    expect(at(streaks.body, 'issues')).toEqual([warning('freezes.maximum')])
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

  it('[O4] are 422 if a nested object has no other fields, on both interfaces, and nothing is stored', async () => {
    await tenant.app('PUT', '/users/dora', {})
    await tenant.admin('PATCH', '/streaks/settings', { customizationEnabled: true })
    const before = await tenant.stored()
    const change = { frequency: 'weekly', freezes: { unknown: 1 } }
    const settings = await tenant.admin('PATCH', '/streaks/settings', change)
    const missing = [{ path: 'freezes.startCount' }, { path: 'freezes.maxCount' }]
    expect(settings).toMatchObject({ status: 422, body: { issues: missing } })
    const preferences = await tenant.app('PATCH', '/users/dora/preferences', { streak: { mode: 'OR', x: 1 } })
    const message = expect.stringMatching(/^must have one of enabled, .*, and has only unknown fields$/)
    expect(preferences).toMatchObject({ status: 422, body: { issues: [{ path: 'streak', message }] } })
    const types = await tenant.app('PATCH', '/users/dora/preferences', { notifications: { news: ['email'] } })
    expect(types).toMatchObject({ status: 422, body: { issues: [{ path: 'notifications' }] } })
    expect(at(types.body, 'issues')).toHaveLength(1)
    // The missing field is named once.
    const badge = await tenant.admin('POST', '/achievements', [{ badge: { uri: 'https://a.example' } }])
    expect(at(badge.body, 'error')).not.toContain('badge: ')
    expect(await tenant.stored()).toEqual(before)
    expect((await tenant.app('PATCH', '/users/dora/preferences', { streak: {} })).status).toBe(200)
  })

  it('[O4] may have the names of prototypes', async () => {
    const headers = { 'x-api-key': await adminKey(), 'tenant-id': tenant.id }
    const raw = '[{"key": "odd", "name": "Odd", "__proto__": {"units": "x"}, "constructor": 1}]'
    const { status, body } = await call(toApp, 'POST', '/admin/v1/metrics', { raw, headers })
    const issues = ['__proto__', 'constructor'].map((name) => ({ index: 0, ...warning(name) }))
    expect([status, at(body, 'created', 0, 'units'), at(body, 'issues')]).toEqual([201, '', issues])
  })
})

describe('unknown fields on the application interface', () => {
  const ignored = ({ status, headers }: Answer) => [status, headers.get('x-laurel-ignored')]
  const event = { user: { id: 'ada' }, value: 1 }

  it('[G3] are named in a header, and the answer stays', async () => {
    await tenant.metric('runs')
    const answer = await tenant.app('PUT', '/users/cleo', { nmae: 'Cleo', attributes: {} })
    expect(ignored(answer)).toEqual([200, 'nmae'])
    expect([at(answer.body, 'issues'), at(answer.body, 'name')]).toEqual([undefined, null])
    const body = { user: { id: 'ada', plan: 'pro' }, value: 1, idempotencyKey: 'a', timestamp: 1, date: '' }
    const expected = 'user.plan, idempotencyKey, timestamp, date'
    expect(ignored(await tenant.app('POST', '/metrics/runs/event', body))).toEqual([201, expected])
    expect(ignored(await tenant.app('POST', '/metrics/runs/event', event))).toEqual([201, null])
  })

  it('[G1, G3] also at /api, and in an answer that is a replay or an error', async () => {
    await tenant.metric('walks')
    const headers = { 'x-api-key': await adminKey(), 'tenant-id': tenant.id, 'idempotency-key': 'k' }
    const send = (path: string, body: unknown) => call(toApp, 'POST', path, { body, headers })
    const body = { ...event, date: '2026-01-31' }
    expect(ignored(await send('/api/metrics/walks/event', body))).toEqual([201, 'date'])
    expect(ignored(await send('/api/metrics/walks/event', body))).toEqual([202, 'date'])
    const wrong = await send('/v1/metrics/walks/event', { user: event.user, vaule: 1 })
    expect(ignored(wrong)).toEqual([422, 'vaule'])
    expect(ignored(await send('/v1/metrics/none/event', body))).toEqual([404, 'date'])
  })
})

const adminKey = async (): Promise<string> =>
  (await tenant.made('/admin-api-keys', { name: 'Unknown fields' })).key
