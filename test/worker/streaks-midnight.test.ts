import { describe, expect, it } from 'vitest'
import { backdateStep } from '../../src/features/achievements/backdate'
import { judgeStreaks, recountStep } from '../../src/features/streaks/deadlines'
import { instant } from '../../src/lib/clock'
import { WalkProgress } from '../../src/store/commit/recount'
import type { DueWork } from '../../src/time/due-work.sql.ts'
import { readable } from '../helpers/readable'
import { present, START, TODAY } from '../helpers/time'
import { contextOfUsers, worksOf, workWith } from '../helpers/worker/contexts'
import { addDueWork, dueWork, forgetDueWork } from '../helpers/worker/due-work'
import { answerLost, beforeEachCall, beforeFirst, faultyLast, losing, lost } from '../helpers/worker/faulty'
import {
  at,
  databases,
  lastDatabase,
  newApp,
  newTenantInLast,
  rowsEverywhere,
  type TestTenant,
} from '../helpers/worker/harness'
import { manyUsers } from '../helpers/worker/many-users'
import { ASLEEP } from '../helpers/worker/objects'
import { manyEvents } from '../helpers/worker/stored-events'
import { removeUsers } from '../helpers/worker/stored-users'

/*
 * Single steps on the real database, with faults between their reads and their writes. With several
 * databases, all users are in the last one.
 */

const DAY = 86_400_000
/** The last midnight, in UTC. */
const midnight = TODAY * DAY
const now = () => instant(present())

/**
 * Makes users with a streak of 5 days up to two days ago. Their deadline was the last midnight. The last
 * `active` users were active yesterday.
 */
async function streakers(tenant: TestTenant, count: number, active = 0): Promise<void> {
  const last = midnight / DAY - 2
  const streakOf = (day: number) => {
    const run = { started: day - 4, first: day - 4, last: day, history: '5e', length: 5, extended: day * DAY }
    return `'${JSON.stringify({ frequency: 'daily', run })}'`
  }
  const isActive = `n > ${count - active}`
  const since = String(midnight - 5 * DAY)
  await manyUsers(tenant, count, {
    ...{ changed: since, created: since, updated: since, last_seq_by_input: `'{"streak":1}'` },
    streak: `iif(${isActive}, ${streakOf(last + 1)}, ${streakOf(last)})`,
    streak_due: `iif(${isActive}, ${midnight + DAY}, ${midnight})`,
  })
  await addDueWork(tenant, 'streaks', { dueAt: midnight })
}

/** Runs all steps that are due at midnight. Returns the number of changed users for each. */
async function allSteps(tenant: TestTenant, DB: D1Database = lastDatabase().d1): Promise<number[]> {
  const counts: number[] = []
  for (;;) {
    const step = await judgeStreaks(contextOfUsers(tenant.id, DB), now())
    if (step === null) return counts
    counts.push(step.changes.length)
  }
}

/** The tenant through a Worker that wakes no Timekeeper: a change of the configuration starts no work on users. */
const asleep = (tenant: TestTenant) => tenant.through(newApp({ TIMEKEEPER: ASLEEP }))

const rows = (tenant: TestTenant, sql: string) => rowsEverywhere(sql, tenant.id)
const ended = (tenant: TestTenant) =>
  rows(
    tenant,
    'SELECT u.id, r.history FROM users u JOIN streak_runs r ON r.user_iid = u.iid WHERE u.tenant_id = ?1',
  )
const alive = async (tenant: TestTenant) =>
  (
    await rows(
      tenant,
      "SELECT id FROM users WHERE tenant_id = ?1 AND streak ->> '$.run' IS NOT NULL ORDER BY id",
    )
  ).map(({ id }) => id)
const due = async (tenant: TestTenant) =>
  (await dueWork({ tenant, kind: 'streaks' })).map(({ dueAt }) => ({ due: dueAt }))

