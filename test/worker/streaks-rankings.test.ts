import { beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { bestLive, overdueOf } from '../../src/features/streaks/rankings'
import { instant } from '../../src/lib/clock'
import { words } from '../helpers/words'
import { MINUTE, moveTo, moveUnseen } from '../helpers/worker/boards'
import { contextOf } from '../helpers/worker/contexts'
import { at, databases, newApp, newTenant, rowsEverywhere, type TestTenant } from '../helpers/worker/harness'
import { manyUsers } from '../helpers/worker/many-users'
import { ownDays } from '../helpers/worker/own-days'

const days = ownDays(70)
let tenant: TestTenant

/** Moves the clock to that day, with all due work on the way. */
const move = (day: number) => days.move(day, 9)

/** Moves the clock without running due work, so that deadlines pass and are not judged. */
const passUnseen = (day: number, hours: number) => moveUnseen(days.at(day, hours))

const Ranking = z.array(z.object({ userId: z.string(), streakLength: z.number() }))

/** The entries of a ranking, such as `ada 3`. */
const ranked = async (query = '', of = tenant) => {
  const { status, body } = await of.app('GET', `/streaks/rankings${query}`)
  expect(status).toBe(200)
  return Ranking.parse(body).map(({ userId, streakLength }) => `${userId} ${streakLength}`)
}

/** Sends events of these users on consecutive days from one on. The clock ends on the last day. */
async function play(from: number, ...days: readonly string[][]): Promise<void> {
  for (const [index, users] of days.entries()) {
    await move(from + index)
    for (const user of users) expect((await tenant.event('steps', user, 1)).status).toBe(201)
  }
}

beforeEach(async () => {
  await days.begin()
  tenant = await newTenant()
  await tenant.metric('steps')
  await move(0)
})

describe('active streaks', () => {
  it('are ranked longest first, then by user id in order of code points, with names; 0 is left out', async () => {
    await tenant.app('PUT', '/users/idle', { name: 'Idle' })
    const two = ['ada', 'cleo', '\uffee', '\u{1f600}']
    await play(0, ['ada', 'lost'], two, [...two, 'new'])
    await tenant.app('PUT', '/users/ada', { name: 'Ada' })
    expect((await tenant.app('GET', '/streaks/rankings')).body).toEqual([
      { userId: 'ada', name: 'Ada', streakLength: 3 },
      { userId: 'cleo', name: null, streakLength: 2 },
      { userId: '\uffee', name: null, streakLength: 2 },
      { userId: '\u{1f600}', name: null, streakLength: 2 },
      { userId: 'new', name: null, streakLength: 1 },
    ])
    expect(await ranked('?limit=2&type=active')).toEqual(['ada 3', 'cleo 2'])
    expect(await ranked('', await newTenant())).toEqual([])
  })

  it('[S3] a streak whose deadline has passed is judged by the rules, although its due work has not run', async () => {
    const change = { freezes: { startCount: 0, maxCount: 2 } }
    await tenant.admin('PATCH', '/streaks/settings', change)
    await play(0, ['frozen', 'lost', 'paused'], ['frozen', 'lost', 'paused', 'west'])
    await tenant.app('PATCH', '/users/west', { tz: 'America/Los_Angeles' })
    await tenant.admin('POST', '/streaks/freezes', { freezes: [{ userId: 'frozen' }] })
    const pause = { userId: 'paused', start: days.date(1), end: days.date(9) }
    await tenant.admin('POST', '/streaks/pauses', { pauses: [pause] })
    await passUnseen(3, 1)
    const overdue = 'SELECT id FROM users WHERE tenant_id = ?1 AND streak_due <= ?2'
    expect(await rowsEverywhere(overdue, tenant.id, days.at(3))).toHaveLength(2)
    expect(await ranked()).toEqual(['frozen 2', 'paused 2', 'west 1'])
    expect(await ranked('?type=longest')).toEqual(['frozen 2', 'lost 2', 'paused 2', 'west 1'])
    await passUnseen(3, 9)
    expect((await ranked()).slice(2)).toEqual([])
  })

  // The users are stored in the database of one of them.
  it.skipIf(databases().length > 1)('more than a page of passed deadlines are all judged', async () => {
    await tenant.event('steps', 'seed', 1)
    const ofSeed = (value: string) => `(SELECT ${value} FROM users WHERE tenant_id = ?1 AND id = 'seed')`
    await manyUsers(tenant, 2_500, {
      ...{ id: "'user-' || n", tz: "'America/New_York'" },
      streak: ofSeed("json_set(streak, '$.run.length', n)"),
      streak_due: ofSeed('streak_due + n % 3'),
    })
    // After the stored deadline, before midnight in New York.
    await passUnseen(2, 2)
    expect(await ranked('?limit=3')).toEqual(['user-2500 2500', 'user-2499 2499', 'user-2498 2498'])
    expect(await ranked('?limit=100')).toHaveLength(100)
  })

  it('[S1, U7] no user has one if streaks are off, or if the user has turned them off', async () => {
    await play(0, ['ada', 'bob'])
    const bob = (enabled: boolean) => tenant.app('PATCH', '/users/bob/preferences', { streak: { enabled } })
    await bob(false)
    expect(await ranked()).toEqual(['ada 1'])
    await bob(true)
    expect(await ranked()).toEqual(['ada 1', 'bob 1'])
    await bob(false)
    await tenant.admin('PATCH', '/streaks/settings', { enabled: false })
    expect(await ranked()).toEqual([])
  })
})

describe('the longest streaks', () => {
  it('are the longest that users ever had, over or not', async () => {
    await play(0, ['ada', 'bob'], ['ada', 'bob'], ['ada'], [], ['bob'], ['ada', 'bob'], ['bob'], ['bob'])
    expect(await ranked('?type=longest')).toEqual(['bob 4', 'ada 3'])
    expect(await ranked()).toEqual(['bob 4'])
    await move(30)
    expect(await ranked()).toEqual([])
    expect(await ranked('?type=longest&limit=1')).toEqual(['bob 4'])
  })

  it('[S8] a restored one counts with its whole length', async () => {
    await play(0, ['ada'], ['ada'], ['ada'], [], [], ['ada'])
    await tenant.admin('POST', '/streaks/restore', { users: [{ id: 'ada' }] })
    await play(6, ['ada'])
    expect(await ranked('?type=longest')).toEqual(['ada 4'])
    expect(await ranked()).toEqual(['ada 4'])
    await move(9)
    expect(await ranked('?type=longest')).toEqual(['ada 4'])
  })

  it('[S9] after a change of the frequency they are counted from the log', async () => {
    await play(0, ['ada'], ['ada'], [], [], [], [], [], ['ada', 'bob'], ['bob'], ['bob'])
    await tenant.admin('PATCH', '/streaks/settings', { frequency: 'weekly' })
    await move(10)
    for (const type of ['active', 'longest'])
      expect(await ranked(`?type=${type}`)).toEqual(['ada 2', 'bob 1'])
    await move(40)
    expect(await ranked()).toEqual([])
    expect(await ranked('?type=longest')).toEqual(['ada 2', 'bob 1'])
    const runs =
      'SELECT r.length FROM streak_runs r JOIN users u ON u.iid = r.user_iid WHERE u.tenant_id = ?1'
    expect((await rowsEverywhere(runs, tenant.id)).map(({ length }) => length).sort()).toEqual([1, 2])
  })
})

describe('a ranking', () => {
  it('is cached for a minute with more than 10,000 users, while the configuration is the same', async () => {
    await play(0, ['ada'])
    const setUsers = (count: number) =>
      rowsEverywhere(
        `UPDATE tenant_counters SET count = iif(EXISTS (
           SELECT 1 FROM users WHERE tenant_id = ?1 AND id = 'ada'), ?2, 0)
         WHERE tenant_id = ?1 AND name = 'users'`,
        tenant.id,
        count,
      )
    const own = tenant.through(newApp())
    for (const [n, type] of ['active', 'longest'].entries()) {
      const query = `?type=${type}`
      await setUsers(10_000)
      const before = await ranked(query, own)
      await tenant.event('steps', `${type}-1`, 1)
      expect(await ranked(query, own)).toHaveLength(before.length + 1)
      await setUsers(10_001)
      expect(await ranked(query, own)).toHaveLength(before.length + 1)
      await tenant.event('steps', `${type}-2`, 1)
      expect(await ranked(query, own)).toHaveLength(before.length + 1)
      expect(await ranked(`${query}&limit=1`, own)).toHaveLength(1)
      await tenant.metric(`another-${type}`)
      expect(await ranked(query, own)).toHaveLength(before.length + 2)
      await tenant.event('steps', `${type}-3`, 1)
      const nextMinute = days.at(0, 9) + (n + 1) * MINUTE
      await moveTo(nextMinute - 1)
      expect(await ranked(query, own)).toHaveLength(before.length + 2)
      await moveTo(nextMinute)
      expect(await ranked(query, own)).toHaveLength(before.length + 3)
    }
  })

  it.each(words`limit=0 limit=101 limit=x type=best type=active&type=longest`)('%s is 422', async (query) => {
    const { status, body } = await tenant.app('GET', `/streaks/rankings?${query}`)
    expect([status, at(body, 'error')]).toEqual([422, expect.stringMatching(query.replace(/=.*/, ''))])
  })

  it('[P11] reads no row of a user without a streak, in a query for existing streaks', async () => {
    await play(0, ['ada', 'bob'])
    for (let n = 0; n < 30; n += 1) await tenant.app('PUT', `/users/idle-${n}`, { name: 'Idle' })
    const { databases: all, cost } = contextOf(tenant.id)
    const everywhere = { databases: all, tenantId: tenant.id }
    expect(await bestLive(everywhere, { frequency: 'daily', epoch: 0 }, instant(days.at(0)), 10)).toEqual({
      best: [
        { userId: 'ada', length: 1 },
        { userId: 'bob', length: 1 },
      ],
      users: 32,
    })
    const overdue: string[] = []
    for (const { db } of await all.usersOf(tenant.id).holders())
      for await (const { id } of overdueOf(db, instant(days.at(2)))) overdue.push(id)
    expect(overdue.sort()).toEqual(['ada', 'bob'])
    expect(cost.rowsRead).toBeLessThan(20 * databases().length)
  })
})
