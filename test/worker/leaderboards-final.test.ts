import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { instant } from '../../src/lib/clock'
import { Timekeeper } from '../../src/worker/index'
import { bytes, number, readable } from '../helpers/readable'
import { present } from '../helpers/time'
import {
  agrees,
  arrive,
  DAY,
  dateAt,
  events,
  forgetTime,
  HOUR,
  moveTo,
  moveUnseen,
  NOON,
  patch,
  ranking,
  type Setup,
  shown,
  through,
  withBoard,
} from '../helpers/worker/boards'
import { beforeFirst, behind, type Call, faultyLast, lost } from '../helpers/worker/faulty'
import type { TestTenant } from '../helpers/worker/harness'
import { at, newApp, newTenantInLast, pick, rowsEverywhere } from '../helpers/worker/harness'
import { muted, send } from '../helpers/worker/inbox'

/** The run of the first day becomes final at this moment (L8). */
const FINAL = NOON - (NOON % DAY) + DAY + 12 * HOUR
const [FIRST, SECOND] = [dateAt(NOON), dateAt(NOON + DAY)]

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

const DAILY = { runUnit: 'day', runInterval: 1 }
const BOARDS = [
  ['of a board that repeats', DAILY],
  ['of a board with one run', { end: FIRST }],
] as const
const on = (date: string) => ({ from: date, to: date, query: { run: date } })

/** Makes all changes so far too old for a comparison that only asks for recent ones. */
const grown = ({ tenant }: Setup) =>
  rowsEverywhere('UPDATE users SET changed = 1 WHERE tenant_id = ?1', tenant.id)

describe('before a run is final', () => {
  it.each(BOARDS)('[L12] a lost change of any age is found: %s', async (_what, more) => {
    const setup = await withBoard(more)
    await events(setup.tenant, ['ada', 1], ['bob', 2])
    await events(through(setup.tenant).tenant, ['ada', 4], ['cai', 9], ['bob', -2])
    await grown(setup)
    await moveTo(FINAL - 1)
    expect(await ranking(setup, { run: FIRST })).toMatchObject([{ userId: 'bob' }, { userId: 'ada' }])
    await moveTo(FINAL)
    expect(await agrees(setup, on(FIRST))).toEqual(['cai 9', 'ada 5'])
  })

  it('[L8] points of earlier due ticks count, also if the leaderboard did not get them', async () => {
    const setup = await withBoard({ ...DAILY, rankBy: 'points' })
    const trigger = { type: 'time', points: 7, status: 'active', timeUnit: 'hours', timeInterval: 2 }
    await setup.tenant.create(`/points/${setup.system}/triggers`, trigger)
    await events(setup.tenant, ['ada', 1])
    await events(through(setup.tenant).tenant, ['bob', 1])
    await moveTo(FINAL + DAY)
    const points = { system: setup.system }
    expect(await agrees(setup, { ...points, ...on(FIRST) })).toEqual(['ada 45', 'bob 45'])
    expect(await agrees(setup, { ...points, ...on(SECOND) })).toEqual(['ada 84', 'bob 84'])
  })

  it('[L8, C1] waiting events count, if an alarm under a test clock could not process them', async () => {
    const setup = await withBoard(DAILY)
    const { tenant } = setup
    await moveTo(FINAL - 60_000)
    // It is still the first day there.
    const user = { id: 'ada', tz: 'Etc/GMT+12' }
    await send(muted(tenant), [{ key: 'steps', user, value: 3 }])
    await moveUnseen(FINAL)
    const noInbox = ({ texts, run }: Call) =>
      texts.some((text) => text.includes('FROM inbox')) ? Promise.reject(lost()) : run()
    const stub = env.TIMEKEEPER.getByName(tenant.id)
    const woken = present()
    await runInDurableObject(stub, async (_, state) => {
      await new Timekeeper(state, { ...env, ...behind(noInbox) }).wake(tenant.id, 20)
      expect(await state.storage.getAlarm()).toBeGreaterThanOrEqual(woken + 60_000)
    })
    await stub.wake(tenant.id, 20)
    expect(await agrees(setup, on(FIRST))).toEqual(['ada 3'])
  })
})

