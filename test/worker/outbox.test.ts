import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { EVENT_TYPES } from '../../src/configuration/enumerations'
import { WEBHOOKS } from '../../src/webhooks/events'
import { present } from '../helpers/time'
import { DAY, HOUR, MINUTE, moveTo } from '../helpers/worker/boards'
import { intercepted } from '../helpers/worker/faulty'
import { at, newApp, newTenantWith, rowsEverywhere, type TestTenant, until } from '../helpers/worker/harness'
import { drainEverywhere, type HeldMessage, messagesOf, subscribe } from '../helpers/worker/messages'
import { ownDays } from '../helpers/worker/own-days'

const days = ownDays()
let tenant: TestTenant

/** Moves the clock to that many milliseconds after the test's first midnight. */
const move = (ms: number) => moveTo(days.at(0) + ms)

const rowsOf = (table: 'outbox' | 'points_notifications') =>
  rowsEverywhere(`SELECT * FROM ${table} WHERE tenant_id = ?1`, tenant.id)

/**
 * The messages in a webhook's delivery queue when the outbox is empty. Checks that every body follows the
 * contract. The consumer of the queue may drain the outbox at the same time, and add points to it.
 */
async function told(webhookId: string): Promise<HeldMessage[]> {
  await until(async () => {
    await drainEverywhere(tenant)
    return (await rowsOf('outbox')).length === 0
  })
  const messages = await messagesOf(webhookId)
  for (const { event, body } of messages) expect(parsed(event, body)).toEqual(body)
  return messages
}

/** The body, parsed by its schema. Fails if it has a field that the schema does not have. */
function parsed(event: string, body: unknown): unknown {
  const schema = WEBHOOKS[event]
  if (schema === undefined) throw new Error(`an event of an unknown type: ${event}`)
  return schema.strict().parse(body)
}

const types = (messages: readonly HeldMessage[]) => messages.map(({ event }) => event)

/** A trigger that gives points for each unit of the metric `steps`. */
const forSteps = (points: number) => ({
  ...{ type: 'metric', metricKey: 'steps', metricThreshold: 1, points, status: 'active' },
})
/** A points system with such a trigger. */
const pointsFor = (key: string, points = 10) =>
  tenant.create('/points', { name: key, key, triggers: [forSteps(points)] })

beforeEach(async () => {
  await days.begin()
  tenant = await newTenantWith('steps')
  await move(9 * HOUR)
})

describe('[W1, W2] which webhooks are notified', () => {
  it('[W2] nothing is written without a subscription, nor for other types than the subscribed ones', async () => {
    await pointsFor('xp')
    await tenant.event('steps', 'ada', 1)
    const hook = { url: 'http://127.0.0.1:1/', events: ['*'], status: 'inactive' }
    const inactive = await tenant.create('/webhooks', hook)
    const other = await subscribe(tenant, 'streak.lost')
    await tenant.event('steps', 'bob', 1)
    expect([await rowsOf('outbox'), await rowsOf('points_notifications')]).toEqual([[], []])
    expect([await told(inactive), await told(other)]).toEqual([[], []])
  })

  it('[W2] two webhooks get their own types, with the same ids', async () => {
    const [all, some] = [await subscribe(tenant, '*'), await subscribe(tenant, 'streak.started')]
    await pointsFor('xp')
    await tenant.event('steps', 'ada', 1)
    const messages = await told(all)
    expect(types(messages).sort()).toEqual(['points.changed', 'streak.started'])
    expect(await told(some)).toEqual(messages.filter(({ event }) => event === 'streak.started'))
  })

  it('[W2] a refused event sends nothing, and a replay nothing more', async () => {
    const all = await subscribe(tenant, '*')
    await tenant.event('steps', 'ada', 1, { idempotencyKey: 'k' })
    const { status } = await tenant.event('steps', 'ada', 1, { idempotencyKey: 'k' })
    expect(status).toBe(202)
    expect((await tenant.event('steps', 'ada', 1, { attributes: { none: 'x' } })).status).toBe(422)
    expect(types(await told(all))).toEqual(['streak.started'])
  })
})

/** The types of streak events, without scheduled notifications. */
const OF_STREAKS = EVENT_TYPES.filter((type) => type.startsWith('streak.'))

