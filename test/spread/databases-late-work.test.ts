import { afterEach, beforeAll, expect, test } from 'vitest'
import { finishMove } from '../../src/features/databases/moves'
import type { Bindings } from '../../src/platform/env'
import { TODAY } from '../helpers/time'
import { DAY, forgetTime, HOUR, MINUTE, moveTo, moveUnseen } from '../helpers/worker/boards'
import { contextOfAccount, workUntil } from '../helpers/worker/contexts'
import { countEach, hurry, KINDS, LAST, NAMES, stepWith, weigh } from '../helpers/worker/databases-moves'
import { behind, type Call, delayed, losing, only } from '../helpers/worker/faulty'
import { at, d1Of, evenUsers, newApp, newTenant, type TestTenant, userIn } from '../helpers/worker/harness'
import { ASLEEP } from '../helpers/worker/objects'
import { keepTold, toldOf } from '../helpers/worker/received'

/* [B1, B3, C2] Work on users that fails, or comes late, in one of several databases. */

/** An alarm in real time. The test clock only says when it comes. */
const ALARM = { mustAll: false, isClockSet: false, grace: { first: 10_000, finals: MINUTE } }

beforeAll(keepTold)
afterEach(async () => {
  await weigh({})
  await forgetTime()
})

/** A tenant without its own Timekeeper, with two users in each database, and points for each hour. */
async function hourly(began: number) {
  await moveTo(began)
  const tenant = (await newTenant()).through(newApp({ TIMEKEEPER: ASLEEP }))
  await tenant.metric('words')
  const trigger = { type: 'time', timeUnit: 'hours', timeInterval: 1, points: 1, status: 'active' }
  await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
  const users = evenUsers(tenant, 2 * NAMES.length)
  for (const id of users) await tenant.event('words', id, 1)
  return { tenant, users }
}

const totals = (tenant: TestTenant, users: readonly string[]) =>
  Promise.all(users.map(async (id) => at((await tenant.app('GET', `/users/${id}/points/xp`)).body, 'total')))

test('[N2] users get reminders, if their database could not send them before others moved to it', async () => {
  const evening = (TODAY + 6) * DAY + 20 * HOUR
  await moveTo(evening - DAY)
  const tenant = await newTenant()
  await tenant.metric('words')
  const users = NAMES.map((name) => userIn(tenant, name))
  for (const id of users) await tenant.event('words', id, 1)
  await tenant.create('/webhooks', { url: 'http://127.0.0.1:9/', events: ['emails.streak_reminder_due'] })
  await moveTo(evening - HOUR)
  await moveUnseen(evening)
  const isSchedule = ({ database, texts }: Call) =>
    database === LAST && texts.some((text) => text.includes('left_zones'))
  const { bindings, seen } = only(isSchedule, losing(0, false))
  await workUntil(tenant, evening, { ...ALARM, bindings })
  expect(seen.count).toBeGreaterThan(0)
  await weigh({ [LAST]: 2 })
  for (let next: unknown = 0; next !== null; await workUntil(tenant, evening + 5 * MINUTE, ALARM)) {
    // A few moves, or none if they wait.
    for (let step = 0; step < 5 && next !== null; step += 1) {
      await hurry()
      next = await stepWith({}, tenant)
    }
  }
  // A message that waits moves with its user, and is then in the outbox of both databases.
  const told = await toldOf(tenant, 'emails.')
  expect(new Set(told.map(({ id }) => id)).size).toBe(users.length)
  expect(new Set(told.flatMap(({ user }) => user ?? []))).toEqual(new Set(users))
})

/** All databases, of which one reads but refuses all writes. */
const fullAt = (name: string) =>
  behind(({ database, isWrite, run }) =>
    database === name && isWrite ? Promise.reject(new Error('D1_ERROR: Exceeded maximum DB size')) : run(),
  )

test.each(NAMES.slice(1))('[P4] work on other users goes on, if %s refuses all writes', async (name) => {
  const noon = (TODAY + 20) * DAY + 12 * HOUR
  const { tenant, users } = await hourly(noon)
  await moveUnseen(noon + HOUR / 2)
  const achievement = { key: 'one', name: 'One', trigger: 'metric', metricKey: 'words', metricValue: 1 }
  await tenant.create('/achievements', { ...achievement, status: 'active' })
  const late = noon + HOUR + 2 * MINUTE
  await moveUnseen(late)
  await workUntil(tenant, late, { ...ALARM, bindings: fullAt(name) })
  expect(await totals(tenant, users)).toEqual(NAMES.flatMap((one) => (one === name ? [0, 0] : [1, 1])))
})

/** Begins a move of all users of the last database. Its departure gets no answer; `late` stores it. */
async function leaving(tenant: TestTenant) {
  await weigh({ [LAST]: 0 })
  const { fault, late } = delayed()
  const isDeparture = ({ database, texts }: Call) =>
    database === LAST && texts.some((text) => text.includes('placement = placement + 1'))
  const { bindings, seen } = only(isDeparture, fault)
  for (let step = 0; step < 50 && seen.count === 0; step += 1) {
    await hurry()
    await stepWith(bindings, tenant)
  }
  expect(seen.count).toBe(1)
  return late
}

/** Finishes the move, as each run of the Timekeeper does first. */
const finish = ({ id }: TestTenant, bindings: Partial<Bindings> = {}) =>
  finishMove(contextOfAccount(bindings), id, KINDS)

test('[P4] users get each tick, if the departure of a move is stored late, in the middle of the ticks', async () => {
  const start = (TODAY + 6) * DAY
  const { tenant, users } = await hourly(start)
  const late = await leaving(tenant)
  const due = start + HOUR + MINUTE
  await moveUnseen(due)
  // The other databases have granted their ticks by then.
  const isTick = ({ database, texts }: Call) =>
    database === LAST && texts.some((text) => text.includes('INSERT INTO awards'))
  const departing = only(isTick, async ({ run }, nth) => {
    if (nth === 0) await late()
    return run()
  })
  for (let next: unknown = 0; next !== null; next = await stepWith({}, tenant)) {
    await finish(tenant)
    const alarm = { mustAll: false, isClockSet: true, bindings: departing.bindings }
    await workUntil(tenant, due, alarm).catch(() => undefined)
    await hurry()
  }
  expect(await totals(tenant, users)).toEqual(users.map(() => 1))
})

test('[P4] buckets that may leave stay in the middle of a sweep, and while their database refuses writes', async () => {
  const start = (TODAY + 6) * DAY
  const { tenant, users } = await hourly(start)
  await leaving(tenant)
  await finish(tenant, fullAt(LAST))
  const set = (progress: string | null) =>
    d1Of(LAST)
      .prepare("UPDATE due_work SET progress = ?2 WHERE tenant_id = ?1 AND kind = 'ticks'")
      .bind(tenant.id, progress)
      .run()
  await set(JSON.stringify({ through: start, sweep: { to: start + HOUR, after: users[0], skipped: [] } }))
  await finish(tenant)
  const departures = () => countEach('SELECT placement AS n FROM tenants WHERE id = ?1', tenant.id)
  expect((await departures())[LAST]).toBe(0)
  await set(null)
  await finish(tenant)
  expect((await departures())[LAST]).toBe(1)
})
