import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { present } from '../../helpers/time'
import {
  agrees,
  DAY,
  dateAt,
  events,
  forgetTime,
  gate,
  HOUR,
  moveTo,
  moveUnseen,
  NOON,
  ranking,
  type Setup,
  through,
  withBoard,
} from '../../helpers/worker/boards'
import { dueWork, makeDueAt } from '../../helpers/worker/due-work'
import { behind } from '../../helpers/worker/faulty'
import { cron } from '../../helpers/worker/handlers'
import { ADMIN_KEY, account, newApp, newTenant, rowsEverywhere } from '../../helpers/worker/harness'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

/* Alarms that are lost, come twice, or come at the wrong time */

/** Runs the cron trigger and the alarm that it sets. Returns when both are done. */
async function cronAndAlarm(setup: Setup): Promise<void> {
  await cron()
  await runDurableObjectAlarm(timekeeperOf(setup))
  // If the alarm has already started, this waits until it is done.
  await timekeeperOf(setup).wake(setup.tenant.id, 0)
}

const timekeeperOf = ({ tenant }: Setup) => env.TIMEKEEPER.getByName(tenant.id)

/** Runs the Timekeeper's alarm, also if none is set. */
async function alarm(setup: Setup): Promise<void> {
  const stub = timekeeperOf(setup)
  await runInDurableObject(stub, (_, { storage }) => storage.setAlarm(present() + DAY))
  expect(await runDurableObjectAlarm(stub)).toBe(true)
}

/** A leaderboard by points. Ada and bob get 5 points every hour. A change of 100 for bob was lost. */
async function withTicks(): Promise<Setup> {
  const setup = await withBoard({ rankBy: 'points', runUnit: 'day', runInterval: 1 })
  const trigger = { type: 'time', points: 5, status: 'active', timeUnit: 'hours', timeInterval: 1 }
  await setup.tenant.create(`/points/${setup.system}/triggers`, trigger)
  await events(setup.tenant, ['ada', 1])
  await events(through(setup.tenant).tenant, ['bob', 10])
  return setup
}