describe('[W6] streaks', () => {
  it('[W6] started at 1, extended beyond, lost with its length', async () => {
    const all = await subscribe(tenant, ...OF_STREAKS)
    await tenant.event('steps', { id: 'ada', email: 'ada@example.com', tz: 'Europe/Berlin' }, 1)
    await tenant.event('steps', 'ada', 1)
    await move(DAY + 9 * HOUR)
    await tenant.event('steps', 'ada', 1)
    await move(4 * DAY)
    const messages = await told(all)
    const user = { email: 'ada@example.com' }
    expect(messages).toMatchObject([
      { event: 'streak.started', body: { streak: { length: 1 }, user } },
      { event: 'streak.extended', body: { streak: { length: 2 } } },
      { event: 'streak.lost', body: { length: 2, user } },
    ])
    // At the user's midnight: Berlin is an hour or two ahead of UTC.
    expect([22, 23]).toContain(new Date(messages[2]?.at ?? 0).getUTCHours())
    expect(new Set(messages.map(({ subject }) => subject)).size).toBe(1)
  })

  it('[W6] a freeze that is earned, granted or consumed; not the initial ones, nor pauses and restores', async () => {
    const all = await subscribe(tenant, ...OF_STREAKS)
    const freezes = { startCount: 1, maxCount: 5, autoEarnInterval: 3, autoEarnAmount: 2 }
    await tenant.admin('PATCH', '/streaks/settings', { freezes })
    await tenant.event('steps', 'ada', 1)
    await tenant.admin('POST', '/streaks/freezes', { freezes: [{ userId: 'ada' }] })
    const messages = await told(all)
    expect(types(messages)).toEqual(['streak.started', 'streak.freeze_earned'])
    expect(messages[1]?.body).toMatchObject({ earned: 1, freezes: 2 })
    // Two midnights are missed, and on the third freezes are earned before one is consumed (S7).
    await move(4 * DAY + HOUR)
    expect((await told(all)).slice(2)).toMatchObject([
      { event: 'streak.freeze_consumed', body: { consumed: 1, freezes: 1 } },
      { event: 'streak.freeze_earned', body: { earned: 2, freezes: 3 } },
      { event: 'streak.freeze_consumed', body: { consumed: 1, freezes: 2 } },
      { event: 'streak.freeze_consumed', body: { consumed: 1, freezes: 1 } },
    ])
    const pause = { userId: 'ada', start: days.date(5), end: days.date(5) }
    await tenant.admin('POST', '/streaks/pauses', { pauses: [pause] })
    await move(4 * DAY + 2 * HOUR)
    await tenant.admin('POST', '/streaks/restore', { users: [{ id: 'ada' }] })
    expect((await told(all)).length).toBe(6)
  })

  it('[W6, S13] a reset is a loss, and nothing else is sent', async () => {
    const all = await subscribe(tenant, ...OF_STREAKS)
    await tenant.event('steps', 'ada', 1)
    await tenant.admin('POST', '/streaks/reset', { users: [{ id: 'ada' }, { id: 'ada' }] })
    const messages = await told(all)
    expect(types(messages)).toEqual(['streak.started', 'streak.lost'])
    expect(at(messages[1]?.body, 'length')).toBe(1)
    await tenant.admin('POST', '/streaks/restore', { users: [{ id: 'ada' }] })
    expect(await told(all)).toHaveLength(2)
  })

  it('[W6, U7] a user who switches streaks off has no more streak events', async () => {
    const all = await subscribe(tenant, ...OF_STREAKS)
    const freezes = { startCount: 0, maxCount: 5, autoEarnInterval: 1, autoEarnAmount: 1 }
    await tenant.admin('PATCH', '/streaks/settings', { freezes })
    await tenant.event('steps', 'ada', 1)
    await tenant.app('PATCH', '/users/ada/preferences', { streak: { enabled: false } })
    await tenant.admin('POST', '/streaks/freezes', { freezes: [{ userId: 'ada' }] })
    await move(3 * DAY)
    expect(types(await told(all))).toEqual(['streak.started'])
  })

  it('[S9] a change of the frequency sends nothing', async () => {
    const all = await subscribe(tenant, ...OF_STREAKS)
    await tenant.event('steps', 'ada', 1)
    await tenant.admin('PATCH', '/streaks/settings', { frequency: 'weekly' })
    await move(10 * HOUR)
    expect(types(await told(all))).toEqual(['streak.started'])
  })
})

