import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { boostsJob } from '../../src/features/points/boost-events'
import { instant } from '../../src/lib/clock'
import { TODAY } from '../helpers/time'
import { DAY, dateAt, forgetTime, HOUR, moveTo, moveUnseen } from '../helpers/worker/boards'
import { contextOf, whenBy, worksOf } from '../helpers/worker/contexts'
import { faulty, lost } from '../helpers/worker/faulty'
import { at, databases, newTenant, type TestTenant, untilHeld } from '../helpers/worker/harness'
import { messagesOf } from '../helpers/worker/messages'
import { keepTold, toldOf } from '../helpers/worker/received'
import { Hook } from '../helpers/worker/receiver'

/** Midnight UTC, five days ahead. */
const MIDNIGHT = (TODAY + 5) * DAY

beforeAll(keepTold)
beforeEach(() => moveTo(MIDNIGHT))
afterEach(forgetTime)

const HOOK = { url: new Hook().url, events: ['points.boost_started', 'points.boost_finished'] }
const day = (n: number) => dateAt(MIDNIGHT + n * DAY)

type Setup = { tenant: TestTenant; system: string; path: string }

async function withSystem(listening = true): Promise<Setup> {
  const tenant = await newTenant()
  if (listening) await tenant.create('/webhooks', HOOK)
  const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
  return { tenant, system, path: `/points/${system}/boosts` }
}

const boost = (name: string, start: number, end: number | null, more = {}) => ({
  ...{ name, start: day(start), end: end === null ? null : day(end), multiplier: 2, rounding: 'down' },
  ...more,
})

/** The events, such as `A started 34`: 34 hours after the first midnight. */
const notified = async ({ tenant }: Setup) =>
  (await toldOf(tenant, 'points.boost_')).map(({ type, at: when, body }) => {
    const what = type.slice('points.boost_'.length)
    return `${at(body, 'boost', 'name')} ${what} ${(when - MIDNIGHT) / HOUR}`
  })

it('[W6] a boost for all users starts with its first day in the first zone, and finishes with its last day in the last zone', async () => {
  const setup = await withSystem()
  const id = await setup.tenant.create(setup.path, boost('A', 2, 3))
  await moveTo(MIDNIGHT + 2 * DAY - 14 * HOUR - 1)
  expect(await notified(setup)).toEqual([])
  await moveTo(MIDNIGHT + 30 * DAY)
  expect(await notified(setup)).toEqual(['A started 34', 'A finished 108'])
  const [started, finished] = await toldOf(setup.tenant, 'points.boost_')
  const ofSystem = { pointsSystemId: setup.system, pointsSystemKey: 'xp', pointsSystemName: 'XP' }
  const common = { id, name: 'A', userId: null, ...ofSystem }
  const rest = { start: day(2), end: day(3), multiplier: 2, rounding: 'down' }
  expect(started?.body).toEqual({
    timestamp: new Date(MIDNIGHT + 34 * HOUR).toISOString(),
    boost: { ...common, ...rest, status: 'active' },
  })
  expect(finished?.body).toMatchObject({ boost: { ...common, status: 'finished' } })
  // No event can follow, so no work is due.
  expect((await worksOf(contextOf(setup.tenant.id))).filter(({ kind }) => kind === 'boosts')).toEqual([])
})

it('[W6] sends past starts and ends at once and in order, also for boosts that are created with their system', async () => {
  const setup = await withSystem()
  await setup.tenant.create(setup.path, boost('past', -9, -5))
  await setup.tenant.create(setup.path, boost('begun', -1, null))
  const boosts = [boost('nested', -3, 1)]
  await setup.tenant.create('/points', { key: 'other', name: 'Other', boosts })
  await moveTo(MIDNIGHT + 10 * DAY)
  const first = ['past started 0', 'past finished 0', 'begun started 0', 'nested started 0']
  expect(await notified(setup)).toEqual([...first, 'nested finished 60'])
})