describe('once a run is final', () => {
  it.each(BOARDS)('[L8] nothing changes any more, for any late call: %s', async (_what, more) => {
    const setup = await withBoard({ ...more, breakdown: ['team'] })
    const x = { team: 'x' }
    await events(setup.tenant, ['ada', 1, x], ['bob', 2, x])
    const { tenant, calls, repairs } = through(setup.tenant)
    await events(tenant, ['ada', 4], ['cai', 9, x], ['bob', 1, { team: 'y' }])
    await moveTo(FINAL)
    const final = () =>
      Promise.all(['x', 'y'].map((team) => ranking(setup, { userAttributes: `team:${team}`, run: FIRST })))
    const before = await final()
    expect(shown(before.flat())).toEqual(['cai 9', 'ada 5', 'bob 3'])
    await arrive(...calls, ...calls.toReversed())
    expect(await final()).toEqual(before)
    const object = env.LEADERBOARD.getByName(setup.board)
    const [definition] = calls.map((call) => call.definition)
    if (definition === undefined) throw new Error('no call')
    for (const { userIds } of repairs) await object.recount({ definition, now: instant(FINAL), userIds })
    await rowsEverywhere(
      `UPDATE events SET value = value * 3 WHERE metric_no = ${number('metrics', '?1')}`,
      setup.metric,
    )
    for (const { userIds } of repairs) await object.recount({ definition, now: instant(FINAL), userIds })
    await events(setup.tenant, ['ada', 100, { team: 'z' }], ['dov', 5, x])
    await evictDurableObject(object)
    await arrive(...calls)
    await moveTo(FINAL + 2 * DAY)
    const later = instant(FINAL + 3 * DAY)
    await object.runDue({ definition, now: later, until: later, grace: 0 })
    expect(await final()).toEqual(before)
  })

  it('[L5, L8] a smaller maximum applies to runs that are not final', async () => {
    const setup = await withBoard(DAILY)
    await events(setup.tenant, ['ada', 1], ['bob', 2], ['cai', 3])
    await moveTo(FINAL)
    await events(setup.tenant, ['ada', 1], ['bob', 2], ['cai', 3])
    await patch(setup, { maxParticipants: 2 })
    expect(await agrees(setup, { ...on(SECOND), max: 2 })).toEqual(['cai 3', 'bob 2'])
    await patch(setup, { maxParticipants: 1_000 })
    expect(await agrees(setup, on(FIRST))).toEqual(['cai 3', 'bob 2', 'ada 1'])
  })

  it('[L7] finished by hand: final at once, with lost changes until then and no later ones', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 1])
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['ada', 2], ['bob', 2])
    await moveTo(NOON + 1)
    await patch(setup, { status: 'finished' })
    expect(await agrees(setup)).toEqual(['ada 3', 'bob 2'])
    await arrive(...calls)
    expect(await events(setup.tenant, ['bob', 9])).toEqual([undefined])
    await moveTo(NOON + DAY)
    expect(shown(await ranking(setup))).toEqual(['ada 3', 'bob 2'])
  })

  it('[L7] finished by hand while an event is on its way: the event comes after that', async () => {
    await forgetTime()
    const setup = await withBoard({}, await newTenantInLast())
    const { bindings } = faultyLast(beforeFirst(() => patch(setup, { status: 'finished' })))
    expect(await events(setup.tenant.through(newApp(bindings)), ['ada', 1])).toEqual([undefined])
    const order = `SELECT e.at > l.finished AS isLater FROM leaderboards l
      JOIN users u ON u.tenant_id = l.tenant_id JOIN ${readable.events} e ON e.user_iid = u.iid WHERE l.id = ?1`
    expect(await rowsEverywhere(order, setup.board)).toEqual([{ isLater: 1 }])
  })
})

/** Deletes a user with all events and awards from D1. */
async function erase(tenant: TestTenant, id: string): Promise<void> {
  const own = `SELECT ${bytes('iid')} FROM users WHERE tenant_id = ?1 AND id = ?2`
  for (const sql of [
    `DELETE FROM events WHERE user_iid IN (${own})`,
    `DELETE FROM awards WHERE user_iid IN (${own})`,
    'DELETE FROM users WHERE tenant_id = ?1 AND id = ?2',
  ])
    await rowsEverywhere(sql, tenant.id, id)
}

describe('a user who is erased from D1', () => {
  it('[U8] leaves by the full comparison; in the final run the others keep their ranks', async () => {
    const setup = await withBoard(DAILY)
    await events(setup.tenant, ['ada', 9], ['bob', 8], ['cai', 7], ['dov', 6])
    await moveTo(FINAL)
    await events(setup.tenant, ['ada', 1], ['bob', 2], ['cai', 3])
    await erase(setup.tenant, 'bob')
    await erase(setup.tenant, 'dov')
    expect(await events(setup.tenant, ['bob', 1])).toMatchObject([{ previousRank: null }])
    await moveTo(FINAL + DAY)
    expect(await agrees(setup, on(SECOND))).toEqual(['cai 3', 'ada 1', 'bob 1'])
    expect(await ranking(setup, { run: FIRST })).toEqual([
      { userId: 'ada', rank: 1, value: 9 },
      { userId: 'cai', rank: 3, value: 7 },
    ])
    await moveTo(FINAL + 3 * DAY)
    expect((await ranking(setup, { run: FIRST })).map(({ rank }) => rank)).toEqual([1, 3])
  })

  it('[U8, L6] leaves an empty place in a page that mixes groups, also among users with equal scores', async () => {
    const setup = await withBoard({ ...DAILY, breakdown: ['team', 'plan'] })
    const { tenant } = setup
    const of = (team: string) => ({ team, plan: 'p' })
    await events(tenant, ['ada', 3, of('b')], ['bob', 3, of('a')], ['cai', 3, of('c')], ['dov', 3, of('a')])
    await moveTo(FINAL)
    const left = async () =>
      (await ranking(setup, { run: FIRST, userAttributes: 'plan:p' })).map(
        ({ userId, rank }) => userId + rank,
      )
    expect(await left()).toEqual(['ada1', 'bob2', 'cai3', 'dov4'])
    await tenant.admin('DELETE', '/users/cai')
    expect(await left()).toEqual(['ada1', 'bob2', 'dov4'])
    await tenant.admin('DELETE', '/users/ada')
    expect(await left()).toEqual(['bob2', 'dov4'])
    const { body } = await tenant.admin('GET', '/users/dov/export')
    expect(pick(at(body, 'leaderboards'), 'reached')).toEqual([new Date(NOON).toISOString()])
  })

  it('[U8] a late call about an erased user brings the user back at most until the next comparison', async () => {
    const setup = await withBoard()
    await events(setup.tenant, ['ada', 9], ['bob', 8])
    const { tenant, calls } = through(setup.tenant)
    await events(tenant, ['bob', 8], ['bob', 8], ['cai', 8])
    await erase(setup.tenant, 'bob')
    await erase(setup.tenant, 'cai')
    await patch(setup, { maxParticipants: 100 })
    expect(await agrees(setup, { max: 100 })).toEqual(['ada 9'])
    await arrive(calls[1], calls[0], calls[2])
    await patch(setup, { maxParticipants: 99 })
    expect(await agrees(setup, { max: 99 })).toEqual(['ada 9'])
  })
})
