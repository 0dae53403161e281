import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Instant } from '../../src/lib/clock'
import type { DueKind } from '../../src/time/due-work.sql.ts'
import { dateAt, HOUR, MINUTE, moveTo, moveUnseen } from '../helpers/worker/boards'
import { workUntil } from '../helpers/worker/contexts'
import { type Call, lost, only } from '../helpers/worker/faulty'
import { at, newApp, newTenantWith, type TestTenant } from '../helpers/worker/harness'
import { send } from '../helpers/worker/inbox'
import { drainEverywhere, messagesOf, subscribe } from '../helpers/worker/messages'
import { ASLEEP, nothing, stubbed } from '../helpers/worker/objects'
import { ownDays } from '../helpers/worker/own-days'
import { keepTold, toldOf } from '../helpers/worker/received'

/* Work that fails at first, or whose alarm comes late, has the results of its own time (C2). */

/** An alarm in real time. The test clock only says when it comes. */
const ALARM = { mustAll: false, isClockSet: false, grace: { first: 10_000, finals: MINUTE } }
const days = ownDays()
let tenant: TestTenant
/** The tenant, without its own Timekeeper. */
let idle: TestTenant

beforeAll(keepTold)
beforeEach(async () => {
  await days.begin()
  await days.move(0, 9)
  tenant = await newTenantWith('steps')
  idle = tenant.through(newApp({ TIMEKEEPER: ASLEEP }))
})

/** An alarm comes at a moment. */
async function alarm(moment: number): Promise<void> {
  await moveUnseen(moment)
  await workUntil(tenant, moment, ALARM)
}

/** The same, and the first batches with this text fail. */
async function failingAlarm(moment: number, text: string, failures = 1): Promise<void> {
  const isMeant = ({ texts }: Call) => texts.some((one) => one.includes(text))
  const { bindings, seen } = only(isMeant, ({ run }, nth) =>
    nth < failures ? Promise.reject(lost()) : run(),
  )
  await moveUnseen(moment)
  await workUntil(tenant, moment, { ...ALARM, bindings })
  expect(seen.count).toBeGreaterThan(0)
}

const told = async (types: string) => (await toldOf(tenant, types)).map(({ type }) => type)

describe('work that fails at first', () => {
  it('[N2, N5] a reminder is sent, if the schedule began too late for it', async () => {
    await tenant.event('steps', 'ada', 1)
    await days.move(1, 19)
    await idle.create('/webhooks', { url: 'http://127.0.0.1:9/', events: ['emails.streak_reminder_due'] })
    const evening = days.at(1, 20)
    await failingAlarm(evening - 30_000, 'UPDATE due_work')
    await alarm(evening + 10 * MINUTE)
    expect(await told('emails.')).toEqual(['emails.streak_reminder_due'])
  })

  it('[W6] the start of a boost is sent, if the work on boosts began too late for it', async () => {
    const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
    // It begins at 10:00 in UTC of the day before.
    const boost = { name: 'A', start: dateAt(days.at(1)), end: null, multiplier: 2, rounding: 'down' }
    await tenant.create(`/points/${system}/boosts`, boost)
    const begins = days.at(0, 10)
    await moveTo(begins - 30_000)
    await idle.create('/webhooks', { url: 'http://127.0.0.1:9/', events: ['points.boost_started'] })
    await failingAlarm(begins - 30_000, 'UPDATE due_work')
    await alarm(begins + 10 * MINUTE)
    expect(await told('points.boost_')).toEqual(['points.boost_started'])
  })

  it('[S2] a goal that is met by a change counts for its day, if users were visited after midnight', async () => {
    const goal = (threshold: number) => ({ metrics: [{ key: 'steps', threshold }] })
    await tenant.admin('PATCH', '/streaks/settings', goal(10))
    await tenant.event('steps', 'ada', 6)
    const midnight = days.at(1)
    await moveTo(midnight - 30_000)
    expect((await idle.admin('PATCH', '/streaks/settings', goal(5))).status).toBe(200)
    await failingAlarm(midnight - 20_000, 'INSERT INTO users')
    await alarm(midnight + 10 * MINUTE)
    expect(at((await idle.app('GET', '/users/ada/streak')).body, 'length')).toBe(1)
  })
})

