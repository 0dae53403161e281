import { expect, it } from 'vitest'
import { at, newTenant } from './harness'
it('100 triggers at once', async () => {
  const tenant = await newTenant()
  const id = await tenant.create('/points', { key: 'xp', name: 'XP' })
  const { status, body } = await tenant.admin('POST', `/points/${id}/triggers`, Array.from({ length: 100 }, () => ({ type: 'time', points: 1, status: 'active', timeUnit: 'hours', timeInterval: 1 })))
  expect([status, at(body, 'issues')]).toEqual([201, []])
})
