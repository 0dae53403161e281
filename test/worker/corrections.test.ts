import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { DAY, forgetTime, moveTo, NOON } from '../helpers/worker/boards'
import { EXAMPLES, holdsIn } from '../helpers/worker/corrections.world'
import { answerLost, beforeEachCall, beforeFirst, losing, lost, onWrites } from '../helpers/worker/faulty'
import { at, newApp, newTenant, pick, type TestTenant, until } from '../helpers/worker/harness'
import { Hook } from '../helpers/worker/receiver'

/* Corrections: adjustments, voided events, completions that are taken back. */

type Json = Record<string, unknown>

/** A tenant with a metric, an event attribute, and a points system. */
async function scene(system: Json = {}) {
  const tenant = await newTenant()
  const metric = await tenant.metric('words')
  await tenant.create('/attributes', { key: 'kind', name: 'Kind', type: 'event' })
  const xp = await tenant.create('/points', { key: 'xp', name: 'XP', ...system })
  const trigger = (more: Json) =>
    tenant.create(`/points/${xp}/triggers`, {
      ...{ type: 'metric', metricId: metric, metricThreshold: 10, points: 5, status: 'active' },
      ...more,
    })
  return { tenant, metric, xp, trigger }
}

const event = async (tenant: TestTenant, value: number, attributes?: Record<string, string>) => {
  const { status, body } = await tenant.event('words', 'ada', value, attributes && { attributes })
  expect(status).toBe(201)
  return { id: String(at(body, 'eventId')), added: at(body, 'points', 'xp', 'added') ?? 0 }
}
const voidIt = (tenant: TestTenant, id: string, body: Json = {}, user = 'ada') =>
  tenant.admin('POST', `/users/${user}/events/${id}/void`, body)
const adjust = (tenant: TestTenant, items: Json[], system = 'xp') =>
  tenant.admin('POST', `/points/${system}/adjustments`, items)
const points = async (tenant: TestTenant, user = 'ada') =>
  (await tenant.app('GET', `/users/${user}/points/xp`)).body
const total = async (tenant: TestTenant) =>
  at((await tenant.app('GET', '/users/ada/metrics/words')).body, 'current')

/** The sum of the ledger, which must equal the user's total (P8). */
async function ledger(tenant: TestTenant): Promise<number> {
  const { body } = await tenant.app('GET', '/users/ada/points/xp?awards=100')
  return pick(at(body, 'awards'), 'awarded').reduce((sum: number, awarded) => sum + Number(awarded), 0)
}