describe('[S3] a midnight of many users', () => {
  it('[S3] in chunks of a thousand, two rows written and nine read for each lost streak, and none for a streak that continues', async () => {
    const tenant = await newTenantInLast()
    await streakers(tenant, 2_600, 300)
    const kept = await rows(
      tenant,
      "SELECT id, seq, streak FROM users WHERE tenant_id = ?1 AND id > 'user02300'",
    )
    const { DB, seen } = faultyLast(({ run }) => run())
    expect(await allSteps(tenant, DB)).toEqual([1_000, 1_000, 300])
    expect(await ended(tenant)).toHaveLength(2_300)
    expect(await alive(tenant)).toHaveLength(300)
    expect(
      await rows(tenant, "SELECT id, seq, streak FROM users WHERE tenant_id = ?1 AND id > 'user02300'"),
    ).toEqual(kept)
    // The other rows are due work. With several databases, each batch also reads the tenant's row.
    expect(seen.rowsWritten).toBeGreaterThanOrEqual(2 * 2_300)
    expect(seen.rowsWritten).toBeLessThanOrEqual(2 * 2_300 + 4)
    expect(seen.rowsRead).toBeLessThanOrEqual(9 * 2_300 + (databases().length === 1 ? 60 : 90))
    expect(await due(tenant)).toEqual([{ due: midnight + DAY }])
  })

  it('[C2] a step that is repeated, or done by six at once, does nothing twice', async () => {
    const tenant = await newTenantInLast()
    await streakers(tenant, 5)
    const steps = await Promise.all(
      Array.from({ length: 6 }, () => judgeStreaks(contextOfUsers(tenant.id), now())),
    )
    expect(steps.flatMap((step) => step?.changes ?? [])).toHaveLength(5)
    expect(await ended(tenant)).toHaveLength(5)
    expect(await allSteps(tenant)).toEqual([])
    expect(await rows(tenant, 'SELECT DISTINCT seq FROM users WHERE tenant_id = ?1')).toEqual([{ seq: 2 }])
    expect(await due(tenant)).toEqual([])
  })

  it('[C2] a crash before or after the write: the next step does the rest', async () => {
    const tenant = await newTenantInLast()
    await streakers(tenant, 3)
    const before = faultyLast(() => Promise.reject(lost()))
    await expect(allSteps(tenant, before.DB)).rejects.toThrow('lost')
    expect(await alive(tenant)).toHaveLength(3)
    const after = faultyLast(answerLost)
    await expect(allSteps(tenant, after.DB)).rejects.toThrow('lost')
    expect([await alive(tenant), await ended(tenant)]).toEqual([[], expect.objectContaining({ length: 3 })])
    expect(await allSteps(tenant)).toEqual([])
    expect(await ended(tenant)).toHaveLength(3)
  })

  it('[E2] events and settings between read and write are neither lost nor undone', async () => {
    const tenant = await newTenantInLast()
    await tenant.metric('steps')
    await streakers(tenant, 3)
    const acts = [() => tenant.event('steps', 'user00002', 1), () => tenant.metric('words')]
    const { DB } = faultyLast(beforeEachCall((write) => acts[write]?.()))
    expect(await allSteps(tenant, DB)).toEqual([2])
    // The event judged the streak itself, and began another one.
    expect((await tenant.app('GET', '/users/user00002/streak')).body).toMatchObject({ length: 1 })
    expect(await ended(tenant)).toHaveLength(3)
  })

  it('[S3, U8] a user who is erased between read and write and comes back keeps the new streak', async () => {
    const tenant = await newTenantInLast()
    await tenant.metric('steps')
    await streakers(tenant, 3)
    const meanwhile = async () => {
      // Without the Timekeeper, which an erasure through the API would start here.
      await removeUsers(tenant, 'user00002')
      // The new user has the `seq` that was read from the old one.
      await tenant.event('steps', 'user00002', 1)
    }
    const { DB } = faultyLast(beforeFirst(meanwhile))
    expect(await allSteps(tenant, DB)).toEqual([2])
    expect((await tenant.app('GET', '/users/user00002/streak')).body).toMatchObject({ length: 1 })
    expect(await ended(tenant)).toHaveLength(2)
  })

  it('[E2] the configuration changes between read and write: the step is repeated under the new one', async () => {
    const tenant = await newTenantInLast()
    await streakers(tenant, 3)
    await rows(tenant, "UPDATE users SET streak = json_set(streak, '$.freezes', 1) WHERE tenant_id = ?1")
    const meanwhile = async () => {
      const freezes = { startCount: 0, maxCount: 2 }
      await asleep(tenant).admin('PATCH', '/streaks/settings', { freezes })
      // The walk over the users that follows would have the same result.
      await forgetDueWork({ tenant, kind: 'recount' })
    }
    const { DB } = faultyLast(beforeFirst(meanwhile))
    expect(await allSteps(tenant, DB)).toEqual([0, 3])
    expect([await alive(tenant), await ended(tenant)]).toEqual([expect.objectContaining({ length: 3 }), []])
    expect((await tenant.app('GET', '/users/user00001/streak')).body).toMatchObject({ length: 5, freezes: 0 })
  })

  it.each([
    ['before it is stored', true],
    ['after it is stored', false],
  ])('[C2] an event sets a deadline during a step, %s: the deadline is not lost', async (_when, isBefore) => {
    const tenant = await newTenantInLast()
    await tenant.metric('steps')
    await streakers(tenant, 1)
    const events = async () => {
      await tenant.event('steps', 'ada', 1)
      await tenant.event('steps', { id: 'bob', tz: 'Pacific/Kiritimati' }, 1)
    }
    const { DB, seen } = faultyLast(async ({ run }, write) => {
      if (write === 0 && isBefore) await events()
      const results = await run()
      if (write === 0 && !isBefore) await events()
      return results
    })
    await allSteps(tenant, DB)
    expect(seen.writes).toBeGreaterThan(0)
    const [earliest] = await rows(
      tenant,
      'SELECT min(streak_due) AS due FROM users WHERE tenant_id = ?1 GROUP BY tenant_id',
    )
    expect(earliest?.due).toBeGreaterThan(midnight)
    expect(await due(tenant)).toEqual([earliest])
  })
})

