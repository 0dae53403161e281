import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { behind } from '../helpers/worker/faulty'
import { at, newApp, newTenant } from '../helpers/worker/harness'
import { stubbed } from '../helpers/worker/objects'

async function withXp(tenant: Awaited<ReturnType<typeof newTenant>>) {
  const metric = await tenant.metric('words')
  await tenant.metric('pages')
  const system = await tenant.create('/points', {
    key: 'xp',
    name: 'XP',
    triggers: [{ type: 'metric', points: 3, status: 'active', metricId: metric, metricThreshold: 10 }],
  })
  return { metric, system }
}

describe('an event', () => {
  it('[P1, E2] returns the total and its award', async () => {
    const tenant = await newTenant()
    const { metric } = await withXp(tenant)
    const first = await tenant.event('words', 'ada', 25)
    expect(first.status).toBe(201)
    expect(first.body).toMatchObject({ metricId: metric, total: 25, points: { xp: { total: 6, added: 6 } } })
  })

  it('[E3] 200 parallel events of one user in two metrics have exact totals, awards and responses', async () => {
    const tenant = await newTenant()
    await withXp(tenant)
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_, n) => tenant.event(n % 2 === 0 ? 'words' : 'pages', 'ada', 1)),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(200).fill(201))
    for (const parity of [0, 1]) {
      const totals = responses.filter((_, n) => n % 2 === parity).map(({ body }) => at(body, 'total'))
      expect(totals.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n + 1))
    }
    const awards = responses.flatMap(({ body }) => [at(body, 'points', 'xp', 'total')]).filter(Boolean)
    expect(awards.map(Number).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 10 }, (_, n) => 3 * (n + 1)),
    )
    const points = await tenant.app('GET', '/users/ada/points/xp?awards=100')
    expect(points.body).toMatchObject({ total: 30 })
  })

  it('[E3] two apps without shared memory have conflicts, use the lane, and are exact', async () => {
    const lanes: string[] = []
    const USER_LANE = stubbed(env.USER_LANE, (lane) => {
      lanes.push(lane)
      return env.USER_LANE.getByName(lane)
    })
    let conflicts = 0
    const counting = behind(({ run }) =>
      run().catch((error: unknown) => {
        if (String(error).includes('laurel-conflict')) conflicts += 1
        throw error
      }),
    )
    const one = await newTenant(newApp({ USER_LANE, ...counting }))
    const two = one.through(newApp({ USER_LANE, ...counting }))
    await withXp(one)
    // Both know the configuration and the place of the user.
    for (const app of [one, two]) await app.event('words', 'ada', 0)
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? one : two).event('words', 'ada', 1)),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(200).fill(201))
    const totals = responses.map(({ body }) => Number(at(body, 'total')))
    expect(totals.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1))
    expect(conflicts).toBeGreaterThan(0)
    expect(lanes.length).toBeGreaterThan(0)
    // Every tenth word gives 3 points. Each award is in the response of its event.
    const awards = responses.filter(({ body }) => Number(at(body, 'points', 'xp', 'added')) > 0)
    expect(awards.map(({ body }) => Number(at(body, 'total')) % 10)).toEqual(Array(20).fill(0))
    const points = awards.map(({ body }) => Number(at(body, 'points', 'xp', 'total')))
    expect(points.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => 3 * (n + 1)))
    expect((await one.app('GET', '/users/ada/points/xp')).body).toMatchObject({ total: 60 })
  })

  it('[E4] exactly one of 30 parallel requests with one idempotency key is a 201', async () => {
    const tenant = await newTenant()
    await withXp(tenant)
    const responses = await Promise.all(
      Array.from({ length: 30 }, () => tenant.event('words', 'ada', 25, { idempotencyKey: 'once' })),
    )
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(new Set(responses.map(({ body }) => at(body, 'eventId'))).size).toBe(1)
  })
})