describe('[V1, V5] adjustments', () => {
  it('[V1, P8, O1] change the total, the level and the ledger, by key or id of the system', async () => {
    const { tenant, xp } = await scene()
    await tenant.create(`/points/${xp}/levels`, { key: 'one', name: 'One', points: 10 })
    await tenant.app('PUT', '/users/ada', {})
    const first = await adjust(tenant, [{ userId: 'ada', amount: 12, reason: 'A prize' }])
    const made = [{ userId: 'ada', awarded: 12, total: 12 }]
    expect(first).toMatchObject({ status: 201, body: { created: made, issues: [] } })
    const second = await adjust(tenant, [{ userId: 'ada', amount: -5 }], xp)
    expect(second).toMatchObject({ status: 201, body: { created: [{ awarded: -5, total: 7 }] } })
    const body = await points(tenant)
    expect(body).toMatchObject({ total: 7, level: null })
    const rest = { date: expect.any(String), boosts: [], type: 'adjustment' }
    expect(at(body, 'awards')).toEqual([
      { ...rest, id: at(second.body, 'created', 0, 'id'), awarded: -5, total: 7 },
      { ...rest, id: at(first.body, 'created', 0, 'id'), awarded: 12, total: 12 },
    ])
    expect(await ledger(tenant)).toBe(7)
  })

  it('[V1, P5, P6] stay within cap and floor, and no boost applies', async () => {
    const { tenant, xp } = await scene({ maxPoints: 20 })
    await tenant.create(`/points/${xp}/boosts`, { name: 'Double', start: '2020-01-01', multiplier: 2 })
    await tenant.app('PUT', '/users/ada', {})
    const [ada, nobody] = [{ userId: 'ada' }, { userId: 'nobody', amount: 1 }]
    const more = [15, 15, 1].map((amount) => ({ ...ada, amount }))
    const less = [-50, -1].map((amount) => ({ ...ada, amount }))
    const answer = await adjust(tenant, [...more, nobody, ...less])
    expect(answer.status).toBe(201)
    expect(at(answer.body, 'created')).toMatchObject([
      { awarded: 15, total: 15 },
      { awarded: 5, total: 20 },
      { awarded: -20, total: 0 },
    ])
    expect(at(answer.body, 'issues')).toMatchObject([
      { index: 2, userId: 'ada', severity: 'warning' },
      { index: 3, userId: 'nobody', severity: 'error' },
      { index: 5, userId: 'ada', severity: 'warning' },
    ])
    expect(await ledger(tenant)).toBe(0)
  })

  it('[V1] a repeated idempotency key returns the first entry, also in one request, and for each user', async () => {
    const { tenant } = await scene()
    for (const id of ['ada', 'bob']) await tenant.app('PUT', `/users/${id}`, {})
    const item = { userId: 'ada', amount: 3, idempotencyKey: 'k' }
    const first = await adjust(tenant, [item, { ...item, amount: 4 }])
    const [made] = [at(first.body, 'created', 0)]
    expect([first.status, at(first.body, 'created')]).toEqual([201, [made, made]])
    expect(await adjust(tenant, [item])).toMatchObject({ status: 200, body: { created: [made], issues: [] } })
    const other = await adjust(tenant, [item, { ...item, userId: 'bob' }])
    expect(other).toMatchObject({ status: 201, body: { created: [made, { userId: 'bob', total: 3 }] } })
    expect(await ledger(tenant)).toBe(3)
  })

  it('[V1, G3] refuse what is not an adjustment, and change nothing', async () => {
    const { tenant } = await scene()
    await tenant.app('PUT', '/users/ada', {})
    const bad = [{ amount: 0 }, { amount: 1.5 }, { amount: 1_000_001 }, { amount: 1, idempotencyKey: '' }, {}]
    const fine = { userId: 'ada', amount: 1 }
    for (const item of bad)
      expect((await adjust(tenant, [fine, { userId: 'ada', ...item }])).status).toBe(422)
    expect((await adjust(tenant, [])).status).toBe(422)
    expect((await adjust(tenant, [{ userId: 'ada', amount: 1 }], 'nothing')).status).toBe(404)
    expect(await ledger(tenant)).toBe(0)
  })

  it('[V1, V2, O4] warn about unknown fields, and do the rest', async () => {
    const { tenant } = await scene()
    const { id } = await event(tenant, 5)
    const item = { userId: 'ada', amount: 2 }
    const unknown = (message: string) => ({ severity: 'warning', message })
    const answer = await adjust(tenant, [item, { ...item, reasn: 'A prize' }])
    expect(answer).toMatchObject({ status: 201, body: { created: [{ total: 2 }, { total: 4 }] } })
    const meant = { index: 1, ...unknown('Unknown field "reasn". Did you mean "reason"?') }
    expect(at(answer.body, 'issues')).toEqual([meant])
    const one = await voidIt(tenant, id, { because: 'A test' })
    expect(at(one.body, 'issues')).toEqual([unknown('Unknown field "because". It is ignored.')])
    // The warning is not part of the answer that is kept.
    const again = await voidIt(tenant, id)
    expect([again.status, at(again.body, 'issues')]).toEqual([200, undefined])
  })

  it('[V1, E3] if a user keeps changing: others are done, and the answer says which item was not', async () => {
    const { tenant } = await scene()
    for (const user of ['ada', 'bob']) await tenant.app('PUT', `/users/${user}`, {})
    const disturb = () => tenant.event('words', 'ada', 1)
    const { bindings } = onWrites(beforeEachCall(disturb))
    const items = [
      { userId: 'ada', amount: 3 },
      { userId: 'bob', amount: 4 },
    ]
    const answer = await adjust(tenant.through(newApp(bindings)), items)
    const issue = {
      index: 0,
      userId: 'ada',
      severity: 'error',
      message: expect.stringContaining('was not stored'),
    }
    expect(answer).toMatchObject({
      status: 201,
      body: { created: [{ userId: 'bob', awarded: 4 }], issues: [issue] },
    })
    expect([at(await points(tenant), 'total'), at(await points(tenant, 'bob'), 'total')]).toEqual([0, 4])
  })

  it.each([
    ['at once', false],
    ['only after the next attempt has looked for it', true],
  ])(
    '[V1, E3] an entry whose answer is lost after ten seconds is found, if it is stored %s',
    async (_, isLate) => {
      const { tenant } = await scene()
      await tenant.app('PUT', '/users/ada', {})
      let store: () => Promise<unknown> = async () => undefined
      const { bindings } = onWrites(async (call, nth) => {
        if (nth === 1) await store()
        if (nth > 0) return call.run()
        const { now } = Date
        const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 11_000)
        onTestFinished(() => clock.mockRestore())
        if (!isLate) return answerLost(call)
        store = call.run
        throw lost()
      })
      const answer = await adjust(tenant.through(newApp(bindings)), [{ userId: 'ada', amount: 3 }])
      expect([answer.status, at(await points(tenant), 'total')]).toEqual([201, 3])
    },
  )

  it('[V1, E3] ten at once through two isolates count once each', async () => {
    const { tenant } = await scene()
    await tenant.app('PUT', '/users/ada', {})
    const apps = [tenant, tenant.through(newApp())]
    const both = () => apps.map((app) => adjust(app, [{ userId: 'ada', amount: 2 }]))
    const answers = await Promise.all(Array.from({ length: 5 }, both).flat())
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201))
    expect([at(await points(tenant), 'total'), await ledger(tenant)]).toEqual([20, 20])
  })
})