it('[E9, P4] an inbox that fails holds back leaderboards only, however many of them are due', async () => {
  // The leaderboards are due at the full hour, and the tick half an hour later.
  await moveTo(days.at(0, 9) + HOUR / 2)
  const trigger = { type: 'time', points: 7, status: 'active', timeUnit: 'hours', timeInterval: 1 }
  await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
  const board = { name: 'Board', status: 'active', rankBy: 'metric', metricKey: 'steps' }
  for (const key of ['one', 'two', 'three']) await tenant.create('/leaderboards', { key, ...board })
  await tenant.event('steps', 'ada', 1)
  await send(idle, [{ key: 'steps', user: { id: 'bob' }, value: 3 }])
  await failingAlarm(days.at(0, 10) + 40 * MINUTE, 'FROM inbox', Number.POSITIVE_INFINITY)
  expect(at((await tenant.app('GET', '/users/ada/points/xp')).body, 'total')).toBe(7)
})

it('[E9, P4, C1] under a set clock, ticks wait for an inbox that fails: its events came before them', async () => {
  const trigger = { type: 'time', points: 7, status: 'active', timeUnit: 'hours', timeInterval: 1 }
  await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
  await send(idle, [{ key: 'steps', user: { id: 'bob' }, value: 3 }])
  const moment = days.at(0, 10) + MINUTE
  const { bindings } = only(
    ({ texts }) => texts.some((one) => one.includes('FROM inbox')),
    () => Promise.reject(lost()),
  )
  const set = { mustAll: false, isClockSet: true, grace: { first: 0, finals: 0 } }
  await moveUnseen(moment)
  await workUntil(tenant, moment, { ...set, bindings })
  await workUntil(tenant, moment, set)
  expect(at((await tenant.app('GET', '/users/bob/points/xp')).body, 'total')).toBe(7)
})

it('[W5] points.changed comes at most once in 15 minutes, also if an alarm comes late', async () => {
  const hook = await subscribe(tenant, 'points.changed')
  const trigger = { type: 'metric', metricKey: 'steps', metricThreshold: 1, points: 10, status: 'active' }
  await tenant.create('/points', { name: 'xp', key: 'xp', triggers: [trigger] })
  const change = async () => {
    await idle.event('steps', 'ada', 1)
    await drainEverywhere(tenant)
    return (await messagesOf(hook)).length
  }
  expect([await change(), await change()]).toEqual([1, 1])
  // The second message is due after 15 minutes.
  const late = days.at(0, 9) + 55 * MINUTE
  await alarm(late)
  expect((await messagesOf(hook)).length).toBe(2)
  await moveUnseen(late + 1_000)
  expect(await change()).toBe(2)
})

it('[L8] ticks that were due count, if a leaderboard is finished by hand right after them', async () => {
  const trigger = { type: 'time', points: 7, status: 'active', timeUnit: 'hours', timeInterval: 1 }
  const pointsSystemId = await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
  const item = { key: 'board', name: 'Board', rankBy: 'points', pointsSystemId, start: dateAt(days.at(1)) }
  // It becomes active by itself.
  const id = await tenant.create('/leaderboards', { ...item, status: 'scheduled' })
  await days.move(1, 9)
  await tenant.event('steps', 'ada', 1)
  const tick = days.at(1, 10)
  await moveUnseen(tick + 2_000)
  // The Timekeeper is asked for the ticks only: its other work comes by the alarm.
  const TIMEKEEPER = stubbed(env.TIMEKEEPER, (name) => ({
    wake: nothing,
    catchUpKind: (...asked: [string, DueKind, Instant]) =>
      env.TIMEKEEPER.getByName(name).catchUpKind(...asked),
  }))
  const finish = [{ id, status: 'finished' }]
  await tenant.through(newApp({ TIMEKEEPER })).admin('PATCH', '/leaderboards', finish)
  await alarm(tick + 2_000)
  await alarm(tick + HOUR / 2)
  const points = await tenant.app('GET', '/users/ada/points/xp')
  const ranking = await tenant.app('GET', '/leaderboards/board')
  expect([at(points.body, 'total'), at(ranking.body, 'rankings', 0, 'value')]).toEqual([7, 7])
})