it("[W6] a boost of one user follows that user's midnights, also after a change of the zone", async () => {
  const setup = await withSystem()
  await setup.tenant.app('PUT', '/users/ada', { tz: 'Asia/Kathmandu' })
  await setup.tenant.app('PUT', '/users/bob', { tz: 'America/St_Johns' })
  await setup.tenant.create(setup.path, boost('ada', 1, 1, { userId: 'ada' }))
  await setup.tenant.create(setup.path, boost('bob', 2, 2, { userId: 'bob' }))
  await moveTo(MIDNIGHT + DAY)
  await setup.tenant.app('PATCH', '/users/bob', { tz: 'Asia/Tokyo' })
  await moveTo(MIDNIGHT + 10 * DAY)
  const [ada, bob] = [5.75, 9]
  const starts = [`ada started ${24 - ada}`, `bob started ${48 - bob}`]
  expect(await notified(setup)).toEqual([...starts, `ada finished ${48 - ada}`, `bob finished ${72 - bob}`])
})

it('[W6] sends nothing from before the webhook existed; a changed boost sends the events of its new dates', async () => {
  const setup = await withSystem(false)
  const old = await setup.tenant.create(setup.path, boost('old', -9, -5))
  const running = await setup.tenant.create(setup.path, boost('running', -2, 3))
  await setup.tenant.create(setup.path, boost('coming', 3, 3))
  const gone = await setup.tenant.create(setup.path, boost('gone', 2, 2))
  await moveTo(MIDNIGHT + DAY)
  await setup.tenant.create('/webhooks', HOOK)
  await setup.tenant.admin('PATCH', setup.path, [
    { id: running, name: 'Running' },
    { id: old, end: day(4) },
  ])
  await setup.tenant.admin('DELETE', `${setup.path}?ids=${gone}`)
  await moveTo(MIDNIGHT + 4 * DAY)
  // This moves its end to the past.
  await setup.tenant.admin('PATCH', setup.path, [{ id: running, end: day(0) }])
  await moveTo(MIDNIGHT + 20 * DAY)
  const first = ['coming started 58', 'Running finished 96', 'coming finished 108']
  expect(await notified(setup)).toEqual([...first, 'old finished 132'])
})

it('[W6] a finished boost with a new end in the future finishes again; with a new start in the future it starts again', async () => {
  const setup = await withSystem()
  const id = await setup.tenant.create(setup.path, boost('A', 1, 1))
  await moveTo(MIDNIGHT + 4 * DAY)
  await setup.tenant.admin('PATCH', setup.path, [{ id, end: day(6) }])
  await moveTo(MIDNIGHT + 5 * DAY)
  await setup.tenant.admin('PATCH', setup.path, [{ id, start: day(8), end: day(9) }])
  await moveTo(MIDNIGHT + 20 * DAY)
  expect(await notified(setup)).toEqual(['A started 10', 'A finished 60', 'A started 178', 'A finished 252'])
})

// It calls the step of the only database.
it.skipIf(databases().length > 1)(
  '[C2] notifies once if a step fails, repeats, or runs six times in parallel',
  async () => {
    const setup = await withSystem()
    await setup.tenant.app('PUT', '/users/ada', { tz: 'UTC' })
    await setup.tenant.create(setup.path, boost('all', 1, null))
    await setup.tenant.create(setup.path, boost('own', 1, null, { userId: 'ada' }))
    const context = (DB = env.DB) => contextOf(setup.tenant.id, DB)
    const work = async () => (await worksOf(context())).find(({ kind }) => kind === 'boosts')
    const to = instant(MIDNIGHT + 2 * DAY)
    await moveUnseen(to)
    const first = (await work()) ?? expect.fail('no boosts')
    const { DB } = faulty(() => Promise.reject(lost()))
    await expect(boostsJob.run(context(DB), first, whenBy(to))).rejects.toThrow('lost')
    for (let n = 0; n < 20; n += 1) {
      const found = await work()
      if (found === undefined || found.dueAt > to) break
      await Promise.all(Array.from({ length: 6 }, () => boostsJob.run(context(), found, whenBy(to))))
    }
    expect(await notified(setup)).toEqual(['all started 10', 'own started 24'])
  },
)

it('[W6] hands over a past start at once, without a move of the clock', async () => {
  const setup = await withSystem()
  const webhook = String(at((await setup.tenant.admin('GET', '/webhooks')).body, 0, 'id'))
  await setup.tenant.create(setup.path, boost('past', -3, null))
  const handedOver = async () => (await messagesOf(webhook)).map(({ event }) => event)
  await untilHeld(async () => expect(await handedOver()).toEqual(['points.boost_started']))
})