describe('[V2] a voided event', () => {
  it('[V2, V3, P1, V5] counts no more, and the same threshold can be earned again', async () => {
    const { tenant, trigger } = await scene()
    await trigger({})
    const first = await event(tenant, 12)
    expect(first.added).toBe(5)
    const answer = await voidIt(tenant, first.id, { reason: 'A test' })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        event: { id: first.id, metricKey: 'words', value: 12, reason: 'A test' },
        metric: { before: 12, after: 0 },
        points: { xp: { before: 5, after: 0 } },
      },
    })
    expect([await total(tenant), at(await points(tenant), 'total'), await ledger(tenant)]).toEqual([0, 0, 0])
    const awards = at(await points(tenant), 'awards')
    expect(awards).toMatchObject([
      { awarded: -5, total: 0, type: 'reversal' },
      { awarded: 5, total: 5 },
    ])
    expect(at(awards, 0, 'date')).toBe(at(awards, 1, 'date'))
    expect(at(awards, 0, 'trigger')).toBeUndefined()
    expect((await event(tenant, 10)).added).toBe(5)
  })

  it('[V2, P8] voided again: the same answer, and nothing changes', async () => {
    const { tenant, trigger } = await scene()
    await trigger({})
    const first = await event(tenant, 12)
    const answer = await voidIt(tenant, first.id, { reason: 'one' })
    await event(tenant, 30)
    const again = await voidIt(tenant, first.id.toUpperCase(), { reason: 'two' })
    expect(again).toMatchObject({ status: 200, body: answer.body })
    expect([await total(tenant), await ledger(tenant)]).toEqual([30, 15])
  })

  it('[V2, E4] the idempotency key stays used', async () => {
    const { tenant } = await scene()
    const send = () => tenant.event('words', 'ada', 5, { idempotencyKey: 'once' })
    const { body } = await send()
    await voidIt(tenant, String(at(body, 'eventId')))
    const replayed = { idempotentReplayed: true, eventId: at(body, 'eventId'), total: 0 }
    expect(await send()).toMatchObject({ status: 202, body: replayed })
  })

  it('[V2, G2] an unknown event, user or event of another user is 404', async () => {
    const { tenant } = await scene()
    const { id } = await event(tenant, 5)
    await tenant.event('words', 'bob', 5)
    const other = crypto.randomUUID()
    for (const [user, one] of [
      ['ada', other],
      ['ada', 'x'],
      ['bob', id],
      ['nobody', id],
    ] as const)
      expect((await voidIt(tenant, one, {}, user)).status, `${user} ${one}`).toBe(404)
    expect(await total(tenant)).toBe(5)
  })

  it('[V2, E1] is refused if a total would leave its limits, and changes nothing', async () => {
    const { tenant } = await scene()
    const values = [...Array(9).fill(1_000_000_000), -1_000_000_000, ...Array(1).fill(1_000_000_000)]
    const ids: string[] = []
    for (const value of values) ids.push((await event(tenant, value)).id)
    await event(tenant, -500_000_000)
    const answer = await voidIt(tenant, ids[9] ?? '')
    expect(answer.status).toBe(422)
    expect(await total(tenant)).toBe(8_500_000_000)
  })
})