describe('[W6] achievements', () => {
  it('[W6, A4] completed by an event, by its key, composites too; never when backdated', async () => {
    const all = await subscribe(tenant, '*')
    const achieve = (key: string, more: object) =>
      tenant.create('/achievements', { key, name: key, status: 'active', ...more })
    const one = { trigger: 'metric', metricKey: 'steps', metricValue: 1 }
    const first = await achieve('first', one)
    const asked = await achieve('asked', { trigger: 'api' })
    await achieve('both', { trigger: 'achievement', achievementIds: [first, asked] })
    await tenant.event('steps', 'ada', 1)
    await tenant.app('POST', '/achievements/asked/complete', { user: { id: 'ada' } })
    await tenant.app('POST', '/achievements/asked/complete', { user: { id: 'ada' } })
    const messages = await told(all)
    const completed = ['first', 'asked', 'both']
    expect(messages.map(({ body }) => at(body, 'achievement', 'key'))).toEqual([undefined, ...completed])
    expect(types(messages)).toEqual(['streak.started', ...completed.map(() => 'achievement.completed')])
    await achieve('late', one)
    await move(10 * HOUR)
    expect((await tenant.app('GET', '/users/ada/achievements')).body).toHaveLength(4)
    expect(await told(all)).toEqual(messages)
  })
})

