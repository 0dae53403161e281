import { beforeEach, describe, expect, it } from 'vitest'
import { addDueWork, dueWork, forgetDueWork } from '../helpers/worker/due-work'
import { at, databases, newApp, newTenant, type TestTenant } from '../helpers/worker/harness'
import { loggedEvents, subscribe } from '../helpers/worker/messages'
import { UNREACHED } from '../helpers/worker/objects'
import { ownDays } from '../helpers/worker/own-days'

/* A goal that is met counts, whatever made it so (S2): not only an event. */

const { begin, move } = ownDays()
let tenant: TestTenant

const streak = async (user = 'ada') => (await tenant.app('GET', `/users/${user}/streak`)).body
const settings = (change: unknown) => tenant.admin('PATCH', '/streaks/settings', change)
const prefer = (threshold: number) =>
  tenant.app('PATCH', '/users/ada/preferences', { streak: { metrics: [{ key: 'm', threshold }] } })
/** Changes the settings, but the walk over the users is not begun. Returns when it was due. */
async function settingsWithoutWalk(change: unknown): Promise<number> {
  const lame = tenant.through(newApp({ TIMEKEEPER: UNREACHED }))
  expect((await lame.admin('PATCH', '/streaks/settings', change)).status).toBe(200)
  const walk = { tenant, kind: 'recount' }
  const found = await dueWork(walk)
  await forgetDueWork(walk)
  return Math.max(...found.map(({ dueAt }) => dueAt))
}

const goal = (threshold: number) => ({ metrics: [{ key: 'm', threshold }] })

/** An event of 10 on the first day, which meets the goal, and one of 6 on the second, which does not. */
async function sixOfTen(user = 'ada'): Promise<void> {
  await tenant.event('m', user, 10)
  await move(1, 9)
  await tenant.event('m', user, 6)
  expect(await streak(user)).toMatchObject({ length: 1 })
}

/** Points and an achievement for a streak of 2. Returns the id of the points system. */
async function rewards(): Promise<string> {
  const streakOfTwo = { streakLength: 2, status: 'active' }
  await tenant.create('/achievements', { key: 'flame', name: 'F', trigger: 'streak', ...streakOfTwo })
  const triggers = [{ type: 'streak', points: 7, ...streakOfTwo }]
  return tenant.create('/points', { key: 'xp', name: 'XP', triggers })
}

beforeEach(async () => {
  await begin()
  tenant = await newTenant()
  for (const key of ['m', 'n']) await tenant.metric(key)
  await move(0, 9)
  await settings({ customizationEnabled: true, ...goal(10), freezes: { startCount: 1, maxCount: 3 } })
})

describe('[S2] a goal that is met without an event', () => {
  it('[S2, N2, N5] needs no reminder, also before the background work', async () => {
    const webhook = await subscribe(tenant, 'emails.streak_reminder_due')
    await tenant.event('m', 'bob', 10)
    await sixOfTen()
    await settingsWithoutWalk(goal(5))
    await move(1, 21)
    const { body } = await tenant.admin('GET', `/webhooks/${webhook}/deliveries?limit=100`)
    const ids = Array.isArray(body) ? body.map(({ id }) => String(id)) : []
    const sent = await Promise.all(
      ids.map((id) => tenant.admin('GET', `/webhooks/${webhook}/deliveries/${id}`)),
    )
    const text = JSON.stringify([body, sent.map((one) => one.body)])
    expect([ids.length, text.includes('"bob"'), text.includes('"ada"')]).toEqual([1, true, false])
  })

  it('[S2] counts for the day of the change, also if the background work is done after its midnight', async () => {
    await tenant.event('m', 'ada', 6)
    const due = await settingsWithoutWalk(goal(5))
    await move(1, 1)
    for (const { d1 } of databases()) await addDueWork(tenant, 'recount', { dueAt: due, d1 })
    await move(1, 2)
    expect(await streak()).toMatchObject({ length: 1 })
  })
})

describe('[S2, P2, A2, W6] a streak that is extended without an event', () => {
  const changes: [string, () => Promise<unknown>][] = [
    ['by the user', () => prefer(5)],
    ['by the settings', () => settings(goal(5))],
    [
      'by the end of own goals',
      async () => {
        await prefer(10)
        await settings(goal(6))
        await settings({ customizationEnabled: false })
      },
    ],
    [
      'by a void',
      async () => {
        const { body } = await tenant.event('m', 'ada', -1)
        await tenant.event('m', 'ada', 4)
        await tenant.admin('POST', `/users/ada/events/${String(at(body, 'eventId'))}/void`, {})
      },
    ],
  ]

  it.each(changes)(
    '[S2, P2, A2, W6, X2] %s, has its webhook, points, achievement and entry',
    async (_, change) => {
      const webhook = await subscribe(tenant, 'streak.extended', 'achievement.completed', 'points.changed')
      await rewards()
      await sixOfTen()
      await change()
      await move(1, 10)
      expect(await streak()).toMatchObject({ length: 2, freezes: 1, extended: expect.any(String) })
      const points = (await tenant.app('GET', '/users/ada/points/xp')).body
      const achievements = (await tenant.app('GET', '/users/ada/achievements')).body
      expect([at(points, 'total'), at(achievements, 0, 'key')]).toEqual([7, 'flame'])
      expect((await loggedEvents(tenant, webhook)).sort()).toEqual([
        'achievement.completed',
        'points.changed',
        'streak.extended',
      ])
      const timeline = (await tenant.admin('GET', '/users/ada/timeline?types=streak&limit=1')).body
      expect(at(timeline, 0)).toMatchObject({ change: 'extended', length: 2 })
    },
  )

  it('[A3, S2] a call answers the achievement that it completes, beside one by streak', async () => {
    await rewards()
    await tenant.create('/achievements', { key: 'api', name: 'A', trigger: 'api', status: 'active' })
    await sixOfTen()
    await settingsWithoutWalk(goal(5))
    const complete = () => tenant.app('POST', '/achievements/api/complete', { user: { id: 'ada' } })
    const first = (await complete()).body
    expect([at(first, 'achievement', 'key'), at(first, 'points', 'xp', 'added')]).toEqual(['api', 7])
    expect(at((await complete()).body, 'completionId')).toBe(at(first, 'completionId'))
    expect(await streak()).toMatchObject({ length: 2 })
  })

  it('[S2, W6] the end of the period does all that, if it comes before the background work', async () => {
    const webhook = await subscribe(tenant, 'streak.extended')
    const system = await rewards()
    const boost = { name: 'B', start: '2020-01-01', multiplier: 2, userId: 'ada' }
    await sixOfTen()
    await tenant.admin('POST', `/points/${system}/boosts`, [boost])
    await settingsWithoutWalk(goal(5))
    await move(2)
    expect(await streak()).toMatchObject({ length: 2, freezes: 1 })
    expect(at((await tenant.app('GET', '/users/ada/points/xp')).body, 'total')).toBe(14)
    expect(await loggedEvents(tenant, webhook)).toEqual(['streak.extended'])
  })
})
