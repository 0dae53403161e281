import { describe, expect, test } from 'vitest'
import { at, newTenant, type TestTenant } from './harness'

/** A tenant with a metric, and a leaderboard by it that is active unless said otherwise. */
async function withBoard(more: Record<string, unknown> = {}): Promise<TestTenant> {
  const tenant = await newTenant()
  const metricId = await tenant.metric('steps')
  await tenant.create('/leaderboards', {
    name: 'Steps',
    key: 'board',
    rankBy: 'metric',
    metricId,
    status: 'active',
    ...more,
  })
  return tenant
}

const rankings = async (tenant: TestTenant, query = '') =>
  at((await tenant.app('GET', `/leaderboards/board${query}`)).body, 'rankings')

describe('an event', () => {
  test('L11: is answered with the places that it has changed', async () => {
    const tenant = await withBoard()
    const first = await tenant.event('steps', 'ada', 5)
    expect(at(first.body, 'leaderboards', 'board')).toMatchObject({
      rank: 1,
      previousRank: null,
      threshold: 0,
    })
    await tenant.event('steps', { id: 'bob', name: 'Bob' }, 7.9)
    const third = await tenant.event('steps', 'ada', 3)
    expect(at(third.body, 'leaderboards', 'board')).toMatchObject({
      rank: 1,
      previousRank: 2,
      status: 'active',
    })
    expect(await rankings(tenant)).toEqual([
      { userId: 'ada', userName: null, rank: 1, value: 8 },
      { userId: 'bob', userName: 'Bob', rank: 2, value: 7 },
    ])
  })
})