describe('[A4, S9, C2] walks over all users, under faults', () => {
  const workOf = async (tenant: TestTenant, kind: DueWork['kind']): Promise<DueWork | undefined> =>
    (await worksOf(contextOfUsers(tenant.id))).find((work) => work.kind === kind)

  /** Users with a lesson each, and an active achievement for it that no user has yet. */
  async function qualified(count: number, filters: object[] = []) {
    const tenant = await newTenantInLast()
    const metricId = await tenant.metric('lessons')
    const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
    if (filters.length > 0) await tenant.create('/attributes', { key: 'kind', name: 'Kind', type: 'event' })
    const attributeId = at((await tenant.admin('GET', '/attributes')).body, 0, 'id')
    for (let n = 0; n < count; n += 1) {
      await tenant.event('lessons', `u${n}`, 2, filters.length > 0 ? { attributes: { kind: 'long' } } : {})
    }
    const eventAttributes = filters.map(() => ({ attributeId, attributeValue: 'long' }))
    const achievementId = await tenant.create('/achievements', {
      key: 'first',
      name: 'First',
      trigger: 'metric',
      metricId,
      metricValue: 2,
      eventAttributes,
    })
    await tenant.create('/achievements', {
      key: 'all',
      name: 'All',
      trigger: 'achievement',
      achievementIds: [achievementId],
      status: 'active',
    })
    const trigger = { type: 'achievement', achievementId, points: 7, status: 'active' }
    await tenant.create(`/points/${system}/triggers`, trigger)
    await asleep(tenant).admin('PATCH', '/achievements', [{ id: achievementId, status: 'active' }])
    await forgetDueWork({ tenant })
    // It is not due yet, so that only the test does it: events wake the Timekeeper.
    await addDueWork(tenant, 'backdate', { dueAt: START + DAY, subject: achievementId })
    return tenant
  }

  async function walk(
    tenant: TestTenant,
    kind: 'backdate' | 'recount',
    DB: D1Database = lastDatabase().d1,
  ): Promise<number[]> {
    const counts: number[] = []
    for (;;) {
      const work = await workOf(tenant, kind)
      if (work === undefined) return counts
      const visit = kind === 'backdate' ? backdateStep : recountStep
      const context = contextOfUsers(tenant.id, DB)
      counts.push((await visit(context, workWith(context, work, WalkProgress))).changes.length)
    }
  }

  const held = (tenant: TestTenant) =>
    rows(
      tenant,
      `SELECT u.id, json_array_length(u.achievements) AS held, coalesce(u.points ->> 0, (SELECT sum(value)
        FROM json_each(u.points))) AS points,
         (SELECT count(*) FROM ${readable.awards} a WHERE a.user_iid = u.iid) AS awards FROM users u
           WHERE u.tenant_id = ?1 ORDER BY u.id`,
    )
  const full = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ id: `u${n}`, held: 2, points: 7, awards: 1 }))
  const completions = async (tenant: TestTenant) => {
    const { body } = await tenant.app('GET', '/achievements')
    return Array.isArray(body) ? body.map((one) => [at(one, 'completions'), at(one, 'rarity')]) : []
  }

  it('[A4] a qualified user gets it once, with points and composites, after any number of repeated steps', async () => {
    const tenant = await qualified(4)
    const work = await workOf(tenant, 'backdate')
    if (work === undefined) throw new Error('nothing is due')
    const all = await Promise.all(
      Array.from({ length: 4 }, () => {
        const context = contextOfUsers(tenant.id)
        return backdateStep(context, workWith(context, work, WalkProgress))
      }),
    )
    expect(all.flatMap(({ changes }) => changes)).toHaveLength(4)
    await walk(tenant, 'backdate')
    expect(await held(tenant)).toEqual(full(4))
    expect(await completions(tenant)).toEqual([
      [4, 100],
      [4, 100],
    ])
  })

  it.each(['before', 'after'])('[A4, C2] a crash %s the write of a chunk', async (when) => {
    const tenant = await qualified(3)
    const { DB } = faultyLast(losing(0, when === 'after'))
    await expect(walk(tenant, 'backdate', DB)).rejects.toThrow('lost')
    await walk(tenant, 'backdate', DB)
    expect(await held(tenant)).toEqual(full(3))
    expect(await completions(tenant)).toEqual([
      [3, 100],
      [3, 100],
    ])
  })

  it('[A4, E2] an event of a user between read and write: both count, once', async () => {
    const tenant = await qualified(3)
    const { DB } = faultyLast(beforeFirst(() => tenant.event('lessons', 'u1', 1)))
    await walk(tenant, 'backdate', DB)
    expect(await held(tenant)).toEqual(full(3))
  })

  it('[A2, A4] an achievement that counts matching events counts the whole log, and concurrent events', async () => {
    const tenant = await qualified(2, [{}])
    const attributes = { kind: 'long' }
    // As if this user was older than the achievement: the first step visits a user without matching events.
    await tenant.event('lessons', 'bo', 5)
    await rows(tenant, "UPDATE users SET counters = '[]' WHERE tenant_id = ?1 AND id = 'bo'")
    const { DB } = faultyLast(
      beforeEachCall(async (write) => {
        // The last ones come between the step that has visited these users and the last step.
        const users = { 0: ['u0', 'new'], 2: ['bo', 'a-later', 'a-new'] }[write] ?? []
        if (write === 2) await tenant.app('PUT', '/users/a-later', {})
        for (const user of users) await tenant.event('lessons', user, 1, { attributes })
      }),
    )
    await walk(tenant, 'backdate', DB)
    const counted = await rows(
      tenant,
      "SELECT counted FROM achievements WHERE tenant_id = ?1 AND key = 'first'",
    )
    // With several databases, it is never marked: the first one, and the copy.
    expect(counted).toEqual(databases().length === 1 ? [{ counted: 1 }] : [{ counted: 0 }, { counted: 0 }])
    for (const user of ['a-later', 'a-new', 'bo', 'new']) {
      const { body } = await tenant.event('lessons', user, 1, { attributes })
      expect([user, at(body, 'achievements', 0, 'key')]).toEqual([user, 'first'])
    }
    const all = ['a-later', 'a-new', 'bo', 'new', 'u0', 'u1'].map((id) => ({
      id,
      held: 2,
      points: 7,
      awards: 1,
    }))
    expect(await held(tenant)).toEqual(all)
  })

  it('[A2, G2] matching events beyond 64 bits are counted exactly', async () => {
    const tenant = await qualified(1, [{}])
    const attributeId = at((await tenant.admin('GET', '/attributes')).body, 0, 'id')
    const metricId = at((await tenant.admin('GET', '/metrics')).body, 0, 'id')
    await manyEvents(tenant, {
      ...{ user: 'u0', metric: String(metricId), count: 9_500, after: 1_000, value: 1e9 },
      attributes: { [String(attributeId)]: 'long' },
    })
    await walk(tenant, 'backdate')
    expect(await held(tenant)).toEqual(full(1))
    expect((await tenant.app('GET', '/users/u0/wrapped')).status).toBe(200)
    expect((await tenant.app('GET', '/users/u0/wrapped?year=1970')).status).toBe(200)
  })

  it('[S9, A4] a user of the old frequency is counted again before an achievement is given', async () => {
    const tenant = await newTenantInLast()
    await tenant.metric('lessons')
    await tenant.event('lessons', 'u0', 1)
    await rows(
      tenant,
      `UPDATE users SET streak = json_set(streak, '$.frequency', 'weekly', '$.run.length', 9) WHERE tenant_id = ?1`,
    )
    const item = { key: 'nine', name: 'Nine', trigger: 'streak', streakLength: 9, status: 'active' }
    await tenant.create('/achievements', item)
    await walk(tenant, 'backdate')
    expect((await tenant.app('GET', '/users/u0/achievements')).body).toEqual([])
    expect((await tenant.app('GET', '/users/u0/streak')).body).toMatchObject({ length: 1 })
  })

  it('[S9, C2] a recount that is repeated, or crashes, leaves the streaks of the log', async () => {
    const tenant = await newTenantInLast()
    await tenant.metric('lessons')
    for (let n = 0; n < 3; n += 1) await tenant.event('lessons', `u${n}`, 1)
    await rows(
      tenant,
      'UPDATE users SET streak = \'{"frequency":"unknown"}\', streak_due = NULL WHERE tenant_id = ?1',
    )
    await addDueWork(tenant, 'recount', { dueAt: START + DAY })
    const { DB } = faultyLast(losing(0, true))
    await expect(walk(tenant, 'recount', DB)).rejects.toThrow('lost')
    expect(await walk(tenant, 'recount', DB)).toEqual([0])
    expect(
      await rows(
        tenant,
        "SELECT DISTINCT streak ->> '$.run.length' AS length, seq FROM users WHERE tenant_id = ?1",
      ),
    ).toEqual([{ length: 1, seq: 2 }])
  })
})