it('[V2, X1, C1] finds events and awards under a test clock that is still set when real time has passed it', async () => {
  const { tenant, trigger } = await scene()
  await trigger({})
  onTestFinished(forgetTime)
  await tenant.clock('PUT', { advance: 'PT1M' })
  const { now } = Date
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + DAY)
  onTestFinished(() => clock.mockRestore())
  const { id } = await event(tenant, 12)
  const award = at(await points(tenant), 'awards', 0, 'id')
  const explained = await tenant.admin('GET', `/users/ada/points/xp/awards/${award}`)
  expect([explained.status, (await voidIt(tenant, id)).status]).toEqual([200, 200])
})

describe('[V4] a completion that is taken back', () => {
  afterEach(forgetTime)

  async function completed() {
    const s = await scene()
    const { tenant, metric, xp } = s
    const item = { trigger: 'metric', metricId: metric, metricValue: 10, status: 'active' }
    const achievementId = await tenant.create('/achievements', { ...item, key: 'ten', name: 'Ten' })
    const trigger = { type: 'achievement', achievementId, points: 7, status: 'active' }
    await tenant.create(`/points/${xp}/triggers`, trigger)
    await tenant.metric('pages')
    await event(tenant, 12)
    const rarity = async () => at((await tenant.app('GET', '/achievements')).body, 0, 'completions')
    const has = async () => (await tenant.app('GET', '/users/ada/achievements')).body
    /** The keys of the user's achievements after the next event, which has another metric. */
    const keys = async (): Promise<unknown[]> => {
      await tenant.event('pages', 'ada', 1)
      const body = await has()
      return Array.isArray(body) ? body.map((one) => at(one, 'key')).sort() : []
    }
    const revoke = (query = '', key = 'ten') =>
      tenant.admin('DELETE', `/users/ada/achievements/${key}${query}`)
    return { ...s, achievementId, rarity, has, keys, revoke }
  }

  it('[V4, A5] rarity follows, points stay, and it is not completed again while its condition stays true', async () => {
    const { tenant, rarity, has, keys, revoke } = await completed()
    expect([await rarity(), at(await points(tenant), 'total')]).toEqual([1, 7])
    expect(await revoke()).toMatchObject({ status: 200, body: { key: 'ten', points: {} } })
    expect([await rarity(), await has(), at(await points(tenant), 'total')]).toEqual([0, [], 7])
    const error = 'The user has not completed this achievement. Check the user and the achievement.'
    expect(await revoke()).toMatchObject({ status: 404, body: { error } })
    await tenant.app('PUT', '/users/ada', { name: 'Ada' })
    expect(await has()).toEqual([])
    expect(await keys()).toEqual([])
    for (const value of [0, 5, -7]) expect((await event(tenant, value)).added).toBe(0)
    expect([await rarity(), await has()]).toEqual([0, []])
    // The total falls to 9. The event that reaches 10 completes it again, without the points that stayed.
    await event(tenant, -1)
    expect(await has()).toEqual([])
    expect((await event(tenant, 1)).added).toBe(0)
    expect([await rarity(), await has()]).toMatchObject([1, [{ key: 'ten' }]])
    expect([at(await points(tenant), 'total'), await ledger(tenant)]).toEqual([7, 7])
  })

  it('[V4, P2] points that were reversed are given again, and so are those of a new trigger', async () => {
    const { tenant, achievementId, xp, has, revoke } = await completed()
    const again = async () => {
      await event(tenant, -5)
      await event(tenant, 5)
      expect(await has()).toHaveLength(1)
      return at(await points(tenant), 'total')
    }
    await revoke('?points=revoke')
    expect(await again()).toBe(7)
    await revoke()
    const more = { type: 'achievement', achievementId, points: 2, status: 'active' }
    await tenant.create(`/points/${xp}/triggers`, more)
    expect(await again()).toBe(9)
    // The points of the first trigger are those of an earlier completion, so they stay.
    expect((await revoke('?points=revoke')).body).toMatchObject({ points: { xp: { before: 9, after: 7 } } })
    expect(await again()).toBe(9)
  })

  it('[V4, A4] a condition that the user no longer meets after a change was false', async () => {
    const { tenant, achievementId, keys, revoke } = await completed()
    await revoke()
    const asks = async (metricValue: number) => {
      await tenant.admin('PATCH', '/achievements', [{ id: achievementId, metricValue }])
    }
    await asks(11)
    expect(await keys()).toEqual([])
    // The next event may come before backdating has visited the user, or after it.
    await asks(20)
    await event(tenant, 8)
    expect(await keys()).toEqual(['ten'])
  })

  it('[V4, P8, O1] takes the points of the present completion too, on request, by its key or its id', async () => {
    const { tenant, achievementId, revoke } = await completed()
    const answer = await revoke('?points=revoke', achievementId.toUpperCase())
    expect(answer.body).toMatchObject({ key: 'ten', points: { xp: { before: 7, after: 0 } } })
    expect([at(await points(tenant), 'total'), await ledger(tenant)]).toEqual([0, 0])
    expect(at(await points(tenant), 'awards', 0)).toMatchObject({ awarded: -7, type: 'reversal' })
    expect((await revoke('?points=all')).status).toBe(422)
    expect((await revoke('', 'nothing')).status).toBe(404)
  })

  it('[V4, P8] does not say that it took points if another call took the completion first and left them', async () => {
    const { tenant, revoke } = await completed()
    const { bindings } = onWrites(beforeFirst(() => revoke()))
    const path = '/users/ada/achievements/ten?points=revoke'
    const { status } = await tenant.through(newApp(bindings)).admin('DELETE', path)
    expect([status, at(await points(tenant), 'total')]).toEqual([404, 7])
  })

  it('[V4, P8] nor if its own write is lost before it is stored', async () => {
    const { tenant, revoke } = await completed()
    const { bindings } = onWrites(async ({ run }, nth) => {
      if (nth > 0) return run()
      await revoke()
      throw lost()
    })
    const path = '/users/ada/achievements/ten?points=revoke'
    const { status } = await tenant.through(newApp(bindings)).admin('DELETE', path)
    expect([status, at(await points(tenant), 'total')]).toEqual([404, 7])
  })

  it('[V4, L12] leaderboards follow although the answer of its write is lost', async () => {
    const { tenant, xp } = await completed()
    const board = { start: '2020-01-01', status: 'active', rankBy: 'points', pointsSystemId: xp }
    await tenant.create('/leaderboards', { ...board, key: 'best', name: 'Best', maxParticipants: 10 })
    const ranked = async () =>
      pick(at((await tenant.app('GET', '/leaderboards/best')).body, 'rankings'), 'value')
    expect(await ranked()).toEqual([7])
    const { bindings } = onWrites(losing(0, true))
    const path = '/users/ada/achievements/ten?points=revoke'
    expect((await tenant.through(newApp(bindings)).admin('DELETE', path)).status).toBe(200)
    expect(await ranked()).toEqual([])
  })

  it('[V4, A4] backdating does not complete it again', async () => {
    const { tenant, achievementId, has, revoke, rarity } = await completed()
    await tenant.event('words', 'bob', 5)
    await revoke()
    await tenant.admin('PATCH', '/achievements', [{ id: achievementId, metricValue: 5 }])
    await until(async () => (await rarity()) === 1)
    expect(await has()).toEqual([])
    await event(tenant, 1)
    expect(await has()).toEqual([])
  })

  it('[V4, U8] the export has it, and the trigger that does not give its points again', async () => {
    const { tenant, achievementId, revoke } = await completed()
    await revoke()
    const { body } = await tenant.admin('GET', '/users/ada/export')
    const own = { achievementId, achievementKey: 'ten' }
    expect(at(body, 'revokedAchievements')).toEqual([
      { ...own, triggerId: null },
      { ...own, triggerId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    ])
  })
})

describe('lives with corrections', () => {
  afterEach(forgetTime)

  it.each(EXAMPLES)('%s', (_, plan) => holdsIn(plan))
})

describe('[U8] the export', () => {
  it('[U8, V1, V2, V4] holds voided events, corrections, their keys, and revoked achievements', async () => {
    const { tenant, trigger } = await scene()
    await trigger({})
    const { id } = await event(tenant, 12, { kind: 'book' })
    await voidIt(tenant, id, { reason: 'why' })
    await adjust(tenant, [{ userId: 'ada', amount: 3, reason: 'because', idempotencyKey: 'k' }])
    const { body } = await tenant.admin('GET', '/users/ada/export')
    expect(at(body, 'events')).toEqual([])
    const voided = { id, value: 12, reason: 'why', attributes: [{ key: 'kind' }] }
    expect(at(body, 'voidedEvents')).toMatchObject([voided])
    expect(at(body, 'awards')).toMatchObject([
      { awarded: 5 },
      { awarded: -5, type: 'reversal', reverses: at(body, 'awards', 0, 'id'), reason: 'why' },
      { awarded: 3, type: 'adjustment', triggerId: null, reverses: null, reason: 'because' },
    ])
    const key = { key: 'k', systemKey: 'xp', awardId: at(body, 'awards', 2, 'id') }
    expect(at(body, 'adjustmentKeys')).toMatchObject([key])
  })
})

describe('[V1, V2, W5, W6] webhooks', () => {
  it('[V2, W5] points.changed holds the reversal of an award of long ago, and the level', async () => {
    onTestFinished(forgetTime)
    await moveTo(NOON)
    const { tenant, trigger, xp } = await scene()
    await trigger({})
    await tenant.create(`/points/${xp}/levels`, { key: 'one', name: 'One', points: 5 })
    const { id } = await event(tenant, 12)
    await moveTo(NOON + 60 * DAY)
    const hook = new Hook()
    const events = ['points.changed', 'points.level_changed']
    await tenant.create('/webhooks', { url: hook.url, events })
    expect((await voidIt(tenant, id)).status).toBe(200)
    const bodies = (await hook.seen(2)).map(({ body }): unknown => JSON.parse(body))
    const sent = new Map(bodies.map((body) => [at(body, 'type'), body]))
    const reversal = { awarded: -5, total: 0, type: 'reversal' }
    const changed = { total: 0, added: -5, awards: [reversal] }
    expect(sent.get('points.changed')).toMatchObject({ points: changed })
    expect(at(sent.get('points.level_changed'), 'newLevel')).toBe(null)
  })
})