describe('[W5, W6] points', () => {
  const points = (messages: readonly HeldMessage[]) =>
    messages
      .filter(({ event }) => event === 'points.changed')
      .map(({ at: when, body }) => [
        (when - days.at(0)) / MINUTE,
        at(body, 'points', 'added'),
        at(body, 'points', 'total'),
        z.array(z.unknown()).parse(at(body, 'points', 'awards')).length,
      ])

  /** Changes of levels, and the total of points after each. */
  const levels = (messages: readonly HeldMessage[]) =>
    messages
      .filter(({ event }) => event === 'points.level_changed')
      .map(({ body }) => {
        const [before, after] = [at(body, 'previousLevel', 'key'), at(body, 'newLevel', 'key')]
        return `${before} → ${after} at ${at(body, 'points', 'total')}`
      })

  it('[W5] the first change at once, then one in 15 minutes with all changes since, and none without a change', async () => {
    const changed = await subscribe(tenant, 'points.changed')
    await pointsFor('xp')
    await tenant.event('steps', 'ada', 1)
    expect(points(await told(changed))).toEqual([[540, 10, 10, 1]])
    await tenant.event('steps', 'ada', 2)
    await move(9 * HOUR + 5 * MINUTE)
    await tenant.event('steps', 'ada', 3)
    expect(points(await told(changed)).length).toBe(1)
    await move(9 * HOUR + 14 * MINUTE)
    expect(points(await told(changed)).length).toBe(1)
    await move(12 * HOUR)
    expect(points(await told(changed)).slice(1)).toEqual([[555, 50, 60, 2]])
    await tenant.event('steps', 'ada', 1)
    expect(points(await told(changed)).slice(2)).toEqual([[720, 10, 70, 1]])
    expect(await rowsOf('points_notifications')).toMatchObject([{ due_at: null }])
  })

  it('[W5, C1] the end of a quiet time keeps its moment, though a queue drains while the clock moves past it', async () => {
    const changed = await subscribe(tenant, 'points.changed')
    await pointsFor('xp')
    await tenant.event('steps', 'ada', 1)
    await told(changed)
    await tenant.event('steps', 'ada', 2)
    const DB = intercepted(env.DB, async ({ run }) => {
      const results = await run()
      await drainEverywhere(tenant)
      return results
    })
    const now = new Date(days.at(0) + 12 * HOUR).toISOString()
    const moved = await tenant.through(newApp({ DB })).admin('PUT', '/test-clock', { now })
    expect(moved.body).toEqual({ now })
    expect(points(await told(changed)).slice(1)).toEqual([[555, 20, 30, 1]])
  })

  it('[W5] each user and each system has its own quarter of an hour', async () => {
    const changed = await subscribe(tenant, 'points.changed')
    await pointsFor('xp')
    await pointsFor('gems', 3)
    await tenant.event('steps', 'ada', 1)
    await tenant.event('steps', 'bob', 1)
    const owners = (await told(changed)).map(
      ({ body }) => `${at(body, 'user', 'id')} ${at(body, 'points', 'key')}`,
    )
    expect(owners.sort()).toEqual(['ada gems', 'ada xp', 'bob gems', 'bob xp'])
  })

  it('[W5] parallel events send one message now and at most one later, with all their points', async () => {
    const changed = await subscribe(tenant, 'points.changed')
    await pointsFor('xp')
    await Promise.all(Array.from({ length: 20 }, () => tenant.event('steps', 'ada', 1)))
    await move(11 * HOUR)
    const told20 = points(await told(changed))
    expect(told20.reduce((sum, [, added]) => sum + Number(added), 0)).toBe(200)
    expect(told20.at(-1)?.[2]).toBe(200)
    expect(told20.length).toBeLessThanOrEqual(2)
  })

  it('[W5] changes without a subscription are not sent later', async () => {
    await pointsFor('xp')
    const before = await subscribe(tenant, 'points.changed')
    await tenant.event('steps', 'ada', 1)
    await told(before)
    await tenant.admin('DELETE', `/webhooks?ids=${before}`)
    await tenant.event('steps', 'ada', 5)
    const changed = await subscribe(tenant, 'points.changed')
    await move(10 * HOUR)
    await tenant.event('steps', 'ada', 1)
    expect(points(await told(changed))).toEqual([[600, 10, 70, 1]])
  })

  it('[W6] points.level_changed by points, up and down, never by editing levels; points.changed has the level, too', async () => {
    const all = await subscribe(tenant, 'points.level_changed', 'points.changed')
    const system = await pointsFor('xp')
    await tenant.create(`/points/${system}/levels`, { key: 'one', name: 'One', points: 10 })
    await tenant.event('steps', 'ada', 1)
    await told(all)
    await tenant.create(`/points/${system}/levels`, { key: 'zero', name: 'Zero', points: 5 })
    await tenant.create(`/points/${system}/triggers`, forSteps(-16))
    await tenant.event('steps', 'ada', 1)
    const messages = await told(all)
    expect(levels(messages)).toEqual(['undefined → one at 10', 'one → undefined at 4'])
    const changed = messages.find(({ event }) => event === 'points.changed')
    expect(changed?.body).toMatchObject({ points: { level: { key: 'one' } } })
  })

  it('[W5, W6] ticks send changes of points and levels', async () => {
    const all = await subscribe(tenant, 'points.level_changed', 'points.changed')
    const tick = { type: 'time', timeUnit: 'hours', timeInterval: 1, points: 5, status: 'active' }
    const level = { key: 'one', name: 'One', points: 10 }
    await tenant.app('PUT', '/users/ada', { email: 'ada@example.com' })
    await tenant.create('/points', { name: 'Energy', key: 'energy', levels: [level], triggers: [tick] })
    await move(11 * HOUR + 30 * MINUTE)
    const messages = await told(all)
    expect(levels(messages)).toEqual(['undefined → one at 10'])
    expect(at(messages[0]?.body, 'user', 'email')).toBe('ada@example.com')
    expect(points(messages).reduce((sum, [, added]) => sum + Number(added), 0)).toBe(10)
  })
})

it('[C1] after the test clock is removed, points are due within 15 minutes again', async () => {
  await subscribe(tenant, 'points.changed')
  await pointsFor('xp')
  await tenant.event('steps', 'ada', 1)
  await drainEverywhere(tenant)
  await tenant.event('steps', 'ada', 1)
  await tenant.admin('DELETE', '/test-clock')
  const latest = present() + 15 * MINUTE
  for (const row of await rowsOf('points_notifications')) {
    expect([Number(at(row, 'until')) <= latest, Number(at(row, 'due_at')) <= latest]).toEqual([true, true])
  }
  expect(await rowsOf('points_notifications')).toHaveLength(1)
})