/** A tenant's due work with its times, as hours from the first noon. */
async function due({ tenant }: Setup): Promise<unknown[]> {
  const all = await dueWork({ tenant })
  const rows = all.filter(({ kind }) => kind !== 'streaks' && kind !== 'analytics')
  // Each database has its own ticks.
  const unlike = [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()]
  return unlike
    .map(({ kind, dueAt }) => [kind, (dueAt - NOON) / HOUR] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

const HOURS = 5
const today = { from: dateAt(NOON), to: dateAt(NOON), query: { run: dateAt(NOON) } }
const RIGHT = ['bob 125', 'ada 35']

/** Checks that the ticks of five hours were granted once, and that the next ones are due. */
async function wasDoneOnce(setup: Setup): Promise<void> {
  expect(await agrees(setup, { system: setup.system, ...today })).toEqual(RIGHT)
  expect(await due(setup)).toEqual([
    // The upkeep is due at full hours. NOON is 12:20, so the next full hour is 40 minutes away.
    ['leaderboard', HOURS + 40 / 60],
    ['ticks', HOURS + 1],
  ])
}

describe('alarms', () => {
  it('[C2] the alarm was lost: the cron trigger runs the due work', async () => {
    const setup = await withTicks()
    await moveUnseen(NOON + HOURS * HOUR)
    expect(await ranking(setup)).toEqual([{ userId: 'ada', rank: 1, value: 10 }])
    await runInDurableObject(timekeeperOf(setup), (_, { storage }) => storage.deleteAlarm())
    await cronAndAlarm(setup)
    await wasDoneOnce(setup)
    await cronAndAlarm(setup)
    await wasDoneOnce(setup)
  })

  it('[C2] the cron trigger sets the alarm for work that is due within minutes', async () => {
    const setup = await withBoard()
    expect((await account('DELETE', '/test-clock')).status).toBe(200)
    const soon = present() + 4 * 60_000
    await makeDueAt({ tenant: setup.tenant }, soon)
    const stub = timekeeperOf(setup)
    await runInDurableObject(stub, (_, { storage }) => storage.deleteAlarm())
    await cron()
    expect(await runInDurableObject(stub, (_, { storage }) => storage.getAlarm())).toBe(soon)
  })

  it('[C2] the alarm comes twice, one after the other and together', async () => {
    const setup = await withTicks()
    await moveUnseen(NOON + HOURS * HOUR)
    await alarm(setup)
    await wasDoneOnce(setup)
    await alarm(setup)
    await Promise.all([alarm(setup), cron(), cron()])
    await wasDoneOnce(setup)
  })

  it('[C2] the Timekeeper is evicted between alarms, and forgets nothing', async () => {
    const setup = await withTicks()
    for (let hour = 1; hour <= HOURS; hour += 1) {
      await evictDurableObject(timekeeperOf(setup))
      await moveUnseen(NOON + hour * HOUR)
      await alarm(setup)
    }
    await wasDoneOnce(setup)
  })

  it('[C2] for an unknown tenant, or with nothing due, nothing happens', async () => {
    const { id } = await newTenant()
    expect(await runDurableObjectAlarm(env.TIMEKEEPER.getByName(id))).toBe(false)
    await env.TIMEKEEPER.getByName(id).wake(id, 20)
    await cron()
  })
})

/* Failing work */

const spoil = async (board: string, sql: string) => {
  const stub = env.LEADERBOARD.getByName(board)
  await runInDurableObject(stub, (_, { storage }) => void storage.sql.exec(sql))
  await evictDurableObject(stub)
}

describe('a leaderboard whose upkeep fails', () => {
  it('[C2] delays no other work, and is tried again', async () => {
    const setup = await withTicks()
    const item = { name: 'Bad', key: 'bad', status: 'active', rankBy: 'metric', metricId: setup.metric }
    const bad = await setup.tenant.create('/leaderboards', item)
    await rowsEverywhere('UPDATE due_work SET due_at = due_at - 1 WHERE subject = ?1', bad)
    await spoil(bad, "INSERT OR REPLACE INTO notes (name, value) VALUES ('board', 'no JSON')")
    await moveUnseen(NOON + HOURS * HOUR)
    await cronAndAlarm(setup)
    expect(await agrees(setup, { system: setup.system, ...today })).toEqual(RIGHT)
    expect(await events(setup.tenant, ['ada', 1])).toMatchObject([{ rank: 2 }])
    await spoil(bad, "DELETE FROM notes WHERE name <> 'version'")
    // A Timekeeper that is started again does not wait for the minute.
    await evictDurableObject(timekeeperOf(setup))
    await cronAndAlarm(setup)
    const { status, body } = await setup.tenant.app('GET', '/leaderboards/bad')
    expect([status, body]).toMatchObject([
      200,
      {
        rankings: [
          { userId: 'bob', value: 10 },
          { userId: 'ada', value: 2 },
        ],
      },
    ])
    await moveTo(NOON + DAY)
    await agrees(setup, { system: setup.system, ...today })
  })

  it('[C1] the response of the clock does not say that all work was done', async () => {
    const setup = await withTicks()
    await spoil(setup.board, "INSERT OR REPLACE INTO notes (name, value) VALUES ('board', 'no JSON')")
    const { id } = await newTenant()
    const now = new Date(NOON + HOURS * HOUR).toISOString()
    const request = new Request('http://laurel.test/admin/v1/test-clock', {
      method: 'PUT',
      headers: { 'x-api-key': ADMIN_KEY, 'tenant-id': id },
      body: JSON.stringify({ now }),
    })
    expect((await setup.tenant.send(request)).status).toBe(500)
    await spoil(setup.board, "DELETE FROM notes WHERE name <> 'version'")
    await moveTo(NOON + HOURS * HOUR)
    await wasDoneOnce(setup)
  })
})

/* The clock moves while events arrive */

describe('the test clock', () => {
  // The event is in the log and in no ranking: an event may be stored after its run is final.
  it('[C1, L8] an event in progress while the clock moves counts at the new time of the clock', async () => {
    const setup = await withBoard({ runUnit: 'day', runInterval: 1 })
    await events(setup.tenant, ['ada', 1])
    const [writing, mayWrite] = [gate(), gate()]
    const held = behind(async ({ texts, run }) => {
      if (texts.some((text) => text.includes('INSERT INTO users'))) {
        writing.open()
        await mayWrite.opened
      }
      return run()
    })
    const late = setup.tenant.through(newApp(held)).event('steps', 'ada', 5)
    await writing.opened
    await moveTo(NOON + DAY)
    mayWrite.open()
    expect((await late).status).toBe(201)
    await moveTo(NOON + 3 * DAY)
    for (const date of [NOON, NOON + DAY].map(dateAt)) {
      await agrees(setup, { from: date, to: date, query: { run: date } })
    }
  })
})
